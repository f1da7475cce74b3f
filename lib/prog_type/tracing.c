// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_TRACING: fentry, fexit and fmod_ret programs, and those of tracepoints (tp_btf). The
 * context is an array of 64-bit
 * words, the arguments of the function and, for fexit and fmod_ret, its return value; what may be
 * read of it is what the function's prototype has. Pointers to structures are scalars here: they are
 * read through with the bpf_probe_read family.
 */
#include <errno.h>

#include "btf/func.h"
#include "obj/prog.h"
#include "prog_type/families.h"
#include "prog_type/fentry_test.h"
#include "util/vlog.h"

/* Which value of @func is at word @idx; NULL: none, which the log says. */
static const struct bpfu_value *value_at(const struct bpfu_func *func, uint32_t idx,
					 const struct bpfu_prog *prog, struct bpfu_log *log)
{
	const struct bpfu_decl *decl = &func->decl;
	bool has_ret = prog->expected_attach_type == BPF_TRACE_FEXIT ||
		       prog->expected_attach_type == BPF_MODIFY_RETURN;

	if (idx < decl->arg_cnt)
		return &decl->args[idx];
	if (idx == decl->arg_cnt && has_ret && decl->ret.size)
		return &decl->ret;
	/* Whatever lies behind the return value is called by the number of what would follow it. */
	if (bpfu_log_wants(log))
		bpfu_log_printf(log, "func '%s' doesn't have %u-th argument\n", decl->name,
				BPFU_MIN(idx, decl->arg_cnt + 1) + 1);
	return NULL;
}

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	const struct bpfu_func *func = prog->target;
	const struct bpfu_value *value;

	info->kind = BPFU_CTX_SCALAR;
	if (off < 0 || off >= (int)(BPFU_FUNC_ARGS_MAX * sizeof(uint64_t)) || write || off % size)
		return false;
	if (off % 8) {
		if (func && bpfu_log_wants(info->log))
			bpfu_log_printf(info->log, "func '%s' offset %d is not multiple of 8\n",
					func->decl.name, off);
		return false;
	}
	/* An extension of a function without one that programs of this type are on. */
	if (!func)
		return false;
	value = value_at(func, (uint32_t)off / 8, prog, info->log);
	if (!value)
		return false;
	if (value->is_pointer && size != sizeof(uint64_t)) {
		if (bpfu_log_wants(info->log))
			bpfu_log_printf(info->log, "func '%s' size %d must be 8\n", func->decl.name,
					size);
		return false;
	}
	return !value->is_opaque;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_TRACING |
				      (prog->expected_attach_type == BPF_TRACE_RAW_TP ?
					       0 : BPFU_HELPER_ON_FUNC));
}

static void retval_range(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max)
{
	*has = prog->expected_attach_type != BPF_MODIFY_RETURN &&
	       prog->expected_attach_type != BPF_TRACE_RAW_TP;
	*min = *max = 0;
}

/* As the kernel: call the functions made for it, which run the program where it is attached. */
static int test_run(struct bpfu_prog *prog, union bpf_attr *attr)
{
	if (prog->expected_attach_type == BPF_TRACE_RAW_TP)
		return bpfu_type_raw_tracepoint.test_run(prog, attr);
	if (attr->test.flags || attr->test.cpu || attr->test.batch_size)
		return -EINVAL;
	switch (prog->expected_attach_type) {
	case BPF_TRACE_FENTRY:
	case BPF_TRACE_FEXIT:
		return bpfu_fentry_test_run();
	case BPF_MODIFY_RETURN:
		attr->test.retval = bpfu_modify_return_test_run();
		return 0;
	default:
		return -EINVAL;
	}
}

const struct bpfu_prog_type bpfu_type_tracing = {
	.type = BPF_PROG_TYPE_TRACING,
	.name = "tracing",
	.is_valid_access = is_valid_access,
	.helper_allowed = helper_allowed,
	.retval_range = retval_range,
	.test_run = test_run,
};
