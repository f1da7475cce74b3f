// SPDX-License-Identifier: BSD-2-Clause
/* Edit distance (optimal string alignment) and the choice of a suggestion. */
#include "util/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORD 64

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Case and '_' against '-' are not a difference that should hide a suggestion. */
static int fold(char c)
{
	return c == '_' ? '-' : tolower((unsigned char)c);
}

size_t suggest_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	/* rows i-2, i-1 and i of the distance matrix */
	size_t rows[3][MAX_WORD + 1];

	if (la > MAX_WORD || lb > MAX_WORD)
		return la > lb ? la : lb;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *upup = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t differs = fold(a[i - 1]) != fold(b[j - 1]);

			row[j] = min2(min2(up[j] + 1, row[j - 1] + 1), up[j - 1] + differs);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = min2(row[j], upup[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

void suggest_init(struct suggest *s, const char *word)
{
	s->word = word;
	s->best = NULL;
	s->distance = strlen(word) / 3 + 2;
}

void suggest_offer(struct suggest *s, const char *name)
{
	size_t distance = suggest_distance(s->word, name);

	/* A word that shares no letter with the name is no misspelling of it. */
	if (distance >= strlen(name) || distance >= s->distance)
		return;
	s->best = name;
	s->distance = distance;
}

const char *suggest_text(const struct suggest *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->best)
		snprintf(buf, size, "; did you mean '%s'?", s->best);
	return buf;
}
