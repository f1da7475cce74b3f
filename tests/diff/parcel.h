/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A case without its verification: the programs as libbpfu has verified and rewritten them on one
 * machine, packed so that another one compiles and runs them. Addresses in them are written as places
 * (which map, how far into it) and found again among the maps of the receiver.
 *
 *   head | of each program: insns | subprogs | addresses
 */
#ifndef BPFU_TESTS_DIFF_PARCEL_H
#define BPFU_TESTS_DIFF_PARCEL_H

#include "obj/prog.h"
#include "side.h"

#define PARCEL_MAX (256 * 1024)

struct parcel_head {
	uint32_t shape, type, prog_cnt, maps_used, input_size;
	uint8_t input[CASE_INPUT];
	struct bpfu_prog prog[CASE_PROGS]; /* pointers in it mean nothing */
	uint32_t addr_cnt[CASE_PROGS];
};

struct parcel {
	uint32_t size; /* bytes used */
	union {
		struct parcel_head head;
		uint8_t bytes[PARCEL_MAX];
	};
};

/* What both machines have to agree on; 0 is no value of it. */
uint64_t parcel_layout(void);

/* Pack the programs @fds of libbpfu's @side, which were loaded for @c. False if they are too large. */
bool parcel_pack(struct parcel *p, const struct side *side, const struct diff_case *c, const int *fds);

/* Compile and run. False if the parcel makes no sense or the maps cannot be used. */
bool parcel_run(struct parcel *p, struct side *side, struct result *res);

#endif
