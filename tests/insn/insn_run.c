// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs conformance files (README.md) on one of three machines: the interpreter, the JIT, the running
 * kernel. Prints what failed or was skipped, and the totals. Exit code: 0, 1, or 77 if the machine is
 * not there.
 *
 * On the kernel a case becomes a subprogram, because BPF_PROG_TEST_RUN returns only 32 bits of r0 and
 * because memory has to be a map's:
 *
 *     r1 = <address of the memory in a map>;  call case;  <result in the map> = r0;  exit
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "insn/insn.h"
#include "insn/opcode.h"
#include "jit/jit.h"

#include "cases.h"
#include "oracle.h"
#include "prog.h"

#define MEM_OFFSET 16 /* of the case's memory in the map value; the result is at 0 */
#define VALUE_SIZE (MEM_OFFSET + CASE_MAX_MEM)
#define WRAPPER 8 /* instructions before the case */
#define LOG_SIZE (1u << 20)

enum machine { ON_INTERP, ON_JIT, ON_KERNEL };

struct runner {
	enum machine machine;
	bool verbose;
	const char *only; /* substring of the names to run */
	unsigned int passed, failed, skipped;
	int map_fd;
	uint64_t *value;
	char *log;
	bool kernel_has_v4, kernel_has_acq_rel;
};

static void pass(struct runner *r, const struct insn_case *c)
{
	r->passed++;
	if (r->verbose)
		printf("ok - %s\n", c->name);
}

static void skip(struct runner *r, const struct insn_case *c, const char *why)
{
	r->skipped++;
	printf("skip - %s: %s\n", c->name, why);
}

__attribute__((format(printf, 3, 4))) static void fail(struct runner *r, const struct insn_case *c,
						       const char *fmt, ...)
{
	va_list ap;

	r->failed++;
	printf("not ok - %s: ", c->name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void compare(struct runner *r, const struct insn_case *c, uint64_t got)
{
	if (got == c->result)
		pass(r, c);
	else
		fail(r, c, "r0 is 0x%" PRIx64 ", not 0x%" PRIx64, got, c->result);
}

/* ---- libbpfu ---- */

/* The structural check of all instructions; returns the first reason or NULL. */
static const char *structural_error(const struct insn_case *c)
{
	static char msg[128];

	for (uint32_t i = 0; i < c->cnt; i++) {
		if (bpfu_insn_check(c->insns, c->cnt, i, msg, sizeof(msg)))
			return msg;
		if (bpfu_insn_is_ld_imm64(&c->insns[i]))
			i++;
	}
	return NULL;
}

static void run_backend(struct runner *r, const struct insn_case *c)
{
	const char *reason = structural_error(c);
	struct bpfu_prog *prog;
	uint8_t *mem;
	uint64_t got;
	int err;

	if (c->error[0]) {
		if (reason && strstr(reason, c->error))
			pass(r, c);
		else
			fail(r, c, "the check says '%s', not '%s'", reason ? reason : "ok",
			     c->error);
		return;
	}
	if (reason) {
		fail(r, c, "refused: %s", reason);
		return;
	}
	err = test_prog_new(c->insns, c->cnt, r->machine == ON_JIT ? BACKEND_JIT : BACKEND_INTERP,
			    &prog);
	/* Exact size, so that a sanitizer sees an access beyond it. */
	mem = malloc(c->mem_len ? c->mem_len : 1);
	if (err || !mem) {
		fail(r, c, "cannot prepare: %s", strerror(-err));
		free(mem);
		return;
	}
	memcpy(mem, c->mem, c->mem_len);
	got = bpfu_prog_run(prog, mem);
	test_prog_free(prog);
	free(mem);
	compare(r, c, got);
}

/* ---- the kernel ---- */

static bool kernel_loads(const struct bpf_insn *insns, uint32_t cnt)
{
	const struct oracle_load load = { .type = BPF_PROG_TYPE_SYSCALL, .insns = insns,
					  .insn_cnt = cnt };
	int fd = oracle_prog_load(&load);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void probe_kernel(struct runner *r)
{
	const struct bpf_insn v4[] = {
		BPFU_INSN(BPFU_OP_MOV64_K, 0, 0, 0, 0),
		BPFU_INSN(BPFU_OP_MOV64_X, 0, 0, 8, 0),
		BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0),
	};
	const struct bpf_insn acq_rel[] = {
		BPFU_INSN(BPFU_OP_ST_DW, 10, 0, -8, 0),
		BPFU_INSN(BPFU_OP_ATOMIC_DW, 0, 10, -8, BPF_LOAD_ACQ),
		BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0),
	};

	r->kernel_has_v4 = kernel_loads(v4, 3);
	r->kernel_has_acq_rel = kernel_loads(acq_rel, 3);
}

static const char *kernel_skip_reason(const struct runner *r, const struct insn_case *c)
{
	if (c->kernel_skip[0])
		return c->kernel_skip;
	if (!strcmp(c->cpu, "v4") && !r->kernel_has_v4)
		return "the kernel does not know the v4 instructions";
	if (!strcmp(c->cpu, "acq_rel") && !r->kernel_has_acq_rel)
		return "the kernel does not know load-acquire and store-release";
	return NULL;
}

/* Instructions of the program to load in *@out (free()); returns how many, or 0. */
static uint32_t kernel_program(const struct runner *r, const struct insn_case *c,
			       struct bpf_insn **out)
{
	const struct bpf_insn wrapper[WRAPPER] = {
		BPFU_INSN(BPFU_OP_LD_IMM64, 1, BPF_PSEUDO_MAP_VALUE, 0, r->map_fd),
		BPFU_INSN(0, 0, 0, 0, MEM_OFFSET),
		BPFU_INSN(BPFU_OP_CALL, 0, BPF_PSEUDO_CALL, 0, WRAPPER - 3),
		BPFU_INSN(BPFU_OP_LD_IMM64, 1, BPF_PSEUDO_MAP_VALUE, 0, r->map_fd),
		BPFU_INSN(0, 0, 0, 0, 0),
		BPFU_INSN(BPFU_OP_STX_DW, 1, 0, 0, 0),
		BPFU_INSN(BPFU_OP_MOV64_K, 0, 0, 0, 0),
		BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0),
	};
	uint32_t skip_wrapper = c->direct || c->error[0] ? WRAPPER : 0;
	uint32_t cnt = WRAPPER - skip_wrapper + c->cnt;
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));

	if (!insns)
		return 0;
	if (!skip_wrapper)
		memcpy(insns, wrapper, sizeof(wrapper));
	memcpy(insns + WRAPPER - skip_wrapper, c->insns, c->cnt * sizeof(*insns));
	*out = insns;
	return cnt;
}

static bool has_callbacks(const struct bpf_insn *insns, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (bpfu_insn_is_pseudo_func(&insns[i]))
			return true;
	return false;
}

/* The log is asked for only when the load fails: that of a long program would not fit. */
static int kernel_load(struct runner *r, const struct bpf_insn *insns, uint32_t cnt)
{
	struct bpf_func_info func_info[BPFU_MAX_SUBPROGS];
	uint32_t starts[BPFU_MAX_SUBPROGS];
	struct oracle_load load = { .type = BPF_PROG_TYPE_SYSCALL, .insns = insns, .insn_cnt = cnt,
				    .log = r->log, .log_size = LOG_SIZE };
	int fd, btf_fd = -1;

	if (has_callbacks(insns, cnt)) {
		load.func_info_cnt = find_subprogs(insns, cnt, starts, BPFU_MAX_SUBPROGS);
		for (uint32_t i = 0; i < load.func_info_cnt; i++)
			func_info[i] = (struct bpf_func_info){ .insn_off = starts[i],
							       .type_id = ORACLE_FUNC_TYPE + i };
		btf_fd = oracle_func_btf(load.func_info_cnt);
		if (btf_fd < 0)
			return btf_fd;
		load.btf_fd = btf_fd;
		load.func_info = func_info;
	}
	fd = oracle_prog_load(&load);
	if (fd < 0) {
		load.log_level = 1;
		fd = oracle_prog_load(&load);
	}
	if (btf_fd >= 0)
		close(btf_fd);
	return fd;
}

static void run_on_kernel(struct runner *r, const struct insn_case *c)
{
	const char *skip_reason = kernel_skip_reason(r, c);
	struct bpf_insn *insns;
	uint32_t cnt, retval;
	int fd, err;

	if (skip_reason) {
		skip(r, c, skip_reason);
		return;
	}
	memset(r->value, 0, VALUE_SIZE);
	memcpy((char *)r->value + MEM_OFFSET, c->mem, c->mem_len);
	cnt = kernel_program(r, c, &insns);
	if (!cnt) {
		fail(r, c, "out of memory");
		return;
	}
	fd = kernel_load(r, insns, cnt);
	free(insns);
	if (c->error[0]) {
		if (fd < 0 && strstr(r->log, c->error))
			pass(r, c);
		else
			fail(r, c, "the kernel returns %d and says '%s', not '%s'", fd, r->log,
			     c->error);
	} else if (fd < 0) {
		fail(r, c, "the kernel refuses it: %s\n%s", strerror(-fd), r->log);
	} else {
		err = oracle_run(fd, &retval);
		if (err)
			fail(r, c, "BPF_PROG_TEST_RUN: %s", strerror(-err));
		else if (!c->direct)
			compare(r, c, r->value[0]);
		else if (retval == (uint32_t)c->result)
			pass(r, c);
		else
			fail(r, c, "r0 is 0x%x, not 0x%x", retval, (uint32_t)c->result);
	}
	if (fd >= 0)
		close(fd);
}

/* ---- files ---- */

static void run_case(const struct insn_case *c, void *ctx)
{
	struct runner *r = ctx;

	if (r->only && !strstr(c->name, r->only))
		return;
	if (r->machine == ON_KERNEL)
		run_on_kernel(r, c);
	else
		run_backend(r, c);
}

static int is_case_file(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 2 && !strcmp(d->d_name + len - 2, ".t");
}

static int run_path(struct runner *r, const char *path)
{
	struct dirent **files;
	struct stat st;
	char name[4096];
	int cnt, err = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return cases_read(path, run_case, r);
	cnt = scandir(path, &files, is_case_file, alphasort);
	if (cnt < 0) {
		fprintf(stderr, "cannot read '%s': %s\n", path, strerror(errno));
		return -1;
	}
	for (int i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, files[i]->d_name);
		err |= cases_read(name, run_case, r);
		free(files[i]);
	}
	free(files);
	return err;
}

/* 0, or 77 with the reason printed. */
static int machine_open(struct runner *r)
{
	const char *why;

	if (r->machine == ON_JIT && !bpfu_jit_available()) {
		printf("skipped: no JIT for this machine\n");
		return 77;
	}
	if (r->machine != ON_KERNEL)
		return 0;
	if (!oracle_available(&why)) {
		printf("skipped: %s\n", why);
		return 77;
	}
	r->map_fd = oracle_array_new(VALUE_SIZE, (void **)&r->value);
	r->log = malloc(LOG_SIZE);
	if (r->map_fd < 0 || !r->log) {
		printf("skipped: the kernel refuses BPF_MAP_CREATE: %s\n", strerror(-r->map_fd));
		free(r->log);
		return 77;
	}
	probe_kernel(r);
	return 0;
}

static void machine_close(struct runner *r)
{
	if (r->machine != ON_KERNEL)
		return;
	oracle_array_free(r->map_fd, r->value, VALUE_SIZE);
	free(r->log);
}

static int usage(void)
{
	fprintf(stderr, "usage: insn_run --on interp|jit|kernel [-v] [-k SUBSTRING] FILE|FOLDER...\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const char *const machines[] = { "interp", "jit", "kernel" };
	struct runner r = { 0 };
	int i = 1, err, machine = -1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-v")) {
			r.verbose = true;
		} else if (!strcmp(argv[i], "-k") && i + 1 < argc) {
			r.only = argv[++i];
		} else if (!strcmp(argv[i], "--on") && i + 1 < argc) {
			i++;
			for (int m = 0; m < 3; m++)
				if (!strcmp(argv[i], machines[m]))
					machine = m;
		} else {
			return usage();
		}
	}
	if (machine < 0 || i == argc)
		return usage();
	r.machine = machine;
	err = machine_open(&r);
	if (err)
		return err;
	for (; i < argc; i++)
		err |= run_path(&r, argv[i]);
	machine_close(&r);
	printf("%u passed, %u failed, %u skipped on %s\n", r.passed, r.failed, r.skipped,
	       machines[machine]);
	return err || r.failed || !r.passed;
}
