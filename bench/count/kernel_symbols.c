// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/kallsyms has no sizes: a function reaches to the next symbol. What lies far behind one is in none;
 * the kernel gives no name to some of the code it makes.
 */
#include "count/kernel_symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/items_up_to.h"

#define FAR 0x10000 /* no function is larger */

/* ---- inside ---- */

int kernel_symbols_read(struct text_buf *image, struct text_buf *made, struct errline *e)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[400], type;
	uint64_t addr;
	int err = 0;

	if (!f)
		return errline_set(e, -errno, "cannot read /proc/kallsyms: %s", strerror(errno));
	while (fgets(line, sizeof(line), f) && !err) {
		struct text_buf *text = strchr(line, '[') ? made : image;
		int len;

		if (!text || sscanf(line, "%" SCNx64 " %c %399s", &addr, &type, name) != 3 || !addr ||
		    !strchr("tTwW", type))
			continue;
		len = snprintf(line, sizeof(line), "%" PRIx64 " %s\n", addr, name);
		err = text_buf_add(text, line, (size_t)len);
	}
	fclose(f);
	return err ? errline_set(e, err, "out of memory") : 0;
}

/* ---- outside ---- */

/*
 * Compilers add ".isra.0" and the like to a function of which they made another; the kernel puts the tag in
 * front of the name of a program, and a number behind that of a trampoline. Neither says what it is.
 */
static const char *plain_name(char *name)
{
	size_t len = strcspn(name, ".");

	if (len)
		name[len] = '\0';
	if (!strncmp(name, "bpf_trampoline_", 15))
		name[14] = '\0';
	if (!strncmp(name, "bpf_prog_", 9) && strspn(name + 9, "0123456789abcdef") >= 16 && name[25] == '_')
		memmove(name + 9, name + 26, strlen(name + 26) + 1);
	return name;
}

static int add(struct kernel_symbols *s, uint64_t addr, char *name, struct errline *e)
{
	if (s->nr == s->max) {
		size_t max = s->max ? 2 * s->max : 4096;
		struct kernel_symbol *grown = realloc(s->items, max * sizeof(*grown));

		if (!grown)
			return errline_set(e, -ENOMEM, "out of memory");
		s->items = grown;
		s->max = max;
	}
	s->items[s->nr++] = (struct kernel_symbol){ addr, plain_name(name) };
	return 0;
}

static int add_text(struct kernel_symbols *s, const char *text, char **names, struct errline *e)
{
	char *save = NULL;
	int err = 0;

	*names = text ? strdup(text) : NULL;
	if (text && !*names)
		return errline_set(e, -ENOMEM, "out of memory");
	for (char *line = *names ? strtok_r(*names, "\n", &save) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		char *end;
		uint64_t addr = strtoull(line, &end, 16);

		if (end == line || *end != ' ' || !end[1])
			return errline_set(e, -EPROTO, "no symbol of a kernel: '%.60s'", line);
		err = add(s, addr, end + 1, e);
	}
	return err;
}

/* Names like __softirqentry_text_end are of a place, not of a function. */
static bool is_place(const char *name)
{
	return name[0] == '_' && strstr(name, "text_");
}

/* Of several names at one address the first is that of a function, and the plainest. */
static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;
	const size_t rank_x[] = { is_place(x->name), strspn(x->name, "_"), strlen(x->name) };
	const size_t rank_y[] = { is_place(y->name), strspn(y->name, "_"), strlen(y->name) };

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	for (size_t i = 0; i < sizeof(rank_x) / sizeof(rank_x[0]); i++)
		if (rank_x[i] != rank_y[i])
			return rank_x[i] < rank_y[i] ? -1 : 1;
	return strcmp(x->name, y->name);
}

int kernel_symbols_parse(struct kernel_symbols *s, const char *image, const char *made, struct errline *e)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = add_text(s, image, &s->names[0], e);
	if (!err)
		err = add_text(s, made, &s->names[1], e);
	if (!err && s->nr)
		qsort(s->items, s->nr, sizeof(*s->items), by_address);
	return err;
}

void kernel_symbols_release(struct kernel_symbols *s)
{
	free(s->items);
	free(s->names[0]);
	free(s->names[1]);
	memset(s, 0, sizeof(*s));
}

const char *kernel_symbols_find(const struct kernel_symbols *s, uint64_t addr)
{
	size_t lo = items_up_to(s->items, s->nr, sizeof(*s->items), addr);

	if (!lo || addr - s->items[lo - 1].addr >= FAR)
		return NULL;
	/* the first of those at that address */
	for (lo--; lo && s->items[lo - 1].addr == s->items[lo].addr; lo--)
		;
	return s->items[lo].name;
}
