// SPDX-License-Identifier: BSD-2-Clause
/* The table of benches, made from benches.def. */
#include "registry.h"

#include <errno.h>
#include <fnmatch.h>

#include "util/suggest.h"

#define BENCH(symbol, quick) extern const struct bench symbol;
#include "benches.def"
#undef BENCH

static const struct {
	const struct bench *bench;
	bool quick;
} benches[] = {
#define BENCH(symbol, quick) { &symbol, quick },
#include "benches.def"
#undef BENCH
};

#define NR_BENCHES (sizeof(benches) / sizeof(benches[0]))

const struct bench *registry_get(size_t idx)
{
	return idx < NR_BENCHES ? benches[idx].bench : NULL;
}

bool registry_is_quick(size_t idx)
{
	return benches[idx].quick;
}

int registry_match(const char *pattern, int (*add)(const struct bench *bench, void *ctx), void *ctx,
		   struct errline *e)
{
	char hint[96];
	struct suggest s;
	bool found = false;

	suggest_init(&s, pattern);
	for (size_t i = 0; i < NR_BENCHES; i++) {
		int err;

		suggest_offer(&s, benches[i].bench->name);
		if (fnmatch(pattern, benches[i].bench->name, 0))
			continue;
		found = true;
		err = add(benches[i].bench, ctx);
		if (err)
			return err;
	}
	if (found)
		return 0;
	return errline_set(e, -ENOENT, "no bench '%s'%s (bpflab list shows all)", pattern,
			   suggest_text(&s, hint, sizeof(hint)));
}
