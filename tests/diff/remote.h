/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JIT of another machine as a side: bpfu-diff built for that machine, run by an emulator, answers
 * on its standard output what came of the cases that it is sent on its standard input.
 */
#ifndef BPFU_TESTS_DIFF_REMOTE_H
#define BPFU_TESTS_DIFF_REMOTE_H

#include <sys/types.h>

#include "side.h"

struct remote {
	pid_t pid;
	int to, from;
	bool open;
	char machine[16]; /* as uname -m */
	char died[64];    /* why it does not answer any more, or "" */
};

/*
 * Start @command (split by the shell), which is a bpfu-diff, as a server. 0 or -errno, with the
 * reason on standard error.
 */
int remote_open(struct remote *r, const char *command);
void remote_close(struct remote *r);

/*
 * Give it @c to load and to run with the options drawn from @seed; the answer is fetched by
 * remote_receive(). Both return false if it has died: then r->died says of what.
 */
bool remote_send(struct remote *r, const struct diff_case *c, uint64_t seed);
bool remote_receive(struct remote *r, struct result *res);

/* The other end: serve until the end of standard input. Returns the exit code. */
int remote_serve(void);

#endif
