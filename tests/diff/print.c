// SPDX-License-Identifier: BSD-2-Clause
/* A case in words: the listing of its programs, its maps and its input. */
#include "diff.h"

#include "helper/helper.h"

static const char *map_name(int32_t slot)
{
	static const char *const names[SLOTS] = { "out",	 "array", "hash", "percpu_array",
						  "percpu_hash", "lru",	  "lpm",  "queue",
						  "stack",	 "maps",  "progs", "kptr" };

	return slot >= 0 && slot < SLOTS ? names[slot] : "?";
}

static void print_insn(FILE *out, const struct case_prog *p, uint32_t i)
{
	const struct bpf_insn *insn = &p->insns[i];
	char text[256];

	bpfu_insn_print(text, sizeof(text), insn, bpfu_helper_name);
	fprintf(out, "  %4u: %-48s", i, text);
	if (bpfu_insn_is_ld_imm64(insn) &&
	    (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE))
		fprintf(out, " ; map %s", map_name(insn->imm));
	else
		fprintf(out, " ; %02x%x%x %04hx %08x", insn->code, insn->src_reg, insn->dst_reg,
			(uint16_t)insn->off, (uint32_t)insn->imm);
	fputc('\n', out);
}

static void print_prog(FILE *out, const struct case_prog *p)
{
	for (uint32_t i = 0; i < p->cnt; i++) {
		for (uint32_t sub = 1; sub < p->subprog_cnt; sub++)
			if (p->subprog_start[sub] == i)
				fprintf(out, "  subprogram %u:\n", sub);
		print_insn(out, p, i);
		if (bpfu_insn_is_ld_imm64(&p->insns[i]))
			i++;
	}
}

void case_print(FILE *out, const struct diff_case *c)
{
	struct map_spec specs[SLOT_ALL];

	shape_maps(c->shape, specs);
	fprintf(out, "program type %d, maps:", c->type);
	for (int slot = 0; slot < SLOTS; slot++)
		if (c->maps_used & 1u << slot)
			fprintf(out, " %s(type %u, key %u, value %u, %u entries)", map_name(slot),
				specs[slot].type, specs[slot].key_size, specs[slot].value_size,
				specs[slot].max_entries);
	fprintf(out, "\ninput:");
	for (uint32_t i = 0; i < c->input_size; i++)
		fprintf(out, "%s%02x", i % 16 ? " " : "\n  ", c->input[i]);
	fputc('\n', out);
	for (uint32_t i = 0; i < c->prog_cnt; i++) {
		fprintf(out, "program %u:\n", i);
		print_prog(out, &c->progs[i]);
	}
}
