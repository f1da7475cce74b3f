// SPDX-License-Identifier: BSD-2-Clause
/* Target specifications, and what all kinds of target share. */
#include "target.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "util/suggest.h"

static const struct target_kind *const kinds[] = {
	&target_kind_user,
	&target_kind_host,
	&target_kind_native,
	&target_kind_vm,
};

const struct target_kind *target_kind_get(size_t idx)
{
	return idx < sizeof(kinds) / sizeof(kinds[0]) ? kinds[idx] : NULL;
}

static int find_kind(struct target *t, const char *spec, size_t len, struct errline *e)
{
	char name[32], hint[96];
	struct suggest s;

	snprintf(name, sizeof(name), "%.*s", (int)len, spec);
	suggest_init(&s, name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		suggest_offer(&s, kinds[i]->name);
		if (!strcmp(kinds[i]->name, name)) {
			t->kind = kinds[i];
			return 0;
		}
	}
	return errline_set(e, -EINVAL, "no target '%s'%s (targets: user, host, native, vm; bpflab doctor "
			   "says which work here)", spec, suggest_text(&s, hint, sizeof(hint)));
}

static int parse_variant(struct target *t, const char *text, size_t len, struct errline *e)
{
	struct target_variant *v = &t->variants[t->nr_variants];
	const char *eq = memchr(text, '=', len);
	size_t name_len = eq ? (size_t)(eq - text) : 0;
	size_t value_len = eq ? len - name_len - 1 : 0;

	if (!name_len || !value_len || name_len >= sizeof(v->name) || value_len >= sizeof(v->value))
		return errline_set(e, -EINVAL, "target '%s': '%.*s' is not NAME=VALUE, as in "
				   "user:jit=off", t->spec, (int)len, text);
	if (t->nr_variants == TARGET_MAX_VARIANTS - 1)
		return errline_set(e, -EINVAL, "target '%s': more than %d variants", t->spec,
				   TARGET_MAX_VARIANTS - 1);
	memcpy(v->name, text, name_len);
	memcpy(v->value, eq + 1, value_len);
	for (size_t i = 0; i < t->nr_variants; i++)
		if (!strcmp(t->variants[i].name, v->name))
			return errline_set(e, -EINVAL, "target '%s': '%s' is set twice", t->spec,
					   v->name);
	t->nr_variants++;
	return 0;
}

int target_parse(struct target *t, const char *spec, struct errline *e)
{
	size_t kind_len = strcspn(spec, ":");
	const char *p = spec + kind_len;
	int err;

	memset(t, 0, sizeof(*t));
	if (strlen(spec) >= sizeof(t->spec))
		return errline_set(e, -EINVAL, "target '%.32s...' is too long", spec);
	snprintf(t->spec, sizeof(t->spec), "%s", spec);
	err = find_kind(t, spec, kind_len, e);
	if (err)
		return err;
	if (t->kind->parse)
		return t->kind->parse(t, p, e);
	while (*p) {
		size_t len = strcspn(++p, ",");

		err = parse_variant(t, p, len, e);
		if (err)
			return err;
		p += len;
	}
	return t->kind->check(t, e);
}

int target_enter(const struct target *t, struct errline *e)
{
	int err = t->kind->enter(t, e);

	if (err)
		target_leave(t);
	return err;
}

void target_leave(const struct target *t)
{
	if (t->kind->leave)
		t->kind->leave();
	bpfu_route_set(BPFU_ROUTE_KERNEL);
}

int target_probe(const struct target *t, struct errline *e)
{
	int err;

	if (target_is_vm(t)) /* it is never in force here */
		return t->kind->probe(t, e);
	err = target_enter(t, e);
	if (err)
		return err;
	err = t->kind->probe(t, e);
	target_leave(t);
	return err;
}

/* { return 42; } */
static int probe_run(const char **step)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 42 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int fd, err = 0;

	*step = "BPF_PROG_LOAD";
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bpflab_probe", "GPL", insns,
			   sizeof(insns) / sizeof(insns[0]), NULL);
	if (fd < 0)
		return fd;
	*step = "BPF_PROG_TEST_RUN";
	err = bpf_prog_test_run_opts(fd, &run);
	if (!err && run.retval != 42)
		err = -EPROTO;
	close(fd);
	return err;
}

int target_probe_bpf(const char **step)
{
	int map_fd;

	*step = "BPF_MAP_CREATE";
	map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bpflab_probe", 4, 8, 1, NULL);
	if (map_fd < 0)
		return map_fd;
	close(map_fd);
	return probe_run(step);
}
