/* SPDX-License-Identifier: BSD-2-Clause */
/* One case on all sides, and what came of it. */
#ifndef BPFU_TESTS_DIFF_COMPARE_H
#define BPFU_TESTS_DIFF_COMPARE_H

#include "remote.h"
#include "side.h"

enum verdict {
	SAME,
	REFUSED,   /* by the kernel (or libbpfu where there is no kernel): no program to compare */
	MISSED,	   /* the kernel accepts it, libbpfu does not */
	UNSOUND,   /* libbpfu accepts what the kernel refuses */
	DIFFERENT, /* results differ */
	UNSTABLE,  /* they differed once and then did not, or depend on stack never written */
	FOLDED,	   /* only the kernel differs, by a fault of its own (docs/differences.md) */
	BROKEN,	   /* a side could not be used at all */
	VERDICTS,
};

enum compare_mode {
	MODE_LOAD = 1u << 0,   /* load into JIT and interpreter, with options of their own */
	MODE_CLONE = 1u << 1,  /* load once, run other forms of the instructions too */
	MODE_ACCEPT = 1u << 2, /* compare acceptance only; nothing runs */
};

/* What the caller wants; zero is a comparison of the JIT and the interpreter. */
struct compare_setup {
	uint32_t modes;
	bool kernel; /* use it if it lets us */
	bool random_options;
	const char *with; /* the command of a bpfu-diff for another machine, or NULL */
	uint32_t limit;	  /* seconds that it may take for a program */
};

struct comparison {
	struct compare_setup setup;
	struct side side[SIDES];
	bool usable[SIDES];
	struct remote remote;
};

struct outcome {
	enum verdict verdict;
	char what[160]; /* what differs, between whom */
	char log[256];	/* MISSED, UNSOUND: why the refusing side refused */
};

/* Open the sides. 0 or -errno. */
int compare_open(struct comparison *cmp, const struct compare_setup *setup);
void compare_close(struct comparison *cmp);

void compare_case(struct comparison *cmp, const struct diff_case *c, struct outcome *out);

#endif
