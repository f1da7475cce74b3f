/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program as text: functions of lines, one line an instruction. Addresses that the process or the
 * kernel happened to choose are replaced by names, branch targets by labels, so that the same program
 * gives the same text, and two texts can be compared.
 */
#ifndef BPFLAB_LISTING_H
#define BPFLAB_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/dump_prog.h"

/* What an instruction does, for the summary of a difference. */
enum listing_kind {
	LISTING_COMPUTE,
	LISTING_LOAD,
	LISTING_STORE,
	LISTING_BRANCH,
	LISTING_CALL,
	LISTING_RETURN,
	LISTING_KINDS,
};

extern const char *const listing_kind_names[LISTING_KINDS];

struct listing_insn {
	uint64_t off;           /* from the function's start: bytes of machine code, or instructions */
	uint8_t len;            /* bytes */
	uint8_t bytes[16];
	enum listing_kind kind;
	/* Printed as TEXT, or TEXT and the label of the target. */
	char *text;
	int32_t target;         /* index of the instruction branched to, within the function; or -1 */
	uint32_t label;         /* if something branches here: its number in the function; or 0 */
	const struct dump_line *line; /* a source line that starts here, or NULL */
};

struct listing_func {
	const char *name;       /* of the struct dump_prog */
	struct listing_insn *insns;
	size_t nr;
	size_t bytes;
};

struct listing {
	struct listing_func *funcs;
	size_t nr;
};

/* 0 or -ENOMEM. listing_release() frees, also after an error. @p must outlive the listing. */
int listing_xlated(struct listing *l, const struct dump_prog *p);
/* @p was read with DUMP_PROG_CODE. -EOPNOTSUPP if capstone does not know the architecture. */
int listing_jited(struct listing *l, const struct dump_prog *p);
void listing_release(struct listing *l);

/* "TEXT" or "TEXT L3", as it is shown. Returns @buf. */
const char *listing_text(const struct listing_func *f, size_t idx, char *buf, size_t size);

/* For the two files that make listings: number what targets point to. */
void listing_number_labels(struct listing_func *f);

#endif
