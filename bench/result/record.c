// SPDX-License-Identifier: BSD-2-Clause
/* The objects of result files: their types are checked once, here, with a line for the first fault. */
#include "result/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum field_type { TEXT, NUMBER, INTEGER, BOOLEAN, OBJECT, OBJECTS, TEXTS, PAIR };

struct field {
	const char *name;
	enum field_type type;
	bool required; /* others may be missing or null */
};

static const char *const type_names[] = {
	"a text", "a number", "a whole number", "true or false", "an object", "a list of objects",
	"a list of texts", "a pair of numbers",
};

static const struct field result_fields[] = {
	{ "bench", TEXT, true }, { "target", TEXT, true }, { "estimate", NUMBER }, { "ci95", PAIR },
	{ "variant", OBJECT }, { "params", OBJECT }, { "unit", TEXT }, { "distinguishable", BOOLEAN },
	{ "gross_only", BOOLEAN }, { "trigger_ns", NUMBER }, { "null_ns", NUMBER },
	{ "gross_ns", NUMBER }, { "throughput", OBJECT }, { "events", OBJECT }, { "prog", OBJECT },
	{ "batch", OBJECT }, { "rounds", INTEGER }, { "seconds", NUMBER }, { "note", TEXT },
	{ "warnings", TEXTS }, { "seed", TEXT }, { "env", OBJECT }, { "samples", OBJECTS },
	{ "imported", OBJECT }, { "command", TEXT },
};

static const struct field compare_fields[] = {
	{ "bench", TEXT, true }, { "verdict", TEXT, true }, { "a", OBJECT, true }, { "b", OBJECT, true },
	{ "params", OBJECT }, { "ratio", NUMBER }, { "ci", PAIR }, { "ratio_net", NUMBER },
	{ "ci_net", PAIR }, { "basis", TEXT }, { "margin", NUMBER }, { "p", NUMBER },
	{ "p_holm", NUMBER }, { "effect", OBJECT }, { "control", OBJECT }, { "confirmation", OBJECT },
	{ "quads", INTEGER }, { "notes", TEXTS }, { "seed", TEXT }, { "env", OBJECT },
	{ "samples", OBJECTS }, { "reason", TEXT }, { "historical", BOOLEAN }, { "command", TEXT },
	{ "suite", OBJECT }, { "why", OBJECT },
};

static const struct field noise_fields[] = {
	{ "bench", TEXT, true }, { "target", TEXT, true }, { "smallest_difference", OBJECT, true },
	{ "variant", OBJECT }, { "params", OBJECT }, { "env", OBJECT }, { "seed", TEXT },
	{ "command", TEXT },
};

static const struct field count_fields[] = {
	{ "bench", TEXT, true }, { "target", TEXT, true }, { "unit", TEXT, true },
	{ "fraction", PAIR, true }, { "exact", BOOLEAN, true }, { "runs", INTEGER, true },
	{ "runs_equal", INTEGER, true }, { "variant", OBJECT }, { "params", OBJECT },
	{ "estimate", NUMBER }, { "gross", PAIR }, { "null", PAIR }, { "trigger", PAIR },
	{ "least", PAIR, true }, { "most", PAIR, true }, { "linear", BOOLEAN }, { "emulator", OBJECT, true },
	{ "prog", OBJECT }, { "windows", OBJECTS }, { "env", OBJECT }, { "command", TEXT },
};

static const struct field unavailable_fields[] = {
	{ "bench", TEXT, true }, { "target", TEXT, true }, { "reason", TEXT, true }, { "variant", OBJECT },
	{ "params", OBJECT },
};

#define FIELDS(f) f, sizeof(f) / sizeof((f)[0])

static const struct {
	const char *schema;
	enum record_kind kind;
	const char *what, *from;
	const struct field *fields;
	size_t nr;
} schemas[] = {
	{ SCHEMA_RESULT, RECORD_RESULT, "a result", "run", FIELDS(result_fields) },
	{ SCHEMA_COMPARE, RECORD_COMPARE, "a comparison", "compare", FIELDS(compare_fields) },
	{ SCHEMA_NOISE, RECORD_NOISE, "a measurement of noise", "noise", FIELDS(noise_fields) },
	{ SCHEMA_COUNT, RECORD_COUNT, "a count of instructions", "run --count", FIELDS(count_fields) },
	{ SCHEMA_UNAVAILABLE, RECORD_UNAVAILABLE, "a bench without a result", "run", FIELDS(unavailable_fields) },
};

#define NR_SCHEMAS (sizeof(schemas) / sizeof(schemas[0]))

const char *record_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

double record_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static double item(const json_t *list, size_t idx)
{
	const json_t *v = json_array_get(list, idx);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

struct interval record_interval(const json_t *o, const char *key)
{
	const json_t *pair = json_object_get(o, key);

	return (struct interval){ item(pair, 0), item(pair, 1) };
}

/* -------------------------------------------------------------- texts */

/* The length of a character of @s that a terminal acts on, or 0. */
static size_t active_length(const unsigned char *s)
{
	if (s[0] < ' ' || s[0] == 0x7f)
		return 1;
	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f)
		return 2; /* C1 controls */
	if (s[0] == 0xe2 && s[1] == 0x80 && ((s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae)))
		return 3; /* no width, directions, separators of lines */
	if (s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa0 && s[2] <= 0xaf)
		return 3;
	return 0;
}

void record_clean(char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	char *to = text;

	while (*from) {
		size_t len = active_length(from);

		if (len) {
			*to++ = '?';
			from += len;
		} else {
			*to++ = (char)*from++;
		}
	}
	*to = '\0';
}

/* Cut in the middle of a character, @text would be no UTF-8. */
static void trim_utf8(char *text)
{
	size_t len = strlen(text), back = 0;

	while (back < len && back < 4 && ((unsigned char)text[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < len) {
		unsigned char lead = (unsigned char)text[len - 1 - back];
		size_t need = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;

		if (back != need)
			text[len - 1 - back] = '\0';
	}
}

/* Appends "NAME=VALUE" for each member of @o, in the order of names, with @first in front. */
static void append_members(char *buf, size_t size, json_t *o, const char *first, const char *then)
{
	const char *separator = first, *key;
	json_t *value;

	/* jansson keeps the order of the file: sort by looking for the next larger key each time */
	for (const char *last = ""; last;) {
		const char *next = NULL;
		size_t len = strlen(buf);

		json_object_foreach(o, key, value)
			if (strcmp(key, last) > 0 && (!next || strcmp(key, next) < 0))
				next = key;
		last = next;
		if (!next)
			break;
		value = json_object_get(o, next);
		if (!strcmp(next, "producers") && json_integer_value(value) == 1)
			continue;
		if (json_is_true(value))
			snprintf(buf + len, size - len, "%s%s", separator, next);
		else if (json_is_string(value))
			snprintf(buf + len, size - len, "%s%s=%s", separator, next,
				 json_string_value(value));
		else
			snprintf(buf + len, size - len, "%s%s=%lld", separator, next,
				 (long long)json_integer_value(value));
		separator = then;
	}
}

void record_machine(const json_t *o, char *buf, size_t size)
{
	const json_t *env = json_object_get(o, "env");

	snprintf(buf, size, "%.128s|%.64s|%.128s", record_text(env, "cpu"),
		 record_text(env, "microcode"), record_text(env, "hypervisor"));
	record_clean(buf);
	trim_utf8(buf);
}

/* -------------------------------------------------------------- checking */

static bool all_of(const json_t *list, bool (*is)(const json_t *))
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!is(json_array_get(list, i)))
			return false;
	return json_is_array(list);
}

static bool is_text(const json_t *v)
{
	return json_is_string(v);
}

static bool is_object(const json_t *v)
{
	return json_is_object(v);
}

static bool is_number_or_null(const json_t *v)
{
	return json_is_number(v) || json_is_null(v);
}

static bool is_of_type(const json_t *v, enum field_type type)
{
	switch (type) {
	case TEXT:
		return json_is_string(v);
	case NUMBER:
		return json_is_number(v);
	case INTEGER:
		return json_is_integer(v);
	case BOOLEAN:
		return json_is_boolean(v);
	case OBJECT:
		return json_is_object(v);
	case OBJECTS:
		return all_of(v, is_object);
	case TEXTS:
		return all_of(v, is_text);
	case PAIR:
		return json_array_size(v) == 2 && all_of(v, is_number_or_null);
	}
	return false;
}

static int check_fields(const json_t *o, const struct field *fields, size_t nr, const char *where,
			struct errline *e)
{
	for (size_t i = 0; i < nr; i++) {
		const json_t *v = json_object_get(o, fields[i].name);

		if (!v || json_is_null(v)) {
			if (fields[i].required)
				return errline_set(e, -EINVAL, "%s has no \"%s\"; measure again", where,
						   fields[i].name);
		} else if (!is_of_type(v, fields[i].type)) {
			return errline_set(e, -EINVAL, "%s: \"%s\" is not %s; measure again", where,
					   fields[i].name, type_names[fields[i].type]);
		}
	}
	return 0;
}

static int unknown_schema(const char *schema, const char *where, struct errline *e)
{
	char name[48];

	snprintf(name, sizeof(name), "%.40s", schema);
	record_clean(name);
	trim_utf8(name);
	for (size_t i = 0; i < NR_SCHEMAS; i++) {
		size_t stem = strcspn(schemas[i].schema, "/") + 1;

		if (!strncmp(schema, schemas[i].schema, stem))
			return errline_set(e, -EPROTONOSUPPORT, "%s is of schema '%s', this bpflab knows "
					   "'%s'; use the bpflab that wrote it", where, name,
					   schemas[i].schema);
	}
	return errline_set(e, -EINVAL, "%s is no result of bpflab (schema '%s', not '%s'); give a file that "
			   "'bpflab run --json FILE' wrote", where, name, SCHEMA_RESULT);
}

static int grow(struct record_list *list, struct errline *e)
{
	size_t max = list->max ? 2 * list->max : 64;
	struct record *grown;

	if (list->nr < list->max)
		return 0;
	grown = realloc(list->items, max * sizeof(*grown));
	if (!grown)
		return errline_set(e, -ENOMEM, "out of memory");
	list->items = grown;
	list->max = max;
	return 0;
}

void record_target(const json_t *o, char *buf, size_t size)
{
	snprintf(buf, size, "%.64s", record_text(o, "target"));
	trim_utf8(buf);
	append_members(buf, size, json_object_get(o, "variant"), ":", ",");
	record_clean(buf);
	trim_utf8(buf);
}

static void fill(struct record *r, json_t *o)
{
	snprintf(r->label, sizeof(r->label), "%.120s", record_text(o, "bench"));
	trim_utf8(r->label);
	if (r->kind != RECORD_COMPARE) {
		append_members(r->label, sizeof(r->label), json_object_get(o, "params"), "/", "/");
		record_target(o, r->target, sizeof(r->target));
	}
	record_clean(r->label);
	trim_utf8(r->label);
	r->imported = json_is_object(json_object_get(o, "imported"));
	r->ns = NAN;
	if (json_is_true(json_object_get(o, "distinguishable")) || r->imported)
		r->ns = record_number(o, "estimate");
	if (!(r->ns > 0))
		r->ns = NAN;
}

int records_add(struct record_list *list, json_t *o, unsigned int file, unsigned int kinds,
		const char *where, struct errline *e)
{
	const char *schema = record_text(o, "schema");
	size_t i;
	int err;

	for (i = 0; i < NR_SCHEMAS && strcmp(schema, schemas[i].schema); i++)
		;
	if (i == NR_SCHEMAS)
		return unknown_schema(schema, where, e);
	if (!(schemas[i].kind & kinds) && (kinds == RECORD_COUNT || schemas[i].kind == RECORD_COUNT))
		return errline_set(e, -EINVAL, "%s is %s%s: counts and times are not mixed", where,
				   schemas[i].what, kinds == RECORD_COUNT ? ", of time, not a count of "
				   "instructions" : ", not of time");
	if (schemas[i].kind == RECORD_UNAVAILABLE && !(kinds & RECORD_UNAVAILABLE))
		return 0;
	if (!(schemas[i].kind & kinds))
		return errline_set(e, -EINVAL, "%s is %s, not a result; give a file that 'bpflab run --json "
				   "FILE' wrote", where, schemas[i].what);
	err = check_fields(o, schemas[i].fields, schemas[i].nr, where, e);
	if (!err)
		err = grow(list, e);
	if (err)
		return err;
	list->items[list->nr] = (struct record){ .kind = schemas[i].kind, .json = json_incref(o),
						 .file = file };
	fill(&list->items[list->nr++], o);
	return 0;
}

void records_release(struct record_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		json_decref(list->items[i].json);
	free(list->items);
	*list = (struct record_list){ 0 };
}
