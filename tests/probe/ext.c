// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs on functions of BPF programs: what takes the place of one (freplace), and what runs before and
 * after it (fentry, fexit). One source for libbpfu and for kernels, with the same expectations.
 *
 * usage: probe_ext user|kernel [OPTION=VALUE]...        the options are libbpfu's
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "ext.h"
#include "ext.skel.h"
#include "ext_host.skel.h"
#include "probe.h"

#define COOKIE 0x123456789abcdef0

static bool on_user;
static struct ext_host *h;
static char log_text[16384];

/* ---- short forms ---- */

static int prog_fd(const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(h->obj, name));
}

/* One program of the object, for function @func of @fd; NULL: refused, and log_text says why. */
static struct ext *load(const char *name, int fd, const char *func)
{
	struct ext *e = ext__open();
	struct bpf_program *prog = e ? bpf_object__find_program_by_name(e->obj, name) : NULL;

	log_text[0] = '\0';
	if (!prog || bpf_program__set_attach_target(prog, fd, func)) {
		printf("  no program %s, or no function %s\n", name, func);
		exit(1);
	}
	bpf_program__set_autoload(prog, true);
	bpf_program__set_log_buf(prog, log_text, sizeof(log_text));
	if (!ext__load(e))
		return e;
	ext__destroy(e);
	return NULL;
}

static struct bpf_program *only(struct ext *e)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, e->obj)
		if (bpf_program__fd(prog) >= 0)
			return prog;
	return NULL;
}

static struct ext *loaded(int line, const char *name, int fd, const char *func)
{
	struct ext *e = load(name, fd, func);

	if (e)
		return e;
	printf("  line %d: %s is refused: %s\n", line, name, log_text);
	exit(1);
}
#define LOAD(name, prog, func) loaded(__LINE__, name, prog_fd(prog), func)

/* The link, or -errno. */
static int attach(struct ext *e)
{
	int fd = bpf_link_create(bpf_program__fd(only(e)), 0, bpf_program__expected_attach_type(only(e)),
				 NULL);

	return fd < 0 ? -errno : fd;
}

static int attach_to(struct ext *e, int dst, uint32_t btf_id)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .target_btf_id = btf_id);
	int fd = bpf_link_create(bpf_program__fd(only(e)), dst, 0, &opts);

	return fd < 0 ? -errno : fd;
}

static struct bpf_prog_info prog_info(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	return info;
}

static uint32_t func_id(int fd, const char *func)
{
	struct btf *btf = btf__load_from_kernel_by_id(prog_info(fd).btf_id);
	int id = btf ? btf__find_by_name_kind(btf, func, BTF_KIND_FUNC) : -1;

	btf__free(btf);
	return (uint32_t)id;
}

static int64_t run_fd(int fd)
{
	char data[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data));
	int err = bpf_prog_test_run_opts(fd, &opts);

	return err ? err : (int64_t)opts.retval;
}

static int64_t run(const char *name)
{
	return run_fd(prog_fd(name));
}

#define HOST 706066 /* what host returns as it is loaded */

/* ---- replacing ---- */

static void replace(void)
{
	struct ext *e = LOAD("plus_ten", "host", "plus_one");
	struct bpf_link_info link = { 0 };
	uint32_t len = sizeof(link);
	struct bpf_prog_info info = prog_info(bpf_program__fd(only(e)));
	int fd;

	expect_eq(info.type, BPF_PROG_TYPE_EXT);
	expect_eq(info.attach_btf_id, func_id(prog_fd("host"), "plus_one"));
	expect_eq(info.attach_btf_obj_id, prog_info(prog_fd("host")).btf_id);
	expect_eq(run("host"), HOST);
	fd = attach(e);
	expect_true(fd >= 0);
	expect_eq(run("host"), HOST + 9000);
	expect_eq(run("second"), 7000);
	expect_eq(e->bss->hits, 1);
	expect_eq(bpf_obj_get_info_by_fd(fd, &link, &len), 0);
	expect_eq(link.type, BPF_LINK_TYPE_TRACING);
	expect_eq(link.tracing.attach_type, 0);
	expect_eq(link.tracing.target_obj_id, prog_info(prog_fd("host")).id);
	expect_eq(link.tracing.target_btf_id, func_id(prog_fd("host"), "plus_one"));
	expect_eq(prog_info(bpf_program__fd(only(e))).attach_btf_obj_id, 0);
	expect_eq(run_fd(bpf_program__fd(only(e))), -524);
	expect_eq(bpf_link_detach(fd), -EOPNOTSUPP);
	close(fd);
	expect_eq(run("host"), HOST);
	ext__destroy(e);
	/* Types that differ in nothing but their size are the same to the one that returns. */
	e = LOAD("plus_long", "host", "plus_one");
	fd = attach(e);
	expect_eq(run("host"), HOST + 9000);
	close(fd);
	ext__destroy(e);
	e = LOAD("second_of", "host", "first_of");
	fd = attach(e);
	expect_eq(run("host"), HOST + 100000);
	close(fd);
	ext__destroy(e);
	e = LOAD("pass_more", "xhost", "xhost");
	fd = attach(e);
	expect_eq(run("xhost"), 7000);
	close(fd);
	expect_eq(run("xhost"), 2);
	ext__destroy(e);
}

/* Main, and in another object a function of it meanwhile: nobody calls that. */
static void replace_main(void)
{
	struct ext *e = LOAD("length", "host", "host"), *other = LOAD("plus_ten", "host", "plus_one");
	int fd = attach(e), other_fd = attach(other);

	expect_true(fd >= 0 && other_fd >= 0);
	expect_eq(run("host"), 64);
	expect_eq(other->bss->hits, 0);
	close(fd);
	expect_eq(run("host"), HOST + 9000);
	close(other_fd);
	expect_eq(run("host"), HOST);
	ext__destroy(other);
	ext__destroy(e);
}

/* The caller has passed them, whether the function as it was reads them or not. */
static void all_arguments(void)
{
	struct ext *e = LOAD("all_five", "five", "deaf");
	int fd;

	expect_eq(run("five"), 3 * 64);
	fd = attach(e);
	expect_eq(run("five"), 64 * 10000 + 2 * 1000 + 67 * 100 + 4 * 10 + 5 * 64 + 3 * 64);
	close(fd);
	ext__destroy(e);
}

/* In callbacks, too; with frames of both in whatever stacks there are. */
static void stacks(void)
{
	struct ext *e = LOAD("deeper", "looping", "deep");
	int fd;

	expect_eq(run("looping"), 45 + 3);
	fd = attach(e);
	expect_eq(run("looping"), 45 + 3 + 11);
	expect_eq(e->bss->hits, 11);
	close(fd);
	expect_eq(run("looping"), 45 + 3);
	ext__destroy(e);
}

/* ---- what is refused at load ---- */

static void refusals(void)
{
	static const struct {
		const char *name, *prog, *func;
		int err;
		const char *text;
	} rows[] = {
		{ "number", "host", "static_two", -EINVAL, "static_two() is not a global function" },
		{ "number", "host", "static_mem", -EINVAL, "Cannot replace static functions" },
		{ "too_few", "host", "plus_one", -EINVAL,
		  "too_few() has 1 args while plus_one() has 2 args" },
		{ "no_result", "host", "plus_one", -EINVAL,
		  "Return type UNKNOWN of no_result() doesn't match type INT of plus_one()" },
		{ "wide", "host", "plus_one", -EINVAL,
		  "arg1 in wide() has size 8 while plus_one() has 4" },
		{ "other_ctx", "host", "plus_one", -EINVAL,
		  "arg0 other_ctx(struct xdp_md *) doesn't match plus_one(struct __sk_buff *)" },
		{ "no_pointer", "host", "plus_one", -EINVAL,
		  "arg0 in no_pointer() is INT while plus_one() has PTR" },
		{ "plus_ten", "xhost", "plus_one", -EINVAL, "Subprog plus_one doesn't exist" },
		{ "seven", "cgroup", "verdict", -EINVAL,
		  "At program exit the register R0 has smin=7 smax=7 should have been in [0, 1]" },
		{ "some_raw", "raw_host", "raw_count", -EINVAL, "should have been in [0, 0]" },
		{ "move_head", "xhost", "xhost", -EINVAL,
		  "Extension program changes packet data, while original does not" },
		{ "beyond_ctx", "xhost", "xhost", -EACCES,
		  "Validating beyond_ctx() func#0..." },
		{ "beyond_ctx", "xhost", "xhost", -EACCES,
		  "invalid bpf_context access off=400 size=4" },
		{ "modify", "host", "plus_one", -EINVAL, "can't modify return codes of BPF programs" },
		{ "read_far", "host", "plus_one", -EACCES, "func 'plus_one' doesn't have 4-th argument" },
		{ "read_far_away", "host", "static_two", -EACCES,
		  "func 'static_two' doesn't have 3-th argument" },
		{ "read_first", "host", "first_of", -EACCES, "invalid bpf_context access off=0 size=8" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ext *e = load(rows[i].name, prog_fd(rows[i].prog), rows[i].func);
		int err = errno;

		expect_true(!e);
		expect_eq(-err, rows[i].err);
		if (!strstr(log_text, rows[i].text)) {
			failures++;
			printf("  %s on %s: got \"%s\", want \"%s\"\n", rows[i].name, rows[i].func,
			       log_text, rows[i].text);
		}
		ext__destroy(e);
	}
}

static void refused_on(const char *name, struct ext *dst, const char *text)
{
	struct ext *e = load(name, bpf_program__fd(only(dst)), bpf_program__name(only(dst)));

	expect_true(!e);
	expect_contains(log_text, text);
	ext__destroy(e);
}

/* Nothing on an extension but one program that traces it, and nothing in turn on what traces one. */
static void nesting(void)
{
	struct ext *tracer = LOAD("on_entry", "host", "plus_one");
	struct ext *e = LOAD("plus_ten", "host", "plus_one"), *on_ext, *on_tracer;
	int fd, ext_fd, tracer_fd;

	refused_on("replace_tracer", tracer, "Cannot replace static functions");
	refused_on("plus_twenty", e, "Cannot recursively attach");
	on_tracer = loaded(__LINE__, "nested", bpf_program__fd(only(tracer)), "on_entry");
	refused_on("nested", on_tracer, "Cannot nest tracing program attach more than once");
	on_ext = loaded(__LINE__, "on_exit", bpf_program__fd(only(e)), "plus_ten");

	fd = attach(on_ext);
	ext_fd = attach(e);
	expect_true(fd >= 0 && ext_fd >= 0);
	expect_eq(run("host"), HOST + 9000);
	expect_eq(on_ext->bss->leave.hits, 1);
	expect_eq(on_ext->bss->leave.args[1], 5);
	expect_eq(on_ext->bss->leave.ret, 15);
	close(fd);
	close(ext_fd);

	tracer_fd = attach(tracer);
	run("host");
	fd = attach(on_tracer);
	expect_true(fd >= 0 && tracer_fd >= 0);
	run("host");
	run("host");
	expect_eq(tracer->bss->entry.hits, 3);
	expect_eq(on_tracer->bss->hits, 2);
	close(fd);
	run("host");
	expect_eq(tracer->bss->entry.hits, 4);
	expect_eq(on_tracer->bss->hits, 2);
	close(tracer_fd);
	ext__destroy(on_tracer);
	ext__destroy(on_ext);
	ext__destroy(e);
	ext__destroy(tracer);
}

/* ---- attaching ---- */

static void exclusion(void)
{
	struct ext *a = LOAD("plus_ten", "host", "plus_one"), *b = LOAD("plus_twenty", "host", "plus_one");
	struct ext *tracer = LOAD("on_entry", "host", "plus_one");
	int tracer_fd, a_fd;

	tracer_fd = attach(tracer);
	expect_true(tracer_fd >= 0);
	expect_eq(attach(a), -EBUSY);
	close(tracer_fd);
	/* What it was loaded for is forgotten at the first attachment. */
	expect_eq(attach(tracer), -EINVAL);
	ext__destroy(tracer);
	a_fd = attach(a);
	expect_true(a_fd >= 0);
	expect_eq(attach(a), -EINVAL);
	expect_eq(attach(b), -EBUSY);
	tracer = LOAD("on_entry", "host", "plus_one");
	expect_eq(attach(tracer), -EBUSY);
	expect_eq(run("host"), HOST + 9000);
	expect_eq(tracer->bss->entry.hits, 0);
	close(a_fd);
	tracer_fd = attach(tracer);
	expect_true(tracer_fd >= 0);
	expect_eq(run("host"), HOST);
	expect_eq(tracer->bss->entry.hits, 1);
	close(tracer_fd);
	a_fd = attach(b);
	expect_eq(run("host"), HOST + 19000);
	close(a_fd);
	ext__destroy(tracer);
	ext__destroy(b);
	ext__destroy(a);
}

static void other_targets(void)
{
	struct ext *e = LOAD("plus_ten", "host", "plus_one"), *tracer;
	int host = prog_fd("host"), second = prog_fd("second"), fd, second_fd;
	union bpf_attr attr = { .raw_tracepoint.prog_fd = (uint32_t)bpf_program__fd(only(e)) };

	expect_eq(attach_to(e, second, 0), -EINVAL);
	expect_eq(attach_to(e, 0, func_id(second, "plus_one")), -EINVAL);
	expect_eq(attach_to(e, 999, func_id(second, "plus_one")), -EBADF);
	expect_eq(attach_to(e, bpf_map__fd(h->maps.jumps), func_id(second, "plus_one")), -EINVAL);
	expect_eq(attach_to(e, second, func_id(second, "second")), -EINVAL);
	expect_eq(attach_to(e, second, 9999), -EINVAL);
	expect_eq(attach_to(e, prog_fd("xhost"), func_id(prog_fd("xhost"), "xhost")), -EINVAL);
	second_fd = attach_to(e, second, func_id(second, "plus_one"));
	expect_true(second_fd >= 0);
	expect_eq(run("second"), 16000);
	expect_eq(run("host"), HOST);
	expect_eq(attach(e), -EINVAL);
	fd = attach_to(e, host, func_id(host, "plus_one"));
	expect_true(fd >= 0);
	expect_eq(run("host"), HOST + 9000);
	close(second_fd);
	close(fd);
	expect_eq(run("second"), 7000);
	expect_eq(run("host"), HOST);
	ext__destroy(e);

	/* The older form. */
	e = LOAD("plus_ten", "host", "plus_one");
	attr.raw_tracepoint.prog_fd = (uint32_t)bpf_program__fd(only(e));
	fd = (int)syscall(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	expect_true(fd >= 0);
	expect_eq(run("host"), HOST + 9000);
	close(fd);
	expect_eq(run("host"), HOST);
	ext__destroy(e);

	/* Programs that trace stay with the target of the load. */
	tracer = LOAD("on_entry", "host", "plus_one");
	expect_eq(attach_to(tracer, second, func_id(second, "plus_one")), -EINVAL);
	ext__destroy(tracer);
}

static bool prog_exists(uint32_t id)
{
	int fd = bpf_prog_get_fd_by_id(id);

	bpfu_fd_close(fd);
	return fd >= 0;
}

/* The kernel frees some time after the last reference went. */
static bool goes(uint32_t id)
{
	for (int i = 0; i < 500 && prog_exists(id); i++)
		usleep(10000);
	return !prog_exists(id);
}

/* The extension holds its target until it is attached, then the link does. */
static void lifetimes(void)
{
	struct ext_host *own = ext_host__open_and_load();
	uint32_t id = prog_info(bpf_program__fd(own->progs.host)).id;
	struct ext *e = loaded(__LINE__, "plus_ten", bpf_program__fd(own->progs.host), "plus_one");
	int fd;

	ext_host__destroy(own);
	expect_true(prog_exists(id));
	fd = attach(e);
	expect_true(fd >= 0);
	expect_true(prog_exists(id));
	ext__destroy(e);
	own = NULL;
	expect_true(prog_exists(id));
	expect_eq(run_fd(bpf_prog_get_fd_by_id(id)), HOST + 9000);
	close(fd);
}

static void let_go(void)
{
	struct ext_host *own = ext_host__open_and_load();
	uint32_t id = prog_info(bpf_program__fd(own->progs.host)).id;
	struct ext *e = loaded(__LINE__, "plus_ten", bpf_program__fd(own->progs.host), "plus_one");
	int fd = attach_to(e, prog_fd("host"), func_id(prog_fd("host"), "plus_one"));

	/* Attached to something else, it lets go of what it was loaded for. */
	ext_host__destroy(own);
	expect_true(fd >= 0);
	expect_true(goes(id));
	close(fd);
	ext__destroy(e);
	expect_eq(run("host"), HOST);
}

/* ---- program arrays and tail calls ---- */

static int put(struct bpf_map *map, uint32_t idx, int fd)
{
	return bpf_map_update_elem(bpf_map__fd(map), &idx, &fd, BPF_ANY);
}

static int drop(struct bpf_map *map, uint32_t idx)
{
	return bpf_map_delete_elem(bpf_map__fd(map), &idx);
}

static void arrays(void)
{
	struct ext *e = LOAD("plus_ten", "member", "plus_one");
	int fd;

	expect_eq(put(h->maps.jumps, 0, bpf_program__fd(only(e))), -EINVAL);
	expect_eq(put(h->maps.jumps, 0, prog_fd("member")), 0);
	expect_eq(attach(e), -EBUSY);
	expect_eq(drop(h->maps.jumps, 0), 0);
	fd = attach(e);
	expect_true(fd >= 0);
	expect_eq(put(h->maps.jumps, 0, prog_fd("member")), -EBUSY);
	expect_eq(run("member"), 11);
	close(fd);
	expect_eq(put(h->maps.jumps, 0, prog_fd("member")), 0);
	/* A loop of 33 tail calls. */
	expect_eq(run("member"), 2);
	expect_eq(drop(h->maps.jumps, 0), 0);
	ext__destroy(e);
}

/* From what replaces a function: what they lead to returns in its place. */
static void tail_calls(void)
{
	struct ext *e = LOAD("jump_on", "jumping", "jump");
	int fd;

	expect_eq(run("jumping"), 11);
	expect_eq(put(h->maps.jumps, 1, prog_fd("landing")), 0);
	expect_eq(run("jumping"), 44);
	fd = attach(e);
	expect_true(fd >= 0);
	expect_eq(run("jumping"), 22);
	expect_eq(put(e->maps.targets, 0, prog_fd("xhost")), -EINVAL);
	expect_eq(put(e->maps.targets, 0, prog_fd("landing")), 0);
	expect_eq(run("jumping"), 44);
	expect_eq(e->bss->steps, 4);
	expect_eq(drop(e->maps.targets, 0), 0);
	close(fd);
	expect_eq(drop(h->maps.jumps, 1), 0);
	ext__destroy(e);
}

/* ---- tracing ---- */

static void traced(void)
{
	struct ext *in = LOAD("on_entry", "host", "plus_one"), *out = LOAD("on_exit", "host", "plus_one");
	LIBBPF_OPTS(bpf_link_create_opts, opts, .tracing.cookie = COOKIE);
	int in_fd, out_fd;

	in_fd = bpf_link_create(bpf_program__fd(only(in)), 0, BPF_TRACE_FENTRY, &opts);
	expect_true(in_fd >= 0);
	expect_eq(run("host"), HOST);
	expect_eq(in->bss->entry.hits, 1);
	expect_eq(in->bss->entry.arg_cnt, 2);
	expect_eq(in->bss->entry.cookie, COOKIE);
	expect_true(in->bss->entry.args[0] != 0);
	expect_eq(in->bss->entry.args[1], 5);
	out_fd = attach(out);
	expect_true(out_fd >= 0);
	expect_eq(run("host"), HOST);
	expect_eq(in->bss->entry.hits, 2);
	expect_eq(out->bss->leave.hits, 1);
	expect_eq(out->bss->leave.cookie, 0);
	expect_eq(out->bss->leave.args[1], 5);
	expect_eq(out->bss->leave.ret, 6);
	expect_true(out->bss->leave.ip != 0);
	expect_eq(out->bss->leave.ip, in->bss->entry.ip);
	close(in_fd);
	expect_eq(run("host"), HOST);
	expect_eq(in->bss->entry.hits, 2);
	expect_eq(out->bss->leave.hits, 2);
	close(out_fd);
	expect_eq(run("host"), HOST);
	expect_eq(out->bss->leave.hits, 2);
	ext__destroy(out);
	ext__destroy(in);
}

/* Several programs, and functions of all kinds of one program at a time. */
static void traced_more(void)
{
	struct ext *in = LOAD("on_entry", "host", "host"), *out = LOAD("on_exit", "host", "host");
	struct ext *fixed = LOAD("on_exit", "host", "static_two");
	struct ext *loose = LOAD("on_entry", "host", "static_mem");
	struct ext *narrow = LOAD("read_second", "host", "plus_one");
	struct bpf_link_info link = { 0 };
	uint32_t len = sizeof(link);
	int fds[] = { attach(in), attach(out), attach(fixed), attach(loose), attach(narrow) };

	for (int i = 0; i < 5; i++)
		expect_true(fds[i] >= 0);
	expect_eq(run("host"), HOST);
	expect_eq(in->bss->entry.arg_cnt, 1);
	expect_eq(out->bss->leave.ret, HOST);
	expect_eq(out->bss->leave.args[0], in->bss->entry.args[0]);
	expect_eq(fixed->bss->leave.arg_cnt, 1);
	expect_eq(fixed->bss->leave.args[0], 64);
	expect_eq(fixed->bss->leave.ret, 66);
	/* Of what is not called as its BTF says the registers are shown, as they are. */
	expect_eq(loose->bss->entry.arg_cnt, 5);
	expect_true(loose->bss->entry.args[0] != 0);
	expect_eq(narrow->bss->far, 5);
	expect_eq(bpf_obj_get_info_by_fd(fds[2], &link, &len), 0);
	expect_eq(link.tracing.attach_type, BPF_TRACE_FEXIT);
	expect_eq(link.tracing.target_obj_id, prog_info(prog_fd("host")).id);
	expect_eq(link.tracing.target_btf_id, func_id(prog_fd("host"), "static_two"));
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	expect_eq(run("host"), HOST);
	expect_eq(in->bss->entry.hits + out->bss->leave.hits + fixed->bss->leave.hits +
			  loose->bss->entry.hits, 4);
	ext__destroy(narrow);
	ext__destroy(loose);
	ext__destroy(fixed);
	ext__destroy(out);
	ext__destroy(in);
}

/* Callbacks, and functions that make tail calls and return from what these lead to. */
static void traced_flow(void)
{
	struct ext *in = LOAD("on_entry", "looping", "in_turn");
	struct ext *out = LOAD("on_exit", "jumping", "jump");
	int fds[] = { attach(in), attach(out) };

	expect_true(fds[0] >= 0 && fds[1] >= 0);
	expect_eq(run("looping"), 45 + 3);
	expect_eq(in->bss->entry.hits, 10);
	expect_eq(in->bss->entry.args[0], 9);
	expect_eq(run("jumping"), 11);
	expect_eq(out->bss->leave.ret, 1);
	expect_eq(put(h->maps.jumps, 1, prog_fd("landing")), 0);
	expect_eq(run("jumping"), 44);
	expect_eq(out->bss->leave.hits, 4);
	expect_eq(out->bss->leave.ret, 4);
	expect_eq(drop(h->maps.jumps, 1), 0);
	close(fds[0]);
	close(fds[1]);
	ext__destroy(out);
	ext__destroy(in);
}

/* A program that is attached to something: what it runs as changes under the attachment. */
static void attached_host(void)
{
	struct bpf_link *link = bpf_program__attach(h->progs.raw_host);
	struct ext *e = LOAD("count_raw", "raw_host", "raw_count");
	struct ext *in = LOAD("on_entry", "raw_host", "raw_host");
	int before, fd, in_fd;

	expect_true(link != NULL);
	before = h->bss->raw_hits;
	run("xhost");
	expect_eq(h->bss->raw_hits - before, 1);
	fd = attach(e);
	in_fd = attach(in);
	expect_true(fd >= 0 && in_fd >= 0);
	run("xhost");
	run("xhost");
	expect_eq(e->bss->hits, 2);
	expect_eq(in->bss->entry.hits, 2);
	expect_eq(h->bss->raw_hits - before, 1);
	close(fd);
	run("xhost");
	expect_eq(in->bss->entry.hits, 3);
	expect_eq(h->bss->raw_hits - before, 2);
	close(in_fd);
	run("xhost");
	expect_eq(h->bss->raw_hits - before, 3);
	expect_eq(e->bss->hits, 2);
	expect_eq(in->bss->entry.hits, 3);
	bpf_link__destroy(link);
	ext__destroy(in);
	ext__destroy(e);
}

/* Kernels have all arguments of a tracepoint for every program on it (docs/differences.md). */
static void far_context(void)
{
	struct ext *e = LOAD("raw_far", "raw_host", "raw_host");
	int fd = attach(e);

	if (on_user)
		expect_eq(fd, -EOPNOTSUPP);
	else
		expect_true(fd >= 0);
	if (fd >= 0)
		close(fd);
	ext__destroy(e);
}

/* ---- which side, and how ---- */

static void choose_side(int argc, char **argv)
{
	if (bpfu_selftest()) {
		printf("calls do not reach the router\n");
		exit(1);
	}
	libbpf_set_print(probe_quiet);
	bpfu_set_log_cb(probe_log, NULL);
	bpfu_route_set(on_user ? BPFU_ROUTE_USER : BPFU_ROUTE_KERNEL);
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (!value || bpfu_option_set(argv[i], value)) {
			printf("no option %s\n", argv[i]);
			exit(2);
		}
	}
}

/* Without tracing a kernel does not even load them. */
static void need_kernel(void)
{
	struct ext *e;

	if (on_user)
		return;
	e = geteuid() ? NULL : load("plus_ten", prog_fd("host"), "plus_one");
	if (!e) {
		printf("skipped: this kernel loads no programs on functions\n");
		exit(77);
	}
	ext__destroy(e);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} tests[] = {
		{ "replace", replace },
		{ "replace_main", replace_main },
		{ "all_arguments", all_arguments },
		{ "stacks", stacks },
		{ "refusals", refusals },
		{ "exclusion", exclusion },
		{ "other_targets", other_targets },
		{ "lifetimes", lifetimes },
		{ "let_go", let_go },
		{ "arrays", arrays },
		{ "tail_calls", tail_calls },
		{ "traced", traced },
		{ "traced_more", traced_more },
		{ "traced_flow", traced_flow },
		{ "nesting", nesting },
		{ "attached_host", attached_host },
		{ "far_context", far_context },
	};

	if (argc < 2 || (strcmp(argv[1], "user") && strcmp(argv[1], "kernel"))) {
		fprintf(stderr, "usage: %s user|kernel [OPTION=VALUE]...\n", argv[0]);
		return 2;
	}
	on_user = !strcmp(argv[1], "user");
	choose_side(argc, argv);
	h = ext_host__open_and_load();
	if (!h) {
		if (!on_user && (errno == EPERM || errno == ENOSYS)) {
			printf("skipped: no bpf(2)\n");
			return 77;
		}
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	expect_eq(bpfu_fd_is_user(prog_fd("host")), on_user);
	need_kernel();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		int before = failures;

		tests[i].fn();
		printf("%s %s\n", failures == before ? "ok" : "not ok", tests[i].name);
	}
	ext_host__destroy(h);
	return probe_result();
}
