// SPDX-License-Identifier: BSD-2-Clause
/*
 * The list of gdb's JIT interface, and the object files in it (gdb.h). Their sections have the addresses of the code,
 * so there is nothing to relocate:
 *
 *      header | .eh_frame | .symtab | .strtab | .debug_… (dwarf.c) | .shstrtab | section headers
 */
#include "jit/gdb.h"

#include <elf.h>
#include <pthread.h>
#include <stddef.h>

#include "jit/dwarf.h"
#include "percpu/sys.h"
#include "util/bits.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* ---- the interface, whose names and layout are gdb's ---- */

enum jit_action { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const void *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version;
	uint32_t action; /* enum jit_action */
	struct jit_code_entry *relevant, *first;
};

/* Weak and visible: other code generators in the process have them, too, and there is one list for all. */
#define SHARED __attribute__((weak, visibility("default"), used))

extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

SHARED struct jit_descriptor __jit_debug_descriptor = { 1, JIT_NOACTION, NULL, NULL };

SHARED __attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory"); /* gdb's breakpoint */
}

struct bpfu_gdb_object {
	struct jit_code_entry entry;
	uint8_t *file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fork_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* With signals blocked, whose handlers may free programs; but SIGTRAP, which gdb's breakpoint raises. */
static void list_lock(uint64_t *signals)
{
	bpfu_signals_block_async(signals);
	pthread_mutex_lock(&lock);
}

static void list_unlock(const uint64_t *signals)
{
	pthread_mutex_unlock(&lock);
	bpfu_signals_restore(signals);
}

static void watch_forks(void)
{
	pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}

static void tell(struct jit_code_entry *entry, enum jit_action action)
{
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action = action;
	__jit_debug_register_code();
	__jit_debug_descriptor.relevant = NULL;
	__jit_debug_descriptor.action = JIT_NOACTION;
}

static void insert(struct jit_code_entry *entry)
{
	struct jit_code_entry *first = __jit_debug_descriptor.first;

	entry->next = first;
	entry->prev = NULL;
	if (first)
		first->prev = entry;
	__jit_debug_descriptor.first = entry;
}

static void take_out(struct jit_code_entry *entry)
{
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		__jit_debug_descriptor.first = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
}

/* ---- object files ---- */

enum { NONE, TEXT, EH_FRAME, SYMTAB, STRTAB, DEBUG_INFO, DEBUG_ABBREV, DEBUG_LINE, SHSTRTAB, SECTIONS };

static const char *const section_names[SECTIONS] = {
	"", ".text", ".eh_frame", ".symtab", ".strtab", ".debug_info", ".debug_abbrev", ".debug_line",
	".shstrtab",
};

struct file {
	struct bpfu_bytes bytes;
	Elf64_Shdr headers[SECTIONS];
};

static void put_section(struct file *f, int idx, uint32_t type, const struct bpfu_bytes *content)
{
	bpfu_bytes_align(&f->bytes, 0, 8);
	f->headers[idx].sh_type = type;
	f->headers[idx].sh_offset = f->bytes.len;
	f->headers[idx].sh_size = content->len;
	f->headers[idx].sh_addralign = 8;
	if (content->failed)
		f->bytes.failed = true;
	else if (content->len)
		bpfu_bytes_put(&f->bytes, content->data, content->len);
}

static void put_symbols(struct file *f, const struct bpfu_gdb_image *image)
{
	struct bpfu_bytes symbols = { NULL }, names = { NULL };
	const Elf64_Sym none = { 0 };

	bpfu_bytes_put(&symbols, &none, sizeof(none));
	bpfu_bytes_put_str(&names, "");
	for (uint32_t i = 0; i < image->func_cnt; i++) {
		const struct bpfu_gdb_func *func = &image->funcs[i];
		const Elf64_Sym sym = {
			.st_name = bpfu_bytes_put_str(&names, func->name),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = func->addr - bpfu_u64(image->code),
			.st_size = func->len,
		};

		bpfu_bytes_put(&symbols, &sym, sizeof(sym));
	}
	put_section(f, SYMTAB, SHT_SYMTAB, &symbols);
	f->headers[SYMTAB].sh_link = STRTAB;
	f->headers[SYMTAB].sh_info = 1; /* the first that is not local */
	f->headers[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	put_section(f, STRTAB, SHT_STRTAB, &names);
	free(symbols.data);
	free(names.data);
}

static void put_lines(struct file *f, const struct bpfu_gdb_image *image)
{
	struct bpfu_dwarf dwarf = { { NULL } };

	bpfu_dwarf_make(&dwarf, image);
	put_section(f, DEBUG_INFO, SHT_PROGBITS, &dwarf.info);
	put_section(f, DEBUG_ABBREV, SHT_PROGBITS, &dwarf.abbrev);
	put_section(f, DEBUG_LINE, SHT_PROGBITS, &dwarf.line);
	free(dwarf.info.data);
	free(dwarf.abbrev.data);
	free(dwarf.line.data);
}

static void put_headers(struct file *f)
{
	struct bpfu_bytes names = { NULL };
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SHSTRTAB,
	};

	for (int i = 0; i < SECTIONS; i++)
		f->headers[i].sh_name = bpfu_bytes_put_str(&names, section_names[i]);
	put_section(f, SHSTRTAB, SHT_STRTAB, &names);
	free(names.data);
	bpfu_bytes_align(&f->bytes, 0, 8);
	header.e_shoff = f->bytes.len;
	bpfu_bytes_put(&f->bytes, f->headers, sizeof(f->headers));
	if (!f->bytes.failed)
		memcpy(f->bytes.data, &header, sizeof(header));
}

/* Without memory, of ->failed. */
static struct bpfu_bytes make_file(const struct bpfu_gdb_image *image)
{
	const Elf64_Ehdr room = { 0 };
	struct file f = { .bytes = { NULL } };

	bpfu_bytes_put(&f.bytes, &room, sizeof(room));
	f.headers[TEXT] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = bpfu_u64(image->code),
		.sh_size = image->size,
		.sh_addralign = 16,
	};
	put_section(&f, EH_FRAME, SHT_PROGBITS, image->frames);
	f.headers[EH_FRAME].sh_flags = SHF_ALLOC;
	put_symbols(&f, image);
	if (image->line_cnt)
		put_lines(&f, image);
	put_headers(&f);
	return f.bytes;
}

struct bpfu_gdb_object *bpfu_gdb_add(const struct bpfu_gdb_image *image)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct bpfu_gdb_object *object = calloc(1, sizeof(*object));
	struct bpfu_bytes file = make_file(image);
	uint64_t signals;

	if (!object || file.failed) {
		free(object);
		free(file.data);
		return NULL;
	}
	pthread_once(&once, watch_forks);
	object->file = file.data;
	object->entry.symfile_addr = file.data;
	object->entry.symfile_size = file.len;
	list_lock(&signals);
	insert(&object->entry);
	tell(&object->entry, JIT_REGISTER);
	list_unlock(&signals);
	return object;
}

void bpfu_gdb_del(struct bpfu_gdb_object *object)
{
	uint64_t signals;

	if (!object)
		return;
	list_lock(&signals);
	take_out(&object->entry);
	tell(&object->entry, JIT_UNREGISTER);
	list_unlock(&signals);
	free(object->file);
	free(object);
}
