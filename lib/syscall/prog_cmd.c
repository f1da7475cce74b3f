// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_LOAD: from the caller's bytes to a program that runs.
 *
 *    attribute checks -> copy in -> BTF records -> verifier/ -> rewrite/ -> jit/ or interp/ -> fd
 *                                 \______ log ____________/
 *
 * Until a program is published its only holder is this file, and one put undoes all steps so far.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "btf/btf.h"
#include "interp/interp.h"
#include "jit/jit.h"
#include "map/map.h"
#include "map/prog_array.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "rewrite/rewrite.h"
#include "syscall/perf.h"
#include "syscall/prog_btf.h"
#include "syscall/syscall.h"
#include "util/log.h"
#include "util/sha256.h"
#include "util/uaccess.h"
#include "verifier/verifier.h"

#define LICENSE_MAX 128
#define KNOWN_FLAGS                                                                                \
	(BPF_F_STRICT_ALIGNMENT | BPF_F_ANY_ALIGNMENT | BPF_F_TEST_RND_HI32 |                      \
	 BPF_F_TEST_STATE_FREQ | BPF_F_SLEEPABLE | BPF_F_XDP_HAS_FRAGS | BPF_F_XDP_DEV_BOUND_ONLY | \
	 BPF_F_TEST_REG_INVARIANTS | BPFU_F_TOKEN_FD)

/* obj/prog.c drops these references without knowing the types. */
_Static_assert(offsetof(struct bpfu_map, obj) == 0, "prog_free() relies on it");
_Static_assert(offsetof(struct bpfu_btf, obj) == 0, "prog_free() relies on it");

/* ---- checks on the attribute ---- */

static bool takes_target(uint32_t type)
{
	return type == BPF_PROG_TYPE_TRACING || type == BPF_PROG_TYPE_EXT;
}

/*
 * An attach target is a function of libbpfu's own BTF, the default object or named by a descriptor, or
 * of a BPF program: *@dst gets a reference of that, otherwise NULL.
 */
static int check_attach_target(const union bpf_attr *attr, struct bpfu_prog **dst)
{
	bool takes_one = takes_target(attr->prog_type);
	struct bpfu_obj *obj;
	int err = -EINVAL;

	*dst = NULL;
	if (!attr->attach_prog_fd)
		return attr->attach_btf_id && !takes_one ? -EINVAL : 0;
	obj = bpfu_fd_get(attr->attach_prog_fd);
	if (obj && obj->kind == BPFU_OBJ_BTF)
		err = !bpfu_btf_of(obj)->is_kernel ? -BPFU_ENOTSUPP : takes_one ? 0 : -EINVAL;
	if (obj && obj->kind == BPFU_OBJ_PROG && takes_one) {
		*dst = bpfu_prog_of(obj);
		return 0;
	}
	bpfu_obj_put(obj);
	return err;
}

/* *@dst: as check_attach_target(), also on errors. */
static int check_load(union bpfu_attr *attr, struct bpfu_prog **dst)
{
	const struct bpfu_prog_type *type = bpfu_prog_type_of(attr->a.prog_type);
	int err;

	*dst = NULL;
	if (!bpfu_attr_ends_with(attr, prog_load.keyring_id) || (attr->a.prog_flags & ~KNOWN_FLAGS))
		return -EINVAL;
	if (attr->a.prog_flags & BPFU_F_TOKEN_FD)
		return bpfu_attr_token(attr->prog_load.prog_token_fd);
	if (!attr->a.insn_cnt || attr->a.insn_cnt > BPFU_MAX_INSNS)
		return -E2BIG;
	/* Older callers know of one attach type and leave the field 0, which is another's number. */
	if (attr->a.prog_type == BPF_PROG_TYPE_CGROUP_SOCK && !attr->a.expected_attach_type)
		attr->a.expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE;
	err = check_attach_target(&attr->a, dst);
	if (err)
		return err;
	/* An unknown type is noticed later. */
	return type && type->load_check ? type->load_check(&attr->a) : 0;
}

/* ---- copying in ---- */

static bool is_gpl_compatible(const char *license)
{
	static const char *const compatible[] = {
		"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL",
		"Dual MPL/GPL",
	};

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(compatible); i++)
		if (!strcmp(license, compatible[i]))
			return true;
	return false;
}

static int copy_license(struct bpfu_prog *prog, uint64_t ulicense)
{
	char license[LICENSE_MAX];
	int n = bpfu_strncpy_from_user(license, ulicense, sizeof(license) - 1);

	if (n < 0)
		return n;
	license[sizeof(license) - 1] = '\0';
	prog->gpl_compatible = is_gpl_compatible(license);
	return 0;
}

/* The tag: what was loaded, without the numbers that the load happened to give to maps. */
static int calc_tag(struct bpfu_prog *prog)
{
	size_t size = prog->insn_cnt * sizeof(struct bpf_insn);
	uint8_t digest[BPFU_SHA256_SIZE];
	struct bpf_insn *copy;

	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, prog->insns, size);
	for (uint32_t i = 0; i < prog->insn_cnt; i++) {
		if (!bpfu_insn_is_ld_imm64(&copy[i]) || (copy[i].src_reg != BPF_PSEUDO_MAP_FD &&
							 copy[i].src_reg != BPF_PSEUDO_MAP_VALUE))
			continue;
		copy[i].imm = 0;
		if (i + 1 < prog->insn_cnt && !copy[i + 1].code && !copy[i + 1].dst_reg &&
		    !copy[i + 1].src_reg && !copy[i + 1].off)
			copy[++i].imm = 0;
	}
	bpfu_sha256(copy, size, digest);
	memcpy(prog->tag, digest, sizeof(prog->tag));
	free(copy);
	return 0;
}

static uint64_t boottime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int copy_in(struct bpfu_prog *prog, const union bpfu_attr *attr)
{
	const union bpf_attr *a = &attr->a;
	size_t size = a->insn_cnt * sizeof(struct bpf_insn);
	int err;

	prog->type = a->prog_type;
	prog->expected_attach_type = a->expected_attach_type;
	prog->prog_flags = a->prog_flags;
	prog->xdp_has_frags = a->prog_flags & BPF_F_XDP_HAS_FRAGS;
	prog->options = *bpfu_options_self();
	prog->created_by_uid = getuid();
	prog->insn_cnt = prog->orig_insn_cnt = a->insn_cnt;
	prog->insns = malloc(size);
	if (!prog->insns)
		return -ENOMEM;
	err = bpfu_copy_from_user(prog->insns, a->insns, size);
	if (!err)
		err = copy_license(prog, a->license);
	if (err)
		return err;
	if (attr->prog_load.signature)
		return -EOPNOTSUPP; /* no keys to check it with */
	if (a->prog_ifindex)
		return -EINVAL; /* no device to be bound to */
	prog->type_ops = bpfu_prog_type_of(a->prog_type);
	if (!prog->type_ops)
		return -EINVAL;
	prog->load_time_ns = boottime_ns();
	err = bpfu_attr_name(prog->name, a->prog_name);
	return err ? err : calc_tag(prog);
}

/* ---- verifying ---- */

/* fd_array_cnt: every descriptor of the array is held by the program, used or not. */
static int hold_fd(struct bpfu_prog *prog, int fd, struct bpfu_log *log)
{
	struct bpfu_obj *obj = bpfu_fd_get(fd);
	struct bpfu_btf **btfs;

	if (obj && obj->kind == BPFU_OBJ_MAP)
		return bpfu_prog_bind_map(prog, bpfu_map_of(obj));
	if (!obj || obj->kind != BPFU_OBJ_BTF) {
		bpfu_obj_put(obj);
		bpfu_log_printf(log, "fd %d is not pointing to valid bpf_map or btf\n", fd);
		return fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
	}
	btfs = realloc(prog->used_btfs, (prog->used_btf_cnt + 1) * sizeof(*btfs));
	if (!btfs) {
		bpfu_obj_put(obj);
		return -ENOMEM;
	}
	btfs[prog->used_btf_cnt++] = bpfu_btf_of(obj);
	prog->used_btfs = btfs;
	return 0;
}

static int hold_fd_array(struct bpfu_prog *prog, const union bpfu_attr *attr, struct bpfu_log *log)
{
	for (uint32_t i = 0; i < attr->prog_load.fd_array_cnt; i++) {
		int32_t fd;
		int err = bpfu_copy_from_user(&fd, attr->a.fd_array + i * sizeof(fd), sizeof(fd));

		if (!err)
			err = hold_fd(prog, fd, log);
		if (err)
			return err;
	}
	return 0;
}

static int verify_logged(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr,
			 uint32_t size, struct bpfu_log *log)
{
	struct bpfu_insn_aux *aux = NULL;
	int err;

	err = hold_fd_array(prog, attr, log);
	if (!err)
		err = bpfu_prog_copy_btf(prog, attr, uattr, size, log);
	if (!err && attr->a.core_relo_cnt) {
		bpfu_log_printf(log, "CO-RE relocation in bpf(2) is not supported\n");
		err = -EINVAL;
	}
	/* A function of a BPF program is the verifier's business. */
	if (!err && (prog->dst_prog || prog->type == BPF_PROG_TYPE_EXT))
		prog->attach_btf_id = attr->a.attach_btf_id;
	else if (!err && prog->type == BPF_PROG_TYPE_TRACING)
		err = bpfu_prog_find_target(prog, attr->a.attach_btf_id, log);
	if (!err)
		err = bpfu_verify(prog, attr->a.fd_array, log, &aux);
	if (!err)
		err = bpfu_rewrite(prog, aux);
	if (prog->type == BPF_PROG_TYPE_EXT) { /* these were of what it extends, for so long */
		prog->expected_attach_type = 0;
		prog->type_ops = bpfu_prog_type_of(BPF_PROG_TYPE_EXT);
	}
	free(aux);
	return err;
}

static int verify(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_log log;
	int err, log_err;

	err = bpfu_log_init(&log, attr->a.log_level, attr->a.log_buf, attr->a.log_size);
	if (err)
		return err;
	err = verify_logged(prog, attr, uattr, size, &log);
	/* Not to get the log hides why the program was refused. */
	log_err = bpfu_log_finalize(&log, &attr->prog_load.log_true_size);
	if (log_err)
		err = log_err;
	if (bpfu_attr_put(attr, uattr, size, prog_load.log_true_size))
		err = -EFAULT;
	return err;
}

/* ---- making it run ---- */

static int select_runtime(struct bpfu_prog *prog)
{
	int err;

	if (prog->options.jit && bpfu_jit_available()) {
		err = bpfu_jit_compile(prog);
		if (!err) {
			prog->release_code = bpfu_jit_release;
			return 0;
		}
		bpfu_warn("prog '%s': cannot compile, interpreting: %s", prog->name,
			  err == -BPFU_ENOTSUPP ? "not supported" : strerror(-err));
	}
	err = bpfu_interp_prepare(prog);
	if (!err)
		prog->release_code = bpfu_interp_release;
	return err;
}

/*
 * A tail call passes the context on as it is, so a program must be of the kind that the arrays it
 * jumps through hold; one that nothing was put into yet takes the kind of this program.
 */
static int check_tail_calls(const struct bpfu_prog *prog)
{
	for (uint32_t i = 0; i < prog->used_map_cnt; i++)
		if (prog->used_maps[i]->type == BPF_MAP_TYPE_PROG_ARRAY &&
		    !bpfu_prog_array_accepts(prog->used_maps[i], prog))
			return -EINVAL;
	return 0;
}

int bpfu_cmd_prog_load(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_prog *prog, *dst;
	int err;

	err = check_load(attr, &dst);
	prog = err ? NULL : bpfu_prog_new();
	if (!prog) {
		bpfu_prog_put(dst);
		return err ? err : -ENOMEM;
	}
	prog->dst_prog = dst;
	err = copy_in(prog, attr);
	if (!err)
		err = verify(prog, attr, uattr, size);
	if (!err)
		err = select_runtime(prog);
	if (!err)
		err = check_tail_calls(prog);
	if (!err) {
		bpfu_perf_announce(prog);
		bpfu_gdb_announce(prog);
	}
	if (!err)
		err = bpfu_obj_publish(&prog->obj);
	if (!err)
		err = bpfu_fd_install(&prog->obj, -1);
	if (err < 0)
		bpfu_prog_put(prog);
	return err;
}

/* ---- BPF_PROG_BIND_MAP ---- */

int bpfu_cmd_prog_bind_map(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_obj *prog, *map;
	int err;

	if (!bpfu_attr_ends_with(attr, a.prog_bind_map.flags) || attr->a.prog_bind_map.flags)
		return -EINVAL;
	err = bpfu_fd_get_kind(attr->a.prog_bind_map.prog_fd, BPFU_OBJ_PROG, -EINVAL, &prog);
	if (err)
		return err;
	err = bpfu_fd_get_kind(attr->a.prog_bind_map.map_fd, BPFU_OBJ_MAP, -EINVAL, &map);
	if (!err)
		err = bpfu_prog_bind_map(bpfu_prog_of(prog), bpfu_map_of(map));
	bpfu_obj_put(prog);
	return err;
}
