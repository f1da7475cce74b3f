// SPDX-License-Identifier: BSD-2-Clause
/* Lines of JSON that come out of a guest: they call themselves results of `host`, which they are in there. */
#include <errno.h>
#include <string.h>

#include "cmd/guests.h"
#include "target.h"
#include "util/json_line.h"

/* " on host" of the inside is this target. */
static void rename_host(json_t *o, const char *label)
{
	static const char inside[] = " on host";
	const char *reason = record_text(o, "reason"), *at = strstr(reason, inside);

	if (at)
		json_object_set_new(o, "reason", json_sprintf("%.*s on %s%s", (int)(at - reason), reason, label,
							      at + strlen(inside)));
}

static void mark(json_t *o, const struct guest *g)
{
	json_object_set_new(o, "target", json_string(g->label));
	json_object_del(o, "variant");
	rename_host(o, g->label);
	json_object_set_new(o, "emulated", json_true());
	json_object_set_new(o, "vm", json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:f}", "kernel", g->kernel.name,
					       "package", g->kernel.package, "release", g->release, "arch",
					       g->spec->machine->name, "smp", (int)g->spec->smp, "cmdline",
					       g->spec->cmdline, "boot_seconds", g->boot_seconds));
}

int guest_results(struct guest *g, int (*add)(json_t *o, size_t line, void *ctx, struct errline *e), void *ctx,
		  struct errline *e)
{
	char *save = NULL;
	size_t line = 0;
	int err = 0;

	for (char *p = g->out.text ? strtok_r(g->out.text, "\n", &save) : NULL; p && !err;
	     p = strtok_r(NULL, "\n", &save)) {
		json_error_t why;
		json_t *o = json_loads(p, 0, &why);

		line++;
		if (json_is_object(o)) {
			mark(o, g);
			err = add(o, line, ctx, e);
		} else {
			err = errline_set(e, -EPROTO, "%s: line %zu of its results is no JSON: %.100s", g->label,
					  line, why.text);
		}
		json_decref(o);
	}
	return err;
}

static int write_line(json_t *o, size_t line, void *ctx, struct errline *e)
{
	int err = json_line_put(ctx, json_incref(o));

	return err ? errline_set(e, err, "cannot keep results: %s", strerror(-err)) : 0;
}

int guest_write_results(struct guest *g, FILE *f, struct errline *e)
{
	return guest_results(g, write_line, f, e);
}
