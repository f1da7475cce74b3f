// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The programs of the suite jit-*: each kernel of jit/ with its driver. Compiled to BPF and, from the
 * same source, to native code (native.h).
 */
#include "bench.bpf.h"
#include "jit.bpf.h"

BENCH_LICENSE("GPL");

#include "jit/bswap.h"
#include "jit/calls.h"
#include "jit/crc32.h"
#include "jit/csum.h"
#include "jit/divmod.h"
#include "jit/fnv.h"
#include "jit/fsm.h"
#include "jit/map.h"
#include "jit/memcpy.h"
#include "jit/murmur.h"
#include "jit/parse.h"
#include "jit/sieve.h"
#include "jit/siphash.h"
#include "jit/sort.h"
#include "jit/strsearch.h"
#include "jit/switch.h"
#include "jit/tlv.h"

/* What is subtracted: the driver and the call. */
JIT_KERNEL(null)
{
	__u64 result = 0;

	bench_opaque(result);
	return result;
}

JIT_DRIVER(null)
