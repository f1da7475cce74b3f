// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF instructions after the verifier's rewriting. libbpfu prints them in the kernel's words; what
 * refers to something is put in words here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "dump/listing.h"
#include "machine/kallsyms.h"

#ifndef BPF_JCOND
#define BPF_JCOND 0xe0
#endif

static bool is_ld_imm64(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_branch(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static int64_t branch_target(const struct bpf_insn *insn, uint32_t idx)
{
	bool by_imm = insn->code == (BPF_JMP32 | BPF_JA);

	return (int64_t)idx + 1 + (by_imm ? insn->imm : insn->off);
}

static enum listing_kind kind_of(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return LISTING_LOAD;
	case BPF_LD:
		return is_ld_imm64(insn) ? LISTING_COMPUTE : LISTING_LOAD;
	case BPF_ST:
	case BPF_STX:
		return LISTING_STORE;
	case BPF_JMP:
	case BPF_JMP32:
		if (BPF_OP(insn->code) == BPF_CALL)
			return LISTING_CALL;
		return BPF_OP(insn->code) == BPF_EXIT ? LISTING_RETURN : LISTING_BRANCH;
	}
	return LISTING_COMPUTE;
}

static const char *func_name(const struct dump_prog *p, uint32_t insn)
{
	for (uint32_t i = 0; i < p->nr_funcs; i++)
		if (p->funcs[i].insn == insn)
			return p->funcs[i].name;
	return "?";
}

/* The kernel replaces a helper's number by its distance from this function. */
static bool host_call_name(const struct bpf_insn *insn, char *buf, size_t size)
{
	uint64_t base = kallsyms_addr("__bpf_call_base");
	const char *name = base ? kallsyms_name(base + (uint64_t)(int64_t)insn->imm) : NULL;

	if (!name)
		return false;
	snprintf(buf, size, "call %s", name);
	return true;
}

static bool put_call(const struct dump_prog *p, const struct bpf_insn *insn, uint32_t idx, char *buf,
		     size_t size)
{
	if (insn->code != (BPF_JMP | BPF_CALL))
		return false;
	if (insn->src_reg == BPF_PSEUDO_CALL) {
		snprintf(buf, size, "call %s",
			 func_name(p, idx + 1 + (uint32_t)(int32_t)insn->off));
		return true;
	}
	return !p->is_user && host_call_name(insn, buf, size);
}

static bool put_ld_imm64(const struct dump_prog *p, const struct bpf_insn *insn, char *buf,
			 size_t size)
{
	uint64_t imm = (uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	unsigned int reg = insn->dst_reg;
	char symbol[160];

	if (!is_ld_imm64(insn))
		return false;
	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		snprintf(buf, size, "r%u = {map %s}", reg,
			 dump_prog_map_name(p, (uint32_t)insn->imm));
		return true;
	case BPF_PSEUDO_MAP_VALUE:
		snprintf(buf, size, insn[1].imm ? "r%u = {map %s value+%d}" : "r%u = {map %s value}",
			 reg, dump_prog_map_name(p, (uint32_t)insn[0].imm), insn[1].imm);
		return true;
	case BPF_PSEUDO_FUNC:
		snprintf(buf, size, "r%u = {%s}", reg,
			 (uint32_t)insn[1].imm < p->nr_funcs ? p->funcs[insn[1].imm].name : "?");
		return true;
	}
	if (!dump_prog_symbol(p, imm, symbol, sizeof(symbol)))
		return false;
	snprintf(buf, size, "r%u = {%s}", reg, symbol);
	return true;
}

/* Cut "(05) " in front and " pc+3" at the end. */
static char *plain_text(const struct bpf_insn *insn, bool branch, char *buf, size_t size)
{
	char *text, *pc;

	bpfu_insn_text(buf, size, insn);
	text = buf[0] == '(' && strchr(buf, ' ') ? strchr(buf, ' ') + 1 : buf;
	pc = branch ? strstr(text, " pc") : NULL;
	if (pc)
		*pc = '\0';
	return text;
}

static int add_insn(struct listing_func *lf, const struct dump_prog *p, uint32_t idx)
{
	const struct bpf_insn two[2] = { p->insns[idx],
					 idx + 1 < p->insn_cnt ? p->insns[idx + 1] :
								 (struct bpf_insn){ 0 } };
	struct listing_insn *li = &lf->insns[lf->nr++];
	bool branch = is_branch(two);
	char buf[256];

	li->len = is_ld_imm64(two) ? 16 : 8;
	memcpy(li->bytes, two, li->len);
	li->kind = kind_of(two);
	li->target = -1;
	if (put_call(p, two, idx, buf, sizeof(buf)) || put_ld_imm64(p, two, buf, sizeof(buf)))
		li->text = strdup(buf);
	else
		li->text = strdup(plain_text(two, branch, buf, sizeof(buf)));
	lf->bytes += li->len;
	return li->text ? 0 : -ENOMEM;
}

/* @at: for each instruction of the function, its line in the listing. */
static void resolve_targets(struct listing_func *lf, const struct dump_prog *p,
			    const struct dump_func *f, const uint32_t *at)
{
	for (size_t i = 0; i < lf->nr; i++) {
		uint32_t idx = f->insn + (uint32_t)lf->insns[i].off;
		int64_t target = branch_target(&p->insns[idx], idx) - f->insn;

		if (is_branch(&p->insns[idx]) && target >= 0 && target < f->insn_cnt)
			lf->insns[i].target = (int32_t)at[target];
	}
	for (uint32_t k = 0; k < p->nr_lines; k++)
		if (p->lines[k].insn >= f->insn && p->lines[k].insn < f->insn + f->insn_cnt)
			lf->insns[at[p->lines[k].insn - f->insn]].line = &p->lines[k];
}

static int list_func(struct listing_func *lf, const struct dump_prog *p, const struct dump_func *f)
{
	uint32_t *at = calloc(f->insn_cnt + 1ul, sizeof(*at));
	int err = 0;

	lf->name = f->name;
	lf->insns = calloc(f->insn_cnt + 1ul, sizeof(*lf->insns));
	if (!at || !lf->insns) {
		free(at);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->insn_cnt && !err; i++) {
		at[i] = (uint32_t)lf->nr;
		lf->insns[lf->nr].off = i;
		if (is_ld_imm64(&p->insns[f->insn + i]) && i + 1 < f->insn_cnt)
			at[i + 1] = (uint32_t)lf->nr;
		err = add_insn(lf, p, f->insn + i);
		i += is_ld_imm64(&p->insns[f->insn + i]);
	}
	if (!err)
		resolve_targets(lf, p, f, at);
	listing_number_labels(lf);
	free(at);
	return err;
}

int listing_xlated(struct listing *l, const struct dump_prog *p)
{
	int err = 0;

	memset(l, 0, sizeof(*l));
	l->funcs = calloc(p->nr_funcs + 1ul, sizeof(*l->funcs));
	if (!l->funcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_funcs && !err; i++)
		err = list_func(&l->funcs[l->nr++], p, &p->funcs[i]);
	return err;
}
