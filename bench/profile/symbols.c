// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of code. One sorted array of ranges has the programs that libbpfu has compiled and the
 * functions of this executable; the C library is asked with dladdr(), the kernel by its kallsyms, and
 * libbpfu for what it has generated besides programs.
 */
#include "profile/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpfu/bpfu.h>

#include "dump/dump_prog.h"
#include "machine/kallsyms.h"
#include "target.h"
#include "util/items_up_to.h"

/* The linker's: where the code of this program begins and ends. */
extern const char __executable_start, etext;

struct range {
	uint64_t start, end; /* start first, for items_up_to() */
	bool is_local; /* a static function */
	struct code_symbol symbol;
};

struct symbols {
	struct range *ranges;
	size_t nr, room;
};

static const char *const kind_names[CODE_KINDS] = {
	[CODE_PROGRAM] = "program",	[CODE_SUBPROGRAM] = "subprogram",
	[CODE_TRAMPOLINE] = "trampoline", [CODE_HELPER] = "helper",
	[CODE_ENTRY] = "entry/exit",	[CODE_LIBRARY] = "libbpfu",
	[CODE_BENCH] = "bench",		[CODE_KERNEL] = "kernel",
	[CODE_UNKNOWN] = "unknown",
};

const char *code_kind_name(enum code_kind kind)
{
	return kind_names[kind];
}

enum code_kind code_kind_by_name(const char *name)
{
	enum code_kind kind = 0;

	while (kind < CODE_KINDS && strcmp(kind_names[kind], name))
		kind++;
	return kind;
}

static int add(struct symbols *s, uint64_t start, uint64_t size, enum code_kind kind,
	       const char *name)
{
	struct range *r;

	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		struct range *ranges = realloc(s->ranges, room * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		s->ranges = ranges;
		s->room = room;
	}
	r = &s->ranges[s->nr++];
	r->start = start;
	r->end = start + size;
	r->is_local = false;
	r->symbol.kind = kind;
	snprintf(r->symbol.name, sizeof(r->symbol.name), "%s", name);
	return 0;
}

/* ---- programs of libbpfu ---- */

static int add_program(struct symbols *s, int fd)
{
	struct dump_prog p = { 0 };
	struct errline ignored;
	int err = 0;

	/* One that is not compiled has no code of its own. */
	if (!dump_prog_read(&p, fd, "user", NULL, DUMP_PROG_CODE, &ignored))
		for (uint32_t i = 0; i < p.nr_funcs && !err; i++)
			err = add(s, p.funcs[i].addr, p.funcs[i].len,
				  i ? CODE_SUBPROGRAM : CODE_PROGRAM,
				  i || !p.name[0] ? p.funcs[i].name : p.name);
	dump_prog_release(&p);
	return err;
}

static int add_programs(struct symbols *s, struct errline *e)
{
	struct target user;
	uint32_t id = 0;
	int err = target_parse(&user, "user", e);

	if (!err)
		err = target_enter(&user, e);
	if (err)
		return err;
	while (!err && !bpf_prog_get_next_id(id, &id)) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		err = add_program(s, fd);
		close(fd);
	}
	target_leave(&user);
	return err ? errline_set(e, err, "out of memory") : 0;
}

/* ---- this executable ---- */

static bool begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* libbpfu's external names begin with bpfu_; what its handlers of attachments are called is known. */
static enum code_kind kind_of_function(const char *name)
{
	static const char *const entry[] = {
		"bpfu_cpu_", "bpfu_run_", "bpfu_prog_call", "bpfu_cmd_prog_test_run", "bpfu_rcu_",
		"bpfu_tracepoint_run", "bpfu_place_", "on_enter", "on_leave", "run_probe",
		"run_fmod_ret", "bpfu_prog_run",
	};

	if (!strcmp(name, "bpfu_helper_by_id") || !strcmp(name, "bpfu_helper_name"))
		return CODE_LIBRARY;
	if (begins(name, "bpfu_helper_") || begins(name, "bpfu_fentry_test") ||
	    begins(name, "bpfu_modify_return_test"))
		return CODE_HELPER;
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++)
		if (begins(name, entry[i]))
			return CODE_ENTRY;
	return begins(name, "bpfu_") || begins(name, "__wrap_bpf") ? CODE_LIBRARY : CODE_BENCH;
}

static int add_function(struct symbols *s, uint64_t base, const GElf_Sym *sym, const char *name)
{
	enum code_kind kind = kind_of_function(name);
	char text[CODE_NAME_MAX];
	int err;

	if (kind == CODE_HELPER && begins(name, "bpfu_helper_"))
		snprintf(text, sizeof(text), "bpf_%s", name + strlen("bpfu_helper_"));
	else if (kind == CODE_HELPER)
		snprintf(text, sizeof(text), "bpf_%s", name + strlen("bpfu_"));
	else
		snprintf(text, sizeof(text), "%s", name);
	err = add(s, base + sym->st_value, sym->st_size ? sym->st_size : 1, kind, text);
	if (!err)
		s->ranges[s->nr - 1].is_local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	return err;
}

/* What a static function between two of libbpfu's is. */
static void place_locals(struct symbols *s)
{
	bool between = false;
	size_t next = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct range *r = &s->ranges[i];

		if (!r->is_local) {
			between = r->symbol.kind != CODE_BENCH;
			continue;
		}
		for (next = next > i ? next : i; next < s->nr && s->ranges[next].is_local;)
			next++;
		if (r->symbol.kind == CODE_BENCH && between && next < s->nr &&
		    s->ranges[next].symbol.kind != CODE_BENCH)
			r->symbol.kind = CODE_LIBRARY;
	}
}

static int add_section(struct symbols *s, Elf *elf, Elf_Scn *scn, uint64_t base)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr hdr;
	int err = 0;

	if (!data || !gelf_getshdr(scn, &hdr) || hdr.sh_type != SHT_SYMTAB || !hdr.sh_entsize)
		return 0;
	for (int i = 0; i < (int)(hdr.sh_size / hdr.sh_entsize) && !err; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, hdr.sh_link, sym.st_name);
		if (name)
			err = add_function(s, base, &sym, name);
	}
	return err;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

/* Stripped executables have no symbols; then there is only "bpflab". */
static int add_functions(struct symbols *s)
{
	Elf_Scn *scn = NULL;
	uint64_t base = 0;
	int fd, err = 0;
	Elf *elf;

	dl_iterate_phdr(first_object, &base);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (!err && elf && (scn = elf_nextscn(elf, scn)))
		err = add_section(s, elf, scn, base);
	elf_end(elf);
	close(fd);
	return err;
}

/* ---- look-up ---- */

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int symbols_open(struct symbols **out, struct errline *e)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	err = add_programs(s, e);
	if (!err && add_functions(s))
		err = errline_set(e, -ENOMEM, "out of memory");
	if (err) {
		symbols_close(s);
		return err;
	}
	qsort(s->ranges, s->nr, sizeof(s->ranges[0]), by_start);
	place_locals(s);
	*out = s;
	return 0;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	free(s->ranges);
	free(s);
}

static const struct range *range_at(const struct symbols *s, uint64_t addr)
{
	size_t low = items_up_to(s->ranges, s->nr, sizeof(*s->ranges), addr);

	return low && addr < s->ranges[low - 1].end ? &s->ranges[low - 1] : NULL;
}

bool symbols_is_kernel(uint64_t addr)
{
	return addr >> 63;
}

void symbols_find_kernel(uint64_t addr, struct code_symbol *out)
{
	const char *name = kallsyms_near(addr);
	const char *last;

	out->kind = CODE_KERNEL;
	if (!name) {
		snprintf(out->name, sizeof(out->name), "[kernel]");
		return;
	}
	snprintf(out->name, sizeof(out->name), "%s", name);
	if (begins(name, "bpf_trampoline_")) {
		/* the number behind it is another one on every kernel */
		out->kind = CODE_TRAMPOLINE;
		snprintf(out->name, sizeof(out->name), "bpf_trampoline");
	} else if (begins(name, "bpf_prog_") && strlen(name) > 26) {
		last = name + 26; /* behind the tag */
		out->kind = CODE_PROGRAM;
		snprintf(out->name, sizeof(out->name), "%s", last);
	}
}

static void find_shared(uint64_t addr, struct code_symbol *out)
{
	const char *file;
	Dl_info info;

	out->kind = CODE_UNKNOWN;
	/* of a static program that is all there is to say */
	if (addr >= (uintptr_t)&__executable_start && addr < (uintptr_t)&etext) {
		out->kind = CODE_BENCH;
		snprintf(out->name, sizeof(out->name), "[bpflab]");
		return;
	}
	if (!dladdr((void *)(uintptr_t)addr, &info) || !info.dli_fname) {
		snprintf(out->name, sizeof(out->name), "[unknown]");
		return;
	}
	file = strrchr(info.dli_fname, '/');
	file = file ? file + 1 : info.dli_fname;
	out->kind = CODE_BENCH;
	if (info.dli_sname)
		snprintf(out->name, sizeof(out->name), "%s (%s)", info.dli_sname, file);
	else
		snprintf(out->name, sizeof(out->name), "[%s]", file);
}

void symbols_find(const struct symbols *s, uint64_t addr, struct code_symbol *out)
{
	const struct range *r = range_at(s, addr);

	if (symbols_is_kernel(addr)) {
		symbols_find_kernel(addr, out);
	} else if (r) {
		*out = r->symbol;
	} else if (!bpfu_code_symbol(addr, out->name, sizeof(out->name))) {
		out->kind = CODE_TRAMPOLINE;
	} else {
		find_shared(addr, out);
	}
}
