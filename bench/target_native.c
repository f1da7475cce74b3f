// SPDX-License-Identifier: BSD-2-Clause
/*
 * The target `native`: no BPF at all, but what clang makes of the same source for this processor. It is
 * the limit for the code of a JIT. Only benches with a native form run on it (BENCH_HAS_NATIVE).
 */
#include <errno.h>
#include <string.h>

#include "native.h"
#include "target.h"

/* -O2 vectorises unless it is told not to; the variant is written out as for `user`. */
static int native_check(struct target *t, struct errline *e)
{
	struct target_variant *v = &t->variants[0];

	if (!t->nr_variants) {
		*v = (struct target_variant){ .name = "vec", .value = "on" };
		t->nr_variants = 1;
		return 0;
	}
	for (size_t i = 0; i < t->nr_variants; i++) {
		v = &t->variants[i];
		if (strcmp(v->name, "vec"))
			return errline_set(e, -EINVAL, "target '%s': native code has no option '%s'; it "
					   "takes vec=on or vec=off", t->spec, v->name);
		if (strcmp(v->value, "on") && strcmp(v->value, "off"))
			return errline_set(e, -EINVAL, "target '%s': option 'vec' does not take '%s'; it "
					   "is on or off", t->spec, v->value);
	}
	return 0;
}

static int native_enter(const struct target *t, struct errline *e)
{
	return 0;
}

/* Native code is linked in: there is nothing that could fail. */
static int native_probe(const struct target *t, struct errline *e)
{
	return 0;
}

native_driver native_choose(const struct native_forms *forms, const struct target *target)
{
	return strcmp(target->variants[0].value, "on") ? forms->novec : forms->vec;
}

const struct target_kind target_kind_native = {
	.name = "native",
	.summary = "native code of the same source, by clang -O2",
	.check = native_check,
	.enter = native_enter,
	.probe = native_probe,
};
