// SPDX-License-Identifier: BSD-2-Clause
/*
 * func_info and line_info. The records of a newer user space may be longer than the ones we know, if
 * the rest is zero; the copies are of our size.
 */
#include "syscall/prog_btf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/uaccess.h"

#define MIN_FUNC_REC 8
#define MIN_LINE_REC 16
#define MAX_REC 252

static bool is_rec_size_valid(uint32_t rec_size, uint32_t min)
{
	return rec_size >= min && rec_size <= MAX_REC && rec_size % 4 == 0;
}

static int copy_record(void *rec, uint32_t known, uint64_t urec, uint32_t size)
{
	int err = bpfu_user_tail_zero(urec, BPFU_MIN(known, size), size);

	memset(rec, 0, known);
	return err ? err : bpfu_copy_from_user(rec, urec, BPFU_MIN(known, size));
}

/*
 * Copy @cnt records of @rec_size bytes at @uptr into *@out, @known bytes each. The array grows as user
 * memory turns out to be there, so an absurd count costs nothing. -E2BIG: a record has more than
 * we know.
 */
static int copy_records(uint64_t uptr, uint32_t cnt, uint32_t rec_size, uint32_t known, void **out)
{
	uint32_t cap = 0;
	char *recs = NULL;

	for (uint32_t i = 0; i < cnt; i++) {
		int err = 0;

		if (i == cap) {
			char *bigger;

			cap = cap ? cap * 2 : 64;
			bigger = realloc(recs, (size_t)BPFU_MIN(cap, cnt) * known);
			if (!bigger)
				err = -ENOMEM;
			else
				recs = bigger;
		}
		if (!err)
			err = copy_record(recs + (size_t)i * known, known,
					  uptr + (uint64_t)i * rec_size, rec_size);
		if (err) {
			free(recs);
			return err;
		}
	}
	*out = recs;
	return 0;
}

static int copy_func_info(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr,
			  uint32_t size, struct bpfu_log *log)
{
	uint32_t rec_size = attr->a.func_info_rec_size;
	void *recs;
	int err;

	if (!attr->a.func_info_cnt)
		return 0;
	if (!is_rec_size_valid(rec_size, MIN_FUNC_REC)) {
		bpfu_log_printf(log, "invalid func info rec size %u\n", rec_size);
		return -EINVAL;
	}
	err = copy_records(attr->a.func_info, attr->a.func_info_cnt, rec_size,
			   sizeof(struct bpf_func_info), &recs);
	if (err == -E2BIG) {
		bpfu_log_printf(log, "nonzero tailing record in func info");
		attr->a.func_info_rec_size = sizeof(struct bpf_func_info);
		if (bpfu_attr_put(attr, uattr, size, a.func_info_rec_size))
			err = -EFAULT;
	}
	if (err)
		return err;
	prog->func_info = recs;
	prog->func_info_cnt = attr->a.func_info_cnt;
	return 0;
}

static int copy_line_info(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr,
			  uint32_t size, struct bpfu_log *log)
{
	void *recs;
	int err;

	if (!attr->a.line_info_cnt)
		return 0;
	if (attr->a.line_info_cnt > INT_MAX / sizeof(struct bpf_line_info) ||
	    !is_rec_size_valid(attr->a.line_info_rec_size, MIN_LINE_REC))
		return -EINVAL;
	err = copy_records(attr->a.line_info, attr->a.line_info_cnt, attr->a.line_info_rec_size,
			   sizeof(struct bpf_line_info), &recs);
	if (err == -E2BIG) {
		bpfu_log_printf(log, "nonzero tailing record in line_info");
		attr->a.line_info_rec_size = sizeof(struct bpf_line_info);
		if (bpfu_attr_put(attr, uattr, size, a.line_info_rec_size))
			err = -EFAULT;
	}
	if (err)
		return err;
	prog->line_info = recs;
	prog->line_info_cnt = attr->a.line_info_cnt;
	return 0;
}

int bpfu_prog_copy_btf(struct bpfu_prog *prog, union bpfu_attr *attr, uint64_t uattr, uint32_t size,
		       struct bpfu_log *log)
{
	struct bpfu_obj *obj;
	int err;

	/* A descriptor without records to go with it is not even looked at. */
	if (!attr->a.func_info_cnt && !attr->a.line_info_cnt)
		return 0;
	err = bpfu_fd_get_kind(attr->a.prog_btf_fd, BPFU_OBJ_BTF, -EINVAL, &obj);
	if (err)
		return err;
	prog->btf = bpfu_btf_of(obj);
	if (prog->btf->is_kernel)
		return -EACCES;
	err = copy_func_info(prog, attr, uattr, size, log);
	return err ? err : copy_line_info(prog, attr, uattr, size, log);
}
