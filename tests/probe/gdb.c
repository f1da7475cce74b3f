// SPDX-License-Identifier: BSD-2-Clause
/*
 * What gdb.sh runs under gdb: programs are attached, one kind at a time, and probed functions called.
 *
 * usage: probe_gdb on|off KIND
 */
#include <bpf/bpf.h>

#include "gdb.skel.h"
#include "probe.h"

int gdb_traced(int a);
int gdb_probed(int a);
void gdb_loaded(void);
void gdb_unloaded(void);

PROBE_APART static int body(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

BPFU_PROBE_ENTRY int gdb_traced(int a)
{
	int ret = body(a);

	__asm__ volatile("" : "+r"(ret)); /* no tail call */
	return ret;
}

BPFU_PROBE_ENTRY int gdb_probed(int a)
{
	int ret = body(a);

	__asm__ volatile("" : "+r"(ret));
	return ret;
}

PROBE_APART static int gdb_caller(int a)
{
	int ret = gdb_traced(a) + gdb_probed(a);

	__asm__ volatile("" : "+r"(ret));
	return ret;
}

/* Breakpoints of gdb.sh: programs are loaded, and are no more. */
PROBE_APART void gdb_loaded(void)
{
	__asm__ volatile("" ::: "memory");
}

PROBE_APART void gdb_unloaded(void)
{
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	struct bpf_program *prog;
	struct bpf_link *link;
	uint32_t zero = 0;
	int fd;
	struct gdb *s;

	if (argc != 3 || bpfu_option_set("gdb", argv[1])) {
		fprintf(stderr, "usage: %s on|off KIND\n", argv[0]);
		return 2;
	}
	libbpf_set_print(probe_quiet);
	bpfu_set_log_cb(probe_log, NULL);
	expect_eq(bpfu_selftest(), 0);
	expect_eq(bpfu_func_register(gdb_traced, "int gdb_traced(int a)", 0), 0);
	expect_eq(bpfu_func_register(gdb_probed, "int gdb_probed(int a)", 0), 0);
	s = gdb__open_and_load();
	prog = s ? bpf_object__find_program_by_name(s->obj, argv[2]) : NULL;
	if (!prog) {
		printf("cannot load %s\n", argv[2]);
		return 1;
	}
	fd = bpf_program__fd(s->progs.landing);
	expect_eq(bpf_map_update_elem(bpf_map__fd(s->maps.jumps), &zero, &fd, 0), 0);
	link = bpf_program__attach(prog);
	expect_true(link != NULL);
	gdb_loaded();
	expect_eq(gdb_caller(1), 4);
	expect_true(s->bss->sum > 0);
	bpf_link__destroy(link);
	gdb__destroy(s);
	gdb_unloaded();
	return probe_result();
}
