/* SPDX-License-Identifier: BSD-2-Clause */
/* prog-pack for those who run its programs outside of the schedule (measure/instances.c). */
#ifndef BPFLAB_BENCHES_PROG_PACK_H
#define BPFLAB_BENCHES_PROG_PACK_H

#include <stdint.h>

#include "bench.h"

extern const struct bench bench_prog_pack;

/* Run only the first @nr of the programs that are loaded. Before the first trigger. */
void prog_pack_only(struct bench_inst *inst, uint32_t nr);

#endif
