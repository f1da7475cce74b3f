// SPDX-License-Identifier: BSD-2-Clause
/* Profiles that come as JSON, out of a guest: what is taken over, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static json_t *a_profile(void)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:i, s:f, s:f, s:s, s:[{s:s, s:s, s:i, s:f, s:[f, f]}, {s:s, s:s, s:i, s:f, "
			 "s:[f, f]}]}", "schema", "bpflab.profile/1", "label", "b/x=1", "target", "vm:6.12", "emulated", 1,
			 "samples", 4, "lost", 1, "events", 100, "seconds", 2.5, "ns_per_event", 40.0, "sampler", "a clock",
			 "rows", "symbol", "f", "kind", "kernel", "samples", 3, "share", 0.75, "ci95", 0.3, 0.9, "symbol",
			 "bpf_trampoline", "kind", "trampoline", "samples", 1, "share", 0.25, "ci95", 0.1, 0.7);
}

static void is_taken(void **state)
{
	json_t *o = a_profile();
	struct profile p;
	struct errline e;

	assert_int_equal(profile_read(&p, o, &e), 0);
	assert_string_equal(p.label, "b/x=1");
	assert_string_equal(p.target, "vm:6.12");
	assert_string_equal(p.sampler, "a clock");
	assert_true(p.emulated);
	assert_int_equal(p.samples, 4);
	assert_int_equal(p.lost, 1);
	assert_int_equal(p.events, 100);
	assert_true(p.ns_per_event > 39.9 && p.ns_per_event < 40.1);
	assert_int_equal(p.nr_rows, 2);
	assert_int_equal(p.rows[0].symbol.kind, CODE_KERNEL);
	assert_string_equal(p.rows[0].symbol.name, "f");
	assert_int_equal(p.rows[0].samples, 3);
	assert_true(p.rows[0].low < p.rows[0].share && p.rows[0].share < p.rows[0].high);
	assert_int_equal(p.rows[1].symbol.kind, CODE_TRAMPOLINE);
	profile_release(&p);
	json_decref(o);
}

/* Replace @key, of the profile or of its second row, by @value. */
static void refused(bool in_row, const char *key, json_t *value)
{
	json_t *o = a_profile();
	struct errline e = { "" };
	struct profile p;

	json_object_set_new(in_row ? json_array_get(json_object_get(o, "rows"), 1) : o, key, value);
	assert_int_equal(profile_read(&p, o, &e), -EPROTO);
	assert_int_equal(strncmp(e.text, "vm:6.12: ", 9), 0);
	profile_release(&p);
	json_decref(o);
}

static void is_refused(void **state)
{
	refused(true, "kind", json_string("koala"));
	refused(true, "samples", json_integer(0));
	refused(true, "samples", json_integer(-1));
	refused(true, "share", json_string("much"));
	refused(false, "schema", json_string("bpflab.result/1"));
	refused(false, "samples", json_null());
	refused(false, "label", json_string(""));
}

/* What a terminal would act on is not shown as it is. */
static void is_cleaned(void **state)
{
	json_t *o = a_profile();
	struct errline e;
	struct profile p;

	json_object_set_new(o, "label", json_string("a\x1b[2Jb"));
	assert_int_equal(profile_read(&p, o, &e), 0);
	assert_null(strchr(p.label, 0x1b));
	profile_release(&p);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_taken),
		cmocka_unit_test(is_refused),
		cmocka_unit_test(is_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
