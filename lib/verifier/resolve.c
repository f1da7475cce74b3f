// SPDX-License-Identifier: BSD-2-Clause
/*
 * LD_IMM64 that names a per-CPU variable or a map: descriptor or index into the caller's array of
 * descriptors, the map itself or an address inside its value. Takes one reference per map into prog->used_maps and notes
 * the resolved address in the instruction's aux row.
 */
#include <errno.h>

#include "btf/percpu_var.h"
#include "btf/vmlinux.h"
#include "map/map.h"
#include "obj/obj.h"
#include "util/uaccess.h"
#include "verifier/env.h"

/* Maps that a program which may sleep can use (their memory outlives the section). */
static bool sleepable_map(enum bpf_map_type type)
{
	switch (type) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
	case BPF_MAP_TYPE_RINGBUF:
	case BPF_MAP_TYPE_USER_RINGBUF:
	case BPF_MAP_TYPE_QUEUE:
	case BPF_MAP_TYPE_STACK:
		return true;
	default:
		return false;
	}
}

static int check_compatible(struct bpfu_env *env, const struct bpfu_map *map)
{
	if (env->sleepable && !sleepable_map(map->type)) {
		bpfu_vrf_log(env, "Sleepable programs can only use array, hash, ringbuf and local "
				  "storage maps\n");
		return -EINVAL;
	}
	return 0;
}

static bool is_used(const struct bpfu_prog *prog, const struct bpfu_map *map)
{
	for (uint32_t i = 0; i < prog->used_map_cnt; i++)
		if (prog->used_maps[i] == map)
			return true;
	return false;
}

/* Put @map, whose reference is ours, into used_maps (once). */
static int use_map(struct bpfu_env *env, struct bpfu_map *map)
{
	int err = check_compatible(env, map);

	if (!err && !is_used(env->prog, map) && env->prog->used_map_cnt >= BPFU_MAX_USED_MAPS) {
		bpfu_vrf_log(env,
			     "The total number of maps per program has reached the limit of %u\n",
			     BPFU_MAX_USED_MAPS);
		err = -E2BIG;
	}
	if (!err)
		return bpfu_prog_bind_map(env->prog, map);
	bpfu_map_put(map);
	return err;
}

static int map_of_fd(struct bpfu_env *env, int fd, struct bpfu_map **map)
{
	struct bpfu_obj *obj = NULL;
	int err = bpfu_fd_get_kind(fd, BPFU_OBJ_MAP, -EINVAL, &obj);

	if (err) {
		bpfu_vrf_log(env, "fd %d is not pointing to valid bpf_map\n", fd);
		return err;
	}
	*map = bpfu_map_of(obj);
	return use_map(env, *map);
}

static int resolve_value(struct bpfu_env *env, struct bpfu_map *map, uint32_t off, uint64_t *addr)
{
	int err;

	if (off >= BPFU_MAX_VAR_OFF) {
		bpfu_vrf_log(env, "direct value offset of %u is not allowed\n", off);
		return -EINVAL;
	}
	if (!map->ops->direct_value_addr) {
		bpfu_vrf_log(env, "no direct value access support for this map type\n");
		return -EINVAL;
	}
	err = map->ops->direct_value_addr(map, addr, off);
	if (err)
		bpfu_vrf_log(env, "invalid access to map value pointer, value_size=%u off=%u\n",
			     map->value_size, off);
	return err;
}

/* A per-CPU variable of libbpfu, by its place in libbpfu's BTF. */
static int resolve_btf_id(struct bpfu_env *env, uint32_t idx)
{
	const struct bpf_insn *insn = &env->insns[idx];
	const struct bpfu_btf *btf = bpfu_vmlinux();
	const struct btf_type *t = btf ? bpfu_btf_type(btf, (uint32_t)insn->imm) : NULL;
	const struct bpfu_percpu_var *var = bpfu_percpu_var_by_id((uint32_t)insn->imm);

	if (insn[1].imm) {
		bpfu_vrf_log(env, "invalid module BTF object FD specified.\n");
		return -EINVAL;
	}
	if (!insn->imm || !t) {
		bpfu_vrf_log(env, "ldimm64 insn specified invalid btf_id %d.\n", insn->imm);
		return -ENOENT;
	}
	if (bpfu_btf_kind(t) != BTF_KIND_VAR && bpfu_btf_kind(t) != BTF_KIND_FUNC) {
		bpfu_vrf_log(env, "pseudo btf_id %d in ldimm64 isn't KIND_VAR or KIND_FUNC\n",
			     insn->imm);
		return -EINVAL;
	}
	if (!var) { /* a function: its address is not given away */
		bpfu_vrf_log(env, "ldimm64 failed to find the address for kernel symbol '%s'.\n",
			     bpfu_btf_name(btf, t->name_off));
		return -ENOENT;
	}
	env->aux[idx].map_imm = bpfu_u64(var->ptr);
	return 0;
}

static bool names_map(const struct bpf_insn *insn)
{
	return insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE ||
	       insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
}

static int resolve_one(struct bpfu_env *env, uint32_t idx, uint64_t fd_array)
{
	const struct bpf_insn *insn = &env->insns[idx];
	struct bpfu_insn_aux *aux = &env->aux[idx];
	bool value = insn->src_reg == BPF_PSEUDO_MAP_VALUE ||
		     insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE;
	int fd = insn->imm, err;

	if (!names_map(insn) || (!value && insn[1].imm)) {
		bpfu_vrf_log(env, "unrecognized bpf_ld_imm64 insn\n");
		return -EINVAL;
	}
	if (insn->src_reg == BPF_PSEUDO_MAP_IDX || insn->src_reg == BPF_PSEUDO_MAP_IDX_VALUE) {
		if (!fd_array) {
			bpfu_vrf_log(env, "fd_idx without fd_array is invalid\n");
			return -EPROTO;
		}
		err = bpfu_copy_from_user(&fd, fd_array + (uint64_t)insn->imm * sizeof(fd),
					  sizeof(fd));
		if (err)
			return err;
	}
	err = map_of_fd(env, fd, &aux->map);
	if (err)
		return err;
	if (value)
		return resolve_value(env, aux->map, (uint32_t)insn[1].imm, &aux->map_imm);
	aux->map_imm = bpfu_u64(aux->map);
	return 0;
}

int bpfu_vrf_resolve(struct bpfu_env *env, uint64_t fd_array)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		const struct bpf_insn *insn = &env->insns[i];
		char msg[128];
		int err = bpfu_insn_check_early(env->insns, env->insn_cnt, i, msg, sizeof(msg));

		if (err) {
			bpfu_vrf_log(env, "%s\n", msg);
			return err;
		}
		if (!bpfu_insn_is_ld_imm64(insn))
			continue;
		if (insn->src_reg == BPF_PSEUDO_BTF_ID) {
			err = resolve_btf_id(env, i);
			if (err)
				return err;
		} else if (insn->src_reg && insn->src_reg != BPF_PSEUDO_FUNC) {
			err = resolve_one(env, i, fd_array);
			if (err)
				return err;
		}
		i++;
	}
	return 0;
}
