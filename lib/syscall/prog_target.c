// SPDX-License-Identifier: BSD-2-Clause
/* What a tracing program is for: from an id in libbpfu's own BTF to a function. */
#include <errno.h>

#include "btf/func.h"
#include "btf/vmlinux.h"
#include "obj/prog.h"
#include "syscall/prog_btf.h"

/* The kernel's checks, in its words. */
static int check_func(const struct bpfu_prog *prog, const struct bpfu_func *func, uint32_t id,
		      struct bpfu_log *log)
{
	if (!func) {
		bpfu_log_printf(log, "The address of function %u cannot be found\n", id);
		return -ENOENT;
	}
	if (prog->expected_attach_type == BPF_MODIFY_RETURN &&
	    !(func->flags & BPFU_FUNC_MODIFY_RETURN)) {
		bpfu_log_printf(log, "%s() is not modifiable\n", func->decl.name);
		return -EINVAL;
	}
	return 0;
}

static void set_target_id(struct bpfu_prog *prog, uint32_t id)
{
	prog->attach_btf_id = id;
	prog->attach_btf_obj_id = bpfu_vmlinux()->obj.id;
}

/* tp_btf: the id is that of the typedef which stands for the tracepoint. */
static int find_tracepoint(struct bpfu_prog *prog, uint32_t id, const struct btf_type *t,
			   struct bpfu_log *log)
{
	if (bpfu_btf_kind(t) != BTF_KIND_TYPEDEF) {
		bpfu_log_printf(log, "attach_btf_id %u is not a typedef\n", id);
		return -EINVAL;
	}
	if (!prog->target || !(prog->target->flags & BPFU_FUNC_EVENT)) {
		bpfu_log_printf(log, "attach_btf_id %u points to wrong type name %s\n", id,
				bpfu_btf_name(bpfu_vmlinux(), t->name_off));
		return -EINVAL;
	}
	set_target_id(prog, id);
	return 0;
}

int bpfu_prog_find_target(struct bpfu_prog *prog, uint32_t id, struct bpfu_log *log)
{
	const struct bpfu_btf *btf = bpfu_vmlinux();
	const struct btf_type *t;
	int err;

	if (!id) {
		bpfu_log_printf(log, "Tracing programs must provide btf_id\n");
		return -EINVAL;
	}
	/* The first look-up fills the table of functions and with it the BTF. */
	prog->target = bpfu_func_by_id(id);
	t = btf ? bpfu_btf_type(btf, id) : NULL;
	if (!t) {
		bpfu_log_printf(log, "attach_btf_id %u is invalid\n", id);
		return -EINVAL;
	}
	switch (prog->expected_attach_type) {
	case BPF_TRACE_FENTRY:
	case BPF_TRACE_FEXIT:
	case BPF_MODIFY_RETURN:
		break;
	case BPF_TRACE_RAW_TP:
		return find_tracepoint(prog, id, t, log);
	default:
		return -EINVAL;
	}
	if (bpfu_btf_kind(t) != BTF_KIND_FUNC) {
		bpfu_log_printf(log, "attach_btf_id %u is not a function\n", id);
		return -EINVAL;
	}
	err = check_func(prog, prog->target, id, log);
	if (err)
		return err;
	set_target_id(prog, id);
	return 0;
}
