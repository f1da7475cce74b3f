// SPDX-License-Identifier: BSD-2-Clause
/*
 * The text of the log, in the kernel's form: people and tools read it. A line per instruction,
 *
 *   4: (07) r2 += -4                      ; R2=fp-4
 *
 * where the part after the semicolon is what the instruction touched. It is printed when the next
 * instruction begins, so the line stays open until then; anything else that is logged closes it, and
 * the state gets a line of its own. "from 5 to 10:" shows the whole state at the start of another path.
 */
#include <string.h>

#include "btf/btf.h"
#include "btf/percpu_var.h"
#include "helper/helper.h"
#include "map/map.h"
#include "verifier/env.h"

#define COLUMN 40

void bpfu_vrf_log_close(struct bpfu_env *env)
{
	if (env->open_line)
		bpfu_log_printf(env->log, "\n");
	env->open_line = 0;
}

void bpfu_vrf_log(struct bpfu_env *env, const char *fmt, ...)
{
	va_list ap;

	if (!bpfu_log_wants(env->log))
		return;
	bpfu_vrf_log_close(env);
	va_start(ap, fmt);
	bpfu_log_vprintf(env->log, fmt, ap);
	va_end(ap);
}

const char *bpfu_vrf_tnum_text(struct bpfu_tnum t, char buf[48])
{
	if (!t.mask) {
		snprintf(buf, 48, t.value <= UINT16_MAX ? "%llu" : "%#llx", (unsigned long long)t.value);
		return buf;
	}
	/* printf's # leaves zero alone */
	snprintf(buf, 48, t.value ? "(%#llx; %#llx)" : "(0x%llx; %#llx)", (unsigned long long)t.value,
		 (unsigned long long)t.mask);
	return buf;
}

static void log_signed(struct bpfu_env *env, int64_t v, bool is32)
{
	if (v >= INT16_MIN && v <= INT16_MAX)
		bpfu_vrf_log(env, "%lld", (long long)v);
	else if (is32)
		bpfu_vrf_log(env, "%#x", (uint32_t)v);
	else
		bpfu_vrf_log(env, "%#llx", (unsigned long long)v);
}

static void log_unsigned(struct bpfu_env *env, uint64_t v)
{
	if (v <= UINT16_MAX)
		bpfu_vrf_log(env, "%llu", (unsigned long long)v);
	else
		bpfu_vrf_log(env, "%#llx", (unsigned long long)v);
}

/* Bounds that say something, equal ones of the same kind together: "smin=smin32=0,umax=7". */
static void log_bounds(struct bpfu_env *env, const struct bpfu_range *r, const char **sep)
{
	struct {
		const char *name;
		uint64_t v;
		bool omit;
	} b[] = {
		{ "smin", (uint64_t)r->smin, r->smin == INT64_MIN },
		{ "smax", (uint64_t)r->smax, r->smax == INT64_MAX },
		{ "umin", r->umin, r->umin == 0 },
		{ "umax", r->umax, r->umax == UINT64_MAX },
		{ "smin32", (uint64_t)(int64_t)r->s32_min, r->s32_min == INT32_MIN },
		{ "smax32", (uint64_t)(int64_t)r->s32_max, r->s32_max == INT32_MAX },
		{ "umin32", r->u32_min, r->u32_min == 0 },
		{ "umax32", r->u32_max, r->u32_max == UINT32_MAX },
	};

	for (unsigned int i = 0; i < BPFU_ARRAY_SIZE(b); i++) {
		if (b[i].omit)
			continue;
		bpfu_vrf_log(env, "%s%s=", *sep, b[i].name);
		*sep = ",";
		for (unsigned int j = i + 2; j < BPFU_ARRAY_SIZE(b); j += 2) {
			if (b[j].omit || b[j].v != b[i].v)
				continue;
			/* A negative number is not an unsigned one. */
			if (b[j].name[0] != b[i].name[0] && (int64_t)b[i].v < 0)
				continue;
			b[j].omit = true;
			bpfu_vrf_log(env, "%s=", b[j].name);
		}
		if (b[i].name[0] == 's')
			log_signed(env, (int64_t)b[i].v, i >= 4);
		else
			log_unsigned(env, b[i].v);
	}
}

static void log_variable_part(struct bpfu_env *env, const struct bpfu_range *r, const char **sep)
{
	char buf[48];

	if (bpfu_range_is_const(r)) {
		if (r->var.value) {
			bpfu_vrf_log(env, "%simm=", *sep);
			log_signed(env, (int64_t)r->var.value, false);
		}
		return;
	}
	log_bounds(env, r, sep);
	if (r->var.mask != UINT64_MAX)
		bpfu_vrf_log(env, "%svar_off=%s", *sep, bpfu_vrf_tnum_text(r->var, buf));
}

static void log_reg(struct bpfu_env *env, const struct bpfu_reg *reg, uint32_t depth)
{
	const char *sep = "";

	if (reg->type == BPFU_REG_SCALAR && bpfu_lineage_is_marked(&env->lineage, reg->node))
		bpfu_vrf_log(env, "P");
	if (reg->type == BPFU_REG_SCALAR && bpfu_range_is_const(&reg->range)) {
		log_signed(env, (int64_t)reg->range.var.value, false);
		return;
	}
	bpfu_vrf_log(env, "%s", bpfu_reg_type_name(reg));
	if (reg->type == BPFU_REG_PERCPU)
		bpfu_vrf_log(env, "%s", bpfu_percpu_var_at(reg->frame)->type);
	if (reg->type == BPFU_REG_BTF)
		bpfu_vrf_log(env, "%s", bpfu_vrf_struct_name(reg));
	if (reg->type == BPFU_REG_STACK) {
		if (reg->frame != depth)
			bpfu_vrf_log(env, "[%d]", reg->frame);
		if (bpfu_range_is_const(&reg->range)) {
			log_signed(env, (int64_t)reg->range.var.value + reg->off, false);
			return;
		}
	}
	bpfu_vrf_log(env, "(");
	if (reg->id) {
		bpfu_vrf_log(env, "id=%d", reg->id);
		if (reg->type == BPFU_REG_SCALAR &&
		    reg->flags & (BPFU_REG_ADD_CONST | BPFU_REG_ADD_CONST32))
			bpfu_vrf_log(env, "%+d", reg->off);
		sep = ",";
	}
	if (reg->ref_id) {
		bpfu_vrf_log(env, "%sref_obj_id=%d", sep, reg->ref_id);
		sep = ",";
	}
	if (bpfu_reg_has_map(reg)) {
		if (reg->map->name[0]) {
			bpfu_vrf_log(env, "%smap=%s", sep, reg->map->name);
			sep = ",";
		}
		bpfu_vrf_log(env, "%sks=%d,vs=%d", sep, reg->map->key_size, reg->map->value_size);
		sep = ",";
	}
	if (reg->type != BPFU_REG_SCALAR && reg->off) {
		bpfu_vrf_log(env, "%soff=", sep);
		log_signed(env, reg->off, false);
		sep = ",";
	}
	if (reg->type == BPFU_REG_PACKET || reg->type == BPFU_REG_PACKET_META) {
		bpfu_vrf_log(env, "%sr=%u", sep, reg->size);
		sep = ",";
	}
	if (reg->type == BPFU_REG_MEM) {
		bpfu_vrf_log(env, "%ssz=%u", sep, reg->size);
		sep = ",";
	}
	log_variable_part(env, &reg->range, &sep);
	bpfu_vrf_log(env, ")");
}

static void log_slot(struct bpfu_env *env, const struct bpfu_slot *slot, uint32_t idx,
		     uint32_t depth)
{
	static const char letter[] = { '?', 'r', 'm', '0' };
	char text[BPFU_SLOT_BYTES + 1];
	bool any = false;
	unsigned int spill = bpfu_slot_spill_size(slot);

	/* The kernel prints the highest byte first. */
	for (int i = 0; i < BPFU_SLOT_BYTES; i++) {
		text[i] = letter[slot->byte[BPFU_SLOT_BYTES - 1 - i]];
		any |= slot->byte[i] != BPFU_BYTE_INVALID;
	}
	text[BPFU_SLOT_BYTES - spill] = '\0';
	if (!any)
		return;
	bpfu_vrf_log(env, " fp-%u=%s", (idx + 1) * BPFU_SLOT_BYTES, text);
	if (spill)
		log_reg(env, &slot->reg, depth);
}

void bpfu_vrf_log_state(struct bpfu_env *env, const struct bpfu_state *state, uint32_t depth,
			bool all)
{
	const struct bpfu_frame *frame = state->frame[depth];

	if (depth)
		bpfu_vrf_log(env, " frame%u:", depth);
	for (uint32_t i = 0; i < BPFU_MAX_REG; i++) {
		if (frame->reg[i].type == BPFU_REG_NOT_INIT)
			continue;
		if (!all && !(env->scratched_regs >> i & 1))
			continue;
		bpfu_vrf_log(env, " R%u=", i);
		log_reg(env, &frame->reg[i], depth);
	}
	for (uint32_t i = 0; i < frame->slot_cnt; i++)
		if (all || env->scratched_slots >> i & 1)
			log_slot(env, &frame->slot[i], i, depth);
	for (uint32_t i = 0; i < state->ref_cnt; i++)
		bpfu_vrf_log(env, "%s%u", i ? "," : " refs=", state->ref[i].id);
	if (frame->callback >= 0)
		bpfu_vrf_log(env, " cb");
	bpfu_vrf_log(env, "\n");
	if (!all) {
		env->scratched_regs = 0;
		env->scratched_slots = 0;
	}
}

void bpfu_vrf_log_insn_state(struct bpfu_env *env)
{
	uint32_t len = env->open_line, column;

	if (len) {
		column = BPFU_ROUND_UP(BPFU_MAX(len + 5, COLUMN), 8u);
		env->open_line = 0;
		bpfu_vrf_log(env, "%*c;", (int)(column - len - 2), ' ');
	} else {
		bpfu_vrf_log(env, "%u:", env->insn_idx);
	}
	bpfu_vrf_log_state(env, env->cur, env->cur->depth, false);
}

/* The line_info record that covers @insn_idx. */
static const struct bpf_line_info *find_line(const struct bpfu_prog *prog, uint32_t insn_idx)
{
	uint32_t lo = 0, hi = prog->line_info_cnt;

	if (!hi || !prog->btf || prog->line_info[0].insn_off > insn_idx)
		return NULL;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (prog->line_info[mid].insn_off <= insn_idx)
			lo = mid;
		else
			hi = mid;
	}
	return &prog->line_info[lo];
}

void bpfu_vrf_log_source(struct bpfu_env *env, uint32_t insn_idx, const char *prefix)
{
	const struct bpf_line_info *line = find_line(env->prog, insn_idx);
	const struct bpf_line_info *prev = env->prev_line;
	const char *text, *file, *slash;

	if (!line || line == prev)
		return;
	if (prev && prev->file_name_off == line->file_name_off &&
	    BPF_LINE_INFO_LINE_NUM(prev->line_col) == BPF_LINE_INFO_LINE_NUM(line->line_col))
		return;
	text = bpfu_btf_name(env->prog->btf, line->line_off);
	file = bpfu_btf_name(env->prog->btf, line->file_name_off);
	if (!text || !file)
		return;
	slash = strrchr(file, '/');
	bpfu_vrf_log(env, "%s%s @ %s:%u\n", prefix, text + strspn(text, " \t"),
		     slash ? slash + 1 : file, BPF_LINE_INFO_LINE_NUM(line->line_col));
	env->prev_line = line;
}

static void log_insn_text(struct bpfu_env *env, uint32_t insn_idx)
{
	struct bpf_insn copy[2] = { env->insns[insn_idx] };
	char text[256];

	if (bpfu_insn_is_ld_imm64(copy)) {
		copy[1] = env->insns[insn_idx + 1];
		if (env->aux[insn_idx].map_imm)
			bpfu_insn_set_imm64(copy, env->aux[insn_idx].map_imm);
	}
	bpfu_insn_print(text, sizeof(text), copy, bpfu_helper_name);
	bpfu_vrf_log(env, "%s", text);
}

void bpfu_vrf_log_insn(struct bpfu_env *env, uint32_t insn_idx)
{
	uint64_t start;

	bpfu_vrf_log_source(env, insn_idx, "; ");
	bpfu_vrf_log_close(env);
	start = env->log->total;
	bpfu_vrf_log(env, "%u: ", insn_idx);
	log_insn_text(env, insn_idx);
	env->open_line = (uint32_t)(env->log->total - start);
}

void bpfu_vrf_log_liveness(struct bpfu_env *env)
{
	if (!bpfu_vrf_logs(env) || !(env->log->level & BPFU_LOG_LEVEL2))
		return;
	bpfu_vrf_log(env, "Live regs before insn:\n");
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		bpfu_vrf_log(env, "%7u: ", i);
		for (uint32_t r = 0; r < BPFU_MAX_REG - 1; r++)
			if (env->vinsn[i].live >> r & 1)
				bpfu_vrf_log(env, "%u", r);
			else
				bpfu_vrf_log(env, ".");
		bpfu_vrf_log(env, " ");
		log_insn_text(env, i);
		bpfu_vrf_log(env, "\n");
		i += bpfu_insn_is_ld_imm64(&env->insns[i]);
	}
}

void bpfu_vrf_log_stats(struct bpfu_env *env, uint64_t usec)
{
	if (!bpfu_log_wants(env->log))
		return;
	if (env->log->level & BPFU_LOG_STATS) {
		bpfu_vrf_log(env, "verification time %llu usec\n", (unsigned long long)usec);
		bpfu_vrf_log(env, "stack depth ");
		for (uint32_t i = 0; i < env->prog->subprog_cnt; i++)
			bpfu_vrf_log(env, "%s%u", i ? "+" : "", env->prog->subprogs[i].stack_depth);
		bpfu_vrf_log(env, "\n");
	}
	bpfu_vrf_log(env,
		     "processed %u insns (limit %d) max_states_per_insn %u total_states %u "
		     "peak_states %u mark_read %d\n",
		     env->processed, BPFU_MAX_INSNS, env->max_states_per_insn, env->total_states,
		     env->peak_states, 0);
}
