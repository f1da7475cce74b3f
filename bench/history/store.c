// SPDX-License-Identifier: BSD-2-Clause
/* The database behind a history. */
#include "history/store.h"
#include "util/json_line.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION 1
#define APPLICATION 0x6270666c /* "bpfl" */
#define BUSY_MS 20000

static const char schema_sql[] =
	"CREATE TABLE result(id INTEGER PRIMARY KEY, machine TEXT NOT NULL, kernel TEXT NOT NULL,"
	" target TEXT NOT NULL, variant TEXT NOT NULL, bench TEXT NOT NULL, time TEXT NOT NULL,"
	" seed TEXT NOT NULL, ns REAL, json TEXT NOT NULL,"
	" UNIQUE(machine, kernel, target, variant, bench, time, seed));"
	"CREATE TABLE comparison(id INTEGER PRIMARY KEY, machine TEXT NOT NULL, kernel TEXT NOT NULL,"
	" bench TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, time TEXT NOT NULL, seed TEXT NOT NULL,"
	" verdict TEXT NOT NULL, confirmed INTEGER, json TEXT NOT NULL,"
	" UNIQUE(machine, kernel, bench, a, b, time, seed));";

static int fail(struct store *s, struct errline *e)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_CANTOPEN;

	switch (code & 0xff) {
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return errline_set(e, -EINVAL, "'%s' is no history, or damaged: %s; move it away, or give "
				   "another with --db", s->path, sqlite3_errmsg(s->db));
	case SQLITE_BUSY:
		return errline_set(e, -EBUSY, "'%s' is in use by another process for %d s; try again later",
				   s->path, BUSY_MS / 1000);
	case SQLITE_FULL:
		return errline_set(e, -ENOSPC, "cannot write '%s': no space left on the device", s->path);
	case SQLITE_NOMEM:
		return errline_set(e, -ENOMEM, "out of memory");
	default:
		return errline_set(e, -EIO, "cannot use '%s': %s", s->path,
				   s->db ? sqlite3_errmsg(s->db) : "out of memory");
	}
}

static int run(struct store *s, const char *sql, struct errline *e)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, e);
}

/* -------------------------------------------------------------- opening */

static int make_folders(char *path, struct errline *e)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST) {
			int err = errline_set(e, -errno, "cannot make the folder '%s': %s; give another place "
					      "with --db", path, strerror(errno));

			*p = '/';
			return err;
		}
		*p = '/';
	}
	return 0;
}

static int default_path(struct store *s, struct errline *e)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int len;

	if (data && data[0] == '/')
		len = snprintf(s->path, sizeof(s->path), "%s/bpflab/history.db", data);
	else if (home && home[0] == '/')
		len = snprintf(s->path, sizeof(s->path), "%s/.local/share/bpflab/history.db", home);
	else
		return errline_set(e, -ENOENT, "neither XDG_DATA_HOME nor HOME says where data goes; give a "
				   "file with --db");
	if (len >= (int)sizeof(s->path))
		return errline_set(e, -ENAMETOOLONG, "the path of the data folder is too long; give a file "
				   "with --db");
	return make_folders(s->path, e);
}

static int pragma(struct store *s, const char *sql, sqlite3_int64 *value, struct errline *e)
{
	sqlite3_stmt *st;
	int err = 0;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW)
		err = fail(s, e);
	else
		*value = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return err;
}

/* Under the write lock: another process may be making the same database. */
static int prepare(struct store *s, struct errline *e)
{
	sqlite3_int64 application = 0, version = 0, tables = 0;
	char sql[128];
	int err = pragma(s, "PRAGMA application_id", &application, e);

	if (!err)
		err = pragma(s, "PRAGMA user_version", &version, e);
	if (!err)
		err = pragma(s, "SELECT count(*) FROM sqlite_master", &tables, e);
	if (err)
		return err;
	if (tables && application != APPLICATION)
		return errline_set(e, -EINVAL, "'%s' is a database, but no history of bpflab; give another "
				   "file with --db", s->path);
	if (version > VERSION)
		return errline_set(e, -EPROTONOSUPPORT, "'%s' is a history of version %lld, this bpflab knows "
				   "%d; use the bpflab that wrote it", s->path, (long long)version, VERSION);
	if (tables)
		return 0;
	snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%d;", APPLICATION,
		 VERSION);
	err = run(s, sql, e);
	return err ? err : run(s, schema_sql, e);
}

int store_open(struct store *s, const char *path, struct errline *e)
{
	int err = 0;

	*s = (struct store){ 0 };
	if (path)
		snprintf(s->path, sizeof(s->path), "%s", path);
	else
		err = default_path(s, e);
	if (err)
		return err;
	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
		err = fail(s, e);
		store_close(s);
		return err;
	}
	sqlite3_busy_timeout(s->db, BUSY_MS);
	err = run(s, "BEGIN IMMEDIATE", e);
	if (!err)
		err = prepare(s, e);
	if (!err)
		err = run(s, "COMMIT", e);
	if (err)
		store_close(s);
	return err;
}

void store_close(struct store *s)
{
	sqlite3_close(s->db);
	s->db = NULL;
}

/* -------------------------------------------------------------- adding */

static void bind_text(sqlite3_stmt *st, int idx, const char *text)
{
	sqlite3_bind_text(st, idx, text, -1, SQLITE_TRANSIENT);
}

/* What the texts of every row have in common. */
static void bind_key(sqlite3_stmt *st, const struct record *r)
{
	const json_t *env = json_object_get(r->json, "env");
	char machine[512];

	record_machine(r->json, machine, sizeof(machine));
	bind_text(st, 1, machine);
	bind_text(st, 2, record_text(env, "kernel"));
	bind_text(st, 3, r->label);
	bind_text(st, 4, record_text(env, "time"));
	bind_text(st, 5, record_text(r->json, "seed"));
}

static void bind_result(sqlite3_stmt *st, const struct record *r)
{
	const char *variant = strchr(r->target, ':');

	bind_key(st, r);
	sqlite3_bind_text(st, 6, r->target, variant ? (int)(variant - r->target) : -1, SQLITE_TRANSIENT);
	bind_text(st, 7, variant ? variant + 1 : "");
	if (isnan(r->ns))
		sqlite3_bind_null(st, 8);
	else
		sqlite3_bind_double(st, 8, r->ns);
}

static void bind_comparison(sqlite3_stmt *st, const struct record *r)
{
	const json_t *again = json_object_get(r->json, "confirmation");

	bind_key(st, r);
	bind_text(st, 6, record_text(json_object_get(r->json, "a"), "name"));
	bind_text(st, 7, record_text(json_object_get(r->json, "b"), "name"));
	bind_text(st, 8, record_text(r->json, "verdict"));
	if (json_is_object(again))
		sqlite3_bind_int(st, 9, json_is_true(json_object_get(again, "confirmed")));
	else
		sqlite3_bind_null(st, 9);
}

static int add_one(struct store *s, sqlite3_stmt *st, const struct record *r, size_t *added,
		   size_t *known, struct errline *e)
{
	bool result = r->kind == RECORD_RESULT;
	char *text = json_dumps(r->json, JSON_LINE_FLAGS);
	int code;

	if (!text)
		return errline_set(e, -ENOMEM, "out of memory");
	if (result)
		bind_result(st, r);
	else
		bind_comparison(st, r);
	bind_text(st, result ? 9 : 10, text);
	free(text);
	code = sqlite3_step(st);
	sqlite3_reset(st);
	if (code != SQLITE_DONE)
		return fail(s, e);
	*(sqlite3_changes(s->db) ? added : known) += 1;
	return 0;
}

static int check_one(const struct record *r, struct errline *e)
{
	const json_t *env = json_object_get(r->json, "env");

	if (r->imported)
		return errline_set(e, -EINVAL, "%s was imported from a text, which does not say on which machine "
				   "it was measured; a history needs results of 'bpflab run --json FILE'",
				   r->label);
	if (!record_text(env, "kernel")[0] || !record_text(env, "time")[0])
		return errline_set(e, -EINVAL, "%s does not say when and on which kernel it was measured; a "
				   "history needs results of 'bpflab run --json FILE'", r->label);
	return 0;
}

static int add_all(struct store *s, const struct record_list *list, struct store_added *added,
		   struct errline *e)
{
	sqlite3_stmt *result = NULL, *comparison = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO result(machine, kernel, bench, time, seed, target,"
			       " variant, ns, json) VALUES(?,?,?,?,?,?,?,?,?)", -1, &result, NULL) ||
	    sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO comparison(machine, kernel, bench, time, seed, a, b,"
			       " verdict, confirmed, json) VALUES(?,?,?,?,?,?,?,?,?,?)", -1, &comparison,
			       NULL))
		err = fail(s, e);
	for (size_t i = 0; i < list->nr && !err; i++) {
		const struct record *r = &list->items[i];

		if (r->kind == RECORD_RESULT)
			err = add_one(s, result, r, &added->results, &added->known, e);
		else
			err = add_one(s, comparison, r, &added->comparisons, &added->known, e);
	}
	sqlite3_finalize(result);
	sqlite3_finalize(comparison);
	return err;
}

int store_add(struct store *s, const struct record_list *list, struct store_added *added,
	      struct errline *e)
{
	int err = 0;

	*added = (struct store_added){ 0 };
	for (size_t i = 0; i < list->nr && !err; i++)
		err = check_one(&list->items[i], e);
	if (!err)
		err = run(s, "BEGIN IMMEDIATE", e);
	if (err)
		return err;
	err = add_all(s, list, added, e);
	if (!err)
		err = run(s, "COMMIT", e);
	if (err)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

/* -------------------------------------------------------------- reading */

#define NR_KEYS 5

struct rows {
	char *key[NR_KEYS];
	double *ns;
	char **times, **json;
	size_t nr, max;
};

static void clear_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		free(rows->times[i]);
		free(rows->json[i]);
	}
	for (int i = 0; i < NR_KEYS; i++) {
		free(rows->key[i]);
		rows->key[i] = NULL;
	}
	rows->nr = 0;
}

static char *column_copy(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return strdup(text ? text : "");
}

static int grow_rows(struct rows *rows)
{
	size_t max = rows->max ? 2 * rows->max : 64;
	double *ns = realloc(rows->ns, max * sizeof(*ns));
	char **times, **json;

	if (ns)
		rows->ns = ns;
	times = realloc(rows->times, max * sizeof(*times));
	if (times)
		rows->times = times;
	json = realloc(rows->json, max * sizeof(*json));
	if (json)
		rows->json = json;
	if (!ns || !times || !json)
		return -ENOMEM;
	rows->max = max;
	return 0;
}

static int add_to_rows(struct rows *rows, sqlite3_stmt *st)
{
	if (rows->nr == rows->max && grow_rows(rows))
		return -ENOMEM;
	for (int i = 0; i < NR_KEYS && !rows->nr; i++) {
		rows->key[i] = column_copy(st, i);
		if (!rows->key[i])
			return -ENOMEM;
	}
	rows->ns[rows->nr] = sqlite3_column_type(st, NR_KEYS) == SQLITE_FLOAT ?
			     sqlite3_column_double(st, NR_KEYS) : NAN;
	rows->times[rows->nr] = column_copy(st, NR_KEYS + 1);
	rows->json[rows->nr] = column_copy(st, NR_KEYS + 2);
	rows->nr++;
	return rows->times[rows->nr - 1] && rows->json[rows->nr - 1] ? 0 : -ENOMEM;
}

static bool same_series(const struct rows *rows, sqlite3_stmt *st)
{
	for (int i = 0; i < NR_KEYS; i++) {
		const char *text = (const char *)sqlite3_column_text(st, i);

		if (strcmp(rows->key[i], text ? text : ""))
			return false;
	}
	return true;
}

static bool is_wanted(const char *bench, const char *const *globs, size_t nr)
{
	bool wanted = !nr;

	for (size_t i = 0; i < nr; i++)
		wanted |= !fnmatch(globs[i], bench, 0) || (strchr(bench, '/') &&
			  strlen(globs[i]) == strcspn(bench, "/") &&
			  !strncmp(globs[i], bench, strlen(globs[i])));
	return wanted;
}

static int visit_rows(struct rows *rows, const char *const *globs, size_t nr_globs,
		      int (*visit)(const struct store_series *, void *), void *ctx)
{
	const struct store_series series = {
		.machine = rows->key[0], .kernel = rows->key[1], .target = rows->key[2],
		.variant = rows->key[3], .bench = rows->key[4], .nr = rows->nr, .ns = rows->ns,
		.times = (const char *const *)rows->times, .json = (const char *const *)rows->json,
	};
	int err = 0;

	if (rows->nr && is_wanted(series.bench, globs, nr_globs))
		err = visit(&series, ctx);
	clear_rows(rows);
	return err;
}

int store_visit(struct store *s, const char *const *globs, size_t nr_globs,
		int (*visit)(const struct store_series *series, void *ctx), void *ctx,
		struct errline *e)
{
	struct rows rows = { 0 };
	sqlite3_stmt *st;
	int code, err = 0;

	if (sqlite3_prepare_v2(s->db, "SELECT machine, kernel, target, variant, bench, ns, time, json FROM result"
			       " ORDER BY machine, kernel, bench, target, variant, time, id", -1, &st, NULL))
		return fail(s, e);
	while (!err && (code = sqlite3_step(st)) == SQLITE_ROW) {
		if (rows.nr && !same_series(&rows, st))
			err = visit_rows(&rows, globs, nr_globs, visit, ctx);
		if (!err && add_to_rows(&rows, st))
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	if (!err && code != SQLITE_DONE)
		err = fail(s, e);
	if (!err)
		err = visit_rows(&rows, globs, nr_globs, visit, ctx);
	clear_rows(&rows);
	free(rows.ns);
	free(rows.times);
	free(rows.json);
	sqlite3_finalize(st);
	return err;
}

static const char *column_text(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	return text ? text : "";
}

int store_visit_comparisons(struct store *s, const char *const *globs, size_t nr_globs,
			    int (*visit)(const struct store_comparison *c, void *ctx), void *ctx,
			    struct errline *e)
{
	sqlite3_stmt *st;
	int code, err = 0;

	if (sqlite3_prepare_v2(s->db, "SELECT machine, kernel, bench, a, b, time, verdict, confirmed, json FROM comparison"
			       " ORDER BY machine, kernel, time, id", -1, &st, NULL))
		return fail(s, e);
	while (!err && (code = sqlite3_step(st)) == SQLITE_ROW) {
		const struct store_comparison c = {
			.machine = column_text(st, 0), .kernel = column_text(st, 1), .bench = column_text(st, 2),
			.a = column_text(st, 3), .b = column_text(st, 4), .time = column_text(st, 5),
			.verdict = column_text(st, 6),
			.has_confirmation = sqlite3_column_type(st, 7) != SQLITE_NULL,
			.confirmed = sqlite3_column_int(st, 7), .json = column_text(st, 8),
		};

		if (is_wanted(c.bench, globs, nr_globs))
			err = visit(&c, ctx);
	}
	if (!err && code != SQLITE_DONE)
		err = fail(s, e);
	sqlite3_finalize(st);
	return err;
}

/* -------------------------------------------------------------- forgetting */

int store_prune(struct store *s, uint32_t keep, uint32_t days, size_t *removed, struct errline *e)
{
	char sql[640];
	int before = sqlite3_total_changes(s->db), err = run(s, "BEGIN IMMEDIATE", e);

	if (!err && keep) {
		snprintf(sql, sizeof(sql), "DELETE FROM result WHERE id IN (SELECT id FROM (SELECT id, row_number()"
			 " OVER (PARTITION BY machine, kernel, target, variant, bench ORDER BY time DESC, id"
			 " DESC) AS n FROM result) WHERE n > %u)", keep);
		err = run(s, sql, e);
	}
	if (!err && days) {
		snprintf(sql, sizeof(sql), "DELETE FROM result WHERE julianday(time) < julianday('now') - %u;"
			 "DELETE FROM comparison WHERE julianday(time) < julianday('now') - %u", days, days);
		err = run(s, sql, e);
	}
	if (!err)
		err = run(s, "COMMIT", e);
	else
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	*removed = err ? 0 : (size_t)(sqlite3_total_changes(s->db) - before);
	return err;
}
