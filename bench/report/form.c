// SPDX-License-Identifier: BSD-2-Clause
/* Which forms were asked for, and writing them. */
#include "report/form.h"

#include <errno.h>
#include <string.h>

#include "util/output.h"

#define NR_FORMS 5

static void paths_of(const struct opts *opts, const char *names[NR_FORMS],
		     const char *paths[NR_FORMS])
{
	names[0] = "json";
	paths[0] = opts->json;
	names[1] = "csv";
	paths[1] = opts->csv;
	names[2] = "markdown";
	paths[2] = opts->markdown;
	names[3] = "text";
	paths[3] = opts->text;
	names[4] = "benchfmt";
	paths[4] = opts->benchfmt;
}

int forms_check(const struct opts *opts, struct errline *e)
{
	const char *names[NR_FORMS], *paths[NR_FORMS], *standard = NULL;
	int err = 0;

	paths_of(opts, names, paths);
	for (int i = 0; i < NR_FORMS && !err; i++) {
		if (!paths[i])
			continue;
		if (!strcmp(paths[i], "-")) {
			if (standard)
				return errline_set(e, -EINVAL, "--%s and --%s cannot both go to standard output",
						   standard, names[i]);
			standard = names[i];
		}
		for (int k = 0; k < i; k++)
			if (paths[k] && output_is_same(paths[k], paths[i]))
				return errline_set(e, -EINVAL, "--%s and --%s are the same file, '%s'; each form takes "
						   "one of its own", names[k], names[i], paths[i]);
		err = output_check(paths[i], e);
	}
	return err;
}

int forms_check_page(const struct opts *opts, const char *page, struct errline *e)
{
	const char *names[NR_FORMS], *paths[NR_FORMS];

	paths_of(opts, names, paths);
	for (int i = 0; i < NR_FORMS; i++)
		if (paths[i] && output_is_same(paths[i], page))
			return errline_set(e, -EINVAL, "the page and --%s are the same file, '%s'; each form takes one "
					   "of its own", names[i], page);
	return output_check(page, e);
}

bool forms_use_stdout(const struct opts *opts)
{
	const char *names[NR_FORMS], *paths[NR_FORMS];

	paths_of(opts, names, paths);
	for (int i = 0; i < NR_FORMS; i++)
		if (paths[i] && !strcmp(paths[i], "-"))
			return true;
	return false;
}

bool forms_wanted(const struct opts *opts)
{
	return opts->markdown || opts->text || opts->benchfmt;
}

int forms_write(const struct opts *opts, const struct record_list *list, struct errline *e)
{
	struct sheets sheets;
	const struct form form = { .list = list, .sheets = &sheets, .ascii = opts->ascii };
	int err;

	if (!forms_wanted(opts))
		return 0;
	if (sheets_make(&sheets, list))
		return errline_set(e, -ENOMEM, "out of memory");
	err = output_view(opts->markdown, form_markdown, &form, e);
	if (!err)
		err = output_view(opts->text, form_mail, &form, e);
	if (!err)
		err = output_view(opts->benchfmt, form_benchfmt, &form, e);
	sheets_release(&sheets);
	return err;
}

void form_put_ascii(FILE *f, const char *text)
{
	static const struct {
		const char *sign, *instead;
	} table[] = {
		{ "\u00b1", "+-" }, { "\u2013", "-" }, { "\u2014", "-" }, { "\u00d7", "x" },
		{ "\u2026", "..." }, { "\u00b5", "u" }, { "\u2212", "-" }, { "\u2264", "<=" },
		{ "\u2265", ">=" },
	};

	while (*text) {
		size_t i;

		if ((unsigned char)*text < 0x80) {
			putc(*text++, f);
			continue;
		}
		for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (!strncmp(text, table[i].sign, strlen(table[i].sign)))
				break;
		if (i < sizeof(table) / sizeof(table[0])) {
			fputs(table[i].instead, f);
			text += strlen(table[i].sign);
			continue;
		}
		putc('?', f);
		do
			text++;
		while (((unsigned char)*text & 0xc0) == 0x80);
	}
}
