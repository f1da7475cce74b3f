// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tracepoints, through libbpf: those of this program, and bpf_trigger_tp, which a kernel function
 * fires.
 *
 * usage: probe_tracepoint jit|interp
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"
#include "probe.h"
#include "tracepoint.skel.h"

static struct bpfu_tracepoint *opened;
static int evaluated;

static uint64_t evaluate(uint64_t value)
{
	evaluated++;
	return value;
}

static void fire(void)
{
	BPFU_TRACE(opened, evaluate((uint64_t)-3), (uint64_t)-300, 0x123456789a);
}

static void register_tracepoints(void)
{
	struct bpfu_tracepoint *tp;

	expect_eq(bpfu_tracepoint_register("house", "void probe_opened(char a, short b, void *c)",
					   &opened), 0);
	expect_eq(bpfu_tracepoint_register("house", "void probe_opened(int a)", &tp), -EEXIST);
	expect_eq(bpfu_tracepoint_register("house", "void bpf_trigger_tp(int a)", &tp), -EEXIST);
	expect_eq(bpfu_tracepoint_register("house", "int probe_result(int a)", &tp), -EINVAL);
	expect_eq(bpfu_tracepoint_register("house", "void probe_nothing(void)", &tp), -EINVAL);
	expect_eq(bpfu_tracepoint_register("ho/use", "void probe_x(int a)", &tp), -EINVAL);
	expect_eq(bpfu_tracepoint_register("", "void probe_x(int a)", &tp), -EINVAL);
	expect_eq(bpfu_tracepoint_register("house", "probe_x", &tp), -EINVAL);
	expect_eq(bpfu_tracepoint_register("house", "void probe_x(double a)", &tp), -EOPNOTSUPP);
	expect_eq(bpfu_tracepoint_register("house", "void probe_x(int a)", NULL), -EINVAL);
}

static void test_raw(struct tracepoint *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.on_raw);

	expect_true(link != NULL);
	evaluated = 0;
	fire();
	expect_eq(evaluated, 1);
	expect_eq(s->bss->raw_hits, 1);
	expect_eq(s->bss->args[0], -3);
	expect_eq(s->bss->args[1], -300);
	expect_eq(s->bss->args[2], 0x123456789a);
	bpf_link__destroy(link);
	fire();
	expect_eq(evaluated, 1); /* not even the arguments are */
	expect_eq(s->bss->raw_hits, 1);
}

static void expect_narrow(struct tracepoint *s, int line, uint64_t cookie)
{
	expect(line, "narrow", s->bss->narrow, -3);
	expect(line, "narrow2", s->bss->narrow2, -300);
	expect(line, "args[2]", (int64_t)s->bss->args[2], 0x123456789a);
	expect(line, "cookie", (int64_t)s->bss->cookies, (int64_t)cookie);
	s->bss->narrow = s->bss->narrow2 = 0;
	s->bss->args[2] = s->bss->cookies = 0;
}

/* libbpf 1.1 passes no cookie for such programs. */
static int typed_with_cookie(struct tracepoint *s, uint64_t cookie)
{
	union bpf_attr attr = {
		.link_create.prog_fd = (uint32_t)bpf_program__fd(s->progs.on_typed),
		.link_create.attach_type = BPF_TRACE_RAW_TP,
		.link_create.tracing.cookie = cookie,
	};

	return bpfu_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

static void test_typed(struct tracepoint *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.on_typed);
	int fd = typed_with_cookie(s, 77);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct bpf_link_info info = { 0 };
	const uint64_t ctx[3] = { 1, 2, 3 };
	uint32_t len = sizeof(info);

	expect_true(link != NULL);
	expect_true(fd >= 0);
	fire();
	expect_eq(s->bss->typed_hits, 2);
	expect_narrow(s, __LINE__, 77); /* the latest attached comes last */
	bpfu_fd_close(fd);
	fire();
	expect_eq(s->bss->typed_hits, 3);
	expect_narrow(s, __LINE__, 0);
	expect_eq(bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &len), 0);
	expect_eq(info.type, BPF_LINK_TYPE_RAW_TRACEPOINT);
	bpf_link__destroy(link);
	/* A test run passes the caller's array. */
	run.ctx_in = ctx;
	run.ctx_size_in = sizeof(ctx);
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.on_typed), &run), 0);
	expect_eq(run.retval, 7);
	expect_eq(s->bss->typed_hits, 4);
	expect_eq(s->bss->narrow2, 2);
}

static void test_record(struct tracepoint *s)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = 99);
	struct bpf_link *link, *again;

	link = bpf_program__attach_tracepoint_opts(s->progs.on_record, "house", "probe_opened", &opts);
	expect_eq(libbpf_get_error(link), 0);
	again = bpf_program__attach_tracepoint_opts(s->progs.on_record, "garden", "probe_opened",
						    &opts);
	expect_eq(libbpf_get_error(again), -ENOENT);
	again = bpf_program__attach_tracepoint_opts(s->progs.on_record, "house", "probe_open", &opts);
	expect_eq(libbpf_get_error(again), -ENOENT);
	fire();
	expect_eq(s->bss->record_hits, 1);
	expect_narrow(s, __LINE__, 99);
	bpf_link__destroy(link);
	fire();
	expect_eq(s->bss->record_hits, 1);
}

static void test_all_at_once(struct tracepoint *s)
{
	struct bpf_link *links[] = { bpf_program__attach(s->progs.on_raw),
				     bpf_program__attach(s->progs.on_typed),
				     bpf_program__attach(s->progs.on_record) };
	uint64_t before = s->bss->raw_hits + s->bss->typed_hits + s->bss->record_hits;

	for (int i = 0; i < 10; i++)
		fire();
	expect_eq(s->bss->raw_hits + s->bss->typed_hits + s->bss->record_hits, before + 30);
	for (int i = 0; i < 3; i++)
		bpf_link__destroy(links[i]);
}

static uint64_t misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len), 0);
	return info.recursion_misses;
}

static void test_trigger(struct tracepoint *s)
{
	struct bpf_link *link = bpf_program__attach(s->progs.on_trigger), *mod;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int driver = bpf_program__fd(s->progs.driver);

	expect_eq(bpf_prog_test_run_opts(driver, &opts), 0);
	expect_eq(s->bss->kfunc_result, 10);
	expect_eq(s->bss->trigger_hits, 10);
	expect_eq(s->bss->nonces, 55);
	expect_eq(misses(s->progs.on_trigger), 10);
	/* In place of the function: the tracepoint is not reached. */
	s->bss->modified = -22;
	mod = bpf_program__attach(s->progs.on_modify);
	expect_true(mod != NULL);
	expect_eq(bpf_prog_test_run_opts(driver, &opts), 0);
	expect_eq(s->bss->kfunc_result, -22);
	expect_eq(s->bss->trigger_hits, 10);
	bpf_link__destroy(mod);
	bpf_link__destroy(link);
}

static void test_inner_cookie(struct tracepoint *s)
{
	LIBBPF_OPTS(bpf_trace_opts, opts, .cookie = 5);
	struct bpf_link *inner = bpf_program__attach_trace_opts(s->progs.inner, &opts);
	struct bpf_link *outer = bpf_program__attach(s->progs.outer);

	fire();
	expect_eq(s->bss->inner_cookie, 5);
	bpf_link__destroy(inner);
	inner = bpf_program__attach(s->progs.inner);
	fire();
	expect_eq(s->bss->inner_cookie, 0);
	bpf_link__destroy(inner);
	bpf_link__destroy(outer);
}

/* What @name, loaded alone, gets when it is attached. */
static int attach_alone(const char *name)
{
	struct tracepoint *s = tracepoint__open();
	struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, name);
	struct bpf_link *link;
	int err;

	bpf_program__set_autoload(prog, true);
	err = tracepoint__load(s);
	if (!err) {
		link = bpf_program__attach(prog);
		err = (int)libbpf_get_error(link);
		if (!err)
			bpf_link__destroy(link);
	}
	tracepoint__destroy(s);
	return err;
}

static void test_refusals(struct tracepoint *s)
{
	expect_eq(attach_alone("reads_too_much"), -EACCES);
	expect_eq(attach_alone("reads_an_argument_too_many"), -EINVAL);
	expect_eq(bpf_raw_tracepoint_open("probe_closed", bpf_program__fd(s->progs.on_raw)), -ENOENT);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct tracepoint *s);
	} tests[] = {
		{ "raw_tp", test_raw },
		{ "tp_btf", test_typed },
		{ "tp", test_record },
		{ "all at once", test_all_at_once },
		{ "bpf_trigger_tp", test_trigger },
		{ "cookies of nested programs", test_inner_cookie },
		{ "refusals", test_refusals },
	};
	struct tracepoint *s;

	probe_init(argc, argv);
	register_tracepoints();
	s = tracepoint__open_and_load();
	if (!s) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	tracepoint__destroy(s);
	return probe_result();
}
