// SPDX-License-Identifier: BSD-2-Clause
/* The graph of values; lineage.h says what it is for. */
#include "verifier/lineage.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NODES (1u << 26) /* 0.5 GiB: far above what a million instructions need */

void bpfu_lineage_init(struct bpfu_lineage *l)
{
	memset(l, 0, sizeof(*l));
	l->cnt = 1;
}

void bpfu_lineage_release(struct bpfu_lineage *l)
{
	free(l->node);
	free(l->marked);
	free(l->todo);
	memset(l, 0, sizeof(*l));
}

static bool grow(struct bpfu_lineage *l)
{
	uint32_t cap = l->cap ? l->cap * 2 : 1024;
	void *node, *marked;

	if (l->nomem || cap > MAX_NODES)
		return false;
	node = realloc(l->node, cap * sizeof(*l->node));
	if (!node)
		return false;
	l->node = node;
	marked = realloc(l->marked, cap / 8);
	if (!marked)
		return false;
	l->marked = marked;
	memset(l->marked + l->cap / 8, 0, (cap - l->cap) / 8);
	l->cap = cap;
	return true;
}

uint32_t bpfu_lineage_new(struct bpfu_lineage *l, uint32_t a, uint32_t b)
{
	if (l->cnt >= l->cap && !grow(l)) {
		l->nomem = true;
		return 0;
	}
	l->node[l->cnt] = (struct bpfu_lineage_node){ { a, b } };
	return l->cnt++;
}

static bool push(struct bpfu_lineage *l, uint32_t *cnt, uint32_t n)
{
	uint32_t *todo;

	if (bpfu_lineage_is_marked(l, n))
		return true;
	l->marked[n / 8] |= 1u << (n % 8);
	if (*cnt == l->todo_cap) {
		uint32_t cap = l->todo_cap ? l->todo_cap * 2 : 256;

		todo = realloc(l->todo, cap * sizeof(*todo));
		if (!todo)
			return false;
		l->todo = todo;
		l->todo_cap = cap;
	}
	l->todo[(*cnt)++] = n;
	return true;
}

void bpfu_lineage_mark(struct bpfu_lineage *l, uint32_t n)
{
	uint32_t cnt = 0;
	bool ok = push(l, &cnt, n);

	while (ok && cnt) {
		struct bpfu_lineage_node *node = &l->node[l->todo[--cnt]];

		ok = push(l, &cnt, node->parent[0]) && push(l, &cnt, node->parent[1]);
	}
	if (!ok)
		l->nomem = true;
}
