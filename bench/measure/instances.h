/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that keep loaded programs busy while something else is measured: each loads 8 programs on
 * its target and runs 5 of them for ever, as the programs of the prog pack experiment do. They end with
 * their parent, however that ends.
 */
#ifndef BPFLAB_INSTANCES_H
#define BPFLAB_INSTANCES_H

#include <stdint.h>
#include <sys/types.h>

#include "errline.h"
#include "target.h"

#define INSTANCE_PROGRAMS 8
#define INSTANCE_TRIGGERED 5

struct instance {
	pid_t pid;
	struct instance_shared *shared; /* with the process */
};

struct instances {
	struct instance *list;
	uint32_t nr;
	struct instance_shared *shared;
};

struct instances_result {
	uint64_t events;      /* runs of programs, as these counted them */
	uint64_t code_bytes;  /* memory of code, of all together; 0: not visible */
	uint64_t huge_bytes;  /* of it, as huge pages */
};

/* Start @nr of them and wait until all run. On failure none is left. */
int instances_start(struct instances *all, uint32_t nr, const struct target *target,
		    struct errline *e);

/* End them and add up what they did; -EBADMSG if one of them counted wrongly or died. */
int instances_stop(struct instances *all, struct instances_result *result, struct errline *e);

#endif
