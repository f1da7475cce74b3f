/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggestions for misspelt words. */
#ifndef BPFLAB_SUGGEST_H
#define BPFLAB_SUGGEST_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) that turn @a into @b. */
size_t suggest_distance(const char *a, const char *b);

/* The best guess so far at what @word was meant to be. */
struct suggest {
	const char *word;
	const char *best;
	size_t distance;
};

void suggest_init(struct suggest *s, const char *word);
/* @name must outlive @s. */
void suggest_offer(struct suggest *s, const char *name);
/* "; did you mean 'NAME'?" in @buf, or "" if nothing that was offered is near. Returns @buf. */
const char *suggest_text(const struct suggest *s, char *buf, size_t size);

#endif
