/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inner half of counting: a process that runs under an emulator and executes windows, batches
 * between marks. It knows what it ran; the emulator's plugin knows how many instructions that took.
 * Both number windows in the order in which they happen, and counts.c puts the two together.
 */
#ifndef BPFLAB_COUNT_WINDOWS_H
#define BPFLAB_COUNT_WINDOWS_H

#include <jansson.h>
#include <stdio.h>

#include "measure/suite.h"

#define SCHEMA_WINDOWS "bpflab.windows/1"

/* Triggers in a window of bare triggers. */
#define WINDOW_TRIGGERS 8

/* Operations of a window of the full size: a multiple of eight, and of eight triggers. */
uint64_t windows_ops(const struct bench_inst *inst);

/* Something to say about a point while it is loaded, as "code" in its line, or NULL; an error is told. */
typedef int (*windows_code)(const struct bench_inst *inst, json_t **code, struct errline *e);

struct windows_settings {
	uint32_t rounds;   /* times each window is run */
	bool keep_going;   /* a point that cannot be loaded is noted in its line */
	bool symbols;      /* on a kernel, say what lies where: "image_symbols" once, "symbols" of each point */
	windows_code code; /* or NULL */
};

/*
 * Load each point of @s, run its windows, unload it, and write a line of JSON about it to @f. The last line
 * says how many windows there were in all. The producers of @s run. 0, or a negative errno with a line; a
 * point that fails its own checks is noted in its line.
 */
int windows_run(struct suite *s, const struct windows_settings *settings, FILE *f, struct errline *e);

#endif
