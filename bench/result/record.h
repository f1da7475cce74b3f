/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stored results. A result file has one JSON object a line; what is read here has been checked, so that
 * its users find the types that they expect, and texts that a terminal shows as they are. Nothing in a
 * file is trusted: it may be damaged, huge, of a later version, or made to harm.
 */
#ifndef BPFLAB_RECORD_H
#define BPFLAB_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "errline.h"
#include "stats/stats.h"

#define SCHEMA_RESULT "bpflab.result/1"
#define SCHEMA_COMPARE "bpflab.compare/1"
#define SCHEMA_NOISE "bpflab.noise/1"
#define SCHEMA_COUNT "bpflab.count/1"
#define SCHEMA_UNAVAILABLE "bpflab.unavailable/1"

enum record_kind {
	RECORD_RESULT = 1u << 0,
	RECORD_COMPARE = 1u << 1,
	RECORD_NOISE = 1u << 2,
	RECORD_COUNT = 1u << 3, /* of instructions: never among those of RECORD_ALL, which are times */
	RECORD_UNAVAILABLE = 1u << 4, /* a bench that could not be loaded: passed over unless asked for */
	RECORD_ALL = RECORD_RESULT | RECORD_COMPARE | RECORD_NOISE,
};

struct record {
	enum record_kind kind;
	json_t *json;     /* the checked object */
	unsigned int file; /* number of the file it is from */
	char label[192];  /* bench and parameters: bpf-loop/nr_loops=10 */
	char target[256]; /* with its variant; of a comparison "" */
	bool imported;    /* a figure from a text: no samples, no environment */
	double ns;        /* of a result; NAN if it is not told apart from the null program */
};

struct record_list {
	struct record *items;
	size_t nr, max;
};

/* Append what the file @path holds, if its kinds are among @kinds. 0 or a negative errno with a line. */
int records_read(struct record_list *list, const char *path, unsigned int file, unsigned int kinds,
		 struct errline *e);
/* Check @o and append it, with a reference of its own. @where names it in errors: "'f' line 3". */
int records_add(struct record_list *list, json_t *o, unsigned int file, unsigned int kinds,
		const char *where, struct errline *e);
void records_release(struct record_list *list);

/* Lines of text that hold figures (import.c); @text is of @len bytes. -ENODATA: none. */
int records_import(struct record_list *list, const char *path, const char *text, size_t len,
		   unsigned int file, struct errline *e);

/* True if @path is a file of text: of results, if it is to be of use. */
bool records_is_file(const char *path);

/* True if the first result in the file @path is a count of instructions. */
bool records_are_counts(const char *path);

/* The target of a result, or of a side of a comparison, with its variant: "user:jit=on". */
void record_target(const json_t *o, char *buf, size_t size);

/* Members, "" or NAN where there are none. */
const char *record_text(const json_t *o, const char *key);
double record_number(const json_t *o, const char *key);
/* The two ends of the interval @key. */
struct interval record_interval(const json_t *o, const char *key);

/* Replace what a terminal would act on by '?': control characters, marks of writing direction. */
void record_clean(char *text);

/* The machine of a result, as far as times depend on it; the same text means comparable times. */
void record_machine(const json_t *o, char *buf, size_t size);

#endif
