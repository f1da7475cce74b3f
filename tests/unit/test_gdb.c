// SPDX-License-Identifier: BSD-2-Clause
/*
 * gdb's JIT interface without gdb: what is in the list, and when. The object files are read by the ELF and DWARF
 * specifications, not by the structures that wrote them; tests/probe/gdb.sh has the debugger's view.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "insn/insn.h"
#include "jit/jit.h"
#include "obj/obj.h"
#include "percpu/rcu.h"
#include "read_bytes.h"

/* The interface, by gdb's manual. */
struct entry {
	struct entry *next, *prev;
	const uint8_t *file;
	uint64_t size;
};

extern struct {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor;

static int listed(void)
{
	const struct entry *prev = NULL;
	int cnt = 0;

	for (const struct entry *e = __jit_debug_descriptor.first; e; e = e->next) {
		assert_ptr_equal(e->prev, prev);
		prev = e;
		cnt++;
	}
	return cnt;
}

static int load(const char *name)
{
	/* call a function that calls a helper; exit */
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns),
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

/* Freed now, not when somebody gets to it. */
static void unload(int fd)
{
	bpfu_fd_closing(fd);
	close(fd);
	bpfu_rcu_barrier();
}

static void option(const char *value)
{
	assert_int_equal(bpfu_option_set("gdb", value), 0);
}

static void test_off(void **state)
{
	int fd = load("quiet");

	assert_string_equal(bpfu_option_get("gdb"), "off");
	assert_int_equal(listed(), 0);
	unload(fd);
}

static const Elf64_Shdr *section(const uint8_t *file, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *all = (const Elf64_Shdr *)(file + header->e_shoff);

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp((const char *)file + all[header->e_shstrndx].sh_offset + all[i].sh_name, name))
			return &all[i];
	return NULL;
}

/* Where the file says that a function with @suffix is, 0: it has none. */
static uint64_t symbol(const uint8_t *file, const char *suffix, uint64_t *size)
{
	const Elf64_Shdr *table = section(file, ".symtab"), *text = section(file, ".text");
	const char *names = (const char *)file + section(file, ".strtab")->sh_offset;
	const Elf64_Sym *syms = (const Elf64_Sym *)(file + table->sh_offset);

	for (uint64_t i = 1; i < table->sh_size / sizeof(*syms); i++) {
		const char *name = names + syms[i].st_name;

		if (strlen(name) < strlen(suffix) ||
		    strcmp(name + strlen(name) - strlen(suffix), suffix) != 0)
			continue;
		*size = syms[i].st_size;
		return text->sh_addr + syms[i].st_value;
	}
	return 0;
}

/* Is there an FDE of the @size bytes at @addr? Entries have a length, then the distance to their CIE, or 0. */
static bool has_frame(const uint8_t *file, uint64_t addr, uint64_t size)
{
	const Elf64_Shdr *table = section(file, ".eh_frame");
	const uint8_t *p = file + table->sh_offset, *end = p + table->sh_size;

	for (; p + 24 <= end && u32(p); p += 4 + u32(p))
		if (u32(p + 4) && u64(p + 8) == addr && u64(p + 16) == size)
			return true;
	return false;
}

static void test_object(void **state)
{
	const struct entry *entry;
	uint64_t addr, size = 0;
	struct bpfu_code *code;
	int fd;

	option("on");
	fd = load("seen");
	assert_int_equal(__jit_debug_descriptor.version, 1);
	assert_int_equal(listed(), 1);
	entry = __jit_debug_descriptor.first;
	assert_memory_equal(entry->file, ELFMAG, SELFMAG);
	assert_true(entry->size > sizeof(Elf64_Ehdr));
	assert_int_equal(bpfu_prog_code(fd, NULL, &code), 0);
	for (int f = 0; f < 2; f++) {
		addr = symbol(entry->file, f ? "_F" : "_seen", &size);
		assert_int_equal(addr, code->base + code->func_off[f]);
		assert_int_equal(size, code->func_len[f]);
		assert_true(has_frame(entry->file, addr, size));
	}
	assert_int_equal(section(entry->file, ".debug_line")->sh_size, 0); /* it has no lines */
	bpfu_code_free(code);
	unload(fd);
	assert_int_equal(listed(), 0);
	option("off");
}

/* Whatever goes first. */
static void test_order(void **state)
{
	int fds[3];

	option("on");
	for (int first = 0; first < 3; first++) {
		for (int i = 0; i < 3; i++)
			fds[i] = load("one");
		assert_int_equal(listed(), 3);
		for (int i = 0; i < 3; i++) {
			unload(fds[(first + i) % 3]);
			assert_int_equal(listed(), 2 - i);
		}
	}
	option("off");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_object),
		cmocka_unit_test(test_order),
	};

	if (!bpfu_jit_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
