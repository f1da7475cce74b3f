// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbers put together from parts that lie side by side, as compilers read unaligned fields: the JITs
 * make one load of them (lib/jit/join.h), unless something is not as it has to be.
 */
#include "gen.h"

enum flaw { FLAW_OFFSET, FLAW_SHIFT, FLAW_STORE, FLAWS };

void gen_bytes(struct gen *g)
{
	static const uint8_t combine[] = { BPF_OR, BPF_XOR, BPF_ADD };
	int base = pick_kind(g, K_MEM), acc = pick_dst(g), tmp = pick_dst(g);
	uint32_t half = rng_below(&g->rng, 2), part = 1u << half;
	uint32_t parts = 2u << rng_below(&g->rng, 3u - half), size = part * parts, at;
	uint8_t class = size <= 4 && rng_percent(&g->rng, 50) ? BPF_ALU : BPF_ALU64;
	uint32_t flawed = rng_percent(&g->rng, 25) ? rng_below(&g->rng, parts) : parts;
	uint32_t flaw = rng_below(&g->rng, FLAWS);
	bool down = rng_percent(&g->rng, 50);
	struct reg r;

	if (base < 0 || acc == tmp || acc == base || tmp == base)
		return;
	r = g->st.r[base];
	if (size > r.size)
		return;
	at = rng_below(&g->rng, r.size - size + 1) & -part;
	for (uint32_t i = 0; i < parts; i++) {
		uint32_t k = down ? parts - 1 - i : i, from = k;
		int reg = i ? tmp : acc, by = 8 * (int)(k * part);

		if (i == flawed && flaw == FLAW_OFFSET)
			from = parts - 1 - k;
		if (i == flawed && flaw == FLAW_SHIFT)
			by ^= 8;
		emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | (half ? BPF_H : BPF_B), reg, base,
				  (int16_t)((int)(at + from * part) - r.off), 0));
		if (by)
			emit(g, BPFU_INSN(class | BPF_LSH | BPF_K, reg, 0, 0, by));
		set_scalar(g, reg);
		if (i == flawed && flaw == FLAW_STORE && r.class != MEM_KEY)
			emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_B, base, 0, (int16_t)((int)at - r.off),
					  rand_imm(g)));
		if (i)
			emit(g, BPFU_INSN(class | combine[rng_below(&g->rng, 3)] | BPF_X, acc, tmp, 0,
					  0));
	}
}
