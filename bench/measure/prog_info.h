/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BPFLAB_PROG_INFO_H
#define BPFLAB_PROG_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"

/* What BPF_OBJ_GET_INFO_BY_FD says about a measured program. */
struct prog_info {
	bool known;
	uint8_t tag[8];
	uint32_t xlated_len, jited_len;
};

/* Leaves @prog as it is where nothing is known. */
void prog_info_read(const struct bench_inst *inst, struct prog_info *prog);

#endif
