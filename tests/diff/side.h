/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sides: who runs a case. The kernel, and libbpfu with and without its JIT, are driven through
 * bpf(2) alike. On top of that a program loaded into libbpfu can be run again from other forms of
 * its instructions (clone.h), which needs no second verification.
 */
#ifndef BPFU_TESTS_DIFF_SIDE_H
#define BPFU_TESTS_DIFF_SIDE_H

#include "clone.h"
#include "diff.h"

#define DUMP_MAX 16384
#define DATA_MAX 1024

enum side_kind { SIDE_KERNEL, SIDE_JIT, SIDE_INTERP, SIDES };

extern const char *const side_names[SIDES];

struct result {
	int load_err;  /* 0 or -errno of the first load that failed */
	char log[256]; /* the log's last line, if asked for */
	bool interpreted; /* the JIT should have compiled it */
	int run_err;
	uint32_t retval;
	uint32_t data_len;
	uint8_t data[DATA_MAX]; /* packet or context afterwards */
	uint32_t dump_len;
	uint8_t dump[DUMP_MAX]; /* contents of the maps used (maps.c) */
};

struct side {
	enum side_kind kind;
	const char *name;
	int (*bpf)(int cmd, union bpf_attr *attr, unsigned int size); /* value or -errno */
	uint32_t cpus;
	bool built[SHAPES];
	int fds[SHAPES][SLOT_ALL];
	struct bpfu_map *maps[SHAPES][SLOT_ALL]; /* of libbpfu's sides, with references */
	int btf_fd;
};

/* Fill @side; 0, or -errno if this side cannot be used here (the kernel, without permission). */
int side_open(struct side *side, enum side_kind kind);
void side_close(struct side *side);

/*
 * libbpfu's thread options for what is loaded next, @c or a variant of it, drawn from @seed, on each
 * side others; prints them to @out if not NULL. Seed 0: the library's defaults.
 */
void side_options(const struct side *side, const struct diff_case *c, uint64_t seed, FILE *out);

/* What side_run() does besides loading. */
enum side_flags {
	RUN_LOG = 1u << 0,    /* fill result->log when a load fails */
	RUN_EXEC = 1u << 1,   /* run it */
};

/* What else is done with the programs while they are loaded. */
struct side_extra {
	struct result *clones; /* RUN_EXEC: CLONE_FORMS results, valid where clone_possible(); or NULL */
	/* Called before they run; or NULL. */
	void (*loaded)(void *arg, const struct side *side, const struct diff_case *c, const int *fds);
	void *arg;
};

/*
 * Load (and run) @c. @extra may be NULL. Returns false if the side failed in a way that is no result
 * (reported on standard error).
 */
bool side_run(struct side *side, const struct diff_case *c, struct result *res, uint32_t flags,
	      const struct side_extra *extra);

/* The run alone: maps, input and output are the case's, @run does what BPF_PROG_TEST_RUN does. */
typedef int (*side_run_fn)(void *arg, union bpf_attr *attr);
bool side_run_with(struct side *side, const struct diff_case *c, side_run_fn run, void *arg,
		   struct result *res);

/* No error and no output. */
void result_init(struct result *res);

/* ---- BTF (side_btf.c) ---- */
/* Of programs with callbacks or objects, and of maps with pointers to objects: made once. -errno. */
int side_btf(struct side *side);
/* The id on @side of an enum case_kfunc; 0: it has none. */
int32_t side_kfunc_id(struct side *side, int32_t kfunc);

/* ---- maps of a side (side_maps.c) ---- */
bool side_maps_build(struct side *side, uint32_t shape);

/* Forbid the map types that @side does not have (shape_forbid()). */
void side_probe_maps(struct side *side);

/* The kernel's maps that are cheaper to make anew than to reset: the prog array, if @c has tail calls. */
bool side_maps_renew(struct side *side, const struct diff_case *c);
bool side_maps_reset(struct side *side, const struct diff_case *c);
void side_maps_dump(struct side *side, const struct diff_case *c, struct result *res);

/* A name for a place in a dump, for reports. */
void dump_describe(const struct diff_case *c, uint32_t pos, char *buf, size_t size);

#endif
