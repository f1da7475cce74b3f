// SPDX-License-Identifier: BSD-2-Clause
/* Result files, line by line. How much of a file is read is limited: a line is held in memory as a whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "result/record.h"

#define MAX_LINE (256u << 20)
#define MAX_TEXT (4u << 20) /* of a file to import figures from */

struct line {
	char *text;
	size_t len, size;
};

/* The next line: 1, 0 at the end, or a negative errno; -EFBIG: longer than @max. */
static int next_line(FILE *f, struct line *line, size_t max)
{
	int c;

	line->len = 0;
	while ((c = getc_unlocked(f)) != EOF) {
		if (line->len + 1 >= line->size) {
			size_t size = line->size ? 2 * line->size : 65536;
			char *grown = realloc(line->text, size);

			if (!grown)
				return -ENOMEM;
			line->text = grown;
			line->size = size;
		}
		if (line->len >= max)
			return -EFBIG;
		line->text[line->len++] = (char)c;
		if (c == '\n')
			break;
	}
	if (ferror(f))
		return errno ? -errno : -EIO;
	if (line->text)
		line->text[line->len] = '\0';
	return line->len > 0;
}

static bool is_blank(const struct line *line)
{
	return strspn(line->text, " \t\r\n") == line->len;
}

static int read_line(struct record_list *list, const char *path, size_t number,
		     const struct line *line, unsigned int file, unsigned int kinds, struct errline *e)
{
	json_error_t why;
	json_t *o = json_loadb(line->text, line->len, JSON_REJECT_DUPLICATES, &why);
	char where[512];
	int err;

	snprintf(where, sizeof(where), "'%.400s' line %zu", path, number);
	record_clean(where);
	if (!o) {
		/* the parser quotes what it stumbled over */
		record_clean(why.text);
		return errline_set(e, -EINVAL, "%s is not JSON: %.100s; give a file that 'bpflab run --json "
				   "FILE' wrote", where, why.text);
	}
	err = json_is_object(o) ? records_add(list, o, file, kinds, where, e) :
	      errline_set(e, -EINVAL, "%s is no object; give a file that 'bpflab run --json FILE' wrote",
			  where);
	json_decref(o);
	return err;
}

static FILE *open_file(const char *path, struct errline *e)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	if (!f) {
		errline_set(e, -errno, "cannot read '%s': %s", path, strerror(errno));
		return NULL;
	}
	if (!fstat(fileno(f), &st) && S_ISDIR(st.st_mode)) {
		errline_set(e, -EISDIR, "'%s' is a folder; give a file of results", path);
		fclose(f);
		return NULL;
	}
	return f;
}

/* The first that is not blank; *@lines: how many lines come before its. */
static int first_char(FILE *f, size_t *lines)
{
	int c;

	*lines = 0;
	do {
		c = getc_unlocked(f);
		*lines += c == '\n';
	} while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
	if (c != EOF)
		ungetc(c, f);
	return c;
}

/* Text is read whole: it is what people paste, a figure may need the line before it. */
static int read_text(struct record_list *list, FILE *f, const char *path, unsigned int file,
		     struct errline *e)
{
	char *text = malloc(MAX_TEXT + 1);
	size_t len;
	int err;

	if (!text)
		return errline_set(e, -ENOMEM, "out of memory");
	len = fread(text, 1, MAX_TEXT + 1, f);
	if (ferror(f))
		err = errline_set(e, -EIO, "cannot read '%s'", path);
	else if (len > MAX_TEXT)
		err = errline_set(e, -EFBIG, "'%s' is no result file, and too long to look for figures in it "
				  "(%u MiB); cut out the lines that matter", path, MAX_TEXT >> 20);
	else
		err = records_import(list, path, text, len, file, e);
	free(text);
	return err;
}

static int read_lines(struct record_list *list, FILE *f, size_t number, const char *path,
		      unsigned int file, unsigned int kinds, struct errline *e)
{
	struct line line = { 0 };
	int err = 0, got;

	while (!err && (got = next_line(f, &line, MAX_LINE)) != 0) {
		number++;
		if (got == -EFBIG)
			err = errline_set(e, got, "'%s' line %zu is longer than %u MiB; it is no result",
					  path, number, MAX_LINE >> 20);
		else if (got < 0)
			err = errline_set(e, got, "cannot read '%s': %s", path, strerror(-got));
		else if (!is_blank(&line))
			err = read_line(list, path, number, &line, file, kinds, e);
	}
	free(line.text);
	return err;
}

int records_read(struct record_list *list, const char *path, unsigned int file, unsigned int kinds,
		 struct errline *e)
{
	FILE *f = open_file(path, e);
	size_t before = list->nr, lines;
	int c, err;

	if (!f)
		return -ENOENT;
	c = first_char(f, &lines);
	err = c == EOF || c == '{' ? read_lines(list, f, lines, path, file, kinds, e) :
				     read_text(list, f, path, file, e);
	fclose(f);
	if (!err && list->nr == before)
		return errline_set(e, -ENODATA, "'%s' holds no results; give a file that 'bpflab run --json "
				   "FILE' wrote", path);
	return err;
}

bool records_are_counts(const char *path)
{
	char head[512];
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(head, 1, sizeof(head) - 1, f) : 0;

	if (f)
		fclose(f);
	head[len] = '\0';
	head[strcspn(head, ",")] = '\0';
	return strstr(head, "\"" SCHEMA_COUNT "\"") != NULL;
}

bool records_is_file(const char *path)
{
	unsigned char head[512];
	struct stat st;
	size_t len;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(head, 1, sizeof(head), f);
	fclose(f);
	/* object files and other binaries are not */
	return !memchr(head, '\0', len);
}
