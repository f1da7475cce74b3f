// SPDX-License-Identifier: BSD-2-Clause
/*
 * The files for perf: where they are, what is in them, and what others may have put in their places.
 * Read here by the description of the formats, not by the structures that wrote them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "insn/insn.h"
#include "jit/jit.h"
#include "read_bytes.h"

static char dir[64], map_path[64], dump_path[128];

static void set_paths(void)
{
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", dir, (int)getpid());
}

static int load_value(const char *name, int32_t value)
{
	/* call a function that returns @value; exit */
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, value),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insns = (uintptr_t)insns, .insn_cnt = BPFU_ARRAY_SIZE(insns),
				.license = (uintptr_t)"GPL" };
	int fd;

	snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	fd = bpfu_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	assert_true(fd >= 0);
	return fd;
}

static void option(const char *name, bool on)
{
	assert_int_equal(bpfu_option_set(name, on ? "on" : "off"), 0);
}

static bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* The whole file and a NUL; freed by the caller. */
static uint8_t *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	uint8_t *data = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*len = fread(data, 1, (1 << 20) - 1, f);
	fclose(f);
	return data;
}

/* How many lines of the map end in @suffix; *@addr, *@size: of the last. */
static int map_lines(const char *suffix, unsigned long *addr, unsigned long *size)
{
	char line[256], name[200];
	FILE *f = fopen(map_path, "r");
	unsigned long a, s;
	int found = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *tail;

		assert_int_equal(sscanf(line, "%lx %lx %199s", &a, &s, name), 3);
		assert_int_equal(strncmp(name, "bpf_prog_", 9), 0);
		assert_int_equal(strspn(name + 9, "0123456789abcdef"), 16);
		tail = name + 9 + 16;
		if (strcmp(tail, suffix))
			continue;
		found++;
		*addr = a;
		*size = s;
	}
	fclose(f);
	return found;
}

static void test_off(void **state)
{
	int fd = load_value("quiet", 1);

	assert_false(exists(map_path));
	assert_false(exists(dump_path));
	close(fd);
}

static void test_map(void **state)
{
	unsigned long addr, size, addr_f;
	struct bpfu_code *code;
	struct stat st;
	int fd;

	option("perf_map", true);
	fd = load_value("mapped", 1);
	assert_int_equal(bpfu_prog_code(fd, NULL, &code), 0);
	assert_int_equal(map_lines("_mapped", &addr, &size), 1);
	assert_int_equal(addr, code->base + code->func_off[0]);
	assert_int_equal(size, code->func_len[0]);
	assert_int_equal(map_lines("_F", &addr_f, &size), 1);
	assert_int_equal(addr_f, code->base + code->func_off[1]);
	assert_int_equal(lstat(map_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	bpfu_code_free(code);

	/* Unloaded, the names stay, until something else has the place. */
	close(fd);
	assert_int_equal(map_lines("_mapped", &addr, &size), 1);
	for (int i = 0; i < 50; i++)
		close(load_value("later", i));
	assert_true(map_lines("_later", &addr, &size) <= 50);
	assert_int_equal(map_lines("_later", &addr, &size) + map_lines("_mapped", &addr, &size),
			 map_lines("_F", &addr, &size));
	option("perf_map", false);
}

/* Walk the records; how many loads end in @suffix. *@code: the code of the last. */
static int dump_loads(const uint8_t *data, size_t len, const char *suffix, const uint8_t **code,
		      uint64_t *size)
{
	uint64_t last = 0;
	int found = 0;

	assert_true(len >= 40);
	assert_int_equal(u32(data), 0x4a695444);
	assert_int_equal(u32(data + 4), 1);
	assert_int_equal(u32(data + 8), 40);
	assert_int_equal(u32(data + 20), getpid());
	for (size_t at = 40; at < len; at += u32(data + at + 4)) {
		const uint8_t *r = data + at;
		const char *name = (const char *)r + 56;

		assert_true(len - at >= 16 && u32(r + 4) <= len - at);
		assert_true(u64(r + 8) >= last);
		last = u64(r + 8);
		if (u32(r) != 0)
			continue;
		assert_int_equal(u32(r + 16), getpid());
		assert_int_equal(u64(r + 24), u64(r + 32));
		assert_int_equal(u32(r + 4), 56 + strlen(name) + 1 + u64(r + 40));
		if (strlen(name) < strlen(suffix) ||
		    strcmp(name + strlen(name) - strlen(suffix), suffix))
			continue;
		found++;
		*code = (const uint8_t *)name + strlen(name) + 1;
		*size = u64(r + 40);
		/* still loaded: what was written is what runs */
		assert_memory_equal(*code, (const void *)(uintptr_t)u64(r + 32), *size);
	}
	return found;
}

static bool is_mapped_executable(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, path) && strstr(line, " r-xp ");
	fclose(f);
	return found;
}

static void test_jitdump(void **state)
{
	struct bpfu_code *code;
	const uint8_t *bytes;
	uint64_t size;
	uint8_t *data;
	size_t len;
	int fd;

	option("jitdump", true);
	fd = load_value("dumped", 1);
	option("jitdump", false);
	data = slurp(dump_path, &len);
	assert_int_equal(dump_loads(data, len, "_dumped", &bytes, &size), 1);
	assert_int_equal(bpfu_prog_code(fd, NULL, &code), 0);
	assert_int_equal(size, code->func_len[0]);
	assert_memory_equal(bytes, code->bytes + code->func_off[0], size);
	assert_int_equal(dump_loads(data, len, "_F", &bytes, &size), 1);
	assert_true(is_mapped_executable(dump_path));
	bpfu_code_free(code);
	free(data);
	close(fd);
}

/* A child writes to files of its own. */
static void test_fork(void **state)
{
	unsigned long addr, size;
	int status;
	pid_t pid;

	option("perf_map", true);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd, lines;

		set_paths();
		fd = load_value("child", 2);
		lines = map_lines("_child", &addr, &size);
		unlink(map_path);
		close(fd);
		_exit(lines != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(map_lines("_child", &addr, &size), 0);
	option("perf_map", false);
}

/* In a child, whose file does not exist yet: what @plant put there, and what became of it. */
static void in_the_way(void (*plant)(const char *victim), bool replaced)
{
	char victim[128], text[16] = "";
	unsigned long addr, size;
	int status;
	FILE *f;
	pid_t pid;

	snprintf(victim, sizeof(victim), "%s/victim", dir);
	f = fopen(victim, "w");
	assert_non_null(f);
	fputs("precious", f);
	fclose(f);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd, bad;

		set_paths();
		plant(victim);
		option("perf_map", true);
		fd = load_value("careful", 3);
		bad = replaced && map_lines("_careful", &addr, &size) != 1;
		unlink(map_path);
		close(fd);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	f = fopen(victim, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "precious");
	unlink(victim);
}

static void plant_symlink(const char *victim)
{
	assert_int_equal(symlink(victim, map_path), 0);
}

static void plant_hardlink(const char *victim)
{
	if (link(victim, map_path)) /* another file system, or protected_hardlinks */
		plant_symlink(victim);
}

static void plant_leftover(const char *victim)
{
	FILE *f = fopen(map_path, "w");

	assert_non_null(f);
	fputs("0 1000000 nonsense\n", f);
	fclose(f);
}

static void test_symlink(void **state)
{
	in_the_way(plant_symlink, false);
}

static void test_hardlink(void **state)
{
	in_the_way(plant_hardlink, false);
}

static void test_leftover(void **state)
{
	in_the_way(plant_leftover, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),      cmocka_unit_test(test_map),
		cmocka_unit_test(test_jitdump),  cmocka_unit_test(test_fork),
		cmocka_unit_test(test_symlink),  cmocka_unit_test(test_hardlink),
		cmocka_unit_test(test_leftover),
	};
	int failed;

	if (!bpfu_jit_available())
		return 77;
	snprintf(dir, sizeof(dir), "/tmp/bpfu-perf-XXXXXX");
	if (!mkdtemp(dir) || setenv("JITDUMPDIR", dir, 1))
		return 77;
	set_paths();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(map_path);
	unlink(dump_path);
	rmdir(dir);
	return failed;
}
