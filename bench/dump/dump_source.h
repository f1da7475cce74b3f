/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the programs of a dump come from: an object file or a bench, loaded on a target. Those of a
 * bench are the descriptors of programs that opening it left in the process.
 */
#ifndef BPFLAB_DUMP_SOURCE_H
#define BPFLAB_DUMP_SOURCE_H

#include "bench.h"
#include "dump/dump_prog.h"
#include "target.h"

struct bpf_object;

struct dump_source {
	struct target target;
	struct dump_prog *progs;
	size_t nr;
	/* private */
	struct bpf_object *obj;
	struct bench_inst inst;
	bool bench_open;
};

struct dump_request {
	const char *what;     /* OBJECT, OBJECT:PROGRAM or BENCH */
	const char *program;  /* a name or a glob; NULL: all of an object, the measured one of a bench */
	const char *arch;     /* of the machine code, or NULL for the target's own */
	unsigned int flags;   /* enum dump_prog_flags */
};

/* Load and read. dump_source_release() unloads, also after an error. */
int dump_source_open(struct dump_source *s, const char *target, const struct dump_request *req,
		     struct errline *e);
void dump_source_release(struct dump_source *s);

#endif
