// SPDX-License-Identifier: BSD-2-Clause
/* Reading a loaded program back; see dump_prog.h. */
#include "dump/dump_prog.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "machine/kallsyms.h"
#include "machine/procfs.h"

/* What BPF_OBJ_GET_INFO_BY_FD fills, beside the structure itself. */
struct info {
	struct bpf_prog_info head;
	uint64_t *ksyms;
	uint32_t *func_lens;
	struct bpf_func_info *funcs;
	struct bpf_line_info *lines;
	uint64_t *jited_lines;
	uint32_t *map_ids;
};

static void info_release(struct info *info)
{
	free(info->ksyms);
	free(info->func_lens);
	free(info->funcs);
	free(info->lines);
	free(info->jited_lines);
	free(info->map_ids);
}

/* Room for what the first call counted. */
static bool info_allocate(struct info *info, struct dump_prog *p, const struct bpf_prog_info *cnt)
{
	p->insns = calloc(cnt->xlated_prog_len + 1ul, 1);
	p->code = calloc(cnt->jited_prog_len + 1ul, 1);
	info->ksyms = calloc(cnt->nr_jited_ksyms + 1ul, sizeof(*info->ksyms));
	info->func_lens = calloc(cnt->nr_jited_func_lens + 1ul, sizeof(*info->func_lens));
	info->funcs = calloc(cnt->nr_func_info + 1ul, sizeof(*info->funcs));
	info->lines = calloc(cnt->nr_line_info + 1ul, sizeof(*info->lines));
	info->jited_lines = calloc(cnt->nr_jited_line_info + 1ul, sizeof(*info->jited_lines));
	info->map_ids = calloc(cnt->nr_map_ids + 1ul, sizeof(*info->map_ids));
	return p->insns && p->code && info->ksyms && info->func_lens && info->funcs &&
	       info->lines && info->jited_lines && info->map_ids;
}

static uint64_t ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int info_read(struct info *info, struct dump_prog *p)
{
	struct bpf_prog_info cnt = { 0 }, *head = &info->head;
	uint32_t len = sizeof(cnt);
	int err = bpf_obj_get_info_by_fd(p->fd, &cnt, &len);

	if (err)
		return err;
	if (!info_allocate(info, p, &cnt))
		return -ENOMEM;
	head->xlated_prog_insns = ptr(p->insns);
	head->xlated_prog_len = cnt.xlated_prog_len;
	head->jited_prog_insns = ptr(p->code);
	head->jited_prog_len = cnt.jited_prog_len;
	head->jited_ksyms = ptr(info->ksyms);
	head->nr_jited_ksyms = cnt.nr_jited_ksyms;
	head->jited_func_lens = ptr(info->func_lens);
	head->nr_jited_func_lens = cnt.nr_jited_func_lens;
	head->func_info = ptr(info->funcs);
	head->nr_func_info = cnt.nr_func_info;
	head->func_info_rec_size = sizeof(*info->funcs);
	head->line_info = ptr(info->lines);
	head->nr_line_info = cnt.nr_line_info;
	head->line_info_rec_size = sizeof(*info->lines);
	head->jited_line_info = ptr(info->jited_lines);
	head->nr_jited_line_info = cnt.nr_jited_line_info;
	head->jited_line_info_rec_size = sizeof(*info->jited_lines);
	head->map_ids = ptr(info->map_ids);
	head->nr_map_ids = cnt.nr_map_ids;
	len = sizeof(*head);
	return bpf_obj_get_info_by_fd(p->fd, head, &len);
}

/* ---- functions ---- */

/* Without a name in BTF: the program's own, or a number. */
static void name_func(struct dump_prog *p, struct dump_func *f, uint32_t idx, const char *btf_name)
{
	if (btf_name && btf_name[0])
		snprintf(f->name, sizeof(f->name), "%s", btf_name);
	else if (idx)
		snprintf(f->name, sizeof(f->name), "subprog_%u", idx);
	else
		snprintf(f->name, sizeof(f->name), "%s", p->name);
}

static uint32_t call_target(const struct bpf_insn *insn, uint32_t idx)
{
	return idx + 1 + (uint32_t)(int32_t)insn->off;
}

/* Without BTF, functions start where calls and callback values point: mark these in @starts. */
static void mark_starts(const struct dump_prog *p, bool *starts)
{
	for (uint32_t i = 0; i < p->insn_cnt; i++) {
		const struct bpf_insn *insn = &p->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL &&
		    call_target(insn, i) < p->insn_cnt)
			starts[call_target(insn, i)] = true;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			i++;
	}
}

static int funcs_from_insns(struct dump_prog *p)
{
	bool *starts = calloc(p->insn_cnt + 1ul, sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	mark_starts(p, starts);
	starts[0] = true;
	for (uint32_t i = 0; i < p->insn_cnt; i++) {
		struct dump_func *f = &p->funcs[p->nr_funcs];

		if (!starts[i])
			continue;
		f->insn = i;
		name_func(p, f, p->nr_funcs++, NULL);
	}
	free(starts);
	return 0;
}

static const char *btf_func_name(const struct btf *btf, uint32_t type_id)
{
	const struct btf_type *t = btf ? btf__type_by_id(btf, type_id) : NULL;

	return t ? btf__name_by_offset(btf, t->name_off) : NULL;
}

static int read_funcs(struct dump_prog *p, const struct info *info)
{
	uint32_t cnt = info->head.nr_func_info;
	int err = 0;

	p->funcs = calloc((cnt ? cnt : p->insn_cnt) + 1ul, sizeof(*p->funcs));
	if (!p->funcs)
		return -ENOMEM;
	if (!cnt)
		err = funcs_from_insns(p);
	for (uint32_t i = 0; i < cnt; i++) {
		const char *name = btf_func_name(p->btf, info->funcs[i].type_id);
		struct dump_func *f = &p->funcs[i];

		f->insn = info->funcs[i].insn_off;
		name_func(p, f, p->nr_funcs++, name);
	}
	for (uint32_t i = 0; i < p->nr_funcs; i++)
		p->funcs[i].insn_cnt = (i + 1 < p->nr_funcs ? p->funcs[i + 1].insn : p->insn_cnt) -
				       p->funcs[i].insn;
	if (p->nr_funcs && p->funcs[0].name[0])
		snprintf(p->name, sizeof(p->name), "%s", p->funcs[0].name); /* info cuts at 15 */
	return err;
}

/* ---- machine code ---- */

static int no_code(const struct dump_prog *p, const char *target, struct errline *e)
{
	char value[16];

	if (p->is_user)
		return errline_set(e, -ENOENT, "'%s' has no machine code on %s: it runs in the "
				   "interpreter; take a target with jit=on, or give --arch", p->name,
				   target);
	if (procfs_read("/proc/sys/net/core/bpf_jit_enable", value, sizeof(value)) &&
	    !strcmp(value, "0"))
		return errline_set(e, -ENOENT, "'%s' has no machine code on %s: the kernel's JIT is off "
				   "(sysctl net.core.bpf_jit_enable=1)", p->name, target);
	procfs_read("/proc/sys/kernel/kptr_restrict", value, sizeof(value));
	return errline_set(e, -EPERM, "the kernel does not show the machine code of '%s' "
			   "(kernel.kptr_restrict=%s): it takes CAP_SYSLOG, and kernel.kptr_restrict below "
			   "2; or use --on user", p->name, value[0] ? value : "?");
}

static int read_user_code(struct dump_prog *p, const char *target, const char *arch,
			  struct errline *e)
{
	int err = bpfu_prog_code(p->fd, arch, &p->foreign);
	struct utsname host;

	if (err == -ENOENT)
		return no_code(p, target, e);
	if (err == -EOPNOTSUPP)
		return errline_set(e, err, "--arch: '%s' is not x86_64 or aarch64", arch);
	if (err)
		return errline_set(e, err, "cannot compile '%s' for %s: %s", p->name,
				   arch ? arch : target, strerror(-err));
	for (uint32_t i = 0; i < p->nr_funcs && i < p->foreign->func_cnt; i++) {
		p->funcs[i].addr = p->foreign->base + p->foreign->func_off[i];
		p->funcs[i].len = p->foreign->func_len[i];
		p->funcs[i].bytes = p->foreign->bytes + p->foreign->func_off[i];
	}
	uname(&host);
	snprintf(p->arch, sizeof(p->arch), "%.15s", arch ? arch : host.machine);
	return 0;
}

static int read_host_code(struct dump_prog *p, const struct info *info, const char *target,
			  struct errline *e)
{
	const uint8_t *bytes = p->code;
	struct utsname host;

	if (!info->head.jited_prog_len || !info->ksyms[0])
		return no_code(p, target, e);
	for (uint32_t i = 0; i < p->nr_funcs && i < info->head.nr_jited_func_lens; i++) {
		p->funcs[i].addr = info->ksyms[i];
		p->funcs[i].len = info->func_lens[i];
		p->funcs[i].bytes = bytes;
		bytes += info->func_lens[i];
	}
	uname(&host);
	snprintf(p->arch, sizeof(p->arch), "%.15s", host.machine);
	return 0;
}

/* ---- lines and maps ---- */

/* The address of the code of instruction @idx; the first of a function has its prologue as well. */
static uint64_t code_of_insn(const struct dump_prog *p, uint32_t idx)
{
	for (uint32_t i = 0; i < p->nr_funcs; i++)
		if (p->funcs[i].insn == idx)
			return p->funcs[i].addr;
	return idx <= p->foreign->insn_cnt ? p->foreign->base + p->foreign->insn_off[idx] : 0;
}

static int read_lines(struct dump_prog *p, const struct info *info)
{
	uint32_t cnt = p->btf ? info->head.nr_line_info : 0;

	p->lines = calloc(cnt + 1ul, sizeof(*p->lines));
	if (!p->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct bpf_line_info *from = &info->lines[i];
		const char *text = btf__name_by_offset(p->btf, from->line_off);
		const char *file = btf__name_by_offset(p->btf, from->file_name_off);
		struct dump_line *line = &p->lines[p->nr_lines];

		if (!text || !file)
			continue;
		line->insn = from->insn_off;
		line->file = file;
		line->text = text + strspn(text, " \t");
		line->number = BPF_LINE_INFO_LINE_NUM(from->line_col);
		if (p->foreign)
			line->addr = code_of_insn(p, from->insn_off);
		else if (i < info->head.nr_jited_line_info)
			line->addr = info->jited_lines[i];
		p->nr_lines++;
	}
	return 0;
}

static int read_maps(struct dump_prog *p, const struct info *info)
{
	p->maps = calloc(info->head.nr_map_ids + 1ul, sizeof(*p->maps));
	if (!p->maps)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->head.nr_map_ids; i++) {
		struct bpf_map_info map = { 0 };
		uint32_t len = sizeof(map);
		int fd = bpf_map_get_fd_by_id(info->map_ids[i]);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &map, &len)) {
			p->maps[p->nr_maps].id = map.id;
			memcpy(p->maps[p->nr_maps].name, map.name, sizeof(map.name));
			p->nr_maps++;
		}
		close(fd);
	}
	return 0;
}

static int read_all(struct dump_prog *p, struct info *info, const char *target, const char *arch,
		    unsigned int flags, struct errline *e)
{
	int err = info_read(info, p);

	if (err)
		return errline_set(e, err, "cannot read program %d of %s back: %s", p->fd, target,
				   strerror(-err));
	snprintf(p->name, sizeof(p->name), "%.*s", BPF_OBJ_NAME_LEN, info->head.name);
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(p->tag + 2 * i, 3, "%02x", info->head.tag[i]);
	p->insn_cnt = info->head.xlated_prog_len / sizeof(struct bpf_insn);
	if (!p->insn_cnt)
		return errline_set(e, -EPERM, "the kernel does not show the instructions of '%s': it "
				   "takes CAP_BPF and CAP_PERFMON, and net.core.bpf_jit_harden below 2; or "
				   "use --on user", p->name);
	p->btf = info->head.btf_id ? btf__load_from_kernel_by_id(info->head.btf_id) : NULL;
	err = read_funcs(p, info);
	if (!err && (flags & DUMP_PROG_CODE)) {
		err = p->is_user ? read_user_code(p, target, arch, e) :
				   read_host_code(p, info, target, e);
		if (err)
			return err;
	}
	if (!err)
		err = read_lines(p, info);
	if (!err)
		err = read_maps(p, info);
	return err ? errline_set(e, err, "out of memory") : 0;
}

int dump_prog_read(struct dump_prog *p, int fd, const char *target, const char *arch,
		   unsigned int flags, struct errline *e)
{
	struct info info = { 0 };
	int err;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->is_user = bpfu_fd_is_user(fd);
	err = read_all(p, &info, target, arch, flags, e);
	info_release(&info);
	return err;
}

void dump_prog_release(struct dump_prog *p)
{
	free(p->insns);
	free(p->funcs);
	free(p->lines);
	free(p->maps);
	free(p->code);
	bpfu_code_free(p->foreign);
	btf__free(p->btf);
	memset(p, 0, sizeof(*p));
}

/* ---- names ---- */

const struct dump_func *dump_prog_func_at(const struct dump_prog *p, uint64_t addr)
{
	for (uint32_t i = 0; i < p->nr_funcs; i++)
		if (addr >= p->funcs[i].addr && addr - p->funcs[i].addr < p->funcs[i].len)
			return &p->funcs[i];
	return NULL;
}

bool dump_prog_symbol(const struct dump_prog *p, uint64_t addr, char *buf, size_t size)
{
	const struct dump_func *f = dump_prog_func_at(p, addr);
	const char *name;

	if (f && addr == f->addr) {
		snprintf(buf, size, "%s", f->name);
		return true;
	}
	if (f) {
		snprintf(buf, size, "%s+0x%llx", f->name, (unsigned long long)(addr - f->addr));
		return true;
	}
	if (p->is_user)
		return !bpfu_prog_symbol(p->fd, addr, buf, size);
	name = kallsyms_name(addr);
	if (name)
		snprintf(buf, size, "%s", name);
	return name != NULL;
}

const char *dump_prog_map_name(const struct dump_prog *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->nr_maps; i++)
		if (p->maps[i].id == id)
			return p->maps[i].name;
	return "?";
}
