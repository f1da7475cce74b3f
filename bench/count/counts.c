// SPDX-License-Identifier: BSD-2-Clause
/* Runs of one target, and what they agree on. */
#include "count/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "count/in_guest.h"
#include "measure/object.h"
#include "vm/guest_files.h"

#define MAX_ARGS 256
/* Windows of each kind in a process; the smallest counts. In a guest interrupts may be in some. */
#define ROUNDS 2
#define GUEST_ROUNDS 6

/* ---- targets ---- */

/* Appends @len bytes of @word to the target @spec. */
static void append(char *spec, size_t size, const char *word, size_t len)
{
	size_t used = strlen(spec);

	snprintf(spec + used, size - used, "%c%.*s", strchr(spec, ':') ? ',' : ':', (int)len, word);
}

/* @spec without its arch=, which goes to @arch. Both are large enough for all of @spec. */
static int split_arch(const char *spec, char *rest, size_t size, char *arch, struct errline *e)
{
	size_t kind = strcspn(spec, ":");

	snprintf(rest, size, "%.*s", (int)kind, spec);
	arch[0] = '\0';
	for (const char *p = spec + kind; *p;) {
		size_t len = strcspn(++p, ",");

		if (strncmp(p, "arch=", 5)) {
			append(rest, size, p, len);
		} else if (arch[0]) {
			return errline_set(e, -EINVAL, "target '%s': 'arch' is set twice", spec);
		} else {
			snprintf(arch, size, "%.*s", (int)len - 5, p + 5);
		}
		p += len;
	}
	return 0;
}

static int refuse_kind(const char *spec, const struct target *t, struct errline *e)
{
	if (t->kind == &target_kind_user || t->kind == &target_kind_native)
		return 0;
	return errline_set(e, -EINVAL, "target '%s': --count=insns runs bpflab in an emulator, where there is "
			   "no %s; count on user, native or vm:VERSION", spec, t->kind->name);
}

int count_target_init(struct count_target *t, const char *spec, struct errline *e)
{
	char rest[sizeof(t->target.spec)], arch[sizeof(t->target.spec)];
	int err;

	memset(t, 0, sizeof(*t));
	if (strlen(spec) >= sizeof(rest))
		return errline_set(e, -EINVAL, "target '%.32s...' is too long", spec);
	if (!strncmp(spec, "vm:", 3)) {
		snprintf(t->spec, sizeof(t->spec), "%s", spec);
		err = target_parse(&t->target, spec, e);
		return err ? err : count_guest_find(t, e);
	}
	err = split_arch(spec, rest, sizeof(rest), arch, e);
	if (!err)
		err = target_parse(&t->target, rest, e);
	if (!err)
		err = refuse_kind(spec, &t->target, e);
	if (err)
		return err;
	err = emulator_find(&t->emulator, arch[0] ? arch : NULL, e);
	if (err)
		return err;
	snprintf(t->spec, sizeof(t->spec), "%s%carch=%s", rest, strchr(rest, ':') ? ',' : ':',
		 t->emulator.arch);
	return 0;
}

int count_target_init_kernel(struct count_target *t, const char *spec, const struct kernel *kernel,
			     struct errline *e)
{
	int err;

	memset(t, 0, sizeof(*t));
	t->kernel = kernel;
	snprintf(t->spec, sizeof(t->spec), "%s", spec);
	err = target_parse(&t->target, spec, e);
	return err ? err : count_guest_find(t, e);
}

const struct count_point *count_point_find(const struct count_target *t, const char *label)
{
	for (size_t i = 0; i < t->nr_points; i++)
		if (!strcmp(t->points[i].label, label))
			return &t->points[i];
	return NULL;
}

void count_target_release(struct count_target *t)
{
	count_points_free(t->points, t->nr_points);
	t->points = NULL;
	t->nr_points = 0;
}

/* ---- runs ---- */

int count_point_add(struct count_point *to, struct count_point *from, struct errline *e)
{
	struct count_figures *grown;

	if (strcmp(to->label, from->label))
		return errline_set(e, -EPROTO, "'%s' ran where '%s' did before", from->label, to->label);
	if (to->failed.text[0])
		return 0;
	if (from->failed.text[0]) {
		to->failed = from->failed;
		return 0;
	}
	grown = realloc(to->runs, (to->nr_runs + 1) * sizeof(*grown));
	if (!grown)
		return errline_set(e, -ENOMEM, "out of memory");
	to->runs = grown;
	to->runs[to->nr_runs++] = from->runs[0];
	from->runs[0].functions = (struct count_functions){ 0 };
	return 0;
}

/* Not the trigger: which way malloc() goes in it is no cost of an event. Nor the windows of N/2: they check. */
static bool same_figures(const struct count_figures *a, const struct count_figures *b)
{
	return fraction_equal(a->net, b->net) && fraction_equal(a->gross, b->gross) &&
	       fraction_equal(a->null, b->null);
}

void count_point_summarise(struct count_point *pt)
{
	pt->equal = 0;
	for (size_t i = 0; i < pt->nr_runs; i++) {
		const struct count_figures *f = &pt->runs[i];
		size_t equal = 0;

		for (size_t k = 0; k < pt->nr_runs; k++)
			equal += same_figures(f, &pt->runs[k]);
		if (equal > pt->equal ||
		    (equal == pt->equal && fraction_cmp(f->net, pt->value.net) < 0)) {
			pt->equal = equal;
			pt->value = *f;
		}
		if (!i || fraction_cmp(f->net, pt->lo) < 0)
			pt->lo = f->net;
		if (!i || fraction_cmp(f->net, pt->hi) > 0)
			pt->hi = f->net;
	}
}

/* The figures of the first run open the points, those of the others join them. */
static int add_run(struct count_target *t, struct count_point *points, size_t nr, struct errline *e)
{
	int err = 0;

	if (!t->points) {
		t->points = points;
		t->nr_points = nr;
		return 0;
	}
	if (nr != t->nr_points)
		err = errline_set(e, -EPROTO, "%zu benches ran where %zu did before", nr, t->nr_points);
	for (size_t i = 0; i < nr && !err; i++)
		err = count_point_add(&t->points[i], &points[i], e);
	count_points_free(points, nr);
	return err;
}

/* Inside, the guest's kernel is the host. */
static void strip_host(struct errline *e)
{
	char *at = strstr(e->text, " on host");

	if (at)
		memmove(at, at + 8, strlen(at + 8) + 1);
}

static int run_once(struct count_target *t, const char *const *args, const struct count_boot *boot,
		    struct errline *e)
{
	struct count_point *points;
	struct emulated res;
	size_t nr;
	int err = target_is_vm(&t->target) ? count_guest_run(t, args, boot, &res, e) :
					     emulator_run(&t->emulator, args, false, &res, e);

	if (!err)
		err = counts_join(res.out, res.counts, &points, &nr, e);
	if (!err && boot->profile) {
		err = count_functions_fill(points, nr, res.counts, e);
		if (err)
			count_points_free(points, nr);
	}
	emulated_release(&res);
	for (size_t i = 0; !err && i < nr && target_is_vm(&t->target); i++)
		strip_host(&points[i].failed);
	return err ? err : add_run(t, points, nr, e);
}

/* ---- the command line of the inner bpflab ---- */

struct args {
	const char *words[MAX_ARGS];
	char text[MAX_ARGS][32];
	size_t nr;
};

static void add_word(struct args *a, const char *word)
{
	if (a->nr < MAX_ARGS - 1)
		a->words[a->nr++] = word;
}

static void add_number(struct args *a, const char *name, uint64_t value)
{
	if (!value)
		return;
	add_word(a, name);
	if (a->nr < MAX_ARGS - 1)
		snprintf(a->text[a->nr], sizeof(a->text[0]), "%llu", (unsigned long long)value);
	add_word(a, a->text[a->nr]);
}

/* False if there are too many words. */
static bool make_args(struct args *a, const struct count_target *t, const char *const *benches,
		      const struct opts *opts, bool code)
{
	memset(a, 0, sizeof(*a));
	add_word(a, "windows");
	if (code)
		add_word(a, "--jited");
	add_word(a, "--on");
	if (target_is_vm(&t->target)) {
		add_word(a, "host");
		add_word(a, "--keep-going");
		if (opts->symbols || opts->why || code)
			add_word(a, "--symbols");
		add_number(a, "--rounds", GUEST_ROUNDS);
	} else {
		add_word(a, t->target.spec);
		if (opts->keep_going)
			add_word(a, "--keep-going");
		add_number(a, "--rounds", code ? 1 : ROUNDS);
	}
	add_number(a, "--nr_loops", opts->nr_loops);
	add_number(a, "--trig-batch-iters", opts->trig_batch_iters);
	add_number(a, "--nr-batch-iters", opts->nr_batch_iters);
	add_number(a, "--programs", opts->programs);
	if (opts->stacktrace)
		add_word(a, "--stacktrace");
	for (size_t i = 0; i < opts->sweep.nr; i++) {
		add_word(a, "--sweep");
		add_word(a, opts->sweep.items[i]);
	}
	add_word(a, "--");
	for (size_t i = 0; benches[i]; i++)
		add_word(a, benches[i]);
	return a->nr < MAX_ARGS - 1;
}

/* The command line of @t; object files are packed for a guest, where they have other names. */
static int prepare(struct args *a, struct count_target *t, const char *const *benches, const struct opts *opts,
		   bool code, struct guest_files *files, struct errline *e)
{
	const char *inside[MAX_ARGS];
	size_t nr = 0;
	int err = 0;

	for (; benches[nr] && nr < MAX_ARGS - 1 && !err; nr++) {
		inside[nr] = benches[nr];
		if (target_is_vm(&t->target) && object_is_path(benches[nr]))
			err = guest_files_add_object(files, benches[nr], &inside[nr], e);
	}
	inside[nr] = NULL;
	t->files = files;
	t->qemu_args = opts->qemu_args;
	t->max_seconds = opts->timeout;
	if (!err && (benches[nr] || !make_args(a, t, inside, opts, code)))
		err = errline_set(e, -E2BIG, "more benches than one run can have");
	return err;
}

int count_measure(struct count_target *t, const char *const *benches, const struct opts *opts,
		  struct errline *e)
{
	struct guest_files files = { .nr = 0 };
	bool by_function = opts->symbols || opts->why;
	struct args *a = malloc(sizeof(*a));
	int err = 0;

	if (!a)
		return errline_set(e, -ENOMEM, "out of memory");
	t->runs = opts->runs ? opts->runs : COUNT_RUNS;
	err = prepare(a, t, benches, opts, false, &files, e);
	for (size_t r = 0; r < t->runs && !err; r++) {
		const struct count_boot boot = { .seed = (unsigned int)r + 1, .profile = by_function };

		err = run_once(t, a->words, &boot, e);
	}
	for (size_t i = 0; i < t->nr_points && !err; i++)
		count_point_summarise(&t->points[i]);
	t->files = NULL;
	guest_files_release(&files);
	free(a);
	return err;
}

int count_profile_run(struct count_target *t, const char *bench, const struct opts *opts,
		      struct emulated *res, struct errline *e)
{
	const struct count_boot boot = { .seed = 1, .profile = true };
	const char *benches[] = { bench, NULL };
	struct guest_files files = { .nr = 0 };
	struct args *a = malloc(sizeof(*a));
	int err;

	memset(res, 0, sizeof(*res));
	if (!a)
		return errline_set(e, -ENOMEM, "out of memory");
	err = prepare(a, t, benches, opts, true, &files, e);
	if (!err)
		err = target_is_vm(&t->target) ? count_guest_run(t, a->words, &boot, res, e) :
						 emulator_run(&t->emulator, a->words, true, res, e);
	if (!err)
		err = counts_join(res->out, res->counts, &t->points, &t->nr_points, e);
	for (size_t i = 0; !err && i < t->nr_points && target_is_vm(&t->target); i++)
		strip_host(&t->points[i].failed);
	t->files = NULL;
	guest_files_release(&files);
	free(a);
	return err;
}
