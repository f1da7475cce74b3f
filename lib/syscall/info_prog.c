// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_OBJ_GET_INFO_BY_FD of programs. Arrays go out by one rule: the caller says how many entries it
 * has room for, gets that many at most, and is told how many there are.
 */
#include "syscall/info.h"
#include "syscall/prog_tag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "jit/jit.h"
#include "map/map.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/sha256.h"
#include "util/uaccess.h"

/* Copy up to @room entries of @size bytes; *@cnt gets how many there are. */
static int array_out(uint64_t ubuf, uint32_t room, uint32_t *cnt, const void *entries,
		     uint32_t there_are, uint32_t size)
{
	*cnt = there_are;
	return bpfu_copy_to_user(ubuf, entries, (size_t)BPFU_MIN(room, there_are) * size);
}

static int map_ids_out(struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	uint32_t room = info->nr_map_ids;
	int err = 0;

	bpfu_prog_lock_maps();
	info->nr_map_ids = prog->used_map_cnt;
	for (uint32_t i = 0; i < BPFU_MIN(room, prog->used_map_cnt) && !err; i++)
		err = bpfu_copy_to_user(info->map_ids + i * sizeof(uint32_t),
					&prog->used_maps[i]->obj.id, sizeof(uint32_t));
	bpfu_prog_unlock_maps();
	return err;
}

/* ---- the instructions, with internal forms made readable again ---- */

/* The map that a resolved LD_IMM64 points to or into; *@off: where into its value. */
static struct bpfu_map *map_of_imm(const struct bpfu_prog *prog, uint8_t pseudo, uint64_t imm,
				   uint32_t *off)
{
	for (uint32_t i = 0; i < prog->used_map_cnt; i++) {
		struct bpfu_map *map = prog->used_maps[i];
		uint64_t base;

		*off = 0;
		if (bpfu_u64(map) == imm)
			return map;
		if (pseudo == BPF_PSEUDO_MAP_FD || !map->ops->direct_value_addr ||
		    map->ops->direct_value_addr(map, &base, 0))
			continue;
		if (imm >= base && imm - base < map->value_size) {
			*off = imm - base;
			return map;
		}
	}
	return NULL;
}

/* Number of the function that starts at instruction @idx. */
static uint32_t subprog_at(const struct bpfu_prog *prog, uint32_t idx)
{
	uint32_t i = 0;

	while (i + 1 < prog->subprog_cnt && prog->subprogs[i].start != idx)
		i++;
	return i;
}

static void dump_ld_imm64(const struct bpfu_prog *prog, struct bpf_insn *insn, uint32_t idx)
{
	uint8_t pseudo = insn->src_reg;
	struct bpfu_map *map;
	uint32_t off;

	if (pseudo == BPF_PSEUDO_FUNC)
		insn[1].imm = subprog_at(prog, idx + 1 + insn[0].imm);
	if (!pseudo || pseudo == BPF_PSEUDO_FUNC || pseudo == BPF_PSEUDO_BTF_ID)
		return;
	if (pseudo == BPF_PSEUDO_MAP_IDX)
		pseudo = BPF_PSEUDO_MAP_FD;
	if (pseudo == BPF_PSEUDO_MAP_IDX_VALUE)
		pseudo = BPF_PSEUDO_MAP_VALUE;
	map = map_of_imm(prog, pseudo, bpfu_insn_imm64(insn), &off);
	insn[0].src_reg = pseudo;
	insn[0].imm = map ? map->obj.id : 0;
	insn[1].imm = off;
}

static void dump_insn(const struct bpfu_prog *prog, struct bpf_insn *insn, uint32_t idx)
{
	uint8_t class = BPF_CLASS(insn->code), mode = BPF_MODE(insn->code);

	if (bpfu_insn_is_pseudo_call(insn)) {
		/* Where to in off, which function (an index of the arrays below) in imm. */
		insn->off = insn->imm;
		insn->imm = subprog_at(prog, idx + 1 + insn->imm);
	} else if (insn->code == (BPF_JMP | BPFU_TAIL_CALL)) {
		insn->code = BPF_JMP | BPF_CALL;
		insn->imm = BPF_FUNC_tail_call;
	} else if (class == BPF_LDX && mode == BPFU_PROBE_MEM) {
		insn->code = BPF_LDX | BPF_SIZE(insn->code) | BPF_MEM;
	} else if (class == BPF_LDX && mode == BPFU_PROBE_MEMSX) {
		insn->code = BPF_LDX | BPF_SIZE(insn->code) | BPF_MEMSX;
	} else if (bpfu_insn_is_ld_imm64(insn)) {
		dump_ld_imm64(prog, insn, idx);
	}
}

static int xlated_out(struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	uint32_t size = prog->insn_cnt * sizeof(struct bpf_insn);
	uint32_t room = info->xlated_prog_len;
	struct bpf_insn *copy;
	int err;

	info->xlated_prog_len = size;
	if (!room)
		return 0;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, prog->insns, size);
	bpfu_prog_lock_maps();
	for (uint32_t i = 0; i < prog->insn_cnt; i++) {
		dump_insn(prog, &copy[i], i);
		i += bpfu_insn_is_ld_imm64(&copy[i]);
	}
	bpfu_prog_unlock_maps();
	err = bpfu_copy_to_user(info->xlated_prog_insns, copy, BPFU_MIN(room, size));
	free(copy);
	return err;
}

/* ---- machine code ---- */

/* The kernel counts functions only where there are several; one program is one entry either way. */
static int funcs_out(const struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	const struct bpfu_jit_image *jit = prog->jit;
	uint32_t ksyms = info->nr_jited_ksyms, lens = info->nr_jited_func_lens;
	int err = 0;

	info->nr_jited_ksyms = prog->subprog_cnt;
	info->nr_jited_func_lens = prog->subprog_cnt;
	for (uint32_t i = 0; i < prog->subprog_cnt && !err; i++) {
		uint64_t addr = jit ? bpfu_u64(jit->code) + jit->subprog_off[i] : 0;
		uint32_t len = jit ? jit->subprog_len[i] : 0;

		if (i < ksyms)
			err = bpfu_copy_to_user(info->jited_ksyms + i * sizeof(addr), &addr,
						sizeof(addr));
		if (!err && i < lens)
			err = bpfu_copy_to_user(info->jited_func_lens + i * sizeof(len), &len,
						sizeof(len));
	}
	return err;
}

static int jited_out(const struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	const struct bpfu_jit_image *jit = prog->jit;
	uint32_t room = info->jited_prog_len, total = 0;
	int err = 0;

	for (uint32_t i = 0; jit && i < prog->subprog_cnt && !err; i++) {
		uint32_t len = jit->subprog_len[i];

		if (total < room)
			err = bpfu_copy_to_user(info->jited_prog_insns + total,
						jit->code + jit->subprog_off[i],
						BPFU_MIN(len, room - total));
		total += len;
	}
	info->jited_prog_len = total;
	return err ? err : funcs_out(prog, info);
}

/* ---- BTF records and tags ---- */

static int check_rec_size(uint32_t *rec_size, uint32_t cnt, uint32_t known)
{
	if ((cnt || *rec_size) && *rec_size != known)
		return -EINVAL;
	*rec_size = known;
	return 0;
}

static int rec_sizes(struct bpf_prog_info *info)
{
	if (check_rec_size(&info->func_info_rec_size, info->nr_func_info,
			   sizeof(struct bpf_func_info)) ||
	    check_rec_size(&info->line_info_rec_size, info->nr_line_info,
			   sizeof(struct bpf_line_info)) ||
	    check_rec_size(&info->jited_line_info_rec_size, info->nr_jited_line_info,
			   sizeof(uint64_t)))
		return -EINVAL;
	return 0;
}

/*
 * Where the code of each line starts. libbpf wants the first line of a function at the function's
 * first byte and the others to increase strictly; an instruction that became no code at all shares
 * its address with the next, so that one is reported a byte later.
 */
static int jited_lines_out(const struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	uint32_t room = info->nr_jited_line_info, subprog = 0;
	uint64_t last = 0;
	int err = 0;

	info->nr_jited_line_info = prog->jit ? prog->line_info_cnt : 0;
	for (uint32_t i = 0; i < BPFU_MIN(room, info->nr_jited_line_info) && !err; i++) {
		uint32_t idx = prog->line_info[i].insn_off;
		uint64_t addr = bpfu_u64(prog->jit->code) + prog->jit->insn_off[idx];

		while (subprog + 1 < prog->subprog_cnt && prog->subprogs[subprog + 1].start <= idx)
			subprog++;
		if (prog->subprogs[subprog].start == idx)
			addr = bpfu_u64(prog->jit->code) + prog->jit->subprog_off[subprog];
		else if (addr <= last)
			addr = last + 1;
		last = addr;
		err = bpfu_copy_to_user(info->jited_line_info + i * sizeof(addr), &addr,
					sizeof(addr));
	}
	return err;
}

void bpfu_prog_func_tag(const struct bpfu_prog *prog, uint32_t idx, uint8_t tag[BPF_TAG_SIZE])
{
	uint32_t start = prog->subprogs[idx].start;
	uint32_t end = idx + 1 < prog->subprog_cnt ? prog->subprogs[idx + 1].start : prog->insn_cnt;
	uint8_t digest[BPFU_SHA256_SIZE];

	if (prog->subprog_cnt > 1)
		bpfu_sha256(prog->insns + start, (end - start) * sizeof(struct bpf_insn), digest);
	memcpy(tag, prog->subprog_cnt > 1 ? digest : prog->tag, BPF_TAG_SIZE);
}

static int tags_out(const struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	uint32_t room = info->nr_prog_tags;
	int err = 0;

	info->nr_prog_tags = prog->subprog_cnt;
	for (uint32_t i = 0; i < BPFU_MIN(room, prog->subprog_cnt) && !err; i++) {
		uint8_t tag[BPF_TAG_SIZE];

		bpfu_prog_func_tag(prog, i, tag);
		err = bpfu_copy_to_user(info->prog_tags + i * BPF_TAG_SIZE, tag, BPF_TAG_SIZE);
	}
	return err;
}

static int records_out(const struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	int err;

	err = array_out(info->func_info, info->nr_func_info, &info->nr_func_info, prog->func_info,
			prog->func_info_cnt, sizeof(struct bpf_func_info));
	if (!err)
		err = array_out(info->line_info, info->nr_line_info, &info->nr_line_info,
				prog->line_info, prog->line_info_cnt, sizeof(struct bpf_line_info));
	if (!err)
		err = jited_lines_out(prog, info);
	return err ? err : tags_out(prog, info);
}

/* Of a BPF program's function it is known until the first attachment. */
static uint32_t attach_btf(struct bpfu_prog *prog)
{
	uint32_t id = prog->attach_btf_obj_id;

	bpfu_prog_lock_maps();
	if (prog->dst_prog)
		id = prog->dst_prog->btf->obj.id;
	bpfu_prog_unlock_maps();
	return id;
}

static void fill_scalars(struct bpfu_prog *prog, struct bpf_prog_info *info)
{
	info->type = prog->type;
	info->id = prog->obj.id;
	info->load_time = prog->load_time_ns;
	info->created_by_uid = prog->created_by_uid;
	info->gpl_compatible = prog->gpl_compatible;
	memcpy(info->tag, prog->tag, sizeof(info->tag));
	memcpy(info->name, prog->name, sizeof(info->name));
	info->run_time_ns = prog->run_time_ns;
	info->run_cnt = prog->run_cnt;
	info->recursion_misses = prog->recursion_misses;
	info->verified_insns = prog->verified_insns;
	info->btf_id = prog->btf ? prog->btf->obj.id : 0;
	info->attach_btf_id = prog->attach_btf_id;
	info->attach_btf_obj_id = attach_btf(prog);
}

int bpfu_info_prog(struct bpfu_prog *prog, struct bpfu_info_io *io)
{
	struct bpf_prog_info info;
	int err;

	_Static_assert(sizeof(info) == 232, "ABI");
	err = bpfu_info_in(io, &info, sizeof(info));
	if (err)
		return err;
	fill_scalars(prog, &info);
	err = map_ids_out(prog, &info);
	if (!err)
		err = rec_sizes(&info);
	if (!err)
		err = xlated_out(prog, &info);
	if (!err)
		err = jited_out(prog, &info);
	if (!err)
		err = records_out(prog, &info);
	return err ? err : bpfu_info_out(io, &info);
}
