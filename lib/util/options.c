// SPDX-License-Identifier: BSD-2-Clause
/* The table of options, their parsing from BPFU_OPTIONS, and the per-thread values. */
#include "util/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "util/bits.h"
#include "util/log.h"

/* Values by enum bpfu_switch; most options know the first two. */
static const char *const value_names[] = {
	[BPFU_SWITCH_OFF] = "off",
	[BPFU_SWITCH_ON] = "on",
	[BPFU_SWITCH_AUTO] = "auto",
};

static const struct option {
	const char *name;
	size_t offset; /* of a bool or, with .has_auto, a uint8_t in struct bpfu_options */
	bool has_auto;
} option_table[] = {
	{ "jit", offsetof(struct bpfu_options, jit), false },
	{ "inline_helpers", offsetof(struct bpfu_options, inline_helpers), false },
	{ "inline_percpu", offsetof(struct bpfu_options, inline_percpu), false },
	{ "inline_loop", offsetof(struct bpfu_options, inline_loop), false },
	{ "loop_idioms", offsetof(struct bpfu_options, loop_idioms), false },
	{ "perf_map", offsetof(struct bpfu_options, perf_map), false },
	{ "jitdump", offsetof(struct bpfu_options, jitdump), false },
	{ "gdb", offsetof(struct bpfu_options, gdb), false },
	{ "private_stack", offsetof(struct bpfu_options, private_stack), true },
	{ "prog_pack", offsetof(struct bpfu_options, prog_pack), false },
	{ "harden", offsetof(struct bpfu_options, harden), false },
};

_Static_assert(sizeof(bool) == sizeof(uint8_t), "values are read and written as bytes");

static __thread struct bpfu_options options;
static __thread bool options_ready;

static const struct option *option_find(const char *name, size_t len)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(option_table); i++)
		if (strlen(option_table[i].name) == len && !memcmp(option_table[i].name, name, len))
			return &option_table[i];
	return NULL;
}

static uint8_t *option_slot(struct bpfu_options *o, const struct option *option)
{
	return (uint8_t *)o + option->offset;
}

static int option_parse(struct bpfu_options *o, const char *name, size_t name_len,
			const char *value, size_t value_len)
{
	const struct option *option = option_find(name, name_len);
	uint8_t values = BPFU_SWITCH_AUTO + (option && option->has_auto);

	for (uint8_t v = 0; option && v < values; v++) {
		if (strlen(value_names[v]) != value_len || memcmp(value_names[v], value, value_len))
			continue;
		*option_slot(o, option) = v;
		return 0;
	}
	return -EINVAL;
}

static void options_from_env(struct bpfu_options *o)
{
	const char *p = getenv("BPFU_OPTIONS");

	while (p && *p) {
		size_t len = strcspn(p, ",");
		const char *eq = memchr(p, '=', len);

		if (!eq || option_parse(o, p, eq - p, eq + 1, p + len - eq - 1))
			bpfu_warn("BPFU_OPTIONS: '%.*s' is not NAME=on|off (or auto) of a known option; ignored",
				  (int)len, p);
		p += len + (p[len] == ',');
	}
}

struct bpfu_options *bpfu_options_self(void)
{
	if (!options_ready) {
		options_ready = true;
		options = (struct bpfu_options){ .jit = true,
						 .inline_helpers = true,
						 .inline_percpu = true,
						 .inline_loop = true,
						 .loop_idioms = true,
						 .private_stack = BPFU_SWITCH_AUTO,
						 .prog_pack = true };
		options_from_env(&options);
	}
	return &options;
}

int bpfu_option_set(const char *name, const char *value)
{
	if (!name || !value)
		return -EINVAL;
	return option_parse(bpfu_options_self(), name, strlen(name), value, strlen(value));
}

const char *bpfu_option_get(const char *name)
{
	const struct option *option = name ? option_find(name, strlen(name)) : NULL;

	return option ? value_names[*option_slot(bpfu_options_self(), option)] : NULL;
}
