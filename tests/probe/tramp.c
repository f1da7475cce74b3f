// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trampolines, through libbpf: what programs on functions see, the order they run in, what they can
 * change, and what they cannot.
 *
 * usage: probe_tramp jit|interp
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"
#include "probe.h"
#include "tramp.skel.h"

/* ---- functions of this program ---- */

uint64_t test_twelve(uint64_t a, uint32_t b, int c, int d, int e, int f, int g, int h, int i, int j,
		     int k, uint64_t l);
int test_narrow(signed char a, short b, int c);
int test_ordered(int a);
void test_pointer(uint64_t *where);
int test_plain(int a);

static int body_runs;

BPFU_PROBE_ENTRY uint64_t test_twelve(uint64_t a, uint32_t b, int c, int d, int e, int f, int g,
				      int h, int i, int j, int k, uint64_t l)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + b + c + d + e + f + g + h + i + j + k + l;
}

BPFU_PROBE_ENTRY int test_narrow(signed char a, short b, int c)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + b + c;
}

BPFU_PROBE_ENTRY int test_ordered(int a)
{
	body_runs++;
	return a + 1;
}

BPFU_PROBE_ENTRY void test_pointer(uint64_t *where)
{
	++*where;
}

__attribute__((noinline)) int test_plain(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

static void register_functions(void)
{
	static const struct {
		void *addr;
		const char *decl;
		unsigned int flags;
	} funcs[] = {
		{ test_twelve, "uint64_t test_twelve(uint64_t a, uint32_t b, int c, int d, int e, "
			       "int f, int g, int h, int i, int j, int k, uint64_t l)", 0 },
		{ test_narrow, "int test_narrow(signed char a, short b, int c);", 0 },
		{ test_ordered, "int test_ordered(int)", BPFU_FUNC_MODIFY_RETURN },
		{ test_pointer, "void test_pointer(uint64_t *where)", 0 },
		{ test_plain, "int test_plain(int a)", 0 },
	};

	for (size_t i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++)
		expect_eq(bpfu_func_register(funcs[i].addr, funcs[i].decl, funcs[i].flags), 0);
	expect_eq(bpfu_func_register(test_plain, "int test_plain(int a)", 0), -EEXIST);
	expect_eq(bpfu_func_register(NULL, "int f(void)", 0), -EINVAL);
	expect_eq(bpfu_func_register(test_plain, NULL, 0), -EINVAL);
	expect_eq(bpfu_func_register(test_plain, "int f(void)", 0x80), -EINVAL);
	expect_eq(bpfu_func_register(test_plain, "int f(int", 0), -EINVAL);
	expect_eq(bpfu_func_register(test_plain, "int f(double d)", 0), -EOPNOTSUPP);
}

/* ---- tests ---- */

static uint64_t call_twelve(void)
{
	return test_twelve(1ull << 40, 0xfffffff0, 3, 4, 5, 6, -7, 8, 9, 10, 11, 1ull << 41);
}

static void test_arguments(struct tramp *s)
{
	const uint64_t sum = (1ull << 40) + 0xfffffff0ull + 3 + 4 + 5 + 6 - 7 + 8 + 9 + 10 + 11 +
			     (1ull << 41);
	LIBBPF_OPTS(bpf_trace_opts, opts, .cookie = 0x1234);
	struct bpf_link *entry = bpf_program__attach_trace_opts(s->progs.twelve_entry, &opts);
	struct bpf_link *exit;

	expect_true(entry != NULL);
	expect_eq(call_twelve(), sum);
	expect_eq(s->bss->seen, 1);
	expect_eq(s->bss->args[0], 1ull << 40);
	expect_eq((uint32_t)s->bss->args[1], 0xfffffff0);
	expect_eq(s->bss->args[5], 6);
	expect_eq((int32_t)s->bss->args[6], -7);
	expect_eq(s->bss->args[7], 8);
	expect_eq(s->bss->args[11], 1ull << 41);
	expect_eq(s->bss->no_arg, -EINVAL);
	expect_eq(s->bss->no_ret, -EOPNOTSUPP);
	expect_eq(s->bss->func_ip, (uintptr_t)test_twelve);
	expect_eq(s->bss->arg_cnt, 12);
	expect_eq(s->bss->cookie, 0x1234);

	opts.cookie = 0x5678;
	s->bss->args[11] = 0;
	exit = bpf_program__attach_trace_opts(s->progs.twelve_exit, &opts);
	expect_true(exit != NULL);
	expect_eq(call_twelve(), sum);
	expect_eq(s->bss->seen, 3);
	expect_eq(s->bss->args[11], 1ull << 41);
	expect_eq(s->bss->ret_by_helper, sum);
	expect_eq(s->bss->cookie, 0x5678);

	bpf_link__destroy(entry);
	expect_eq(call_twelve(), sum);
	expect_eq(s->bss->seen, 4);
	bpf_link__destroy(exit);
	expect_eq(call_twelve(), sum);
	expect_eq(s->bss->seen, 4);
}

static void test_narrow_values(struct tramp *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.narrow_exit);

	expect_eq(test_narrow(-1, -300, 70000), 69699);
	expect_eq((int64_t)s->bss->args[0], -1);
	expect_eq((int64_t)s->bss->args[1], -300);
	expect_eq(s->bss->args[2], 70000);
	expect_eq(s->bss->ret, 69699);
	expect_eq(test_narrow(1, 2, -10), -7);
	expect_eq((int32_t)s->bss->ret, -7);
	bpf_link__destroy(link);
}

static int call_ordered(struct tramp *s, const char *order, int line)
{
	int ret;

	memset(s->bss->order, 0, sizeof(s->bss->order));
	s->bss->order_len = 0;
	ret = test_ordered(5);
	expect_str(line, s->bss->order, order);
	return ret;
}

static void test_order(struct tramp *s)
{
	struct bpf_link *links[6] = {
		bpf_program__attach(s->progs.exit_x), bpf_program__attach(s->progs.entry_a),
		bpf_program__attach(s->progs.mod_m),  bpf_program__attach(s->progs.entry_b),
		bpf_program__attach(s->progs.exit_y), bpf_program__attach(s->progs.mod_n),
	};

	body_runs = 0;
	expect_eq(call_ordered(s, "banmyx", __LINE__), 6);
	expect_eq(body_runs, 1);
	expect_eq(s->bss->mod_saw, 0);
	/* The first that returns something else than 0 ends it: neither the next nor the body. */
	s->bss->mod_result2 = -5;
	expect_eq(call_ordered(s, "banyx", __LINE__), -5);
	expect_eq(body_runs, 1);
	s->bss->mod_result2 = 0;
	s->bss->mod_result = 17;
	expect_eq(call_ordered(s, "banmyx", __LINE__), 17);
	expect_eq(body_runs, 1);
	s->bss->mod_result = 0;
	for (int i = 0; i < 6; i++)
		bpf_link__destroy(links[i]);
	expect_eq(call_ordered(s, "", __LINE__), 6);
	expect_eq(body_runs, 2);
}

static uint64_t prog_stat(const struct bpf_program *prog, bool misses)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len), 0);
	return misses ? info.recursion_misses : info.run_cnt;
}

static void test_recursion(struct tramp *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bpf_link *link = bpf_program__attach(s->progs.recursing);
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	expect_true(stats >= 0);
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.driver), &opts), 0);
	expect_eq(s->bss->outer_runs, 100);
	expect_eq(prog_stat(s->progs.recursing, true), 100);
	expect_eq(prog_stat(s->progs.recursing, false), 100);
	bpfu_fd_close(stats);
	bpf_link__destroy(link);
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.driver), &opts), 0);
	expect_eq(s->bss->outer_runs, 100);
}

static void test_test_run(struct tramp *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bpf_link *links[] = { bpf_program__attach(s->progs.test1),
				     bpf_program__attach(s->progs.test6),
				     bpf_program__attach(s->progs.modify) };

	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.test1), &opts), 0);
	expect_eq(s->bss->test1_runs, 1);
	expect_eq(s->bss->test6_result, 111);
	/* Both bodies ran, and returned 4 and 29. */
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.modify), &opts), 0);
	expect_eq(opts.retval, 2u << 16 | 33);
	s->bss->modify_result = -1;
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.modify), &opts), 0);
	expect_eq(opts.retval, 1u << 16 | 28);
	expect_eq(s->bss->modify_runs, 2);
	for (int i = 0; i < 3; i++)
		bpf_link__destroy(links[i]);
}

static void test_pointers(struct tramp *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.pointer);
	uint64_t value = 41;

	test_pointer(&value);
	expect_eq(value, 42);
	expect_eq(s->bss->pointed_at, 41);
	bpf_link__destroy(link);
}

static void test_link_info(struct tramp *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.exit_x);
	struct bpf_prog_info prog_info = { 0 };
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &len), 0);
	expect_eq(info.type, BPF_LINK_TYPE_TRACING);
	expect_eq(info.tracing.attach_type, BPF_TRACE_FEXIT);
	len = sizeof(prog_info);
	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(s->progs.exit_x), &prog_info, &len), 0);
	expect_eq(info.prog_id, prog_info.id);
	expect_true(prog_info.attach_btf_id != 0);
	expect_eq(info.tracing.target_btf_id, prog_info.attach_btf_id);
	bpf_link__destroy(link);
}

/* ---- what is refused ---- */

/* A program that returns 0, for @func; its descriptor or -errno. @log gets the verifier's words. */
static int load_for(const char *func, enum bpf_attach_type type, const struct bpf_insn *insns,
		    size_t cnt, char *log, size_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type, .log_buf = log,
		    .log_size = log_size, .log_level = 1);
	int id = libbpf_find_vmlinux_btf_id(func, type);

	if (id < 0)
		return id;
	opts.attach_btf_id = id;
	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "refused", "GPL", insns, cnt, &opts);
}

/* As libbpf's bpf_link_create(), which would try another command after the refusal. */
static int wrong_type(int prog_fd)
{
	union bpf_attr attr = { .link_create.prog_fd = (uint32_t)prog_fd,
				.link_create.attach_type = BPF_TRACE_FEXIT };

	return bpfu_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

#define RETURN_0 { .code = 0xb7 }, { .code = 0x95 }

static void test_refusals(struct tramp *s)
{
	const struct bpf_insn plain[] = { RETURN_0 };
	/* r0 = *(u64 *)(r1 + 8); return 0 */
	const struct bpf_insn second[] = { { .code = 0x79, .dst_reg = 0, .src_reg = 1, .off = 8 },
					   RETURN_0 };
	/* r0 = *(u32 *)(r1 + 0); return 0 */
	const struct bpf_insn narrow[] = { { .code = 0x61, .dst_reg = 0, .src_reg = 1 }, RETURN_0 };
	/* r0 = 1 */
	const struct bpf_insn one[] = { { .code = 0xb7, .imm = 1 }, { .code = 0x95 } };
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	char log[4096] = "";
	int fd, link, again;

	expect_eq(load_for("test_unknown", BPF_TRACE_FENTRY, plain, 2, log, sizeof(log)), -ENOENT);
	expect_eq(load_for("test_ordered", BPF_TRACE_FENTRY, second, 3, log, sizeof(log)), -EACCES);
	expect_contains(log, "func 'test_ordered' doesn't have 2-th argument");
	expect_eq(load_for("test_pointer", BPF_TRACE_FENTRY, narrow, 3, log, sizeof(log)), -EACCES);
	expect_contains(log, "func 'test_pointer' size 4 must be 8");
	expect_eq(load_for("test_ordered", BPF_TRACE_FEXIT, one, 2, log, sizeof(log)), -EINVAL);
	expect_eq(load_for("test_narrow", BPF_MODIFY_RETURN, plain, 2, log, sizeof(log)), -EINVAL);
	expect_contains(log, "test_narrow() is not modifiable");

	/* No nop at its entry. */
	fd = load_for("test_plain", BPF_TRACE_FENTRY, plain, 2, log, sizeof(log));
	expect_true(fd >= 0);
	expect_eq(bpf_link_create(fd, 0, BPF_TRACE_FENTRY, &opts), -EOPNOTSUPP);
	bpfu_fd_close(fd);

	/* Twice, and with another attach type than it was loaded for. */
	fd = bpf_program__fd(s->progs.entry_a);
	link = bpf_link_create(fd, 0, BPF_TRACE_FENTRY, &opts);
	expect_true(link >= 0);
	again = bpf_link_create(fd, 0, BPF_TRACE_FENTRY, &opts);
	expect_eq(again, -EBUSY);
	expect_eq(wrong_type(fd), -EINVAL);
	/* A link of this kind cannot be detached from, only closed. */
	expect_eq(bpf_link_detach(link), -EOPNOTSUPP);
	bpfu_fd_close(link);
	link = bpf_raw_tracepoint_open(NULL, fd);
	expect_true(link >= 0);
	bpfu_fd_close(link);
	expect_eq(bpf_raw_tracepoint_open("test_ordered", fd), -EINVAL);
}

#define LINKS_MAX 38

static void test_too_many(struct tramp *s)
{
	const struct bpf_insn plain[] = { RETURN_0 };
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int progs[LINKS_MAX + 1], links[LINKS_MAX + 1];
	char log[256];

	for (int i = 0; i <= LINKS_MAX; i++) {
		progs[i] = load_for("test_ordered", BPF_TRACE_FENTRY, plain, 2, log, sizeof(log));
		expect_true(progs[i] >= 0);
		links[i] = bpf_link_create(progs[i], 0, BPF_TRACE_FENTRY, &opts);
		expect_eq(i < LINKS_MAX ? links[i] >= 0 : links[i] == -E2BIG, 1);
	}
	expect_eq(test_ordered(1), 2);
	for (int i = 0; i <= LINKS_MAX; i++) {
		bpfu_fd_close(progs[i]);
		bpfu_fd_close(links[i]);
	}
	expect_eq(test_ordered(1), 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct tramp *s);
	} tests[] = {
		{ "arguments", test_arguments },
		{ "narrow values", test_narrow_values },
		{ "order", test_order },
		{ "recursion", test_recursion },
		{ "BPF_PROG_TEST_RUN", test_test_run },
		{ "pointers", test_pointers },
		{ "link info", test_link_info },
		{ "refusals", test_refusals },
		{ "too many", test_too_many },
	};
	struct tramp *s;

	probe_init(argc, argv);
	register_functions();
	s = tramp__open_and_load();
	if (!s) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	tramp__destroy(s);
	return probe_result();
}
