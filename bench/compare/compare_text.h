/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences in words and figures, for every view of a comparison. */
#ifndef BPFLAB_COMPARE_TEXT_H
#define BPFLAB_COMPARE_TEXT_H

#include <stddef.h>

#include "stats/verdict.h"

/* What a sentence about one row needs. */
struct compare_sentence {
	const char *bench;
	enum verdict verdict;
	const struct effect *effect;
	double margin;       /* ln */
	uint64_t needed;     /* quads, if inconclusive */
	const char *unit;    /* what there are too few of: "quads" */
};

/* "+3.4 %", "-41.2 %"; from twice the time on "20.1x". "-" for NAN. */
void compare_text_change(char *buf, size_t size, double log_ratio);
/* "+3.4 % [+2.6, +4.1]" */
void compare_text_effect(char *buf, size_t size, const struct effect *effect);
/* "bpf-loop is 41 % faster on B, 95 % interval 40-42 %", without a full stop. */
void compare_text_sentence(char *buf, size_t size, const struct compare_sentence *s);

#endif
