// SPDX-License-Identifier: BSD-2-Clause
/*
 * A loaded program run again, in the interpreter, from another form of its instructions:
 *
 *   CLONE_XLATED   what the backends got: a difference is a backend's
 *   CLONE_RAW      what was loaded, with nothing but addresses filled in: a difference is one of
 *                  the verifier's conclusions or a rewrite that changes the meaning
 *
 * Raw form has no context conversion, so it serves the types whose context is plain memory.
 */
#include "clone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insn/insn.h"
#include "interp/interp.h"
#include "map/map.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"

bool clone_possible(const struct diff_case *c, enum clone_form form)
{
	/* A prog array holds compiled programs or interpreted ones, not both. */
	if (c->prog_cnt > 1)
		return false;
	/* Calls of kernel functions are what the verifier makes of them. */
	if (form == CLONE_RAW && c->maps_used & 1u << SLOT_KPTR)
		return false;
	return form == CLONE_XLATED || c->type == BPF_PROG_TYPE_SYSCALL ||
	       c->type == BPF_PROG_TYPE_RAW_TRACEPOINT;
}

static int resolve(struct bpf_insn *insn, const int *fds)
{
	struct bpfu_obj *obj;
	struct bpfu_map *map;
	uint64_t addr;
	int err;

	if (insn->src_reg != BPF_PSEUDO_MAP_FD && insn->src_reg != BPF_PSEUDO_MAP_VALUE)
		return 0;
	err = bpfu_fd_get_kind(fds[insn->imm], BPFU_OBJ_MAP, -EINVAL, &obj);
	if (err)
		return err;
	map = bpfu_map_of(obj);
	addr = bpfu_u64(map);
	if (insn->src_reg == BPF_PSEUDO_MAP_VALUE)
		err = map->ops->direct_value_addr(map, &addr, (uint32_t)insn[1].imm);
	bpfu_insn_set_imm64(insn, addr);
	bpfu_map_put(map); /* the side keeps it alive */
	return err;
}

static int make_raw(struct bpfu_prog *prog, const struct diff_case *c, const int *fds)
{
	const struct case_prog *p = &c->progs[0];
	int err = 0;

	prog->insns = malloc(p->cnt * sizeof(*prog->insns));
	prog->subprogs = calloc(p->subprog_cnt, sizeof(*prog->subprogs));
	if (!prog->insns || !prog->subprogs)
		return -ENOMEM;
	memcpy(prog->insns, p->insns, p->cnt * sizeof(*prog->insns));
	prog->insn_cnt = p->cnt;
	prog->subprog_cnt = p->subprog_cnt;
	for (uint32_t i = 0; i < p->subprog_cnt; i++) {
		prog->subprogs[i].start = p->subprog_start[i];
		prog->subprogs[i].stack_depth = BPFU_STACK_SIZE;
	}
	for (uint32_t i = 0; i < p->cnt && !err; i++)
		if (bpfu_insn_is_ld_imm64(&prog->insns[i]))
			err = resolve(&prog->insns[i++], fds);
	return err;
}

int clone_run(int prog_fd, const struct diff_case *c, const int *fds, enum clone_form form,
	      union bpf_attr *attr)
{
	struct bpfu_obj *obj;
	struct bpfu_prog copy;
	int err = bpfu_fd_get_kind(prog_fd, BPFU_OBJ_PROG, -EINVAL, &obj);

	if (err)
		return err;
	memcpy(&copy, bpfu_prog_of(obj), sizeof(copy));
	copy.jit = NULL;
	copy.jited = false;
	copy.callbacks = NULL;
	copy.tail_entry = NULL;
	if (form == CLONE_RAW) {
		copy.insns = NULL;
		copy.subprogs = NULL;
		err = make_raw(&copy, c, fds);
	}
	if (!err)
		err = bpfu_interp_prepare(&copy);
	if (!err) {
		err = copy.type_ops->test_run(&copy, attr);
		bpfu_interp_release(&copy);
	}
	if (form == CLONE_RAW) {
		free(copy.insns);
		free(copy.subprogs);
	}
	bpfu_obj_put(obj);
	return err;
}
