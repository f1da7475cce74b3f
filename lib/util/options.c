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

static const struct {
	const char *name;
	size_t offset; /* of a bool in struct bpfu_options */
} option_table[] = {
	{ "jit", offsetof(struct bpfu_options, jit) },
	{ "inline_helpers", offsetof(struct bpfu_options, inline_helpers) },
	{ "inline_percpu", offsetof(struct bpfu_options, inline_percpu) },
	{ "inline_loop", offsetof(struct bpfu_options, inline_loop) },
};

static __thread struct bpfu_options options;
static __thread bool options_ready;

static bool *option_find(struct bpfu_options *o, const char *name, size_t len)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(option_table); i++)
		if (strlen(option_table[i].name) == len && !memcmp(option_table[i].name, name, len))
			return (bool *)((char *)o + option_table[i].offset);
	return NULL;
}

static int option_parse(struct bpfu_options *o, const char *name, size_t name_len,
			const char *value, size_t value_len)
{
	bool *slot = option_find(o, name, name_len);

	if (!slot)
		return -EINVAL;
	if (value_len == 2 && !memcmp(value, "on", 2))
		*slot = true;
	else if (value_len == 3 && !memcmp(value, "off", 3))
		*slot = false;
	else
		return -EINVAL;
	return 0;
}

static void options_from_env(struct bpfu_options *o)
{
	const char *p = getenv("BPFU_OPTIONS");

	while (p && *p) {
		size_t len = strcspn(p, ",");
		const char *eq = memchr(p, '=', len);

		if (!eq || option_parse(o, p, eq - p, eq + 1, p + len - eq - 1))
			bpfu_warn("BPFU_OPTIONS: '%.*s' is not NAME=on|off of a known option; ignored",
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
						 .inline_loop = true };
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
	bool *slot = name ? option_find(bpfu_options_self(), name, strlen(name)) : NULL;

	if (!slot)
		return NULL;
	return *slot ? "on" : "off";
}
