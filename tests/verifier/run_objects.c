// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads every program of the given BPF objects on both sides and compares verdict, errno, log and the
 * result of a test run with what the program's tags say (expect.h).
 *
 *   run_objects OBJECT...        -v: print the logs of failures; -p NAME: only this program;
 *                                -f: store states at every chance (BPF_F_TEST_STATE_FREQ), so that
 *                                pruning, which short programs hardly meet, is in force
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "side.h"

#define MSGS 4
#define LOG_SIZE (1 << 22)
/* A kernel without CONFIG_KALLSYMS_ALL cannot tell where a variable is. */
#define NO_VARIABLES "ldimm64 failed to find the address for kernel symbol"

struct expect {
	bool success, has_retval, has_kernel, no_run_kernel;
	int err, kernel, log_level;
	uint32_t retval, flags;
	const char *msg[MSGS];
	bool msg_is_ours[MSGS];
	int msgs;
};

static char log_text[LOG_SIZE];
static bool verbose;
static const char *only;
static uint32_t extra_flags;
static int passed, failed;

static void parse_tag(struct expect *e, const char *tag)
{
	const char *value = strchr(tag, '=');

	value = value ? value + 1 : "";
	if (!strcmp(tag, "success"))
		e->success = true;
	else if (!strncmp(tag, "failure=", 8))
		e->err = atoi(value);
	else if (!strncmp(tag, "retval=", 7))
		e->has_retval = true, e->retval = (uint32_t)strtoll(value, NULL, 0);
	else if (!strncmp(tag, "flags=", 6))
		e->flags = (uint32_t)strtoul(value, NULL, 0);
	else if (!strncmp(tag, "log_level=", 10))
		e->log_level = atoi(value);
	else if (!strncmp(tag, "kernel=", 7))
		e->has_kernel = true, e->kernel = atoi(value);
	else if (!strcmp(tag, "no_run_kernel"))
		e->no_run_kernel = true;
	else if ((!strncmp(tag, "msg=", 4) || !strncmp(tag, "our_msg=", 8)) && e->msgs < MSGS) {
		e->msg_is_ours[e->msgs] = tag[0] == 'o';
		e->msg[e->msgs++] = value;
	}
}

static struct expect expectations(const struct btf *btf, const char *prog)
{
	int func = btf__find_by_name_kind(btf, prog, BTF_KIND_FUNC);
	struct expect e = { .log_level = -1 };

	for (uint32_t id = 1; func > 0 && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *tag;

		if (!btf_is_decl_tag(t) || (int)t->type != func ||
		    btf_decl_tag(t)->component_idx != -1)
			continue;
		tag = btf__name_by_offset(btf, t->name_off);
		if (!strncmp(tag, "expect:", 7))
			parse_tag(&e, tag + 7);
	}
	if (e.log_level < 0)
		e.log_level = e.success && e.msgs ? 2 : 1;
	return e;
}

static void complain(const char *prog, enum side side, const char *what)
{
	printf("not ok - %s@%s: %s\n", prog, side_name[side], what);
	if (verbose)
		printf("%s\n", log_text);
	failed++;
}

static bool check_run(const char *name, enum side side, const struct expect *e, int fd,
		      enum bpf_prog_type type)
{
	static char data[64], ctx[64];
	char text[96];
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	memset(ctx, 0, sizeof(ctx));
	memset(data, 0, sizeof(data));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i + 1);
	if (type == BPF_PROG_TYPE_RAW_TRACEPOINT || type == BPF_PROG_TYPE_SYSCALL) {
		opts.ctx_in = ctx;
		opts.ctx_size_in = sizeof(ctx);
	} else {
		opts.data_in = data;
		opts.data_size_in = sizeof(data);
		opts.repeat = 1;
	}
	err = bpf_prog_test_run_opts(fd, &opts);
	if (!err && opts.retval == e->retval)
		return true;
	if (err)
		snprintf(text, sizeof(text), "test run: %s", strerror(-err));
	else
		snprintf(text, sizeof(text), "test run returned %u, not %u", opts.retval, e->retval);
	complain(name, side, text);
	return false;
}

static bool check_log(const char *name, enum side side, const struct expect *e)
{
	char text[256];

	/* A mistake in the test itself: it would prove nothing. */
	if (!e->msgs && strstr(log_text, "unreachable insn")) {
		complain(name, side, "has unreachable instructions");
		return false;
	}
	for (int i = 0; i < e->msgs; i++) {
		if (side == SIDE_KERNEL && (e->msg_is_ours[i] || e->has_kernel))
			continue;
		if (strstr(log_text, e->msg[i]))
			continue;
		snprintf(text, sizeof(text), "log lacks '%s'", e->msg[i]);
		complain(name, side, text);
		return false;
	}
	return true;
}

/* Load one program alone. */
static bool run_one(const char *path, const char *name, enum side side, const struct expect *e)
{
	int want = side == SIDE_KERNEL && e->has_kernel ? -e->kernel : e->success ? 0 : -e->err;
	struct bpf_object *obj = bpf_object__open(path);
	struct bpf_program *prog;
	bool ok = false;
	char text[96];
	int err;

	if (!obj) {
		complain(name, side, "cannot open object");
		return false;
	}
	bpf_object__for_each_program(prog, obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	prog = bpf_object__find_program_by_name(obj, name);
	bpf_program__set_log_level(prog, (uint32_t)e->log_level);
	bpf_program__set_log_buf(prog, log_text, LOG_SIZE);
	bpf_program__set_flags(prog, bpf_program__flags(prog) | e->flags | extra_flags);
	log_text[0] = '\0';
	err = bpf_object__load(obj);
	if (err != want && side == SIDE_KERNEL && strstr(log_text, NO_VARIABLES)) {
		printf("skip - %s@kernel: its symbols have no variables\n", name);
		ok = true;
	} else if (err != want) {
		snprintf(text, sizeof(text), "verdict %d, not %d", err, want);
		complain(name, side, text);
	} else {
		ok = check_log(name, side, e);
		if (ok && !err && e->has_retval && !(side == SIDE_KERNEL && e->no_run_kernel))
			ok = check_run(name, side, e, bpf_program__fd(prog), bpf_program__type(prog));
	}
	bpf_object__close(obj);
	return ok;
}

static void run_program(const char *path, const struct bpf_object *obj, const char *name)
{
	struct expect e = expectations(bpf_object__btf(obj), name);
	bool ok = true;

	if (!e.success && !e.err) {
		complain(name, SIDE_USER, "says nothing of what it expects");
		return;
	}
	if (e.has_kernel && !difference_is_documented(name)) {
		complain(name, SIDE_KERNEL, "differs, but docs/differences.md does not name it");
		return;
	}
	for (enum side side = SIDE_USER; side < SIDES; side++) {
		if (side == SIDE_KERNEL && !side_kernel_usable())
			break;
		side_set(side);
		ok &= run_one(path, name, side, &e);
	}
	passed += ok;
	if (ok && verbose)
		printf("ok - %s\n", name);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return verbose && level == LIBBPF_WARN ? vfprintf(stderr, fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "fvp:")) != -1) {
		if (opt == 'v')
			verbose = true;
		else if (opt == 'f')
			extra_flags = BPF_F_TEST_STATE_FREQ;
		else if (opt == 'p')
			only = optarg;
		else
			return 1;
	}
	libbpf_set_print(quiet);
	side_self_check();
	for (; optind < argc; optind++) {
		struct bpf_object *obj = bpf_object__open(argv[optind]);
		struct bpf_program *prog;

		if (!obj) {
			fprintf(stderr, "%s: cannot open\n", argv[optind]);
			return 1;
		}
		bpf_object__for_each_program(prog, obj)
			if (!only || !strcmp(only, bpf_program__name(prog)))
				run_program(argv[optind], obj, bpf_program__name(prog));
		bpf_object__close(obj);
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
