// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions of a program are replaced and traced while threads run it: every run returns what one of its
 * forms does, a program that is attached all the time sees each of them, and an attachment is in force once
 * the call that made it has returned, and no longer once it is gone.
 *
 * usage: probe_ext_stress jit|interp [ROUNDS [THREADS]]
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "ext.h"
#include "ext.skel.h"
#include "ext_host.skel.h"
#include "probe.h"

#define ROUNDS 150
#define THREADS 8
#define THREADS_MAX 64

#define PLAIN 706066          /* what host returns as it is loaded */
#define TEN (PLAIN + 9000)    /* with plus_ten */
#define TWENTY (PLAIN + 19000)

static atomic_bool stop;
static _Atomic uint64_t runs, wrong;
static int host;

static int run(void)
{
	char data[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data));

	if (bpf_prog_test_run_opts(host, &opts))
		return -1;
	atomic_fetch_add(&runs, 1);
	return (int)opts.retval;
}

static void *runner(void *arg)
{
	while (!atomic_load(&stop)) {
		int ret = run();

		if (ret != PLAIN && ret != TEN && ret != TWENTY)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static struct ext *load(const char *name, const char *func)
{
	struct ext *e = ext__open();
	struct bpf_program *prog = bpf_object__find_program_by_name(e->obj, name);

	bpf_program__set_autoload(prog, true);
	if (!bpf_program__set_attach_target(prog, host, func) && !ext__load(e))
		return e;
	printf("cannot load %s: %s\n", name, strerror(errno));
	exit(1);
}

static int attach(const struct bpf_program *prog)
{
	return bpf_link_create(bpf_program__fd(prog), 0, bpf_program__expected_attach_type(prog), NULL);
}

static uint32_t plus_one_id(void)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct btf *btf;
	int id;

	expect_eq(bpf_obj_get_info_by_fd(host, &info, &len), 0);
	btf = btf__load_from_kernel_by_id(info.btf_id);
	id = btf__find_by_name_kind(btf, "plus_one", BTF_KIND_FUNC);
	btf__free(btf);
	return (uint32_t)id;
}

static void one_round(struct ext *ten, struct ext *twenty, uint32_t id)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .target_btf_id = id);
	struct ext *leave = load("on_exit", "static_two"), *entry;
	int ext_fd, fd = attach(leave->progs.on_exit);

	ext_fd = bpf_link_create(bpf_program__fd(ten->progs.plus_ten), host, 0, &opts);
	expect_true(fd >= 0 && ext_fd >= 0);
	expect_eq(run(), TEN);
	close(fd);
	expect_true(leave->bss->leave.hits > 0);
	close(ext_fd);
	expect_eq(run(), PLAIN);
	ext_fd = bpf_link_create(bpf_program__fd(twenty->progs.plus_twenty), host, 0, &opts);
	expect_eq(run(), TWENTY);
	close(ext_fd);
	entry = load("on_entry", "plus_one");
	fd = attach(entry->progs.on_entry);
	expect_eq(run(), PLAIN);
	expect_true(fd >= 0 && entry->bss->entry.hits > 0);
	close(fd);
	ext__destroy(entry);
	ext__destroy(leave);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	int threads = argc > 3 ? atoi(argv[3]) : THREADS;
	struct ext *ten, *twenty, *always;
	pthread_t tids[THREADS_MAX];
	struct ext_host *h;
	uint32_t id;
	int fd;

	probe_init(argc, argv);
	h = ext_host__open_and_load();
	if (!h || threads > THREADS_MAX)
		return 1;
	host = bpf_program__fd(h->progs.host);
	id = plus_one_id();
	ten = load("plus_ten", "plus_one");
	twenty = load("plus_twenty", "plus_one");
	always = load("count_all", "host");
	fd = attach(always->progs.count_all);
	expect_true(fd >= 0);
	for (int i = 0; i < threads; i++)
		expect_eq(pthread_create(&tids[i], NULL, runner, NULL), 0);
	for (int i = 0; i < rounds && !failures; i++)
		one_round(ten, twenty, id);
	atomic_store(&stop, true);
	for (int i = 0; i < threads; i++)
		pthread_join(tids[i], NULL);
	printf("%d rounds, %llu runs\n", rounds, (unsigned long long)runs);
	expect_eq(wrong, 0);
	expect_eq(always->bss->total, runs);
	close(fd);
	expect_eq(run(), PLAIN);
	expect_eq(always->bss->total, runs - 1);
	ext__destroy(always);
	ext__destroy(twenty);
	ext__destroy(ten);
	ext_host__destroy(h);
	return probe_result();
}
