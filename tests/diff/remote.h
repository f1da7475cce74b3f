/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JIT of another machine as a side: bpfu-diff built for that machine, run by an emulator, answers
 * on its standard output what came of the cases that it is sent on its standard input.
 */
#ifndef BPFU_TESTS_DIFF_REMOTE_H
#define BPFU_TESTS_DIFF_REMOTE_H

#include <sys/types.h>

#include "parcel.h"
#include "side.h"

struct remote {
	pid_t pid;
	int to, from;
	bool open;
	bool asked;	  /* for an answer that was not fetched yet */
	char machine[16]; /* as uname -m */
	char died[64];    /* why it does not answer any more, or "" */
};

/*
 * Start @command (split by the shell), which is a bpfu-diff, as a server that ends if a case takes
 * longer than @limit seconds. 0 or -errno, with the reason on standard error.
 */
int remote_open(struct remote *r, const char *command, uint32_t limit);
void remote_close(struct remote *r);

/*
 * Give it a case to load and to run with the options drawn from @seed, or one that we have loaded to
 * compile and to run. The answer is fetched by remote_receive(), which returns false if the other
 * machine has died: then r->died says of what.
 */
void remote_send(struct remote *r, const struct diff_case *c, uint64_t seed);
void remote_send_parcel(struct remote *r, const struct parcel *p);
bool remote_receive(struct remote *r, struct result *res);

/* The other end: serve until the end of standard input. Returns the exit code. */
int remote_serve(uint32_t limit);

#endif
