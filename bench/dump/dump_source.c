// SPDX-License-Identifier: BSD-2-Clause
/* Loading what is dumped; see dump_source.h. */
#include "dump/dump_source.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "measure/object.h"
#include "registry.h"
#include "util/libbpf_log.h"
#include "util/suggest.h"

#define MAX_FD 4096       /* descriptors that are looked at */

static bool matches(const char *pattern, const char *name)
{
	return !pattern || !fnmatch(pattern, name, 0);
}

static int no_program(const char *what, const char *pattern, const char *optional,
		      const struct suggest *s, struct errline *e)
{
	char hint[128];

	if (!pattern && optional)
		return errline_set(e, -ENOENT, "'%s' has only programs that are not loaded unless asked for, such as "
				   "'%s': name one, as in %s:%s", what, optional, what, optional);
	if (!pattern)
		return errline_set(e, -ENOENT, "'%s' has no BPF program", what);
	return errline_set(e, -ENOENT, "'%s' has no program '%s'%s ('*' shows all)", what, pattern,
			   suggest_text(s, hint, sizeof(hint)));
}

/* Read program @fd into the next element of @s->progs. */
static int add_prog(struct dump_source *s, int fd, const struct dump_request *req, struct errline *e)
{
	struct dump_prog *grown = realloc(s->progs, (s->nr + 1) * sizeof(*grown));

	if (!grown)
		return errline_set(e, -ENOMEM, "out of memory");
	s->progs = grown;
	return dump_prog_read(&s->progs[s->nr++], fd, s->target.spec, req->arch, req->flags, e);
}

/* ---- object files ---- */

/* Only what is asked for is loaded: others may not load here. Returns how many there are. */
static int choose(struct bpf_object *obj, const char *path, const char *pattern, struct errline *e)
{
	struct bpf_program *prog;
	const char *optional = NULL;
	struct suggest s;
	int nr = 0;

	suggest_init(&s, pattern ? pattern : "");
	bpf_object__for_each_program(prog, obj) {
		const char *name = bpf_program__name(prog);
		bool asked = pattern && !strcmp(pattern, name);

		suggest_offer(&s, name);
		optional = optional ? optional : name;
		if (matches(pattern, name) && (asked || bpf_program__autoload(prog))) {
			bpf_program__set_autoload(prog, true);
			nr++;
		} else {
			bpf_program__set_autoload(prog, false);
		}
	}
	return nr ? nr : no_program(path, pattern, optional, &s, e);
}

static int open_object(struct dump_source *s, const char *path, const char *pattern,
		       const struct dump_request *req, struct errline *e)
{
	struct bpf_program *prog;
	int err;

	s->obj = object_open_file(path, e);
	if (!s->obj)
		return -errno;
	err = choose(s->obj, path, pattern, e);
	if (err < 0)
		return err;
	bpf_object__for_each_program(prog, s->obj) {
		const char *lacks = bpf_program__autoload(prog) ? object_prog_lacks(prog) : NULL;

		if (lacks)
			return errline_set(e, -EINVAL, "cannot load program '%s' of '%s': %s",
					   bpf_program__name(prog), path, lacks);
	}
	libbpf_log_clear();
	err = bpf_object__load(s->obj);
	if (err)
		return driver_load_error(e, err, path, s->target.spec);
	bpf_object__for_each_program(prog, s->obj) {
		if (!err && bpf_program__autoload(prog))
			err = add_prog(s, bpf_program__fd(prog), req, e);
	}
	return err;
}

/* ---- benches ---- */

static bool is_prog_fd(int fd)
{
	char link[64], path[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	/* The kernel's, and libbpfu's. */
	return !strcmp(path, "anon_inode:bpf-prog") || !strncmp(path, "/memfd:bpf-prog", 15);
}

static int add_bench_progs(struct dump_source *s, const bool *before, const struct dump_request *req,
			   struct errline *e)
{
	const struct bench *bench = s->inst.bench;
	int measured = bench->prog_fd ? bench->prog_fd(&s->inst) : -1, err = 0;
	char names[64][64];
	struct suggest hint;
	size_t nr_names = 0;

	suggest_init(&hint, req->program ? req->program : "");
	for (int fd = 0; fd < MAX_FD && !err; fd++) {
		struct dump_prog *last;

		if (before[fd] || !is_prog_fd(fd) || (!req->program && measured >= 0 && fd != measured))
			continue;
		err = add_prog(s, fd, req, e);
		if (err)
			break;
		last = &s->progs[s->nr - 1];
		if (nr_names < 64) {
			snprintf(names[nr_names], sizeof(names[0]), "%.63s", last->name);
			suggest_offer(&hint, names[nr_names++]);
		}
		if (!matches(req->program, last->name)) {
			dump_prog_release(last);
			s->nr--;
		}
	}
	return err || s->nr ? err : no_program(req->what, req->program, NULL, &hint, e);
}

static int choose_bench(const struct bench *bench, void *ctx)
{
	const struct bench **chosen = ctx;

	*chosen = bench;
	return 1; /* the first is enough */
}

static int open_bench(struct dump_source *s, const struct dump_request *req, struct errline *e)
{
	bool before[MAX_FD];
	int err = registry_match(req->what, choose_bench, &s->inst.bench, e);

	if (err < 0)
		return err;
	s->inst.target = &s->target;
	s->inst.params = (struct bench_params){ .nr_loops = 10, .producers = 1 };
	for (int fd = 0; fd < MAX_FD; fd++)
		before[fd] = is_prog_fd(fd);
	libbpf_log_clear();
	err = s->inst.bench->open(&s->inst, e);
	if (err)
		return err;
	s->bench_open = true;
	return add_bench_progs(s, before, req, e);
}

/* ---- either ---- */

/* OBJECT:PROGRAM is the other way to name one. */
static int open_path(struct dump_source *s, const struct dump_request *req, struct errline *e)
{
	const char *dot_o = strstr(req->what, ".o:");
	char *path = dot_o ? strndup(req->what, (size_t)(dot_o + 2 - req->what)) : strdup(req->what);
	int err;

	if (!path)
		return errline_set(e, -ENOMEM, "out of memory");
	err = open_object(s, path, dot_o ? dot_o + 3 : req->program, req, e);
	free(path);
	return err;
}

int dump_source_open(struct dump_source *s, const char *target, const struct dump_request *req,
		     struct errline *e)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = target_parse(&s->target, target, e);
	if (!err && req->arch && s->target.kind != &target_kind_user)
		return errline_set(e, -EINVAL, "--arch: '%s' compiles for its own machine only; use --on "
				   "user", target);
	if (!err)
		err = target_enter(&s->target, e);
	if (err)
		return err;
	err = object_is_path(req->what) ? open_path(s, req, e) : open_bench(s, req, e);
	target_leave(&s->target);
	return err;
}

void dump_source_release(struct dump_source *s)
{
	for (size_t i = 0; i < s->nr; i++)
		dump_prog_release(&s->progs[i]);
	free(s->progs);
	if (s->bench_open)
		s->inst.bench->close(&s->inst);
	bpf_object__close(s->obj);
	memset(s, 0, sizeof(*s));
}
