/* SPDX-License-Identifier: BSD-2-Clause */
/* One guest while it runs: its process, its pipes, what it said so far. Used by boot.c only. */
#ifndef BPFLAB_GUEST_RUN_H
#define BPFLAB_GUEST_RUN_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "vm/boot.h"
#include "vm/guest.h"

enum guest_pipe { PIPE_CONSOLE, PIPE_CONTROL, PIPE_OUT, PIPE_ERR, PIPE_QEMU, NR_GUEST_PIPES };

enum guest_state { GUEST_WAITING, GUEST_BOOTING, GUEST_RUNNING, GUEST_ENDING, GUEST_DONE };

struct guest_run {
	struct guest *g;
	enum guest_state state;
	pid_t pid;
	int pipes[NR_GUEST_PIPES]; /* our ends, -1 once at their end */
	uint64_t start_ns, last_ns; /* when it was started, and last heard */
	double last_cpu;           /* the seconds of CPU it had had then */
	char line[600];            /* of the control port, as far as it came */
	char qemu_said[512];       /* what QEMU itself wrote */
	bool has_end;
};

/* Start it: @g->err is set if that fails. */
void guest_run_start(struct guest_run *r, const char *program);
/* Read what there is from pipe @p. */
void guest_run_read(struct guest_run *r, enum guest_pipe p, bool echo);
/* Look at clocks and at the process; ends it if it takes too long. */
void guest_run_check(struct guest_run *r, bool echo);
/* End it at once. */
void guest_run_kill(struct guest_run *r);

uint64_t guest_now_ns(void);

#endif
