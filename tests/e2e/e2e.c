// SPDX-License-Identifier: BSD-2-Clause
/*
 * An ordinary libbpf application, end to end: open, set constants, load, run, read back, with what
 * libbpf makes of maps and global data. Runs on libbpfu compiled and interpreted, and on the
 * kernel; each expectation is the same. Built once per instruction set of the object.
 *
 * usage: e2e jit|interp|kernel
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_ether.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"

/* As in progs/e2e.bpf.c; the skeleton refers to it. */
struct arith {
	int64_t a64, b64;
	int32_t a32, b32;
	uint64_t out[8];
};

#include SKEL_HEADER

#define EXIT_SKIP 77
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define THREADS 64
#define RUNS_PER_THREAD 300

static const char *mode;
static int failures;

static bool expect(int line, const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return true;
	failures++;
	printf("  e2e.c:%d: %s: got %lld, want %lld\n", line, what, (long long)got, (long long)want);
	return false;
}

#define expect_eq(got, want) expect(__LINE__, #got, got, want)
#define expect_true(cond) expect(__LINE__, #cond, !!(cond), 1)

/* ---- loading ---- */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vprintf(fmt, ap) : 0;
}

static struct e2e *load(void)
{
	struct e2e *skel = e2e__open();

	if (!skel) {
		printf("cannot open: %s\n", strerror(errno));
		exit(1);
	}
	skel->rodata->factor = 3;
	if (e2e__load(skel)) {
		printf("cannot load: %s\n", strerror(errno));
		exit(1);
	}
	return skel;
}

/* Who answered, and compiled or not as was asked for. */
static void check_side(struct e2e *skel)
{
	bool kernel = !strcmp(mode, "kernel");
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpfu_fd_is_user(bpf_program__fd(skel->progs.globals)), !kernel);
	expect_eq(bpfu_fd_is_user(bpf_map__fd(skel->maps.hash)), !kernel);
	expect_eq(bpfu_fd_is_user(bpf_map__fd(skel->maps.bss)), !kernel);
	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.globals), &info, &len), 0);
	expect_eq(info.jited_prog_len != 0, strcmp(mode, "interp") != 0);
}

static int run_raw(struct bpf_program *prog, uint64_t a, uint64_t b)
{
	uint64_t args[2] = { a, b };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (!expect_eq(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), 0))
		return -1;
	return opts.retval;
}

/* ---- the tests ---- */

static void test_globals(struct e2e *skel)
{
	expect_eq(skel->data->initial, 7);
	expect_eq(run_raw(skel->progs.globals, 10, 0), 16);
	expect_eq(skel->bss->sum, 30);
	expect_eq(skel->data->initial, 8);
	skel->data->initial = 100; /* the application writes, the program reads */
	skel->bss->sum = 1000;
	expect_eq(run_raw(skel->progs.globals, 2, 0), 202);
	expect_eq(skel->bss->sum, 1006);
	/* Constants are mapped, and frozen. */
	expect_eq(skel->rodata->factor, 3);
	uint32_t key = 0;
	char value[4096] = { 0 };

	expect_eq(bpf_map_update_elem(bpf_map__fd(skel->maps.rodata), &key, value, 0), -EPERM);
}

struct pair {
	uint64_t a;
	uint32_t b, c;
};

static void test_maps(struct e2e *skel)
{
	int hash = bpf_map__fd(skel->maps.hash), array = bpf_map__fd(skel->maps.array);
	struct pair pair = { 0 };
	uint64_t value = 0;
	uint32_t key = 5, idx = 5;

	expect_eq(run_raw(skel->progs.maps, 5, 0), 1);
	expect_eq(run_raw(skel->progs.maps, 5, 0), 2);
	expect_eq(run_raw(skel->progs.maps, 21, 0), 1);
	expect_eq(bpf_map_lookup_elem(hash, &key, &pair), 0);
	expect_eq(pair.a, 5);
	expect_eq(pair.b, 2);
	expect_eq(pair.c, 0xabcd);
	expect_eq(bpf_map_lookup_elem(array, &idx, &value), 0);
	expect_eq(value, 31); /* 5 + 5 + 21 */
	expect_eq(run_raw(skel->progs.maps, 13, 0), 0);
	key = 13;
	expect_eq(bpf_map_lookup_elem(hash, &key, &pair), -ENOENT);
	/* The other way round. */
	pair = (struct pair){ .a = 1, .b = 40 };
	key = 77;
	expect_eq(bpf_map_update_elem(hash, &key, &pair, BPF_ANY), 0);
	expect_eq(run_raw(skel->progs.maps, 77, 0), 41);
}

static void test_tail_calls(struct e2e *skel)
{
	uint32_t key = 0;

	expect_eq(run_raw(skel->progs.tail_entry, 0, 5), 47);
	expect_eq(skel->bss->tail_depth, 1);
	expect_eq(run_raw(skel->progs.tail_entry, 1, 0), 2000);
	expect_eq(skel->bss->tail_depth, 33);
	expect_eq(run_raw(skel->progs.tail_entry, 2, 0), 1000); /* an empty slot */
	expect_eq(run_raw(skel->progs.tail_entry, 4, 0), 1000); /* out of range */
	expect_eq(run_raw(skel->progs.tail_entry, 0xffffffff, 0), 1000);
	expect_eq(run_raw(skel->progs.tail_entry, 0x100000000, 5), 47); /* 32 bits count */
	expect_eq(bpf_map_delete_elem(bpf_map__fd(skel->maps.progs), &key), 0);
	expect_eq(run_raw(skel->progs.tail_entry, 0, 5), 1000);
}

static void test_loops(struct e2e *skel)
{
	expect_eq(run_raw(skel->progs.loops, 10, 100), 10);
	expect_eq(skel->bss->loop_total, 285 + 90);
	expect_eq(run_raw(skel->progs.loops, 10, 4), 5); /* stopped: the last call counts */
	expect_eq(skel->bss->loop_total, 14 + 90);
	expect_eq(run_raw(skel->progs.loops, 0, 0), 0);
	expect_eq(run_raw(skel->progs.loops, 1 << 23, 3), 4);
	expect_eq(run_raw(skel->progs.loops, (1 << 23) + 1, 3), -E2BIG);
	skel->bss->sum = 0;
	expect_eq(run_raw(skel->progs.for_each, 0, 0), 8);
	expect_true(skel->bss->sum >= 31);
}

static void fill_packet(uint8_t *packet, size_t size)
{
	for (size_t i = 0; i < size; i++)
		packet[i] = i;
	packet[12] = 0x08;
	packet[13] = 0x00;
}

static void test_xdp(struct e2e *skel)
{
	int fd = bpf_program__fd(skel->progs.xdp_swap);
	uint8_t in[64], out[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = sizeof(in),
		    .data_out = out, .data_size_out = sizeof(out), .repeat = 1);

	fill_packet(in, sizeof(in));
	skel->bss->packet_bytes = 0;
	expect_eq(bpf_prog_test_run_opts(fd, &opts), 0);
	expect_eq(opts.retval, 3); /* XDP_TX */
	expect_eq(opts.data_size_out, 64);
	expect_eq(memcmp(out, in + 6, 6), 0);
	expect_eq(memcmp(out + 6, in, 6), 0);
	expect_eq(memcmp(out + 12, in + 12, 52), 0);
	expect_eq(skel->bss->packet_bytes, 64);
	in[12] = 0x86;
	opts.repeat = 100;
	opts.data_size_out = sizeof(out);
	expect_eq(bpf_prog_test_run_opts(fd, &opts), 0);
	expect_eq(opts.retval, 2); /* XDP_PASS */
	expect_eq(memcmp(out, in, sizeof(in)), 0);
	expect_eq(skel->bss->packet_bytes, 64 + 100 * 64);
}

static void test_tc(struct e2e *skel)
{
	int fd = bpf_program__fd(skel->progs.tc_mark);
	struct __sk_buff ctx = { 0 };
	uint8_t in[80], out[80] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = sizeof(in),
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .ctx_out = &ctx, .ctx_size_out = sizeof(ctx),
		    .repeat = 1);

	fill_packet(in, sizeof(in));
	expect_eq(bpf_prog_test_run_opts(fd, &opts), 0);
	expect_eq(opts.retval, 0); /* TC_ACT_OK */
	expect_eq(ctx.mark, 23);
	expect_eq(out[23], 23 ^ 0xff);
	expect_eq(out[22], 22);
	expect_eq(skel->bss->packet_bytes, 80);
}

static void test_arith(struct e2e *skel)
{
	const int64_t a64 = -0x0123456789abcdef, b64 = -7;
	const int32_t a32 = 0x7654321f, b32 = -0x4321;

	skel->bss->arith.a64 = a64;
	skel->bss->arith.b64 = b64;
	skel->bss->arith.a32 = a32;
	skel->bss->arith.b32 = b32;
	expect_eq(run_raw(skel->progs.compute, 0, 0), 0);
	expect_eq(skel->bss->arith.out[0], __builtin_bswap64(a64));
	expect_eq(skel->bss->arith.out[1], __builtin_bswap32(a32));
	expect_eq(skel->bss->arith.out[2], __builtin_bswap16((uint16_t)a32));
	expect_eq(skel->bss->arith.out[3], (int8_t)a64 + (int16_t)b32);
	expect_eq(skel->bss->arith.out[4], (int64_t)a32 * (int32_t)b64);
	expect_eq(skel->bss->arith.out[7], ISA_VERSION);
	if (ISA_VERSION >= 4) {
		expect_eq(skel->bss->arith.out[5], a64 / b64);
		expect_eq(skel->bss->arith.out[6], (uint32_t)(a32 % b32));
	}
}

/* ---- many threads on all CPUs: nothing that was counted is lost ---- */

static void *counter(void *arg)
{
	int fd = bpf_program__fd(((struct e2e *)arg)->progs.count);

	for (uint64_t i = 0; i < RUNS_PER_THREAD; i++) {
		uint64_t args[1] = { i };
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

		if (bpf_prog_test_run_opts(fd, &opts) || opts.retval)
			return (void *)1;
	}
	return NULL;
}

static uint64_t percpu_sum(int fd, uint32_t key)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *values = calloc(cpus, sizeof(*values)), total = 0;

	if (!bpf_map_lookup_elem(fd, &key, values))
		for (int i = 0; i < cpus; i++)
			total += values[i];
	free(values);
	return total;
}

static void test_threads(struct e2e *skel)
{
	const uint64_t want = THREADS * RUNS_PER_THREAD;
	pthread_t threads[THREADS];
	uint64_t total = 0;

	skel->bss->atomic_count = 0;
	for (int i = 0; i < THREADS; i++)
		expect_eq(pthread_create(&threads[i], NULL, counter, skel), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		expect_true(!failed);
	}
	expect_eq(skel->bss->atomic_count, want);
	expect_eq(percpu_sum(bpf_map__fd(skel->maps.percpu_array), 0), want);
	for (uint32_t key = 0; key < 8; key++)
		total += percpu_sum(bpf_map__fd(skel->maps.percpu_hash), key);
	expect_eq(total, want);
}

/* ---- pinning, as libbpf does it ---- */

static void test_pins(struct e2e *skel)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/bpf/e2e_%d/hash", getpid());
	if (bpf_map__pin(skel->maps.hash, path)) { /* the kernel's bpffs may not be mounted */
		expect_true(!strcmp(mode, "kernel"));
		return;
	}
	fd = bpf_obj_get(path);
	expect_true(fd >= 0);
	close(fd);
	expect_eq(bpf_map__unpin(skel->maps.hash, path), 0);
	expect_eq(bpf_obj_get(path), -ENOENT);
	snprintf(path, sizeof(path), "/sys/fs/bpf/e2e_%d", getpid());
	expect_eq(rmdir(path), 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct e2e *skel);
	} tests[] = {
		{ "globals", test_globals }, { "maps", test_maps },
		{ "tail calls", test_tail_calls }, { "loops", test_loops },
		{ "xdp", test_xdp }, { "tc", test_tc }, { "arithmetic", test_arith },
		{ "threads", test_threads }, { "pins", test_pins },
	};
	struct e2e *skel;

	mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "jit") && strcmp(mode, "interp") && strcmp(mode, "kernel")) {
		fprintf(stderr, "usage: %s jit|interp|kernel\n", argv[0]);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (bpfu_selftest()) {
		printf("calls do not reach the router\n");
		return 1;
	}
	if (!strcmp(mode, "kernel"))
		bpfu_route_set(BPFU_ROUTE_KERNEL);
	bpfu_option_set("jit", strcmp(mode, "interp") ? "on" : "off");
	libbpf_set_print(quiet);
	if (!strcmp(mode, "kernel") && libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_XDP, NULL) != 1) {
		printf("skipped: the kernel refuses bpf(2)\n");
		return EXIT_SKIP;
	}
	skel = load();
	check_side(skel);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		int before = failures;

		tests[i].fn(skel);
		printf("%s %s\n", failures == before ? "ok  " : "FAIL", tests[i].name);
	}
	e2e__destroy(skel);
	printf("%s, v%d: %d failed expectations\n", mode, ISA_VERSION, failures);
	return failures != 0;
}
