/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of the verifier: what it works on, and what its files offer each other. README.md says
 * which file checks what. Functions return 0 or a negative errno with the reason in the log.
 */
#ifndef BPFU_VERIFIER_ENV_H
#define BPFU_VERIFIER_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "insn/insn.h"
#include "obj/prog.h"
#include "util/vlog.h"
#include "verifier/lineage.h"
#include "verifier/state.h"
#include "verifier/verifier.h"

struct bpfu_btf_field;
struct bpfu_helper;

#define BPFU_MAX_VAR_OFF (1 << 29)      /* pointers never move further from their base */
#define BPFU_MAX_PENDING 8192           /* branches waiting to be explored */
#define BPFU_MAX_USED_MAPS 64
#define BPFU_MAX_STATE_BYTES (1ULL << 30) /* stored and pending states together */

/* Private facts of one instruction. */
struct bpfu_vinsn {
	uint16_t live;            /* registers that may be read before they are written, bit per r */
	bool prune_point;         /* states are compared (and maybe stored) here */
	bool force_checkpoint;    /* and always stored */
	uint8_t base_type;        /* loads and stores: enum bpfu_reg_type of the base, once seen */
	bool branch_seen;         /* aux->branch_known is set from a path before */
	bool map_seen;            /* the same for aux->map of a call */
	bool key_seen;            /* the same for const_key */
	bool key_varies;
	bool loop_seen;           /* the same for loop_inline */
	struct bpfu_state *states;
};

enum bpfu_arg_type { BPFU_GARG_SCALAR, BPFU_GARG_CTX, BPFU_GARG_MEM };

/* Private facts of one subprogram. */
struct bpfu_vsubprog {
	bool called;              /* global: some reached instruction calls it */
	bool verified;
	bool changes_pkt;         /* it or what it calls may move packet pointers */
	bool args_known;          /* global: the prototype could be understood */
	bool nonnull[5];
	uint32_t arg_cnt;
	enum bpfu_arg_type arg[5];
	uint32_t arg_size[5];     /* MEM */
};

struct bpfu_pending {
	struct bpfu_pending *next;
	struct bpfu_state *state;
	uint32_t insn_idx, prev_idx;
	uint64_t log_pos;
	uint32_t open_line;
};

/* A loop over a callback: the state its body was last explored from (callback.c). */
struct bpfu_callback_entry {
	struct bpfu_state *entry;  /* with the callback's own frame on top */
	struct bpfu_state *parent; /* the checkpoint before the call */
	uint32_t callsite;
};

struct bpfu_env {
	struct bpfu_prog *prog;
	const struct bpf_insn *insns;
	uint32_t insn_cnt;
	struct bpfu_log *log;
	struct bpfu_insn_aux *aux;
	struct bpfu_vinsn *vinsn;
	struct bpfu_vsubprog *sub;
	uint32_t *subprog_of;           /* by instruction */
	bool sleepable;
	bool strict_alignment;
	bool store_often;               /* BPF_F_TEST_STATE_FREQ */
	bool harden;                    /* look for places that need a speculation barrier */

	struct bpfu_lineage lineage;
	struct bpfu_state *cur;
	uint32_t insn_idx, prev_idx;
	struct bpfu_pending *pending;
	uint32_t pending_cnt;
	struct bpfu_state *unlinked; /* dropped from their instruction with paths still open */
	struct bpfu_callback_entry *callback;
	uint32_t callback_cnt, callback_cap;
	uint32_t id_gen, root_gen;
	uint32_t write_gen;        /* counts writes to the stack */
	uint64_t state_bytes;

	/* What may be forgotten at a checkpoint: distance from the last one. */
	uint32_t jmps, prev_jmps;
	uint32_t spec_processed; /* instructions on speculative paths */
	uint32_t processed, prev_processed;
	uint32_t max_states_per_insn, total_states, peak_states, state_cnt;

	/* Log (log.c). */
	uint32_t scratched_regs;
	uint64_t scratched_slots;
	uint32_t open_line;       /* length of the instruction's line if it has no newline yet */
	const struct bpf_line_info *prev_line;
	bool print_whole_state;
};

/* ---- log.c ---- */
void bpfu_vrf_log(struct bpfu_env *env, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool bpfu_vrf_logs(const struct bpfu_env *env)
{
	return bpfu_log_wants(env->log) && env->log->level & BPFU_LOG_LEVEL;
}

/* End the line of an instruction if it is still open. */
void bpfu_vrf_log_close(struct bpfu_env *env);
void bpfu_vrf_log_source(struct bpfu_env *env, uint32_t insn_idx, const char *prefix);
void bpfu_vrf_log_insn(struct bpfu_env *env, uint32_t insn_idx);
/* State of frame @depth; @all false: only what changed since the last time. */
void bpfu_vrf_log_state(struct bpfu_env *env, const struct bpfu_state *state, uint32_t depth,
			bool all);
void bpfu_vrf_log_insn_state(struct bpfu_env *env);
void bpfu_vrf_log_stats(struct bpfu_env *env, uint64_t usec);
void bpfu_vrf_log_liveness(struct bpfu_env *env);
/* "(0x0; 0xff)", or a number that is known. */
const char *bpfu_vrf_tnum_text(struct bpfu_tnum t, char buf[48]);

static inline void bpfu_vrf_touch_reg(struct bpfu_env *env, uint32_t regno)
{
	env->scratched_regs |= 1u << regno;
}

static inline void bpfu_vrf_touch_slot(struct bpfu_env *env, uint32_t slot)
{
	env->scratched_slots |= 1ULL << slot;
}

/* ---- state access ---- */
static inline struct bpfu_reg *bpfu_vrf_regs(struct bpfu_env *env)
{
	return bpfu_state_top(env->cur)->reg;
}

/* May the register be read / written? A written one becomes an unknown scalar. */
int bpfu_vrf_read_reg(struct bpfu_env *env, uint32_t regno);
int bpfu_vrf_write_reg(struct bpfu_env *env, uint32_t regno);

void bpfu_vrf_set_unknown(struct bpfu_env *env, struct bpfu_reg *reg);
void bpfu_vrf_set_const(struct bpfu_env *env, struct bpfu_reg *reg, uint64_t v);

/* A decision depends on the value of this scalar. */
static inline void bpfu_vrf_demand(struct bpfu_env *env, const struct bpfu_reg *reg)
{
	if (bpfu_reg_is_scalar(reg))
		bpfu_lineage_mark(&env->lineage, reg->node);
}

/* Link a scalar with the copy that is about to be made of it. */
void bpfu_vrf_link_scalar(struct bpfu_env *env, struct bpfu_reg *reg);

/* Queue the current state (a copy, which is returned) to continue at @insn_idx. NULL: *@err. */
struct bpfu_state *bpfu_vrf_push(struct bpfu_env *env, uint32_t insn_idx, int *err);
/* The same with a state of one's own, which is taken over. */
int bpfu_vrf_push_state(struct bpfu_env *env, struct bpfu_state *state, uint32_t insn_idx);
/* Make the branch that was queued last the current state; false: none is left. */
bool bpfu_vrf_pop(struct bpfu_env *env);

/* ---- cfg.c, live.c, subprog.c, resolve.c, func_info.c ---- */
int bpfu_vrf_find_subprogs(struct bpfu_env *env);
int bpfu_vrf_check_jumps(struct bpfu_env *env);
int bpfu_vrf_check_cfg(struct bpfu_env *env);
int bpfu_vrf_liveness(struct bpfu_env *env);
int bpfu_vrf_check_stack_depth(struct bpfu_env *env);
void bpfu_vrf_find_pkt_changes(struct bpfu_env *env);
/* Index of the subprogram that starts at @insn_idx, or -1. */
int bpfu_vrf_subprog_at(const struct bpfu_env *env, int64_t insn_idx);
int bpfu_vrf_resolve(struct bpfu_env *env, uint64_t fd_array);
int bpfu_vrf_check_btf(struct bpfu_env *env);
int bpfu_vrf_global_args(struct bpfu_env *env, uint32_t subprog);
/* Does a pointer to this type point to what programs of @type have as their context? */
bool bpfu_vrf_points_to_ctx(const struct bpfu_btf *btf, enum bpf_prog_type type, uint32_t type_id);
/* @subprog is called with @regs: if its BTF says something else, it is not to be relied upon. */
void bpfu_vrf_check_reliable(struct bpfu_env *env, uint32_t subprog, const struct bpfu_reg *regs);

/* ---- attach.c ---- */
/* Is the program one that may be attached to what it was loaded for? */
int bpfu_vrf_check_attach(struct bpfu_env *env);

/* ---- alu.c, pointer.c ---- */
int bpfu_vrf_alu(struct bpfu_env *env, const struct bpf_insn *insn);
const char *bpfu_vrf_alu_symbol(uint8_t op);
/* @dst = @ptr @op @off; @dst is one of both operands. */
int bpfu_vrf_pointer_alu(struct bpfu_env *env, const struct bpf_insn *insn, struct bpfu_reg *dst,
			 const struct bpfu_reg *ptr, const struct bpfu_reg *off);

/* ---- branch.c ---- */
int bpfu_vrf_branch(struct bpfu_env *env, const struct bpf_insn *insn);

/* ---- speculate.c ---- */
/* The branch @insn does not go to @insn_idx, but a processor may. */
int bpfu_vrf_speculate(struct bpfu_env *env, const struct bpf_insn *insn, uint32_t insn_idx);
/* The current path is speculative, and the next instruction waits for what came before it. */
bool bpfu_vrf_spec_ends(struct bpfu_env *env);
/* @step one instruction on a speculative path; what is refused gets a barrier. */
int bpfu_vrf_spec_step(struct bpfu_env *env, bool *done,
		       int (*step)(struct bpfu_env *env, bool *done));

/* ---- mem.c ---- */
struct bpfu_access {
	uint32_t regno;       /* base */
	int off;              /* of the instruction */
	int size;
	bool write;
	bool sign;            /* load with sign extension */
	bool atomic;          /* has to be aligned, wherever it goes */
	int value_regno;      /* loaded into or stored from; -1: none */
	const struct bpf_insn *st; /* BPF_ST: its immediate is stored */
};

int bpfu_vrf_access(struct bpfu_env *env, const struct bpfu_access *a);
int bpfu_vrf_check_alignment(struct bpfu_env *env, const struct bpfu_access *a);
int bpfu_vrf_load_store(struct bpfu_env *env, const struct bpf_insn *insn);
/* [reg->off + off, + size) with the register's variable part lies in 0 … @mem_size. */
int bpfu_vrf_check_region(struct bpfu_env *env, uint32_t regno, int off, int size,
			  uint32_t mem_size, bool zero_ok);
int bpfu_vrf_check_map_flags(struct bpfu_env *env, const struct bpfu_reg *reg, int off, int size,
			     bool write);
/* May a program of this type touch packets (@helper: or pass them to it)? */
bool bpfu_vrf_may_use_packet(const struct bpfu_env *env, const struct bpfu_helper *helper,
			     bool write);
int bpfu_vrf_check_packet(struct bpfu_env *env, uint32_t regno, int off, int size, bool zero_ok);
int bpfu_vrf_check_fixed_off(struct bpfu_env *env, uint32_t regno, bool off_ok);

/* ---- btf_access.c ---- */
/* Name of the structure that a BTF register points to. */
const char *bpfu_vrf_struct_name(const struct bpfu_reg *reg);
/* May [off, + size) of what BTF register @regno points to be read, or written? */
int bpfu_vrf_btf_access(struct bpfu_env *env, uint32_t regno, int off, int size, bool write);

/* ---- kptr.c ---- */
/* Does [off, + size) of a map's value (@off without the register's) leave its kptrs alone, or
 * (@direct) touch one as a load or store may? */
int bpfu_vrf_map_fields(struct bpfu_env *env, uint32_t regno, int off, int size, bool direct);
/* The kptr that an access, which was allowed, touches; NULL: none. */
const struct bpfu_btf_field *bpfu_vrf_kptr_at(const struct bpfu_reg *reg, int off);
int bpfu_vrf_kptr_access(struct bpfu_env *env, const struct bpfu_access *a,
			 const struct bpfu_btf_field *field, struct bpfu_reg *loaded);
/* bpf_kptr_xchg(): its arguments, and the result. */
int bpfu_vrf_kptr_dest(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field **field,
		       const struct bpfu_btf **btf);
int bpfu_vrf_kptr_src(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field *field,
		      const struct bpfu_btf *btf);

/* ---- stack.c ---- */
int bpfu_vrf_stack_read(struct bpfu_env *env, const struct bpfu_access *a);
int bpfu_vrf_stack_write(struct bpfu_env *env, const struct bpfu_access *a);
/* May a helper read or write (@write) @size bytes at @regno? */
int bpfu_vrf_stack_check(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok);
/* It does. */
int bpfu_vrf_stack_helper(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok);
/* If the bytes are a known number, *@value. */
bool bpfu_vrf_stack_const(struct bpfu_env *env, const struct bpfu_reg *reg, uint32_t size,
			  uint64_t *value);
static inline struct bpfu_frame *bpfu_vrf_stack_frame(struct bpfu_env *env,
						      const struct bpfu_reg *reg)
{
	return env->cur->frame[reg->frame];
}

/* ---- call.c, exit.c, helper_call.c, helper_maps.c, callback.c ---- */
int bpfu_vrf_call(struct bpfu_env *env, const struct bpf_insn *insn);
int bpfu_vrf_helper_call(struct bpfu_env *env, const struct bpf_insn *insn);

/* kfunc.c: is the call at @idx, if it is one of a kernel function, of one there is; check one; have all
 * call what they are to call. */
int bpfu_vrf_kfunc_known(struct bpfu_env *env, uint32_t idx);
int bpfu_vrf_kfunc_call(struct bpfu_env *env, const struct bpf_insn *insn);
void bpfu_vrf_kfunc_resolve(struct bpfu_env *env);

/* The result @r0, an object or NULL, belongs to the program from now on: -E2BIG or -ENOMEM. */
int bpfu_vrf_acquire(struct bpfu_env *env, struct bpfu_reg *r0);
/* It is given away: no register points to it any more. */
void bpfu_vrf_release(struct bpfu_env *env, uint32_t ref_id);

int bpfu_vrf_helper_map_ok(struct bpfu_env *env, const struct bpfu_map *map, int32_t id);
/* *@done: the path ends here. */
int bpfu_vrf_exit(struct bpfu_env *env, bool *done);
/* Behind a tail call in a function that was called: it goes on here, and returns to the caller. */
int bpfu_vrf_tail_return(struct bpfu_env *env);
int bpfu_vrf_helper_mem(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok,
			const struct bpfu_helper *helper);
int bpfu_vrf_check_mem_reg(struct bpfu_env *env, uint32_t regno, uint32_t size);
void bpfu_vrf_clear_packet_pointers(struct bpfu_env *env);
int bpfu_vrf_callback_call(struct bpfu_env *env, uint32_t subprog, int32_t helper,
			   struct bpfu_map *map);
int bpfu_vrf_callback_exit(struct bpfu_env *env, bool *done);

/* ---- prune.c, equal.c ---- */
/* 1: the current state needs no exploring, 0: go on, or an error. */
int bpfu_vrf_visit(struct bpfu_env *env, uint32_t insn_idx);
/* A path has ended: states without open branches are complete. */
void bpfu_vrf_path_done(struct bpfu_env *env, struct bpfu_state *state);
void bpfu_vrf_forget_pending(struct bpfu_env *env);
void bpfu_vrf_forget_states(struct bpfu_env *env);

enum bpfu_match {
	BPFU_MATCH_SAFE,   /* whatever was safe from @old is safe from @cur */
	BPFU_MATCH_COVERS, /* the same without looking at what was used: @old holds all of @cur */
	BPFU_MATCH_SAME,   /* no progress was made */
};
bool bpfu_vrf_match(struct bpfu_env *env, const struct bpfu_state *old,
		    const struct bpfu_state *cur, uint32_t insn_idx, enum bpfu_match how);

/* Pairs of ids that correspond in two states. */
#define BPFU_IDMAP_MAX 256
struct bpfu_idmap {
	uint32_t cnt;
	struct {
		uint32_t old, cur;
	} pair[BPFU_IDMAP_MAX];
};
bool bpfu_vrf_match_reg(struct bpfu_env *env, const struct bpfu_reg *old, const struct bpfu_reg *cur,
			struct bpfu_idmap *ids, enum bpfu_match how);
bool bpfu_vrf_match_slot(struct bpfu_env *env, const struct bpfu_slot *old,
			 const struct bpfu_slot *cur, struct bpfu_idmap *ids, enum bpfu_match how);
/* Registers of frame @depth that matter when @insn_idx is next. */
uint32_t bpfu_vrf_live_regs(const struct bpfu_env *env, const struct bpfu_state *state,
			    uint32_t depth, uint32_t insn_idx);

#endif
