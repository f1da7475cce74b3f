// SPDX-License-Identifier: BSD-2-Clause
/* The functions of a target (crowd.h), and 10,000 that exist to be attached to. */
#include "benches/crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpfu/bpfu.h>

#define CROWD_SIZE 10000
#define CROWD_STEP 16 /* bytes from one function to the next */

/* Functions that return at once, with room for a jump. Nobody calls them. */
__asm__(".pushsection .text.bpflab_crowd, \"ax\", @progbits\n"
	".balign 16\n"
	"bpflab_crowd:\n"
	".rept 10000\n"
#if defined(__x86_64__)
	".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"ret\n"
#else
	"nop\n"
	"ret\n"
#endif
	".balign 16\n"
	".endr\n"
	".popsection\n");
extern char bpflab_crowd[];

static int offer_error;

static void offer(void)
{
	char name[32];

	for (int i = 0; i < CROWD_SIZE && !offer_error; i++) {
		snprintf(name, sizeof(name), "bpflab_crowd_%d", i);
		offer_error = bpfu_func_register(bpflab_crowd + CROWD_STEP * i, name, 0);
	}
}

/* Of the kernel's: what runs where a program cannot, or for ever. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {
		"bpf_get_numa_node_id", "bpf_modify_return_test_tp", "arch_cpu_idle", "default_idle",
		"bpf_dispatcher_xdp_func", "__set_task_comm",
	};
	static const char *const prefixes[] = { "rcu_", "__rcu_", "ct_", "__ftrace_invalid_address__",
						"preempt_count_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A name that several functions have stands for none of them. */
static void drop_ambiguous(struct crowd *c)
{
	size_t kept = 0;

	qsort(c->names, c->cnt, sizeof(c->names[0]), by_name);
	for (size_t i = 0, end; i < c->cnt; i = end) {
		for (end = i + 1; end < c->cnt && !strcmp(c->names[i], c->names[end]);)
			free(c->names[end++]);
		if (end == i + 1)
			c->names[kept++] = c->names[i];
		else
			free(c->names[i]);
	}
	c->cnt = kept;
}

static int add(struct crowd *c, size_t *cap, const char *name)
{
	if (c->cnt == *cap) {
		char **names = realloc(c->names, (*cap = 2 * *cap + 1024) * sizeof(*names));

		if (!names)
			return -ENOMEM;
		c->names = names;
	}
	c->names[c->cnt] = strdup(name);
	return c->names[c->cnt++] ? 0 : -ENOMEM;
}

static int read_names(struct crowd *c, FILE *f)
{
	char line[512], name[256], module;
	size_t cap = 0;
	int err = 0;

	while (!err && fgets(line, sizeof(line), f)) {
		/* Those of modules have a second word, and names that the kernel may not find. */
		if (sscanf(line, "%255s [%c", name, &module) == 1 && !is_left_out(name))
			err = add(c, &cap, name);
	}
	return err;
}

int crowd_gather(struct crowd *c, struct errline *e)
{
	static const char *const paths[] = { "/sys/kernel/tracing/available_filter_functions",
					     "/sys/kernel/debug/tracing/available_filter_functions" };
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	FILE *f = NULL;
	int err;

	memset(c, 0, sizeof(*c));
	pthread_once(&once, offer);
	if (offer_error)
		return errline_set(e, offer_error, "cannot offer functions to attach to: %s",
				   strerror(-offer_error));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !f; i++)
		f = fopen(paths[i], "re");
	if (!f)
		return errline_set(e, -errno, "cannot read which functions can be traced (%s): %s; "
				   "mount tracefs, or use --on user", paths[0], strerror(errno));
	err = read_names(c, f);
	fclose(f);
	if (!err && !c->cnt)
		return errline_set(e, -ENOENT, "%s names no function", paths[0]);
	if (!err)
		drop_ambiguous(c);
	else
		crowd_release(c);
	return err ? errline_set(e, err, "out of memory") : 0;
}

void crowd_release(struct crowd *c)
{
	for (size_t i = 0; i < c->cnt; i++)
		free(c->names[i]);
	free(c->names);
	memset(c, 0, sizeof(*c));
}
