// SPDX-License-Identifier: BSD-2-Clause
/*
 * The target `user`: libbpfu in this process. Its variants are libbpfu's options, passed through by
 * name: an option that libbpfu gains works here without a change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "target.h"

/* The values that the option has, for a message. Leaves it at its value of before. */
static const char *values_of(const char *name)
{
	const char *before = bpfu_option_get(name);
	bool has_auto = !bpfu_option_set(name, "auto");

	bpfu_option_set(name, before);
	return has_auto ? "auto, on or off" : "on or off";
}

static int set_variant(const struct target *t, const struct target_variant *v, struct errline *e)
{
	if (!strcmp(v->name, "arch"))
		return errline_set(e, -EINVAL, "target '%s': another arch is emulated, where time says "
				   "nothing; arch= goes with --count=insns", t->spec);
	if (!bpfu_option_get(v->name))
		return errline_set(e, -EINVAL, "target '%s': libbpfu has no option '%s' (bpflab(1) "
				   "lists them)", t->spec, v->name);
	if (bpfu_option_set(v->name, v->value))
		return errline_set(e, -EINVAL, "target '%s': option '%s' does not take '%s'; it is %s",
				   t->spec, v->name, v->value, values_of(v->name));
	return 0;
}

/* Writes out the value that is in force for what @t does not set. */
static void add_variant(struct target *t, const char *name)
{
	struct target_variant *v = &t->variants[t->nr_variants];
	const char *value = bpfu_option_get(name);

	for (size_t i = 0; i < t->nr_variants; i++)
		if (!strcmp(t->variants[i].name, name))
			return;
	if (!value || t->nr_variants == TARGET_MAX_VARIANTS)
		return;
	snprintf(v->name, sizeof(v->name), "%s", name);
	snprintf(v->value, sizeof(v->value), "%s", value);
	t->nr_variants++;
}

/*
 * A result has to say whether it is the JIT's, and what the environment changed: it is put beside those of the
 * same variant only.
 */
static void add_variants(struct target *t)
{
	const char *p = getenv("BPFU_OPTIONS");
	char name[sizeof(t->variants[0].name)];

	add_variant(t, "jit");
	for (; p && *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, "=,");

		if (len >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		add_variant(t, name);
	}
}

/* Try each variant, and put the option back. */
static int user_check(struct target *t, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < t->nr_variants && !err; i++) {
		const char *now = bpfu_option_get(t->variants[i].name);
		char before[16] = "";

		if (now)
			snprintf(before, sizeof(before), "%s", now);
		err = set_variant(t, &t->variants[i], e);
		if (now)
			bpfu_option_set(t->variants[i].name, before);
	}
	if (!err)
		add_variants(t);
	return err;
}

/* What each option was before any target changed it. */
static struct target_variant defaults[TARGET_MAX_VARIANTS * 4];
static size_t nr_defaults;

static void remember_default(const char *name)
{
	struct target_variant *d = &defaults[nr_defaults];

	for (size_t i = 0; i < nr_defaults; i++)
		if (!strcmp(defaults[i].name, name))
			return;
	if (nr_defaults == sizeof(defaults) / sizeof(defaults[0]) || !bpfu_option_get(name))
		return;
	snprintf(d->name, sizeof(d->name), "%s", name);
	snprintf(d->value, sizeof(d->value), "%s", bpfu_option_get(name));
	nr_defaults++;
}

static int user_enter(const struct target *t, struct errline *e)
{
	int err;

	for (size_t i = 0; i < t->nr_variants; i++) {
		remember_default(t->variants[i].name);
		err = set_variant(t, &t->variants[i], e);
		if (err)
			return err;
	}
	bpfu_route_set(BPFU_ROUTE_USER);
	return 0;
}

/* Options stay with the thread: a target must not leave its own to the next. */
static void user_leave(void)
{
	for (size_t i = 0; i < nr_defaults; i++)
		bpfu_option_set(defaults[i].name, defaults[i].value);
}

static int user_probe(const struct target *t, struct errline *e)
{
	const char *step;
	int err = bpfu_selftest();

	if (err)
		return errline_set(e, err, "system calls of this program do not reach libbpfu (%s): "
				   "bpflab was linked without the wrap list", strerror(-err));
	err = target_probe_bpf(&step);
	if (!err)
		return 0;
	return errline_set(e, err, "libbpfu: %s fails: %s", step, strerror(-err));
}

const struct target_kind target_kind_user = {
	.name = "user",
	.summary = "libbpfu in this process",
	.check = user_check,
	.enter = user_enter,
	.leave = user_leave,
	.probe = user_probe,
};
