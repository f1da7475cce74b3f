// SPDX-License-Identifier: BSD-2-Clause
/* The runner of the api tests, and the short forms of commands. */
#include "api.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_SKIP 77

bool api_user;
static int failures;

/* ---- expectations ---- */

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* Errors read better by name. */
static void print_value(const char *label, int64_t v)
{
	if (v < 0 && v > -4096)
		printf(" %s %lld (%s)", label, (long long)v,
		       v == -API_ENOTSUPP ? "ENOTSUPP" : strerrorname_np((int)-v));
	else
		printf(" %s %lld", label, (long long)v);
}

bool api_expect(const char *file, int line, const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return true;
	failures++;
	printf("  %s:%d: %s:", base_name(file), line, what);
	print_value("got", got);
	print_value("want", want);
	printf("\n");
	return false;
}

bool api_expect_ok(const char *file, int line, const char *what, int64_t got)
{
	if (got >= 0)
		return true;
	failures++;
	printf("  %s:%d: %s:", base_name(file), line, what);
	print_value("got", got);
	printf("\n");
	return false;
}

bool api_expect_mem(const char *file, int line, const char *what, const void *got, const void *want,
		    size_t n)
{
	const uint8_t *g = got, *w = want;

	for (size_t i = 0; i < n; i++) {
		if (g[i] == w[i])
			continue;
		failures++;
		printf("  %s:%d: %s: byte %zu of %zu is 0x%02x, want 0x%02x\n", base_name(file),
		       line, what, i, n, g[i], w[i]);
		return false;
	}
	return true;
}

/* ---- who answers ---- */

/* Before anything else: the right side must be answering, or all that follows proves nothing. */
static void check_side(void)
{
	int fd;

	if (bpfu_selftest()) {
		printf("calls do not reach the router\n");
		exit(1);
	}
	bpfu_route_set(api_user ? BPFU_ROUTE_USER : BPFU_ROUTE_KERNEL);
	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0);
	if (fd < 0 && !api_user) {
		printf("skipped: the kernel refuses bpf(2): %s\n", strerror(-fd));
		exit(EXIT_SKIP);
	}
	if (fd < 0 || bpfu_fd_is_user(fd) != api_user) {
		printf("the wrong side answered: descriptor %d\n", fd);
		exit(1);
	}
	close(fd);
}

int api_main(int argc, char **argv, const struct api_test *tests, size_t cnt)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	size_t ran = 0;

	if (argc < 2 || (strcmp(argv[1], "user") && strcmp(argv[1], "kernel"))) {
		fprintf(stderr, "usage: %s user|kernel [TEST]\n", argv[0]);
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	api_user = !strcmp(argv[1], "user");
	check_side();
	for (size_t i = 0; i < cnt; i++) {
		int before = failures;

		if (only && strcmp(only, tests[i].name))
			continue;
		tests[i].fn();
		printf("%s %s\n", failures == before ? "ok  " : "FAIL", tests[i].name);
		ran++;
	}
	printf("%s: %zu tests, %d failed expectations\n", argv[1], ran, failures);
	return failures || !ran;
}

/* ---- commands ---- */

int sys_bpf(int cmd, void *attr, unsigned int size)
{
	long ret = syscall(__NR_bpf, cmd, attr, size);

	return ret < 0 ? -errno : (int)ret;
}

int sys_attr(int cmd, union bpf_attr *attr)
{
	return sys_bpf(cmd, attr, sizeof(*attr));
}

int map_new(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
	    uint32_t flags)
{
	union bpf_attr attr = ATTR(.map_type = type, .key_size = key_size,
				   .value_size = value_size, .max_entries = entries,
				   .map_flags = flags);

	return sys_attr(BPF_MAP_CREATE, &attr);
}

int map_update(int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = ATTR(.map_fd = fd, .key = ptr(key), .value = ptr(value),
				   .flags = flags);

	return sys_attr(BPF_MAP_UPDATE_ELEM, &attr);
}

int map_lookup_flags(int fd, const void *key, void *value, uint64_t flags)
{
	union bpf_attr attr = ATTR(.map_fd = fd, .key = ptr(key), .value = ptr(value),
				   .flags = flags);

	return sys_attr(BPF_MAP_LOOKUP_ELEM, &attr);
}

int map_lookup(int fd, const void *key, void *value)
{
	return map_lookup_flags(fd, key, value, 0);
}

int map_delete(int fd, const void *key)
{
	union bpf_attr attr = ATTR(.map_fd = fd, .key = ptr(key));

	return sys_attr(BPF_MAP_DELETE_ELEM, &attr);
}

int map_next_key(int fd, const void *key, void *next)
{
	union bpf_attr attr = ATTR(.map_fd = fd, .key = ptr(key), .next_key = ptr(next));

	return sys_attr(BPF_MAP_GET_NEXT_KEY, &attr);
}

int map_lookup_delete(int fd, const void *key, void *value, uint64_t flags)
{
	union bpf_attr attr = ATTR(.map_fd = fd, .key = ptr(key), .value = ptr(value),
				   .flags = flags);

	return sys_attr(BPF_MAP_LOOKUP_AND_DELETE_ELEM, &attr);
}

int map_freeze(int fd)
{
	union bpf_attr attr = ATTR(.map_fd = fd);

	return sys_attr(BPF_MAP_FREEZE, &attr);
}

int obj_pin(int fd, const char *path)
{
	union bpf_attr attr = ATTR(.bpf_fd = fd, .pathname = ptr(path));

	return sys_attr(BPF_OBJ_PIN, &attr);
}

int obj_get(const char *path, uint32_t flags)
{
	union bpf_attr attr = ATTR(.pathname = ptr(path), .file_flags = flags);

	return sys_attr(BPF_OBJ_GET, &attr);
}

int obj_info(int fd, void *info, uint32_t *len)
{
	union bpf_attr attr = ATTR(.info.bpf_fd = fd, .info.info_len = *len,
				   .info.info = ptr(info));
	int err = sys_attr(BPF_OBJ_GET_INFO_BY_FD, &attr);

	*len = attr.info.info_len;
	return err;
}

int fd_by_id(int cmd, uint32_t id)
{
	union bpf_attr attr = ATTR(.prog_id = id);

	return sys_attr(cmd, &attr);
}

int next_id(int cmd, uint32_t start, uint32_t *next)
{
	union bpf_attr attr = ATTR(.start_id = start);
	int err = sys_attr(cmd, &attr);

	*next = attr.next_id;
	return err;
}

int prog_load(uint32_t type, const struct bpf_insn *insns, uint32_t cnt)
{
	union bpf_attr attr = ATTR(.prog_type = type, .insns = ptr(insns), .insn_cnt = cnt,
				   .license = ptr("GPL"));

	return sys_attr(BPF_PROG_LOAD, &attr);
}

int test_run(int fd, uint32_t *retval)
{
	union bpf_attr attr = ATTR(.test.prog_fd = fd);
	int err = sys_attr(BPF_PROG_TEST_RUN, &attr);

	*retval = attr.test.retval;
	return err;
}

/* The id is the second field of every info struct but BTF's. */
uint32_t id_of(int fd)
{
	uint32_t info[16] = { 0 }, len = sizeof(info);

	return obj_info(fd, info, &len) ? 0 : info[1];
}

int btf_small(void)
{
	static const char strings[] = "\0int\0u64\0pair\0a\0b\0ctx\0main_prog\0value\0.bss";
	enum { S_INT = 1, S_U64 = 5, S_PAIR = 9, S_A = 14, S_B = 16, S_CTX = 18, S_MAIN = 22,
	       S_VALUE = 32, S_BSS = 38 };
#define INFO(kind, vlen) ((kind) << 24 | (vlen))
	static const uint32_t types[] = {
		S_INT, INFO(BTF_KIND_INT, 0), 4, BTF_INT_SIGNED << 24 | 32,
		S_U64, INFO(BTF_KIND_INT, 0), 8, 64,
		S_PAIR, INFO(BTF_KIND_STRUCT, 2), 8, S_A, 1, 0, S_B, 1, 32,
		0, INFO(BTF_KIND_FUNC_PROTO, 1), 1, S_CTX, 2,
		S_MAIN, INFO(BTF_KIND_FUNC, 0), 4,
		S_VALUE, INFO(BTF_KIND_VAR, 0), 2, BTF_VAR_GLOBAL_ALLOCATED,
		S_BSS, INFO(BTF_KIND_DATASEC, 1), 8, 6, 0, 8,
	};
#undef INFO
	struct {
		struct btf_header hdr;
		uint32_t types[ARRAY_SIZE(types)];
		char strings[sizeof(strings)];
	} blob = {
		.hdr = { .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(struct btf_header),
			 .type_len = sizeof(types), .str_off = sizeof(types),
			 .str_len = sizeof(strings) },
	};
	union bpf_attr attr = ATTR(.btf = ptr(&blob),
				   .btf_size = offsetof(typeof(blob), strings) + sizeof(strings));

	memcpy(blob.types, types, sizeof(types));
	memcpy(blob.strings, strings, sizeof(strings));
	return sys_attr(BPF_BTF_LOAD, &attr);
}

static int offset_in_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t addr = *(uint64_t *)ctx;

	*(uint64_t *)ctx = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && addr >= start && addr < start + p->p_filesz)
			*(uint64_t *)ctx = addr - start + p->p_offset;
	}
	return 1; /* the program comes first */
}

uint64_t api_file_offset(const void *fn)
{
	uint64_t at = (uintptr_t)fn;

	dl_iterate_phdr(offset_in_program, &at);
	expect_true(at);
	return at;
}
