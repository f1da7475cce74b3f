// SPDX-License-Identifier: BSD-2-Clause
/* From offsets in a file to a set of probes (target.h), and the link that holds it. */
#include "probe/uprobe_multi.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "obj/prog.h"
#include "probe/target.h"
#include "util/uaccess.h"

struct multi_link {
	struct bpfu_link link;
	struct bpfu_probing probing;
	struct bpfu_target *targets;
	uint64_t *cookies;
	uint32_t cnt, flags, pid;
};

static struct multi_link *multi_link_of(const struct bpfu_link *link)
{
	return (struct multi_link *)bpfu_container_of(link, struct multi_link, link);
}

static void link_unlink(struct bpfu_link *link)
{
	bpfu_target_detach(&multi_link_of(link)->probing);
}

static void free_all(struct multi_link *l)
{
	for (uint32_t i = 0; l->targets && i < l->cnt; i++)
		bpfu_target_release(&l->targets[i]);
	free(l->targets);
	free(l->cookies);
	free(l);
}

static void link_free(struct bpfu_link *link)
{
	free_all(multi_link_of(link));
}

/* ---- link info ---- */

/* struct bpf_link_info.uprobe_multi of newer headers, which this host's may lack. */
struct multi_info {
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t path_size, count, flags, pid;
};

static int put_path(struct multi_info *out, const char *path)
{
	uint32_t room = out->path_size, size = (uint32_t)strlen(path) + 1;

	if (!out->path != !room)
		return -EINVAL;
	out->path_size = size;
	if (!room)
		return 0;
	return room < size ? -ENOSPC : bpfu_copy_to_user(out->path, path, size);
}

static int put_u64(uint64_t array, uint32_t idx, uint64_t value)
{
	return array ? bpfu_copy_to_user(array + idx * sizeof(value), &value, sizeof(value)) : 0;
}

static int link_fill_info(const struct bpfu_link *link, struct bpf_link_info *info)
{
	struct multi_info *out = (struct multi_info *)((char *)info +
						       offsetof(struct bpf_link_info, raw_tracepoint));
	const struct multi_link *l = multi_link_of(link);
	uint32_t room = out->count;
	int err;

	/* Arrays and their size only together. */
	if ((out->offsets || out->ref_ctr_offsets || out->cookies) != !!room)
		return -EINVAL;
	out->count = l->cnt;
	out->flags = l->flags;
	out->pid = l->pid;
	err = put_path(out, l->targets[0].path);
	for (uint32_t i = 0; i < l->cnt && i < room && !err; i++) {
		err = put_u64(out->offsets, i, l->targets[i].offset);
		if (!err)
			err = put_u64(out->ref_ctr_offsets, i, l->targets[i].ref_ctr_offset);
		if (!err)
			err = put_u64(out->cookies, i, l->cookies[i]);
	}
	return err ? err : room && room < l->cnt ? -ENOSPC : 0;
}

static const struct bpfu_link_ops multi_ops = {
	.unlink = link_unlink,
	.free = link_free,
	.fill_info = link_fill_info,
};

/* ---- attaching ---- */

static int check(const struct bpfu_uprobe_multi *multi)
{
	if (multi->flags & ~BPFU_F_UPROBE_MULTI_RETURN || !multi->path || !multi->offsets ||
	    !multi->cnt)
		return -EINVAL;
	if (multi->cnt > BPFU_UPROBE_MULTI_MAX)
		return -E2BIG;
	if (!multi->pid)
		return 0;
	if (multi->pid > INT_MAX || (kill((pid_t)multi->pid, 0) && errno == ESRCH))
		return -ESRCH;
	return bpfu_target_check_pid((int)multi->pid);
}

static int read_path(uint64_t upath, char path[PATH_MAX])
{
	int n = bpfu_strncpy_from_user(path, upath, PATH_MAX);
	struct stat st;

	if (n < 0)
		return n;
	if (n == PATH_MAX)
		return -ENAMETOOLONG;
	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EBADF;
}

static int read_u64(uint64_t array, uint32_t idx, uint64_t *value)
{
	*value = 0;
	return array ? bpfu_copy_from_user(value, array + idx * sizeof(*value), sizeof(*value)) : 0;
}

static int find_targets(const struct bpfu_uprobe_multi *multi, struct multi_link *l)
{
	char path[PATH_MAX];
	int err = read_path(multi->path, path);

	while (l->cnt < multi->cnt && !err) {
		uint64_t offset, counter;

		err = read_u64(multi->offsets, l->cnt, &offset);
		if (!err)
			err = read_u64(multi->ref_ctr_offsets, l->cnt, &counter);
		if (!err)
			err = read_u64(multi->cookies, l->cnt, &l->cookies[l->cnt]);
		if (!err)
			err = bpfu_target_uprobe(&l->targets[l->cnt], path, offset, counter);
		if (!err)
			l->cnt++;
		else
			bpfu_target_release(&l->targets[l->cnt]);
	}
	return err;
}

int bpfu_uprobe_multi_create(const struct bpfu_uprobe_multi *multi, struct bpfu_prog *prog,
			     struct bpfu_link **out)
{
	struct multi_link *l;
	int err = check(multi);

	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->targets = calloc(multi->cnt, sizeof(*l->targets));
	l->cookies = calloc(multi->cnt, sizeof(*l->cookies));
	l->flags = multi->flags;
	l->pid = multi->pid;
	err = l->targets && l->cookies ? find_targets(multi, l) : -ENOMEM;
	if (!err)
		err = bpfu_target_attach(prog,
					 bpfu_when_of(prog, multi->flags & BPFU_F_UPROBE_MULTI_RETURN),
					 l->targets, l->cookies, l->cnt, &l->probing);
	if (err) {
		free_all(l);
		return err;
	}
	bpfu_link_init(&l->link, (enum bpf_link_type)BPFU_LINK_TYPE_UPROBE_MULTI, &multi_ops, prog);
	*out = &l->link;
	return 0;
}
