/* SPDX-License-Identifier: BSD-2-Clause */
/* Forms of stored results beside the table on a terminal: for mails, for pages, for other tools. */
#ifndef BPFLAB_FORM_H
#define BPFLAB_FORM_H

#include <stdbool.h>
#include <stdio.h>

#include "opts.h"
#include "report/sheet.h"

struct form {
	const struct record_list *list;
	const struct sheets *sheets;
	bool ascii;
};

/* For output_view(); @ctx: a struct form. */
int form_markdown(FILE *f, const void *ctx);
/* At most 72 columns. */
int form_mail(FILE *f, const void *ctx);
/* The format of Go's benchmarks: one line a round, so that benchstat has samples to work on. */
int form_benchfmt(FILE *f, const void *ctx);
int form_json(FILE *f, const void *ctx);
int form_csv(FILE *f, const void *ctx);
/* One page that needs nothing else (html.c). */
int form_html(FILE *f, const void *ctx);

/* Whether the files of --markdown, --text, … can be written; at most one is standard output, no two the same. */
int forms_check(const struct opts *opts, struct errline *e);
/* Whether @page can be written, and is none of them. */
int forms_check_page(const struct opts *opts, const char *page, struct errline *e);
/* Whether any of them, or --json or --csv, is standard output. */
bool forms_use_stdout(const struct opts *opts);
/* Whether any of those that forms_write() writes was asked for. */
bool forms_wanted(const struct opts *opts);
/* Write --markdown, --text and --benchfmt, as far as given. */
int forms_write(const struct opts *opts, const struct record_list *list, struct errline *e);

/* @text in ASCII: the signs that bpflab uses have an equivalent, others become '?'. */
void form_put_ascii(FILE *f, const char *text);

#endif
