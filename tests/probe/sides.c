// SPDX-License-Identifier: BSD-2-Clause
/*
 * The same object attached on libbpfu and on a kernel: programs run as often, and are told the same
 * arguments, return values, cookies and addresses. Each kind is a run of its own, once per side, with the
 * same expectations for both: the kernel's proves them, libbpfu's is held against them.
 *
 * usage: probe_sides user|kernel KIND
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "place.h"
#include "sdt.h"
#include "sides.h"
#include "sides.skel.h"

#define COOKIE 0x123456789abcdef0
#define RUNS 3

static bool on_user;

/* ---- objects and links ---- */

static _Noreturn void skip(const char *why)
{
	printf("skipped: %s\n", why);
	exit(77);
}

/*
 * Only @names of the object, NULL behind the last: a kernel may lack what another needs. @type: to be attached
 * so, if not 0.
 */
static struct sides *load(bool cookies, int type, const char *const *names)
{
	struct sides *s = sides__open();
	struct bpf_program *prog;

	if (!s) {
		printf("cannot open: %s\n", strerror(errno));
		exit(1);
	}
	s->rodata->cookies = cookies;
	for (; *names; names++) {
		prog = bpf_object__find_program_by_name(s->obj, *names);
		bpf_program__set_autoload(prog, true);
		if (type)
			bpf_program__set_expected_attach_type(prog, type);
	}
	if (sides__load(s)) {
		printf("cannot load: %s\n", strerror(errno));
		exit(1);
	}
	if (bpfu_fd_is_user(bpf_map__fd(s->maps.bss)) != on_user) {
		printf("the wrong side answered\n");
		exit(1);
	}
	s->bss->only_tgid = getpid();
	return s;
}

#define LOAD(cookies, ...) load(cookies, 0, (const char *const[]){ __VA_ARGS__, NULL })

static _Noreturn void refused(int err)
{
	printf("cannot attach: %s\n", err == -524 ? "ENOTSUPP" : strerror(-err));
	exit(1);
}

static struct bpf_link *attached(struct bpf_link *link)
{
	if (!link)
		refused(-errno);
	return link;
}

static int attached_fd(int fd)
{
	if (fd < 0)
		refused(fd);
	return fd;
}

static int sys_bpf(int cmd, void *attr, unsigned int size)
{
	long ret = syscall(__NR_bpf, cmd, attr, size);

	return ret < 0 ? -errno : (int)ret;
}

static void run(const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	for (int i = 0; i < RUNS; i++)
		expect_eq(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
}

static void expect_args(int line, const struct seen *s, const int64_t *args, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		expect(line, (char[]){ 'a', 'r', 'g', ' ', (char)('0' + i), '\0' }, s->args[i], args[i]);
}
#define EXPECT_ARGS(s, ...)                                                                        \
	expect_args(__LINE__, s, (const int64_t[]){ __VA_ARGS__ },                                 \
		    sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* ---- functions: probes ---- */

/* fentry programs are what a test run calls these functions for; attached it is not. */
static void kind_kprobe(void)
{
	struct sides *s = LOAD(true, "on_kprobe", "on_fentry");
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = COOKIE);
	struct bpf_link *link =
		attached(bpf_program__attach_kprobe_opts(s->progs.on_kprobe, "bpf_fentry_test5", &opts));

	run(s->progs.on_fentry);
	expect_eq(s->bss->entry.hits, RUNS);
	EXPECT_ARGS(&s->bss->entry, 11, 12, 13, 14, 15);
	expect_eq(s->bss->entry.cookie, COOKIE);
	expect_true(s->bss->entry.ip != 0);
	bpf_link__destroy(link);
	run(s->progs.on_fentry);
	expect_eq(s->bss->entry.hits, RUNS);
	sides__destroy(s);
}

static void kind_kretprobe(void)
{
	struct sides *s = LOAD(true, "on_kprobe", "on_kretprobe", "on_fentry");
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = COOKIE, .retprobe = true);
	struct bpf_link *link =
		attached(bpf_program__attach_kprobe_opts(s->progs.on_kretprobe, "bpf_fentry_test5", &opts));
	struct bpf_link *entry = attached(bpf_program__attach(s->progs.on_kprobe));

	run(s->progs.on_fentry);
	expect_eq(s->bss->leave.hits, RUNS);
	expect_eq(s->bss->leave.ret, 65);
	expect_eq(s->bss->leave.cookie, COOKIE);
	expect_eq(s->bss->leave.ip, s->bss->entry.ip); /* the function's, at its return as well */
	expect_eq(s->bss->entry.hits, RUNS);
	expect_eq(s->bss->entry.cookie, 0);
	bpf_link__destroy(link);
	run(s->progs.on_fentry);
	expect_eq(s->bss->leave.hits, RUNS);
	expect_eq(s->bss->entry.hits, 2 * RUNS);
	bpf_link__destroy(entry);
	sides__destroy(s);
}

static const struct {
	const char *name;
	uint64_t arg, mask; /* the first argument, and as much of a register as is its own */
	int ret;
} functions[SIDES_MANY] = {
	{ "bpf_fentry_test1", 1, UINT32_MAX, 2 },    { "bpf_fentry_test2", 2, UINT32_MAX, 5 },
	{ "bpf_fentry_test3", 4, UINT8_MAX, 15 },    { "bpf_fentry_test4", 7, UINT64_MAX, 34 },
	{ "bpf_fentry_test5", 11, UINT64_MAX, 65 },  { "bpf_fentry_test6", 16, UINT64_MAX, 111 },
};

static struct bpf_link *attach_each(const struct bpf_program *prog, bool returns)
{
	const char *names[SIDES_MANY];
	uint64_t cookies[SIDES_MANY];
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = names, .cookies = (__u64 *)cookies,
		    .cnt = SIDES_MANY, .retprobe = returns);

	/* Not in the order of their addresses: each keeps its own. */
	for (int i = 0; i < SIDES_MANY; i++) {
		names[i] = functions[SIDES_MANY - 1 - i].name;
		cookies[i] = (uint64_t)(SIDES_COOKIE + SIDES_MANY - 1 - i);
	}
	return attached(bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts));
}

static void kind_multi(bool returns)
{
	struct sides *s = LOAD(true, "on_each", "on_each_return", "on_fentry");
	struct bpf_link *link =
		attach_each(returns ? s->progs.on_each_return : s->progs.on_each, returns);

	run(s->progs.on_fentry);
	for (int i = 0; i < SIDES_MANY; i++) {
		const struct seen *seen = &s->bss->each[i];

		expect_eq(seen->hits, RUNS);
		if (returns)
			expect_eq(seen->ret, functions[i].ret);
		else
			expect_eq(seen->args[0] & functions[i].mask, functions[i].arg);
		for (int j = 0; j < i; j++)
			expect_true(seen->ip != s->bss->each[j].ip);
	}
	expect_eq(s->bss->strays, 0);
	bpf_link__destroy(link);
	run(s->progs.on_fentry);
	expect_eq(s->bss->each[0].hits, RUNS);
	sides__destroy(s);
}

static void kind_kprobe_multi(void)
{
	kind_multi(false);
}

static void kind_kretprobe_multi(void)
{
	kind_multi(true);
}

/* ---- sessions ---- */

#define ATTACH_KPROBE_SESSION 56
#define ATTACH_UPROBE_SESSION 57

static int32_t func_id(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int32_t id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : -ENOENT;

	btf__free(btf);
	if (id > 0)
		return id;
	printf("no function '%s'\n", name);
	exit(1);
}

/* Put the kernel functions into @prog, before it is loaded. */
static int set_calls(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long unused)
{
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(prog);

	for (size_t i = 0; i < bpf_program__insn_cnt(prog); i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg ||
		    (insns[i].imm != SIDES_IS_RETURN && insns[i].imm != SIDES_COOKIE_OF))
			continue;
		insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insns[i].imm = func_id(insns[i].imm == SIDES_IS_RETURN ? "bpf_session_is_return" :
									 "bpf_session_cookie");
	}
	return 0;
}

static struct sides *load_session(int type, const char *const *names)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = set_calls);

	expect_true(libbpf_register_prog_handler("kprobe.multi", BPF_PROG_TYPE_KPROBE, type, &opts) >= 0);
	return load(true, 0, names);
}

static void expect_session(int line, const struct seen *s, uint64_t hits, uint64_t returns)
{
	expect(line, "hits", (int64_t)s->hits, (int64_t)hits);
	expect(line, "returns", (int64_t)s->returns, (int64_t)returns);
	if (returns) {
		expect(line, "kept", s->kept, s->args[0]);
		expect(line, "ip at the return", (int64_t)s->left_ip, (int64_t)s->ip);
	}
}

static void kind_kprobe_session(void)
{
	static const char *const progs[] = { "on_session", "on_fentry", NULL };
	struct sides *s = load_session(ATTACH_KPROBE_SESSION, progs);
	const char *names[SIDES_MANY];
	uint64_t cookies[SIDES_MANY];
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, cnt;
		uint64_t syms, addrs, cookies;
	} attr = { .prog_fd = (uint32_t)bpf_program__fd(s->progs.on_session),
		   .attach_type = ATTACH_KPROBE_SESSION, .cnt = SIDES_MANY, .syms = (uintptr_t)names,
		   .cookies = (uintptr_t)cookies };
	int fd;

	for (int i = 0; i < SIDES_MANY; i++) {
		names[i] = functions[i].name;
		cookies[i] = (uint64_t)(SIDES_COOKIE + i);
	}
	s->bss->uninterested = 2;
	fd = attached_fd(sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr)));
	run(s->progs.on_fentry);
	for (int i = 0; i < SIDES_MANY; i++) {
		const struct seen *seen = &s->bss->each[i];

		expect_session(__LINE__, seen, RUNS, i == 2 ? 0 : RUNS);
		expect_eq(seen->args[0] & functions[i].mask, functions[i].arg);
		if (i != 2)
			expect_eq(seen->ret, functions[i].ret);
		if (on_user) /* docs/differences.md */
			expect_eq(seen->dirty, 0);
	}
	expect_eq(s->bss->strays, 0);
	bpfu_fd_close(fd);
	run(s->progs.on_fentry);
	expect_eq(s->bss->each[0].hits, RUNS);
	sides__destroy(s);
}

/* ---- functions: trampolines ---- */

static struct bpf_link *attach_trace(const struct bpf_program *prog, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_trace_opts, opts, .cookie = cookie);

	return attached(bpf_program__attach_trace_opts(prog, &opts));
}

static void expect_six(int line, const struct seen *s)
{
	expect(line, "hits", (int64_t)s->hits, RUNS);
	expect_args(line, s, (const int64_t[]){ 16, 17, 18, 19, 20, 21 }, 6);
	expect(line, "arg_cnt", (int64_t)s->arg_cnt, 6);
	expect(line, "an address", s->ip != 0, 1);
}

static void kind_fentry(void)
{
	struct sides *s = LOAD(true, "on_fentry");
	struct bpf_link *link = attach_trace(s->progs.on_fentry, COOKIE);

	run(s->progs.on_fentry);
	expect_six(__LINE__, &s->bss->entry);
	expect_eq(s->bss->entry.cookie, COOKIE);
	bpf_link__destroy(link);
	run(s->progs.on_fentry);
	expect_eq(s->bss->entry.hits, RUNS);
	sides__destroy(s);
}

static void kind_fexit(void)
{
	struct sides *s = LOAD(true, "on_fentry", "on_fexit");
	struct bpf_link *link = attach_trace(s->progs.on_fexit, COOKIE);
	struct bpf_link *entry = attach_trace(s->progs.on_fentry, 0);

	run(s->progs.on_fexit);
	expect_six(__LINE__, &s->bss->leave);
	expect_eq(s->bss->leave.ret, 111);
	expect_eq(s->bss->leave.ret_by_helper, 111);
	expect_eq(s->bss->leave.cookie, COOKIE);
	expect_eq(s->bss->leave.ip, s->bss->entry.ip);
	expect_eq(s->bss->entry.hits, RUNS);
	expect_eq(s->bss->entry.cookie, 0);
	bpf_link__destroy(link);
	run(s->progs.on_fentry);
	expect_eq(s->bss->leave.hits, RUNS);
	bpf_link__destroy(entry);
	sides__destroy(s);
}

static void kind_fmod_ret(void)
{
	struct sides *s = LOAD(true, "on_fmod_ret", "on_modified");
	struct bpf_link *link = attach_trace(s->progs.on_fmod_ret, COOKIE);
	struct bpf_link *after = attach_trace(s->progs.on_modified, COOKIE + 1);

	/* 0 lets the function run: it increments what it is pointed to. */
	run(s->progs.on_fmod_ret);
	expect_eq(s->bss->entry.hits, RUNS);
	EXPECT_ARGS(&s->bss->entry, 1, 2);
	expect_eq(s->bss->entry.ret, 0);
	expect_eq(s->bss->entry.cookie, COOKIE);
	expect_eq(s->bss->leave.hits, RUNS);
	EXPECT_ARGS(&s->bss->leave, 1, 3);
	expect_eq(s->bss->leave.ret, 4);
	expect_eq(s->bss->leave.cookie, COOKIE + 1);
	/* Anything else takes its place. */
	s->bss->modified = -7;
	run(s->progs.on_fmod_ret);
	expect_eq(s->bss->entry.hits, 2 * RUNS);
	expect_eq(s->bss->leave.hits, 2 * RUNS);
	EXPECT_ARGS(&s->bss->leave, 1, 2);
	expect_eq(s->bss->leave.ret, -7);
	bpf_link__destroy(link);
	run(s->progs.on_fmod_ret);
	expect_eq(s->bss->entry.hits, 2 * RUNS);
	expect_eq(s->bss->leave.ret, 4);
	bpf_link__destroy(after);
	sides__destroy(s);
}

/* ---- tracepoints ---- */

/* Three test runs of a packet program; the last has no room for its result, and says so. */
static void finish_runs(const struct bpf_program *prog)
{
	char data[64] = { 0 }, out[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data));

	for (int i = 0; i < RUNS - 1; i++)
		expect_eq(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0);
	opts.data_out = out;
	opts.data_size_out = 16;
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), -ENOSPC);
}

/* @link or @fd, the other is nothing. */
static void expect_finishes(struct sides *s, struct bpf_link *link, int fd, uint64_t cookie)
{
	finish_runs(s->progs.packet);
	expect_eq(s->bss->entry.hits, RUNS);
	expect_eq(s->bss->entry.args[0], -ENOSPC);
	expect_eq(s->bss->entry.cookie, cookie);
	bpf_link__destroy(link);
	bpfu_fd_close(fd);
	finish_runs(s->progs.packet);
	expect_eq(s->bss->entry.hits, RUNS);
	sides__destroy(s);
}

static void kind_raw_tp(void)
{
	struct sides *s = LOAD(false, "on_raw_tp", "packet");

	expect_finishes(s, attached(bpf_program__attach(s->progs.on_raw_tp)), -1, 0);
}

static void kind_tp_btf(void)
{
	struct sides *s = LOAD(false, "on_tp_btf", "packet");

	expect_finishes(s, attached(bpf_program__attach(s->progs.on_tp_btf)), -1, 0);
}

/* libbpf 1.1 passes no cookies for these two. */
static void kind_raw_tp_cookie(void)
{
	struct sides *s = LOAD(true, "on_raw_tp", "packet");
	struct {
		uint64_t name;
		uint32_t prog_fd, pad;
		uint64_t cookie;
	} attr = { (uintptr_t)"bpf_test_finish", (uint32_t)bpf_program__fd(s->progs.on_raw_tp), 0,
		   COOKIE };

	expect_finishes(s, NULL, attached_fd(sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr))),
			COOKIE);
}

static void kind_tp_btf_cookie(void)
{
	struct sides *s = LOAD(true, "on_tp_btf", "packet");
	union bpf_attr attr = {
		.link_create.prog_fd = (uint32_t)bpf_program__fd(s->progs.on_tp_btf),
		.link_create.attach_type = BPF_TRACE_RAW_TP,
		.link_create.tracing.cookie = COOKIE,
	};

	expect_finishes(s, NULL, attached_fd(sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr))), COOKIE);
}

static void kind_tp(void)
{
	struct sides *s = LOAD(true, "on_tp", "packet");
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = COOKIE);
	struct bpf_link *link = attached(bpf_program__attach_tracepoint_opts(
		s->progs.on_tp, "bpf_test_run", "bpf_test_finish", &opts));

	expect_finishes(s, link, -1, COOKIE);
}

/* ---- places of this program ---- */

PROBE_APART static long probed(long a, int b, short c)
{
	USDT(SDT_NOP, "probed", "0", "8@%0 -4@%1 " SDT_CONST_ARG, "r"(a), "r"(b));
	return a * b + c;
}

PROBE_APART static long probed_too(long a)
{
	return a - 1;
}

#define CALL() probed(-5000000000, -2, 9)
#define RESULT 10000000009

static PROBE_APART void call(void)
{
	for (int i = 0; i < RUNS; i++)
		expect_eq(CALL(), RESULT);
}

static struct bpf_link *attach_uprobe(const struct bpf_program *prog, bool returns, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie, .retprobe = returns);

	return attached(bpf_program__attach_uprobe_opts(prog, 0, SELF, place_of(probed, NULL), &opts));
}

static void kind_uprobe(void)
{
	struct sides *s = LOAD(true, "on_uprobe");
	struct bpf_link *link = attach_uprobe(s->progs.on_uprobe, false, COOKIE);

	call();
	expect_eq(s->bss->entry.hits, RUNS);
	EXPECT_ARGS(&s->bss->entry, -5000000000, -2, 9);
	expect_eq(s->bss->entry.cookie, COOKIE);
	bpf_link__destroy(link);
	call();
	expect_eq(s->bss->entry.hits, RUNS);
	sides__destroy(s);
}

static void kind_uretprobe(void)
{
	struct sides *s = LOAD(true, "on_uprobe", "on_uretprobe");
	struct bpf_link *link = attach_uprobe(s->progs.on_uretprobe, true, COOKIE);
	struct bpf_link *entry = attach_uprobe(s->progs.on_uprobe, false, COOKIE + 1);

	call();
	expect_eq(s->bss->leave.hits, RUNS);
	expect_eq(s->bss->leave.ret, RESULT);
	expect_eq(s->bss->leave.cookie, COOKIE);
	expect_eq(s->bss->entry.hits, RUNS);
	expect_eq(s->bss->entry.cookie, COOKIE + 1);
	bpf_link__destroy(entry);
	call();
	expect_eq(s->bss->entry.hits, RUNS);
	expect_eq(s->bss->leave.hits, 2 * RUNS);
	bpf_link__destroy(link);
	call();
	expect_eq(s->bss->leave.hits, 2 * RUNS);
	sides__destroy(s);
}

/* The address of the function, at its return as well. */
static void kind_uprobe_ip(void)
{
	struct sides *s = LOAD(true, "on_uprobe", "on_uretprobe");
	struct bpf_link *entry = attach_uprobe(s->progs.on_uprobe, false, 0);
	struct bpf_link *leave = attach_uprobe(s->progs.on_uretprobe, true, 0);

	call();
	expect_eq(s->bss->entry.ip, (uintptr_t)probed);
	expect_eq(s->bss->leave.ip, (uintptr_t)probed);
	bpf_link__destroy(entry);
	bpf_link__destroy(leave);
	sides__destroy(s);
}

static int attach_places(const struct bpf_program *prog, uint32_t type, uint32_t flags)
{
	const uint64_t offsets[] = { place_of(probed_too, NULL), place_of(probed, NULL) };
	const uint64_t cookies[] = { SIDES_COOKIE + 1, SIDES_COOKIE };
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = type,
		.path = (uintptr_t)SELF,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = 2,
		.multi_flags = flags,
		.pid = (uint32_t)getpid(), /* the other tests of this file run at the same time */
	};

	return attached_fd(sys_bpf(BPF_LINK_CREATE, &attr, offsetof(struct uprobe_multi_attr, pad)));
}

static void kind_uprobe_multi(void)
{
	static const char *const names[] = { "on_each", "on_each_return", NULL };
	struct sides *s = load(true, ATTACH_UPROBE_MULTI, names);
	const struct seen *each = s->bss->each;
	int entry = attach_places(s->progs.on_each, ATTACH_UPROBE_MULTI, 0);
	int leave = attach_places(s->progs.on_each_return, ATTACH_UPROBE_MULTI, UPROBE_MULTI_RETURN);

	call();
	expect_eq(probed_too(77), 76);
	expect_eq(each[0].hits, 2 * RUNS); /* of both programs */
	expect_eq(each[0].args[0], -5000000000);
	expect_eq(each[0].ret, (int)RESULT);
	expect_eq(each[0].ip, (uintptr_t)probed);
	expect_eq(each[1].hits, 2);
	expect_eq(each[1].args[0], 77);
	expect_eq(each[1].ret, 76);
	expect_eq(each[1].ip, (uintptr_t)probed_too);
	expect_eq(s->bss->strays, 0);
	bpfu_fd_close(entry);
	call();
	expect_eq(each[0].hits, 3 * RUNS);
	bpfu_fd_close(leave);
	call();
	expect_eq(each[0].hits, 3 * RUNS);
	sides__destroy(s);
}

static void kind_uprobe_session(void)
{
	static const char *const names[] = { "on_session", NULL };
	struct sides *s = load_session(ATTACH_UPROBE_SESSION, names);
	const struct seen *each = s->bss->each;
	int fd;

	s->bss->uninterested = 1;
	fd = attach_places(s->progs.on_session, ATTACH_UPROBE_SESSION, 0);
	call();
	expect_eq(probed_too(77), 76);
	expect_session(__LINE__, &each[0], RUNS, RUNS);
	expect_session(__LINE__, &each[1], 1, 0);
	expect_eq(each[0].dirty + each[1].dirty, 0);
	expect_eq(each[0].args[0], -5000000000);
	expect_eq(each[0].ret, (int)RESULT);
	expect_eq(each[0].ip, (uintptr_t)probed);
	expect_eq(each[1].args[0], 77);
	s->bss->uninterested = SIDES_MANY;
	expect_eq(probed_too(78), 77);
	expect_session(__LINE__, &each[1], 2, 1);
	expect_eq(each[1].ret, 77);
	bpfu_fd_close(fd);
	call();
	expect_eq(each[0].hits, RUNS);
	expect_eq(s->bss->strays, 0);
	sides__destroy(s);
}

static void kind_usdt(void)
{
	struct sides *s = LOAD(true, "on_usdt");
	LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = COOKIE);
	struct bpf_link *link = attached(
		bpf_program__attach_usdt(s->progs.on_usdt, 0, SELF, "test", "probed", &opts));

	call();
	expect_eq(s->bss->entry.hits, RUNS);
	EXPECT_ARGS(&s->bss->entry, -5000000000, -2, -3);
	expect_eq(s->bss->entry.arg_cnt, 3);
	expect_eq(s->bss->entry.cookie, COOKIE);
	bpf_link__destroy(link);
	call();
	expect_eq(s->bss->entry.hits, RUNS);
	sides__destroy(s);
}

/* ---- stacks ---- */

/* Of the function @ip the @at-th frame is, and its caller's the next. */
static void expect_frame(int line, const struct stack_seen *s, uint64_t ip, int at)
{
	int first = 0;

	expect(line, "frames", s->size >= (at + 2) * 8, 1);
	while (first < 16 && (s->ips[first] < ip || s->ips[first] >= ip + 32))
		first++;
	expect(line, "the function's frame", first, at);
	expect(line, "its caller's", s->ips[at + 1] && s->ips[at + 1] != s->ips[at], 1);
}

static void stack_in_kernel(const char *name, int at)
{
	struct sides *s = LOAD(true, name, "on_fentry");
	struct bpf_link *link =
		attached(bpf_program__attach(bpf_object__find_program_by_name(s->obj, name)));

	run(s->progs.on_fentry);
	expect_frame(__LINE__, &s->bss->stack, s->bss->stack.ip, at);
	bpf_link__destroy(link);
	sides__destroy(s);
}

static void kind_stack_kprobe(void)
{
	stack_in_kernel("stack_of_kprobe", 0);
}

static void kind_stack_multi(void)
{
	stack_in_kernel("stack_of_multi", 0);
}

/* The program and its trampoline come first. */
static void kind_stack_fentry(void)
{
	stack_in_kernel("stack_of_fentry", 2);
}

static void kind_stack_fexit(void)
{
	stack_in_kernel("stack_of_fexit", 2);
}

/* The user's: the place itself, and where a function returns to. */
static void kind_stack_uprobe(void)
{
	struct sides *s = LOAD(true, "stack_of_uprobe");
	struct bpf_link *link = attach_uprobe(s->progs.stack_of_uprobe, false, 0);

	call();
	expect_eq(s->bss->stack.ips[0], (uintptr_t)probed);
	bpf_link__destroy(link);
	link = attach_uprobe(s->progs.stack_of_uprobe, true, 0);
	call();
	expect_true(s->bss->stack.ips[0] - (uintptr_t)call < 256);
	bpf_link__destroy(link);
	sides__destroy(s);
}

/* ---- which, and on which side ---- */

static const struct kind {
	const char *name;
	void (*fn)(void);
	const char *needs; /* of the kernel: a kind of perf events */
} kinds[] = {
	{ "kprobe", kind_kprobe, "kprobe" },
	{ "kretprobe", kind_kretprobe, "kprobe" },
	{ "kprobe.multi", kind_kprobe_multi, "kprobe" },
	{ "kretprobe.multi", kind_kretprobe_multi, "kprobe" },
	{ "kprobe.session", kind_kprobe_session, "kprobe" },
	{ "fentry", kind_fentry, "kprobe" },
	{ "fexit", kind_fexit, "kprobe" },
	{ "fmod_ret", kind_fmod_ret, "kprobe" },
	{ "raw_tp", kind_raw_tp },
	{ "raw_tp-cookie", kind_raw_tp_cookie },
	{ "tp_btf", kind_tp_btf, "kprobe" },
	{ "tp_btf-cookie", kind_tp_btf_cookie, "kprobe" },
	{ "tp", kind_tp, "kprobe" },
	{ "uprobe", kind_uprobe, "uprobe" },
	{ "uretprobe", kind_uretprobe, "uprobe" },
	{ "uprobe-ip", kind_uprobe_ip, "uprobe" },
	{ "uprobe.multi", kind_uprobe_multi, "uprobe" },
	{ "uprobe.session", kind_uprobe_session, "uprobe" },
	{ "usdt", kind_usdt, "uprobe" },
	{ "stack-kprobe", kind_stack_kprobe, "kprobe" },
	{ "stack-kprobe.multi", kind_stack_multi, "kprobe" },
	{ "stack-fentry", kind_stack_fentry, "kprobe" },
	{ "stack-fexit", kind_stack_fexit, "kprobe" },
	{ "stack-uprobe", kind_stack_uprobe, "uprobe" },
};

/* A kernel without kprobes is none for tracing; one that has them has to do all. */
static void choose_side(const struct kind *kind)
{
	char path[64];

	if (bpfu_selftest()) {
		printf("calls do not reach the router\n");
		exit(1);
	}
	bpfu_set_log_cb(probe_log, NULL);
	bpfu_route_set(on_user ? BPFU_ROUTE_USER : BPFU_ROUTE_KERNEL);
	if (on_user)
		return;
	if (geteuid())
		skip("only root may attach programs to the kernel");
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", kind->needs ?: "");
	if (kind->needs && access(path, R_OK))
		skip("this kernel has no kprobes or uprobes");
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[2], kinds[i].name))
			kind = &kinds[i];
	if (!kind || (strcmp(argv[1], "user") && strcmp(argv[1], "kernel"))) {
		fprintf(stderr, "usage: %s user|kernel KIND\n", argv[0]);
		return 2;
	}
	on_user = !strcmp(argv[1], "user");
	libbpf_set_print(probe_quiet);
	choose_side(kind);
	kind->fn();
	printf("%s %s on %s\n", failures ? "FAIL" : "ok  ", kind->name, argv[1]);
	return probe_result();
}
