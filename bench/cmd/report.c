// SPDX-License-Identifier: BSD-2-Clause
/* `bpflab report`: stored results as a page, or in any other form. */
#include <errno.h>

#include "commands.h"
#include "report/form.h"
#include "util/output.h"

#define DEFAULT_PAGE "bpflab-report.html"

/* The page, unless only other forms were asked for. */
static const char *page_path(const struct opts *opts)
{
	if (opts->output)
		return opts->output;
	return opts->json || opts->csv || forms_wanted(opts) ? NULL : DEFAULT_PAGE;
}

static int check_outputs(const struct opts *opts, struct errline *e)
{
	const char *page = page_path(opts);
	int err = forms_check(opts, e);

	if (err || !page)
		return err;
	if (page[0] == '-' && !page[1] && forms_use_stdout(opts))
		return errline_set(e, -EINVAL, "the page and another form cannot both go to standard output");
	return forms_check_page(opts, page, e);
}

static int read_all(struct record_list *list, const struct opts *opts, struct errline *e)
{
	int err = 0;

	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "report needs files of results, such as 'bpflab run --json FILE' "
				   "writes");
	for (size_t i = 0; i < opts->nr_args && !err; i++)
		err = records_read(list, opts->args[i], (unsigned int)i, RECORD_ALL, e);
	return err;
}

static int write_all(const struct record_list *list, const struct opts *opts, struct errline *e)
{
	struct sheets sheets;
	const struct form form = { .list = list, .sheets = &sheets, .ascii = opts->ascii };
	int err;

	if (sheets_make(&sheets, list))
		return errline_set(e, -ENOMEM, "out of memory");
	err = output_view(page_path(opts), form_html, &form, e);
	if (!err)
		err = output_view(opts->json, form_json, &form, e);
	if (!err)
		err = output_view(opts->csv, form_csv, &form, e);
	sheets_release(&sheets);
	return err ? err : forms_write(opts, list, e);
}

int cmd_report(const struct opts *opts)
{
	struct record_list list = { 0 };
	struct errline e;
	int err = check_outputs(opts, &e);

	if (!err)
		err = read_all(&list, opts, &e);
	if (!err)
		err = write_all(&list, opts, &e);
	records_release(&list);
	if (err)
		print_error(&e);
	return err ? EXIT_USAGE : EXIT_OK;
}
