// SPDX-License-Identifier: BSD-2-Clause
/*
 * The log of level 4 has the verifier's statistics, and the line that says what is wrong; with the whole log
 * it has each state as well.
 */
#include "measure/verify.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/object.h"
#include "util/libbpf_log.h"

#define LOG_STATS 4
#define LOG_STATES 1
#define LOG_SIZE (16u << 20)

/* "processed N insns (limit 1000000) max_states_per_insn M total_states T peak_states P mark_read R" */
static void read_stats(json_t *o, const char *log)
{
	const char *at = strstr(log, "processed "), *stack = strstr(log, "stack depth ");
	long long insns, total, peak;

	while (at && strstr(at + 1, "\nprocessed "))
		at = strstr(at + 1, "\nprocessed ") + 1;
	if (at && sscanf(at, "processed %lld insns %*s %*d) max_states_per_insn %*d total_states %lld peak_states %lld",
			 &insns, &total, &peak) == 3) {
		json_object_set_new(o, "insns", json_integer(insns));
		json_object_set_new(o, "states", json_integer(total));
		json_object_set_new(o, "peak_states", json_integer(peak));
	}
	stack += stack ? 12 : 0;
	if (stack && !strncmp(stack, "max ", 4)) /* newer kernels: not of each function */
		stack += 4;
	if (stack)
		json_object_set_new(o, "stack", json_sprintf("%.*s", (int)strcspn(stack, " \n"), stack));
}

static bool is_behind(const char *line)
{
	/* the first is the head of a long explanation that newer kernels add */
	static const char *const starts[] = { "Verification failed: ", "processed ", "verification time ",
					      "stack depth " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The last line of the log before explanations and statistics; without one what libbpf said, or the error. */
static json_t *reason_of(const char *log, int err)
{
	const char *found = NULL, *said = libbpf_log_last();
	char text[128];

	for (const char *p = log; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (is_behind(p))
			break;
		else if (*p != '\n')
			found = p;
	if (found)
		return json_sprintf("%.*s", (int)strcspn(found, "\n"), found);
	libbpf_strerror(err, text, sizeof(text));
	return said[0] ? json_string(said) : json_string(text);
}

static json_t *verdict(const struct target *t, const char *path, const struct bpf_program *prog, int err,
		       const char *log, bool whole)
{
	const char *slash = strrchr(path, '/'), *lacks = object_prog_lacks(prog);
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "schema", SCHEMA_VERIFY, "object",
			      slash ? slash + 1 : path, "program", bpf_program__name(prog), "section",
			      bpf_program__section_name(prog), "target", t->spec, "accepted", !err);

	if (err) {
		json_object_set_new(o, "errno", json_integer(-err));
		json_object_set_new(o, "reason", lacks && !log[0] ? json_string(lacks) : reason_of(log, err));
	}
	read_stats(o, log);
	if (whole)
		json_object_set_new(o, "log", json_string(log));
	return o;
}

/* Load the program @name alone. */
static int verify_one(const struct target *t, const char *path, const char *name, char *log, bool whole, json_t **o,
		      struct errline *e)
{
	struct bpf_object *obj = object_open_file(path, e);
	struct bpf_program *prog, *chosen = NULL;
	int err;

	if (!obj)
		return -errno;
	bpf_object__for_each_program(prog, obj) {
		bool is_it = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is_it);
		chosen = is_it ? prog : chosen;
	}
	log[0] = '\0';
	libbpf_log_clear();
	bpf_program__set_log_buf(chosen, log, LOG_SIZE);
	bpf_program__set_log_level(chosen, LOG_STATS | (whole ? LOG_STATES : 0));
	err = bpf_object__load(obj);
	*o = verdict(t, path, chosen, err, log, whole);
	bpf_object__close(obj);
	return *o ? 0 : errline_set(e, -ENOMEM, "out of memory");
}

/* The names of the programs of @path, or @only; the array is NULL without memory. */
static char **names_of(struct bpf_object *obj, const char *only, size_t *nr)
{
	struct bpf_program *prog;
	char **names = NULL;

	*nr = 0;
	bpf_object__for_each_program(prog, obj) {
		char **grown;

		if (only && strcmp(only, bpf_program__name(prog)))
			continue;
		grown = realloc(names, (*nr + 1) * sizeof(*names));
		if (!grown)
			break;
		names = grown;
		names[(*nr)++] = strdup(bpf_program__name(prog));
	}
	return names;
}

int verify_object(const struct target *t, const char *arg, bool log,
		  int (*take)(json_t *o, void *ctx, struct errline *e), void *ctx, struct errline *e)
{
	const char *dot_o = strstr(arg, ".o:"), *only = dot_o ? dot_o + 3 : NULL;
	char *path = dot_o ? strndup(arg, (size_t)(dot_o + 2 - arg)) : strdup(arg);
	char *text = malloc(LOG_SIZE), **names = NULL;
	struct bpf_object *obj = NULL;
	size_t nr = 0;
	int err = path && text ? 0 : errline_set(e, -ENOMEM, "out of memory");

	if (!err) {
		obj = object_open_file(path, e);
		err = obj ? 0 : -errno;
	}
	if (!err) {
		names = names_of(obj, only, &nr);
		if (!nr)
			err = only ? errline_set(e, -ENOENT, "'%s' has no program '%s'", path, only) :
				     errline_set(e, -ENOENT, "'%s' has no programs", path);
	}
	bpf_object__close(obj);
	for (size_t i = 0; i < nr; i++) {
		json_t *o = NULL;

		if (!err && !names[i])
			err = errline_set(e, -ENOMEM, "out of memory");
		if (!err)
			err = verify_one(t, path, names[i], text, log, &o, e);
		if (!err)
			err = take(o, ctx, e);
		json_decref(o);
		free(names[i]);
	}
	free(names);
	free(text);
	free(path);
	return err;
}
