/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that can be probed, in the forms in which libbpf reads the kernel's. All malloc() the
 * text. 0 or -ENOMEM.
 */
#ifndef BPFU_PROBE_SYMBOLS_H
#define BPFU_PROBE_SYMBOLS_H

#include <stdint.h>

int bpfu_symbols_kallsyms(void **text, uint32_t *size);     /* /proc/kallsyms */
int bpfu_symbols_filter(void **text, uint32_t *size);       /* available_filter_functions */
int bpfu_symbols_filter_addrs(void **text, uint32_t *size); /* available_filter_functions_addrs */

/* Below /sys/bus/event_source/devices/{kprobe,uprobe}/: type, format/{retprobe,ref_ctr_offset}. */
int bpfu_symbols_perf_type(void **text, uint32_t *size);
int bpfu_symbols_uprobe_type(void **text, uint32_t *size);
int bpfu_symbols_ref_ctr(void **text, uint32_t *size);
int bpfu_symbols_perf_retprobe(void **text, uint32_t *size);

#endif
