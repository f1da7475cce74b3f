// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which kernels are bisected. They come from a folder, from the store, or from a list in a file whose lines name ones
 * of both; the good and the bad one may be images of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/bisect.h"
#include "target.h"
#include "vm/folder.h"

struct found {
	const struct opts *opts;
	const struct machine_kind *machine;
	bool machine_given;
	struct kernel_list all; /* of the folder or the store */
};

/* The options for all, by way of those of a target. */
static int parse_vm(struct found *f, struct errline *e)
{
	struct target t;
	char spec[200];
	int err;

	f->machine = machine_native();
	if (!f->opts->vm)
		return 0;
	if (snprintf(spec, sizeof(spec), "vm:0,%s", f->opts->vm) >= (int)sizeof(spec))
		return errline_set(e, -EINVAL, "--vm '%.60s...' is too long", f->opts->vm);
	err = target_parse(&t, spec, e);
	f->machine = t.vm.machine;
	f->machine_given = strstr(spec, ",arch=");
	if (!err && t.vm.smp > 1)
		return errline_set(e, -EINVAL, "--vm '%s': instructions are counted on one CPU; leave smp= out",
				   f->opts->vm);
	return err;
}

/* If there is no other, the kernels' own machine is meant. */
static void choose_machine(struct found *f)
{
	const struct machine_kind *other = NULL;

	for (size_t i = 0; i < f->all.nr && !f->machine_given; i++) {
		if (f->all.items[i].machine == f->machine)
			return;
		other = other ?: f->all.items[i].machine;
	}
	f->machine = other ?: f->machine;
}

/* Those for the machine, and those that are damaged, which are skipped when their turn comes. */
static void keep_machine(struct found *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->all.nr; i++) {
		struct kernel *k = &f->all.items[i];

		if (k->machine && k->machine != f->machine)
			continue;
		k->machine = f->machine;
		f->all.items[kept++] = *k;
	}
	f->all.nr = kept;
	kernel_list_sort(&f->all);
}

static bool names_file(const char *word)
{
	struct stat st;

	return strchr(word, '/') || (!stat(word, &st) && S_ISREG(st.st_mode));
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The one of the list that @k is, too, or NULL. */
static const struct kernel *listed(const struct kernel_list *list, const struct kernel *k)
{
	for (size_t i = 0; i < list->nr; i++)
		if (same_file(list->items[i].image, k->image))
			return &list->items[i];
	return NULL;
}

/* "vmlinuz-6.12" in the folder, which is called 6.12. */
static const struct kernel *by_file_name(const struct kernel_list *list, const char *word)
{
	for (size_t i = 0; i < list->nr; i++) {
		const char *slash = strrchr(list->items[i].image, '/');

		if (slash && !strcmp(slash + 1, word) && !list->items[i].dir[0])
			return &list->items[i];
	}
	return NULL;
}

static int resolve(struct found *f, const char *word, struct kernel *k, struct errline *e)
{
	const struct kernel *it = by_file_name(&f->all, word);
	int err;

	it = it ?: kernel_list_find(&f->all, word, f->machine);
	if (it) {
		*k = *it;
		return 0;
	}
	if (!names_file(word)) {
		err = store_check_name(word, e);
		if (!err)
			err = store_find(k, word, f->machine, e);
		if (err && f->opts->kernels)
			return errline_set(e, err, "there is no kernel '%s' for %s in '%s', nor in the store; "
					   "bpflab kernel list shows those", word, f->machine->name,
					   f->opts->kernels);
		return err;
	}
	err = folder_kernel(k, word, NULL, e);
	if (!err && k->machine != f->machine)
		return errline_set(e, -EINVAL, "'%s' is a kernel of %s, not of %s; --vm arch=%s", word,
				   k->machine->name, f->machine->name, k->machine->name);
	return err;
}

/* -------------------------------------------------------------- the list in a file */

static int add_line(struct found *f, struct kernel_list *list, const char *word, size_t line, struct errline *e)
{
	struct errline why = { "" };
	struct kernel k;
	int err = resolve(f, word, &k, &why);

	if (err)
		return errline_set(e, err, "'%s' line %zu: %.800s", f->opts->order, line, why.text);
	if (listed(list, &k))
		return errline_set(e, -EINVAL, "'%s' line %zu: '%s' is in the list already", f->opts->order, line,
				   word);
	return kernel_list_add(list, &k) ? errline_set(e, -ENOMEM, "out of memory") : 0;
}

static int read_order(struct found *f, struct errline *e)
{
	struct kernel_list list = { 0 };
	char *text = NULL;
	size_t room = 0, line = 0;
	FILE *file = fopen(f->opts->order, "re");
	ssize_t len;
	int err = 0;

	if (!file)
		return errline_set(e, -errno, "cannot read '%s': %s", f->opts->order, strerror(errno));
	while (!err && (len = getline(&text, &room, file)) >= 0) {
		char *word = text + strspn(text, " \t");

		line++;
		word[strcspn(word, "#\r\n")] = '\0';
		for (len = (ssize_t)strlen(word); len && strchr(" \t", word[len - 1]); len--)
			word[len - 1] = '\0';
		if (*word)
			err = add_line(f, &list, word, line, e);
	}
	if (!err && ferror(file))
		err = errline_set(e, -EIO, "cannot read '%s'", f->opts->order);
	fclose(file);
	free(text);
	store_list_release(&f->all);
	f->all = list;
	return err;
}

/* -------------------------------------------------------------- from good to bad */

/* Where @word's kernel is in the list; it is put into it if it is an image that lies elsewhere. */
static int find_end(struct found *f, const char *word, struct kernel *k, struct errline *e)
{
	int err = resolve(f, word, k, e);

	if (!err && listed(&f->all, k))
		return 0;
	if (f->opts->order)
		return errline_set(e, -ENOENT, "'%s' is not in the list '%s'", word, f->opts->order);
	if (err)
		return err;
	if (kernel_list_add(&f->all, k))
		return errline_set(e, -ENOMEM, "out of memory");
	kernel_list_sort(&f->all);
	return 0;
}

static int cut(struct found *f, struct kernel_list *list, struct errline *e)
{
	const char *good_word = f->opts->good, *bad_word = f->opts->bad;
	struct kernel good, bad;
	size_t first, last;
	int err = find_end(f, good_word, &good, e);

	if (!err)
		err = find_end(f, bad_word, &bad, e);
	if (err)
		return err;
	first = (size_t)(listed(&f->all, &good) - f->all.items);
	last = (size_t)(listed(&f->all, &bad) - f->all.items);
	if (first == last)
		return errline_set(e, -EINVAL, "'%s' and '%s' are the same kernel, %s; there is nothing between them",
				   good_word, bad_word, f->all.items[first].name);
	if (first > last)
		return errline_set(e, -EINVAL, "the good kernel, %s, comes after the bad one, %s; swap them, and if the "
				   "later one is cheaper, add --cheaper", f->all.items[first].name,
				   f->all.items[last].name);
	for (size_t i = first; i <= last; i++)
		if (kernel_list_add(list, &f->all.items[i]))
			return errline_set(e, -ENOMEM, "out of memory");
	return 0;
}

int bisect_kernels(struct kernel_list *list, const struct opts *opts, struct errline *e)
{
	struct found f = { .opts = opts };
	int err;

	memset(list, 0, sizeof(*list));
	err = parse_vm(&f, e);
	if (!err)
		err = opts->kernels ? folder_kernels(&f.all, opts->kernels, e) : store_list(&f.all, e);
	if (!err && opts->kernels)
		choose_machine(&f);
	if (!err) {
		keep_machine(&f);
		err = opts->order ? read_order(&f, e) : 0;
	}
	if (!err)
		err = cut(&f, list, e);
	store_list_release(&f.all);
	return err;
}

int bisect_kernel(struct kernel *k, const char *word, const struct opts *opts, struct errline *e)
{
	struct found f = { .opts = opts };
	int err = parse_vm(&f, e);

	if (err)
		return err;
	if (!names_file(word)) {
		err = store_check_name(word, e);
		return err ? err : store_find(k, word, f.machine, e);
	}
	err = folder_kernel(k, word, opts->modules, e);
	if (!err && f.machine_given && k->machine != f.machine)
		err = errline_set(e, -EINVAL, "'%s' is a kernel of %s, not of %s", word, k->machine->name,
				  f.machine->name);
	return err;
}
