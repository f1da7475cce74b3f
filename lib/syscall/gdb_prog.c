// SPDX-License-Identifier: BSD-2-Clause
/*
 * A compiled program as gdb.h wants it: its functions under the names that perf has for them, and their source
 * lines. Functions that C enters through a stub (a counter of tail calls, a segment of private stack) have two
 * names, the stub's being that of the function and ".entry".
 */
#include <stdio.h>

#include "btf/btf.h"
#include "jit/cfi.h"
#include "jit/gdb.h"
#include "jit/jit.h"
#include "obj/prog.h"
#include "syscall/perf.h"
#include "util/log.h"

struct names {
	struct bpfu_perf_func perf;
	char entry[sizeof(((struct bpfu_perf_func *)0)->name) + 8];
};

struct making {
	const struct bpfu_prog *prog;
	struct names *names;
	struct bpfu_gdb_func *funcs; /* in order of addresses */
	const char **files;
	struct bpfu_gdb_line *lines;
	uint32_t func_cnt, file_cnt, line_cnt;
};

static void add_func(struct making *m, uint32_t idx)
{
	struct names *n = &m->names[idx];
	uint32_t stub = m->prog->jit->debug->direct_off[idx] - m->prog->jit->subprog_off[idx];

	bpfu_perf_func(m->prog, idx, &n->perf);
	if (stub) {
		snprintf(n->entry, sizeof(n->entry), "%s.entry", n->perf.name);
		m->funcs[m->func_cnt++] = (struct bpfu_gdb_func){ n->perf.addr, stub, n->entry };
	}
	m->funcs[m->func_cnt++] =
		(struct bpfu_gdb_func){ n->perf.addr + stub, n->perf.len - stub, n->perf.name };
}

/* Files are few, and one after the other. */
static uint32_t file_of(struct making *m, const char *name)
{
	uint32_t i = m->file_cnt;

	while (i-- > 0)
		if (m->files[i] == name)
			return i;
	m->files[m->file_cnt] = name;
	return m->file_cnt++;
}

/* The first line of a function is that of its prologue, too. */
static void add_line(struct making *m, const struct bpf_line_info *info, uint32_t func)
{
	const struct bpfu_jit_image *jit = m->prog->jit;
	const char *file = bpfu_btf_name(m->prog->btf, info->file_name_off);
	uint32_t number = BPF_LINE_INFO_LINE_NUM(info->line_col);
	struct bpfu_gdb_line *line = &m->lines[m->line_cnt];

	if (!file || !number)
		return;
	*line = (struct bpfu_gdb_line){ .file = file_of(m, file), .line = number };
	if (info->insn_off == m->prog->subprogs[func].start) {
		line->addr = bpfu_u64(jit->code) + jit->subprog_off[func];
		line[1] = line[0];
		line++;
		m->line_cnt++;
	}
	line->addr = bpfu_u64(jit->code) + jit->insn_off[info->insn_off];
	m->line_cnt++;
}

static void add_lines(struct making *m)
{
	const struct bpfu_prog *prog = m->prog;

	for (uint32_t i = 0, func = 0; i < prog->line_info_cnt; i++) {
		const struct bpf_line_info *info = &prog->line_info[i];

		while (func + 1 < prog->subprog_cnt && info->insn_off >= prog->subprogs[func + 1].start)
			func++;
		if (info->insn_off < prog->insn_cnt)
			add_line(m, info, func);
	}
}

static void make(struct making *m)
{
	struct bpfu_jit_debug *debug = m->prog->jit->debug;
	const struct bpfu_jit_image *jit = m->prog->jit;
	struct bpfu_bytes frames;
	struct bpfu_gdb_image image;

	bpfu_cfi_begin(&frames);
	for (uint32_t i = 0; i < m->prog->subprog_cnt; i++) {
		add_func(m, i);
		bpfu_cfi_func(&frames, bpfu_u64(jit->code) + jit->subprog_off[i], jit->subprog_off[i],
			      jit->subprog_len[i], debug->cfis, debug->cfi_cnt);
	}
	bpfu_cfi_end(&frames);
	if (m->prog->btf)
		add_lines(m);
	image = (struct bpfu_gdb_image){
		.code = jit->code,
		.size = jit->size,
		.funcs = m->funcs,
		.func_cnt = m->func_cnt,
		.frames = &frames,
		.files = m->files,
		.file_cnt = m->file_cnt,
		.lines = m->lines,
		.line_cnt = m->line_cnt,
	};
	debug->object = bpfu_gdb_add(&image);
	free(frames.data);
}

void bpfu_gdb_announce(struct bpfu_prog *prog)
{
	uint32_t funcs = prog->subprog_cnt, lines = prog->line_info_cnt;
	struct making m = { .prog = prog };

	if (!prog->jit || !prog->options.gdb)
		return;
	m.names = calloc(funcs, sizeof(*m.names));
	m.funcs = calloc(2 * funcs, sizeof(*m.funcs));
	m.files = calloc(lines + 1, sizeof(*m.files));
	m.lines = calloc(lines + funcs + 1, sizeof(*m.lines));
	if (prog->jit->debug && m.names && m.funcs && m.files && m.lines)
		make(&m);
	if (!prog->jit->debug || !prog->jit->debug->object)
		bpfu_warn("gdb: no memory to make '%s' known to debuggers", prog->name);
	free(m.names);
	free(m.funcs);
	free(m.files);
	free(m.lines);
}
