/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a loaded program tells about itself: its instructions after the verifier's rewriting, machine
 * code, functions, source lines and maps, read through BPF_OBJ_GET_INFO_BY_FD from whichever side
 * made the descriptor. The target of the program must be in force.
 */
#ifndef BPFLAB_DUMP_PROG_H
#define BPFLAB_DUMP_PROG_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errline.h"

struct btf;

struct dump_func {
	char name[128];
	uint32_t insn;        /* its first instruction */
	uint32_t insn_cnt;
	uint64_t addr;        /* of its machine code; the rest is 0 without any */
	uint32_t len;
	const uint8_t *bytes;
};

struct dump_line {
	uint32_t insn;        /* the first instruction of the line */
	uint64_t addr;        /* of its machine code, 0 without any */
	const char *file;
	const char *text;     /* without leading blanks */
	uint32_t number;
};

struct dump_map {
	uint32_t id;
	char name[BPF_OBJ_NAME_LEN];
};

struct dump_prog {
	int fd;
	bool is_user;         /* answered by libbpfu */
	char name[128];
	char tag[2 * BPF_TAG_SIZE + 1];
	char arch[16];        /* of the machine code: x86_64 or aarch64; "" without any */
	struct bpf_insn *insns;
	uint32_t insn_cnt;
	struct dump_func *funcs;
	uint32_t nr_funcs;
	struct dump_line *lines;
	uint32_t nr_lines;
	struct dump_map *maps;
	uint32_t nr_maps;
	/* private to dump_prog.c */
	struct btf *btf;
	uint8_t *code;
	struct bpfu_code *foreign;
};

enum dump_prog_flags {
	DUMP_PROG_CODE = 1u << 0, /* machine code, too; an error if there is none to be had */
};

/*
 * Read program @fd, which belongs to @target (for messages). @arch: NULL, or the architecture of the
 * machine code. dump_prog_release() frees, also after an error.
 */
int dump_prog_read(struct dump_prog *p, int fd, const char *target, const char *arch,
		   unsigned int flags, struct errline *e);
void dump_prog_release(struct dump_prog *p);

/* The function with @addr in its machine code, or NULL. */
const struct dump_func *dump_prog_func_at(const struct dump_prog *p, uint64_t addr);

/* Name of the address @addr in @p's instructions or machine code; false if it has none. */
bool dump_prog_symbol(const struct dump_prog *p, uint64_t addr, char *buf, size_t size);

/* "map NAME" of the map with @id. */
const char *dump_prog_map_name(const struct dump_prog *p, uint32_t id);

#endif
