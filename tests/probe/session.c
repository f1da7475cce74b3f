// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sessions: one program at the entry and at the return of a call, by functions' nops (kprobe.session) and by
 * breakpoints (uprobe.session), with what it keeps in between; several on one function, among probes of other
 * kinds; calls that do not return; threads that call while programs come and go.
 *
 * usage: probe_session jit|interp
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

#include <bpf/bpf.h>

#include "place.h"
#include "session.h"
#include "session.skel.h"

#define ATTACH_KPROBE_SESSION 56
#define ATTACH_UPROBE_SESSION 57

long session_fn(long a);
long session_other(long a);
long session_deep(long depth);
long session_leave(long a, jmp_buf *leave);

BPFU_PROBE_ENTRY long session_fn(long a)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return SESSION_RESULT(a);
}

BPFU_PROBE_ENTRY long session_other(long a)
{
	__asm__ volatile("" ::: "memory");
	return SESSION_RESULT(a);
}

BPFU_PROBE_ENTRY long session_deep(long depth)
{
	long below;

	if (!depth)
		return SESSION_RESULT(0);
	below = session_deep(depth - 1);
	__asm__ volatile("" : "+r"(below)); /* no loop */
	return below + 3;
}

BPFU_PROBE_ENTRY long session_leave(long a, jmp_buf *leave)
{
	if (leave)
		longjmp(*leave, 1);
	return SESSION_RESULT(a);
}

/* Has no nop, and is not registered. */
PROBE_APART static long session_place(long a)
{
	return SESSION_RESULT(a);
}

PROBE_APART static long place_deep(long depth)
{
	long below;

	if (!depth)
		return SESSION_RESULT(0);
	below = place_deep(depth - 1);
	__asm__ volatile("" : "+r"(below));
	return below + 3;
}

PROBE_APART static long place_leave(long a, jmp_buf *leave)
{
	if (leave)
		longjmp(*leave, 1);
	return SESSION_RESULT(a);
}

static void register_functions(void)
{
	expect_eq(bpfu_func_register(session_fn, "long session_fn(long a)", 0), 0);
	expect_eq(bpfu_func_register(session_other, "session_other", 0), 0);
	expect_eq(bpfu_func_register(session_deep, "long session_deep(long depth)", 0), 0);
	expect_eq(bpfu_func_register(session_leave, "long session_leave(long a, void *leave)", 0), 0);
}

/* ---- attaching ---- */

/* link_create.kprobe_multi */
struct kprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint32_t multi_flags, cnt;
	uint64_t syms, addrs, cookies;
};

static int attach_type = ATTACH_KPROBE_SESSION;

static int attach_funcs(const struct bpf_program *prog, int type, const char *const *names,
			const uint64_t *cookies, uint32_t cnt, uint32_t flags)
{
	struct kprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = (uint32_t)type,
		.multi_flags = flags,
		.cnt = cnt,
		.syms = (uintptr_t)names,
		.cookies = (uintptr_t)cookies,
	};

	return bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
}

static int attach_places(const struct bpf_program *prog, int type, const uint64_t *offsets,
			 const uint64_t *cookies, uint32_t cnt, uint32_t flags)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(prog),
		.attach_type = (uint32_t)type,
		.path = (uintptr_t)SELF,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = cnt,
		.multi_flags = flags,
	};

	return bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
}

/* The functions of a test are found by name or by place; which, main() says. */
struct target {
	const char *name;
	const void *addr;
};

#define TARGET(func, place) (attach_type == ATTACH_KPROBE_SESSION ?                                \
	(struct target){ #func, func } : (struct target){ #place, place })

static int attach(const struct bpf_program *prog, struct target target, uint64_t cookie)
{
	uint64_t offset;
	int fd;

	if (attach_type == ATTACH_KPROBE_SESSION) {
		fd = attach_funcs(prog, attach_type, &target.name, &cookie, 1, 0);
	} else {
		offset = place_of(target.addr, NULL);
		fd = attach_places(prog, attach_type, &offset, &cookie, 1, 0);
	}
	expect_true(fd >= 0);
	return fd;
}

static void reset(struct session *s)
{
	memset(s->bss, 0, sizeof(*s->bss));
}

static void expect_seen(int line, const struct seen *seen, uint64_t entered, uint64_t left)
{
	expect(line, "entered", (int64_t)seen->entered, (int64_t)entered);
	expect(line, "left", (int64_t)seen->left, (int64_t)left);
	expect(line, "wrong", (int64_t)seen->wrong, 0);
}
#define EXPECT_SEEN(seen, entered, left) expect_seen(__LINE__, seen, entered, left)

/* ---- tests of both ---- */

static long call(struct target target, long a)
{
	long (*volatile fn)(long) = (long (*)(long))(uintptr_t)target.addr;

	return fn(a);
}

static void test_one(struct session *s)
{
	struct target target = TARGET(session_fn, session_place);
	int fd;

	reset(s);
	fd = attach(s->progs.on_first, target, 55);
	expect_eq(call(target, 100), SESSION_RESULT(100));
	EXPECT_SEEN(&s->bss->first, 1, 1);
	expect_eq(s->bss->sequence, 0x11);
	expect_eq(s->bss->first.ip, (uintptr_t)target.addr);
	expect_eq(s->bss->first.left_ip, (uintptr_t)target.addr);
	expect_eq(s->bss->first.cookie, 55);
	expect_eq(s->bss->first.left_cookie, 55);
	/* What it returns at the entry decides, of each call. */
	s->bss->ignored = 7;
	for (long a = 5; a < 10; a++)
		expect_eq(call(target, a), SESSION_RESULT(a));
	EXPECT_SEEN(&s->bss->first, 6, 5);
	bpfu_fd_close(fd);
	expect_eq(call(target, 1), SESSION_RESULT(1));
	EXPECT_SEEN(&s->bss->first, 6, 5);
}

/* The latest comes first; each has eight bytes of its own. */
static void test_several(struct session *s)
{
	struct target target = TARGET(session_fn, session_place);
	int fds[4];

	reset(s);
	s->bss->ignored = 4;
	fds[0] = attach(s->progs.on_first, target, 0);
	fds[1] = attach(s->progs.on_second, target, 0);
	fds[2] = attach(s->progs.on_third, target, 0);
	expect_eq(call(target, 3), SESSION_RESULT(3));
	expect_eq(s->bss->sequence, 0x321321);
	expect_eq(call(target, 4), SESSION_RESULT(4));
	expect_eq(s->bss->sequence & 0xfffff, 0x32132);
	EXPECT_SEEN(&s->bss->first, 2, 1);
	EXPECT_SEEN(&s->bss->second, 2, 2);
	EXPECT_SEEN(&s->bss->third, 2, 2);
	/* What one has left is taken by another, whatever the order. */
	bpfu_fd_close(fds[0]);
	expect_eq(call(target, 5), SESSION_RESULT(5));
	fds[0] = attach(s->progs.on_all, target, 0);
	expect_eq(call(target, 6), SESSION_RESULT(6));
	fds[3] = attach(s->progs.on_first, target, 0);
	bpfu_fd_close(fds[1]);
	expect_eq(call(target, 7), SESSION_RESULT(7));
	EXPECT_SEEN(&s->bss->first, 3, 2);
	EXPECT_SEEN(&s->bss->second, 4, 4);
	EXPECT_SEEN(&s->bss->third, 7, 7);
	bpfu_fd_close(fds[0]);
	bpfu_fd_close(fds[2]);
	bpfu_fd_close(fds[3]);
	expect_eq(call(target, 8), SESSION_RESULT(8));
	EXPECT_SEEN(&s->bss->third, 7, 7);
}

static void test_nested(struct session *s)
{
	struct target target = TARGET(session_deep, place_deep);
	int fds[2];

	reset(s);
	s->bss->ignored = 2;
	fds[0] = attach(s->progs.on_first, target, 0);
	fds[1] = attach(s->progs.on_second, target, 0);
	expect_eq(call(target, 9), SESSION_RESULT(9));
	EXPECT_SEEN(&s->bss->first, 10, 9);
	EXPECT_SEEN(&s->bss->second, 10, 10);
	bpfu_fd_close(fds[0]);
	bpfu_fd_close(fds[1]);
}

static void test_longjmp(struct session *s)
{
	struct target target = TARGET(session_leave, place_leave);
	long (*volatile fn)(long, jmp_buf *) = (long (*)(long, jmp_buf *))(uintptr_t)target.addr;
	jmp_buf leave;
	int fd;

	reset(s);
	fd = attach(s->progs.on_first, target, 0);
	for (volatile int i = 1; i <= 3000; i++)
		if (!setjmp(leave))
			fn(i, &leave);
	EXPECT_SEEN(&s->bss->first, 3000, 0);
	expect_eq(fn(77, NULL), SESSION_RESULT(77));
	EXPECT_SEEN(&s->bss->first, 3001, 1);
	bpfu_fd_close(fd);
}

/* More than there is room for. */
static void test_limit(struct session *s)
{
	struct target target = TARGET(session_fn, session_place);
	uint64_t offset = place_of(target.addr, NULL);
	int fds[40], cnt = 0, err;

	reset(s);
	do {
		err = attach_type == ATTACH_KPROBE_SESSION ?
			      attach_funcs(s->progs.on_second, attach_type, &target.name, NULL, 1, 0) :
			      attach_places(s->progs.on_second, attach_type, &offset, NULL, 1, 0);
		if (err >= 0)
			fds[cnt++] = err;
	} while (err >= 0 && cnt < 40);
	expect_eq(err, -E2BIG);
	expect_eq(cnt, 32);
	expect_eq(call(target, 6), SESSION_RESULT(6));
	EXPECT_SEEN(&s->bss->second, 32, 32);
	while (cnt)
		bpfu_fd_close(fds[--cnt]);
	expect_eq(call(target, 6), SESSION_RESULT(6));
	EXPECT_SEEN(&s->bss->second, 32, 32);
}

/* As a plain return probe: the flag of the link comes before what the program is for. */
static void test_return_flag(struct session *s)
{
	struct target target = TARGET(session_fn, session_place);
	uint64_t offset = place_of(target.addr, NULL);
	int fd;

	reset(s);
	fd = attach_type == ATTACH_KPROBE_SESSION ?
		     attach_funcs(s->progs.on_helper, attach_type, &target.name, NULL, 1, 1) :
		     attach_places(s->progs.on_helper, attach_type, &offset, NULL, 1, 1);
	expect_true(fd >= 0);
	expect_eq(call(target, 6), SESSION_RESULT(6));
	EXPECT_SEEN(&s->bss->plain, 0, 1);
	bpfu_fd_close(fd);
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS 200

static _Atomic bool stop;
static _Atomic uint64_t calls, bad;

static void *caller(void *arg)
{
	const struct target *target = arg;
	uint64_t cnt = 0;

	for (; !atomic_load_explicit(&stop, memory_order_relaxed); cnt++)
		if (call(*target, (long)cnt + 1) != SESSION_RESULT((long)cnt + 1))
			atomic_fetch_add(&bad, 1);
	atomic_fetch_add(&calls, cnt);
	return NULL;
}

/* One stays, and sees every call twice; others come and go, and see none by halves. */
static void test_threads(struct session *s)
{
	struct target target = TARGET(session_fn, session_place);
	pthread_t threads[THREADS];
	int steady;

	reset(s);
	s->bss->ignored = -1ull;
	stop = false;
	calls = bad = 0;
	steady = attach(s->progs.on_first, target, 0);
	for (int i = 0; i < THREADS; i++)
		expect_eq(pthread_create(&threads[i], NULL, caller, &target), 0);
	/* On a busy machine they have not begun yet. */
	for (int i = 0; (i < ROUNDS || !s->bss->second.left || !s->bss->third.left) && !failures; i++) {
		int a = attach(s->progs.on_second, target, 1), b = attach(s->progs.on_all, target, 2);

		bpfu_fd_close(a);
		a = attach(s->progs.on_second, target, 3);
		bpfu_fd_close(b);
		bpfu_fd_close(a);
	}
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	bpfu_fd_close(steady);
	printf("  %llu calls, %llu and %llu seen by programs that come and go\n",
	       (unsigned long long)calls, (unsigned long long)s->bss->second.entered,
	       (unsigned long long)s->bss->third.entered);
	expect_eq(bad, 0);
	EXPECT_SEEN(&s->bss->first, calls, calls);
	expect_eq(s->bss->second.wrong, 0);
	expect_eq(s->bss->third.wrong, 0);
	/* A program that was detached while a call went on does not see its return. */
	expect_true(s->bss->second.left <= s->bss->second.entered);
	expect_true(s->bss->third.left <= s->bss->third.entered);
}

/* ---- tests of functions only ---- */

static void test_among_others(struct session *s)
{
	const char *names[] = { "session_fn" };
	int session, entry, ret;
	struct bpf_link *fentry, *fexit;

	reset(s);
	bpf_program__set_expected_attach_type(s->progs.on_entry, BPF_TRACE_KPROBE_MULTI);
	session = attach_funcs(s->progs.on_first, ATTACH_KPROBE_SESSION, names, NULL, 1, 0);
	entry = attach_funcs(s->progs.on_entry, BPF_TRACE_KPROBE_MULTI, names, NULL, 1, 0);
	ret = attach_funcs(s->progs.on_return, BPF_TRACE_KPROBE_MULTI, names, NULL, 1, 1);
	fentry = bpf_program__attach(s->progs.on_fentry);
	fexit = bpf_program__attach(s->progs.on_fexit);
	expect_true(session >= 0 && entry >= 0 && ret >= 0 && fentry && fexit);
	expect_eq(session_fn(3), SESSION_RESULT(3));
	expect_eq(s->bss->sequence, 0x81ab91);
	bpfu_fd_close(session);
	s->bss->sequence = 0;
	expect_eq(session_fn(3), SESSION_RESULT(3));
	expect_eq(s->bss->sequence, 0x8ab9);
	session = attach_funcs(s->progs.on_first, ATTACH_KPROBE_SESSION, names, NULL, 1, 0);
	bpfu_fd_close(ret);
	bpfu_fd_close(entry);
	s->bss->sequence = 0;
	expect_eq(session_fn(3), SESSION_RESULT(3));
	expect_eq(s->bss->sequence, 0x1ab1);
	bpf_link__destroy(fentry);
	bpf_link__destroy(fexit);
	EXPECT_SEEN(&s->bss->first, 2, 2);
	EXPECT_SEEN(&s->bss->plain, 2, 2);
	bpfu_fd_close(session);
}

static void test_functions(struct session *s)
{
	const char *names[] = { "session_other", "session_fn" };
	const uint64_t cookies[] = { 20, 10 };
	uint64_t addrs[2] = { 0 }, told[2] = { 0 };
	struct {
		uint32_t type, id, prog_id, pad;
		uint64_t addrs;
		uint32_t count, flags;
		uint64_t missed, cookies;
	} info = { .addrs = (uintptr_t)addrs, .cookies = (uintptr_t)told, .count = 2 };
	uint32_t len = sizeof(info);
	int fd;

	reset(s);
	fd = attach_funcs(s->progs.on_first, ATTACH_KPROBE_SESSION, names, cookies, 2, 0);
	expect_true(fd >= 0);
	expect_eq(session_other(3), SESSION_RESULT(3));
	expect_eq(s->bss->first.left_cookie, 20);
	expect_eq(s->bss->first.left_ip, (uintptr_t)session_other);
	expect_eq(session_fn(4), SESSION_RESULT(4));
	expect_eq(s->bss->first.left_cookie, 10);
	EXPECT_SEEN(&s->bss->first, 2, 2);
	expect_eq(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	expect_eq(info.count, 2);
	expect_eq(info.flags, 0);
	for (int i = 0; i < 2; i++) {
		expect_true(addrs[i] == (uintptr_t)session_fn || addrs[i] == (uintptr_t)session_other);
		expect_eq(told[i], addrs[i] == (uintptr_t)session_fn ? 10 : 20);
	}
	expect_true(addrs[0] != addrs[1]);
	info.count = 1;
	expect_eq(bpf_obj_get_info_by_fd(fd, &info, &len), -ENOSPC);
	bpfu_fd_close(fd);
}

/* A program that calls what it is attached to misses the inner calls, and their returns with them. */
static void test_recursion(struct session *s)
{
	const char *names[] = { "bpf_get_numa_node_id" };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = attach_funcs(s->progs.on_helper, ATTACH_KPROBE_SESSION, names, NULL, 1, 0);

	reset(s);
	expect_true(fd >= 0);
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.driver), &opts), 0);
	expect_eq(s->bss->plain.entered, 100);
	expect_eq(s->bss->plain.left, 100);
	expect_eq(misses_of(s->progs.on_helper), 200);
	bpfu_fd_close(fd);
}

/* ---- */

static struct session *load(int type)
{
	struct session *s = session__open();
	struct bpf_program *const sessions[] = { s->progs.on_first, s->progs.on_second, s->progs.on_third,
						 s->progs.on_all, s->progs.on_helper };

	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++)
		bpf_program__set_expected_attach_type(sessions[i], type);
	attach_type = type;
	if (!session__load(s))
		return s;
	printf("cannot load: %s\n", strerror(errno));
	exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct session *s);
	} both[] = {
		{ "one", test_one },
		{ "several", test_several },
		{ "nested calls", test_nested },
		{ "longjmp", test_longjmp },
		{ "limit", test_limit },
		{ "return flag", test_return_flag },
		{ "threads", test_threads },
	}, functions[] = {
		{ "among others", test_among_others },
		{ "functions", test_functions },
		{ "recursion", test_recursion },
	};
	struct session *s;

	probe_init(argc, argv);
	register_functions();
	s = load(ATTACH_KPROBE_SESSION);
	PROBE_RUN(both, s);
	PROBE_RUN(functions, s);
	session__destroy(s);
	s = load(ATTACH_UPROBE_SESSION);
	PROBE_RUN(both, s);
	session__destroy(s);
	return probe_result();
}
