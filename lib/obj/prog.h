/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loaded program. prog_cmd.c builds it: copy of the instructions -> BTF info -> verifier/ ->
 * rewrite/ -> interp/ or jit/ -> published. After that only the counters change.
 */
#ifndef BPFU_OBJ_PROG_H
#define BPFU_OBJ_PROG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn/insn.h"
#include "obj/obj.h"
#include "percpu/cpu.h"
#include "percpu/rcu.h"
#include "util/options.h"

struct bpfu_btf;
struct bpfu_func;
struct bpfu_host;
struct bpfu_jit_image;
struct bpfu_map;
struct bpfu_patches;
struct bpfu_prog;
struct bpfu_prog_type;

/* A function of the program: 0 is the main program. */
struct bpfu_subprog {
	uint32_t start;          /* first instruction, index into insns (kept current by rewrite/) */
	uint32_t stack_depth;    /* bytes of the frame used, a multiple of 8 */
	uint32_t func_type_id;   /* BTF FUNC, 0 without func_info */
	bool has_tail_call;
	bool tail_call_reachable;
	bool is_cb;              /* used as a callback */
	bool is_global;
	bool changes_pkt;        /* it or what it calls may move packet pointers */
	bool unreliable;         /* is not called as its BTF says */
	bool private_stack;      /* the frame may lie in memory of the program (jit/private_stack.h) */
	char name[128];          /* from BTF, "" without */
};

/* How a program is entered. Interpreter: uses @prog; JIT images ignore the second argument. */
typedef uint64_t (*bpfu_prog_fn)(void *ctx, const struct bpfu_prog *prog);

struct bpfu_prog {
	struct bpfu_obj obj;
	struct bpfu_rcu_head rcu;

	/* What runs it now. While functions of it are replaced or traced, not what it was loaded as. */
	bpfu_prog_fn func;
	void *tail_entry;                /* JIT: where tail calls land (jit/ defines the convention) */
	bpfu_prog_fn own_func;           /* func as loaded */
	void *direct_entry;              /* JIT: where it is called in place of a function (EXT) */

	enum bpf_prog_type type;
	enum bpf_attach_type expected_attach_type;
	const struct bpfu_prog_type *type_ops;
	char name[BPF_OBJ_NAME_LEN];
	uint8_t tag[BPF_TAG_SIZE];       /* SHA-256 of the instructions as loaded, map fds zeroed */
	uint32_t prog_flags;             /* BPF_F_* of the load */
	bool gpl_compatible;
	bool jited;
	struct bpfu_options options;

	struct bpf_insn *insns;          /* as loaded, then as rewritten */
	uint32_t insn_cnt;
	uint32_t orig_insn_cnt;          /* as loaded */

	struct bpfu_subprog *subprogs;
	uint32_t subprog_cnt;            /* >= 1 after the verifier */

	struct bpfu_map **used_maps;     /* with references */
	uint32_t used_map_cnt;
	struct bpfu_btf **used_btfs;     /* BTF objects of the load's fd_array, with references */
	uint32_t used_btf_cnt;

	struct bpfu_btf *btf;            /* reference or NULL */
	struct bpf_func_info *func_info; /* insn_off kept current by rewrite/ */
	uint32_t func_info_cnt;
	struct bpf_line_info *line_info;
	uint32_t line_info_cnt;

	/* Facts found by the verifier. */
	uint32_t verified_insns;
	uint32_t max_ctx_offset;         /* bytes of context read, for raw_tp/syscall ctx_size checks */
	uint64_t ctx_words;              /* 8-byte words of the context read, of the first 64 */
	bool has_callbacks;
	bool reads_cookie;               /* bpf_get_attach_cookie(), or a tail call to who knows what */
	bool xdp_has_frags;

	/* interp/: one callback value per subprogram (struct bpfu_callback), NULL when compiled. */
	struct bpfu_callback *callbacks;
	struct bpfu_jit_image *jit;      /* NULL in the interpreter */
	void (*release_code)(struct bpfu_prog *prog); /* undoes interp/ or jit/; NULL before */

	uint64_t load_time_ns;           /* CLOCK_BOOTTIME */
	uint32_t created_by_uid;
	_Atomic uint64_t run_cnt;        /* counted while stats are enabled */
	_Atomic uint64_t run_time_ns;
	_Atomic uint64_t recursion_misses;
	uint32_t attach_btf_id;          /* FUNC in libbpfu's own BTF */
	uint32_t attach_btf_obj_id;
	struct bpfu_func *target;        /* function that a TRACING program is for */
	bool owns_target;                /* … one of a BPF program, malloc()ed */

	/* EXT, and TRACING of a BPF program: the program it was loaded for. */
	struct bpfu_prog *dst_prog;      /* reference; dropped at the first attachment */
	enum bpf_prog_type dst_type;     /* UNSPEC: none */
	enum bpf_attach_type dst_attach_type;
	bool traces_tracing;             /* TRACING of a TRACING program: not traced in turn */

	/* Programs on functions of this one (probe/host.h). */
	struct bpfu_host *host;          /* NULL before the first attachment */
	void (*release_host)(struct bpfu_host *host);
	_Atomic(const struct bpfu_patches *) patches; /* NULL: none (obj/patches.h) */
	_Atomic uint32_t array_entries;  /* of program arrays that hold it */
	_Atomic uint32_t extended;       /* functions that EXT programs replace */
	uint32_t *active;                /* per CPU: runs in progress (obj/run.h); NULL before */
};

static inline struct bpfu_prog *bpfu_prog_of(struct bpfu_obj *obj)
{
	return bpfu_container_of(obj, struct bpfu_prog, obj);
}

/* Loaded to run at the entry and at the return of one call (obj/session.h). */
static inline bool bpfu_prog_is_session(const struct bpfu_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_KPROBE &&
	       ((int)prog->expected_attach_type == BPFU_TRACE_KPROBE_SESSION ||
		(int)prog->expected_attach_type == BPFU_TRACE_UPROBE_SESSION);
}

/* What the program is to the verifier: an EXT program is what it extends. */
static inline enum bpf_prog_type bpfu_prog_acts_as(const struct bpfu_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_EXT && prog->dst_type ? prog->dst_type : prog->type;
}

/* A zeroed program with one reference, or NULL. The last put frees all that its fields hold. */
struct bpfu_prog *bpfu_prog_new(void);

/*
 * Guards of published programs what changes: used_maps and used_map_cnt, which BPF_PROG_BIND_MAP may
 * extend, dst_prog, and the decision between array_entries and extended.
 */
void bpfu_prog_lock_maps(void);
void bpfu_prog_unlock_maps(void);

/* Hold @map in used_maps unless it is there; takes over the caller's reference. 0 or -ENOMEM. */
int bpfu_prog_bind_map(struct bpfu_prog *prog, struct bpfu_map *map);

/*
 * One more function of @prog gets replaced: 0, or -EBUSY if program arrays hold it, as a tail call goes
 * past what it was loaded with. bpfu_prog_unextend() undoes it.
 */
int bpfu_prog_extend(struct bpfu_prog *prog);

static inline void bpfu_prog_unextend(struct bpfu_prog *prog)
{
	atomic_fetch_sub(&prog->extended, 1);
}

/* The program that @prog was loaded for, with the reference that it had; NULL: there is none any more. */
struct bpfu_prog *bpfu_prog_take_dst(struct bpfu_prog *prog);

static inline void bpfu_prog_put(struct bpfu_prog *prog)
{
	bpfu_obj_put(prog ? &prog->obj : NULL);
}

/*
 * Why runs take the slow way: open descriptors of BPF_ENABLE_STATS, with which runs are counted and timed;
 * and BPFU_STATS_PATCHED while there are programs whose func is not own_func, which attachments run.
 */
extern _Atomic uint32_t bpfu_stats_users;
#define BPFU_STATS_PATCHED (1u << 31)

/* ->func may be replaced at any time. */
static inline bpfu_prog_fn bpfu_prog_func(const struct bpfu_prog *prog)
{
	return __atomic_load_n(&prog->func, __ATOMIC_RELAXED);
}

uint64_t bpfu_prog_call_counted(const struct bpfu_prog *prog, void *ctx);

/* Run @prog; the caller is inside bpfu_cpu_enter() … bpfu_cpu_exit(). */
static inline uint64_t bpfu_prog_call(const struct bpfu_prog *prog, void *ctx)
{
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_stats_users, memory_order_relaxed)))
		return bpfu_prog_call_counted(prog, ctx);
	return bpfu_prog_func(prog)(ctx, prog);
}

/* Run @prog on the slot of the calling thread. Nests. */
static inline uint64_t bpfu_prog_run(const struct bpfu_prog *prog, void *ctx)
{
	uint64_t ret;

	bpfu_cpu_enter();
	ret = bpfu_prog_call(prog, ctx);
	bpfu_cpu_exit();
	return ret;
}

/*
 * A callback value: what a program passes where a helper takes a function (bpf_loop's callback_fn).
 * Compiled programs pass the address of the subprogram's code (bit 0 clear, native calling
 * convention of five 64-bit arguments); the interpreter passes the address of a struct
 * bpfu_callback with bit 0 set. Helpers call both through bpfu_callback_call().
 */
struct bpfu_callback {
	uint64_t (*invoke)(const struct bpfu_callback *cb, uint64_t r1, uint64_t r2, uint64_t r3,
			   uint64_t r4, uint64_t r5);
	const struct bpfu_prog *prog;
	uint32_t subprog;
};

typedef uint64_t (*bpfu_callback_fn)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5);

static inline uint64_t bpfu_callback_call(uint64_t value, uint64_t r1, uint64_t r2, uint64_t r3,
					  uint64_t r4, uint64_t r5)
{
	if (bpfu_unlikely(value & 1)) {
		const struct bpfu_callback *cb = (const struct bpfu_callback *)(value - 1);

		return cb->invoke(cb, r1, r2, r3, r4, r5);
	}
	return ((bpfu_callback_fn)(uintptr_t)value)(r1, r2, r3, r4, r5);
}

#endif
