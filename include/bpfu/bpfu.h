/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libbpfu: bpf(2) in user space.
 *
 * The boundary is the system call: bpfu_bpf() takes the commands and the union bpf_attr of
 * <linux/bpf.h> and answers as a current kernel does. Programs written for libbpf need none of the
 * functions below: linked with the wrap list (pkg-config --libs libbpfu) or run under the preload
 * library, their system calls are routed here. See docs/interposition.md.
 */
#ifndef BPFU_BPFU_H
#define BPFU_BPFU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BPFU_API __attribute__((visibility("default")))

union bpf_attr;

/* Version of the library as "MAJOR.MINOR.PATCH". */
BPFU_API const char *bpfu_version(void);

/*
 * bpf(2), answered by libbpfu whatever the route of the calling thread.
 *
 * @cmd: enum bpf_cmd; @attr, @size: as in bpf(2), unknown trailing bytes must be zero.
 * Returns what the kernel's call returns (a descriptor, a count or 0), or a negative errno.
 */
BPFU_API int bpfu_bpf(int cmd, union bpf_attr *attr, unsigned int size);

/* Who answers the calls of a thread that create something or name no descriptor. */
enum bpfu_route {
	BPFU_ROUTE_USER,   /* libbpfu (the default) */
	BPFU_ROUTE_KERNEL, /* the running kernel */
};

/*
 * Set or read the calling thread's route. A call that names a descriptor goes to whoever made the
 * descriptor, whatever the route. Environment: BPFU_ROUTE=user|kernel sets the initial route.
 * bpfu_route_set() returns 0 or -EINVAL.
 */
BPFU_API int bpfu_route_set(enum bpfu_route route);
BPFU_API enum bpfu_route bpfu_route_get(void);

/* True if @fd is a descriptor of a libbpfu object. */
BPFU_API bool bpfu_fd_is_user(int fd);

/*
 * Check that system calls made through libbpf (or libc's syscall()) really reach the router.
 * Returns 0, or -ENOSYS if the calls of this program bypass it (libbpf linked dynamically without
 * the preload library, say). Programs that rely on routing call this first.
 */
BPFU_API int bpfu_selftest(void);

/*
 * Options of the calling thread, in force for programs loaded after the call.
 *
 *   jit=on|off             compile programs, or run them in the interpreter (default: on where there
 *                          is a JIT)
 *   inline_helpers=on|off  put instructions in place of calls of bpf_map_lookup_elem() on arrays and
 *                          of bpf_get_smp_processor_id() (default: on)
 *   inline_percpu=on|off   do so also where that takes the internal per-CPU MOV: per-CPU arrays and
 *                          the processor's id (default: on)
 *   inline_loop=on|off     turn bpf_loop() with one known callback into a loop of direct calls
 *                          (default: on)
 *   loop_idioms=on|off     compile loops that copy, fill or add up adjacent memory to code that takes
 *                          16 or 32 bytes at once (default: on)
 *   private_stack=auto|on|off  keep the stacks of compiled programs in memory of their own, one per
 *                          CPU slot, each function with up to 512 bytes; auto decides as the kernel
 *                          does (default: auto)
 *   prog_pack=on|off       pack the code of many programs into huge-page-sized regions, or give each
 *                          program pages of its own (default: on)
 *   harden=on|off          keep the constants of programs out of their code, put the code at places
 *                          that cannot be foreseen, and let nothing run ahead of the checks that
 *                          make it safe (default: off)
 *
 *   perf_map=on|off        write compiled functions to /tmp/perf-PID.map, where perf(1) looks for the
 *                          names of code in memory without a file: images are then made in such
 *                          memory (default: off)
 *   jitdump=on|off         write them, with code and source lines, to jit-PID.dump in $JITDUMPDIR or
 *                          /tmp, for `perf record -k mono` and `perf inject --jit` (default: off)
 *   gdb=on|off             tell debuggers of compiled functions and of the code between probed functions
 *                          and their callers, by gdb's JIT interface: names, frames, source lines; code is
 *                          then made in memory that breakpoints can be written to (default: off)
 *
 * Environment: BPFU_OPTIONS="jit=off,…" sets the initial values of every thread. Unknown names and
 * values: -EINVAL. bpfu_option_get() returns NULL for an unknown name.
 */
BPFU_API int bpfu_option_set(const char *name, const char *value);
BPFU_API const char *bpfu_option_get(const char *name);

/* Number of CPU slots: what bpf_get_smp_processor_id() stays below, and libbpf_num_possible_cpus(). */
BPFU_API unsigned int bpfu_possible_cpus(void);

/*
 * Functions that programs can be attached to (fentry, fexit, fmod_ret, kprobes). libbpfu's own are
 * known; others are registered. One that is compiled with BPFU_PROBE_ENTRY in front of its definition
 * (or all of a file with -fpatchable-function-entry=5 -fno-ipa-ra; =2 on arm64) begins with a nop
 * that becomes a jump while something is attached. clang still may merge or drop calls of a function
 * that only computes: an __asm__ volatile("" ::: "memory") in its body prevents that.
 *
 * bpfu_func_register(): @decl is the C declaration, "int open_door(struct door *d, int how)", of
 * integer and pointer arguments (12 at most); it becomes BTF that libbpf finds as the kernel's. A
 * name alone makes a function without BTF. @flags: enum bpfu_func_flags. Returns 0; -EINVAL if
 * @decl is not understood; -EOPNOTSUPP for floating point, structures by value and variable
 * arguments; -E2BIG for more arguments; -EEXIST if the name is taken; -ENOMEM or -ENOSPC.
 */
enum bpfu_func_flags {
	BPFU_FUNC_MODIFY_RETURN = 1u << 0, /* fmod_ret programs may run in place of its body */
};
BPFU_API int bpfu_func_register(void *addr, const char *decl, unsigned int flags);

#if defined(__x86_64__)
#define BPFU_PROBE_NOPS 5
#else
#define BPFU_PROBE_NOPS 2
#endif
#ifdef __clang__
#define BPFU_PROBE_ENTRY                                                                           \
	__attribute__((noinline, patchable_function_entry(BPFU_PROBE_NOPS, 0)))
#else
#define BPFU_PROBE_ENTRY                                                                           \
	__attribute__((noipa, patchable_function_entry(BPFU_PROBE_NOPS, 0)))
#endif

/*
 * Tracepoints of this program: places that raw_tp, tp_btf and tp programs are attached to by name.
 *
 *	static struct bpfu_tracepoint *door_opened;
 *	bpfu_tracepoint_register("house", "void door_opened(struct door *d, int how)", &door_opened);
 *	...
 *	BPFU_TRACE(door_opened, (uint64_t)(uintptr_t)d, how);
 *
 * makes SEC("raw_tp/door_opened"), SEC("tp_btf/door_opened") and SEC("tp/house/door_opened") work.
 * BPFU_TRACE() takes as many 64-bit values as the declaration has arguments, 1 to 11; while nothing is
 * attached it costs a load and a branch. A tracepoint stays for as long as the process.
 *
 * Returns 0; -EINVAL if a name or @decl is not understood, or @decl returns something; -EEXIST if there
 * is one of that name; else as bpfu_func_register().
 */
struct bpfu_tracepoint {
	unsigned int users; /* attached programs; kept by the library */
};
BPFU_API int bpfu_tracepoint_register(const char *category, const char *decl,
				      struct bpfu_tracepoint **tp);

/* Run the programs of @tp with @args; BPFU_TRACE() calls it if there are any. */
BPFU_API void bpfu_tracepoint_run(struct bpfu_tracepoint *tp, const uint64_t *args);

#define BPFU_TRACE(tp, ...)                                                                        \
	do {                                                                                       \
		struct bpfu_tracepoint *bpfu_tp_ = (tp);                                           \
												   \
		if (__builtin_expect(__atomic_load_n(&bpfu_tp_->users, __ATOMIC_RELAXED), 0)) {    \
			const uint64_t bpfu_args_[] = { __VA_ARGS__ };                             \
												   \
			bpfu_tracepoint_run(bpfu_tp_, bpfu_args_);                                 \
		}                                                                                  \
	} while (0)

/* ---- what a program became; bpflab dump shows it ---- */

struct bpf_insn;

/*
 * Print one instruction as the kernel's verifier log does: "(85) call bpf_ktime_get_ns#5". Of
 * LD_IMM64 both slots are read. Returns the length of the full text, as snprintf() does.
 */
BPFU_API int bpfu_insn_text(char *buf, size_t size, const struct bpf_insn *insn);

/* Machine code of a program. All offsets are from its first byte. */
struct bpfu_code {
	uint64_t base;       /* the address of that byte */
	const uint8_t *bytes;
	uint32_t size;
	uint32_t insn_cnt;   /* of the instructions that it was made from, as BPF_OBJ_GET_INFO_BY_FD */
	uint32_t func_cnt;   /*   has them, and how many functions they are */
	const uint32_t *insn_off; /* of each instruction's code, and of the end: insn_cnt + 1 */
	const uint32_t *func_off;
	const uint32_t *func_len;
};

/*
 * The machine code of a loaded program. @arch NULL: what runs here. "x86_64" or "aarch64": what
 * would run on such a machine, with all optional instructions, at an address within reach of the
 * helpers. bpfu_code_free() frees it. 0, -EBADF, -EINVAL (not a program), -ENOENT (the program is not
 * compiled), -EOPNOTSUPP (no such architecture), -ENOMEM, or what the compiler says.
 */
BPFU_API int bpfu_prog_code(int prog_fd, const char *arch, struct bpfu_code **code);
BPFU_API void bpfu_code_free(struct bpfu_code *code);

/*
 * What an address in a program's instructions or machine code is: "bpf_ktime_get_ns" of a helper,
 * "map counts" of a map, "map counts[2] value+16" of a place in its values. 0, -ENOENT if it is
 * nothing of the kind, or -EBADF, -EINVAL as above.
 */
BPFU_API int bpfu_prog_symbol(int prog_fd, uint64_t addr, char *buf, size_t size);

/*
 * What code that libbpfu has generated beside that of programs is at @addr: "trampoline of open_door".
 * 0, or -ENOENT if there is none.
 */
BPFU_API int bpfu_code_symbol(uint64_t addr, char *buf, size_t size);

enum bpfu_log_level { BPFU_LOG_ERROR, BPFU_LOG_WARN, BPFU_LOG_INFO, BPFU_LOG_DEBUG };

/*
 * Diagnostics of the library (not the verifier's log). @cb gets one line without newline; NULL
 * restores the default: standard error, at BPFU_LOG=error|warn|info|debug (default warn).
 */
typedef void (*bpfu_log_cb)(enum bpfu_log_level level, const char *line, void *ctx);
BPFU_API void bpfu_set_log_cb(bpfu_log_cb cb, void *ctx);

#ifdef __cplusplus
}
#endif

#endif /* BPFU_BPFU_H */
