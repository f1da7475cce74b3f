/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf(2): one table, command to handler (bpf.c). Attribute checks as the kernel's: a short attribute
 * is zero-extended, a long one must have a zero tail (-E2BIG), fields after a command's last one must
 * be zero (-EINVAL).
 */
#ifndef BPFU_SYSCALL_SYSCALL_H
#define BPFU_SYSCALL_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/uapi.h"

#define BPFU_ENOTSUPP 524 /* the kernel's ENOTSUPP, which leaks out of bpf(2) */

/* sizeof(union bpf_attr) of the kernel that libbpfu answers as, 6.18; longer tails must be zero. */
#define BPFU_ATTR_SIZE 168

/*
 * The attribute, wide enough for every field of current kernels. The members below @bytes name the
 * fields that newer kernels added to the host's union bpf_attr.
 */
union bpfu_attr {
	union bpf_attr a;
	uint8_t bytes[256];
	struct {
		uint8_t old[72];
		int32_t value_type_btf_obj_fd;
		int32_t map_token_fd;
		uint64_t excl_prog_hash;
		uint32_t excl_prog_hash_size;
	} map_create;
	struct {
		uint8_t old[140];
		uint32_t log_true_size;
		int32_t prog_token_fd;
		uint32_t fd_array_cnt;
		uint64_t signature;
		uint32_t signature_size;
		int32_t keyring_id;
	} prog_load;
	struct {
		uint8_t old[28];
		uint32_t log_true_size;
		uint32_t flags;
		int32_t token_fd;
	} btf_load;
	struct {
		uint8_t old[16];
		int32_t path_fd;
	} obj;
	struct {
		uint8_t old[12];
		int32_t token_fd;
	} fd_by_id;
	struct {
		uint8_t old[16];
		uint64_t cookie;
	} raw_tracepoint;
	struct {
		uint8_t old[16];
		uint64_t path;
		uint64_t offsets;
		uint64_t ref_ctr_offsets;
		uint64_t cookies;
		uint32_t cnt;
		uint32_t flags;
		uint32_t pid;
	} uprobe_multi; /* of link_create */
};

/* @uattr, @size: the caller's, for results that go back. Returns what bpf(2) returns or -errno. */
typedef int (*bpfu_cmd_fn)(union bpfu_attr *attr, uint64_t uattr, uint32_t size);

/* True if all bytes of @attr from @end_of_last_field on are zero (CHECK_ATTR). */
bool bpfu_attr_tail_is_zero(const union bpfu_attr *attr, uint32_t end_of_last_field);

/* CHECK_ATTR by name: 0 if nothing follows member @last of union bpfu_attr, else -EINVAL. */
#define BPFU_ATTR_END(member)                                                                      \
	((uint32_t)(offsetof(union bpfu_attr, member) + sizeof(((union bpfu_attr *)0)->member)))
#define bpfu_attr_ends_with(attr, last) bpfu_attr_tail_is_zero(attr, BPFU_ATTR_END(last))

/*
 * Write member @member of the caller's attribute back from our copy. Nothing is written past the
 * size that the caller passed. 0 or -EFAULT.
 */
int bpfu_attr_copy_back(const union bpfu_attr *attr, uint64_t uattr, uint32_t size, uint32_t off,
			uint32_t len);
#define bpfu_attr_put(attr, uattr, size, member)                                                   \
	bpfu_attr_copy_back(attr, uattr, size, offsetof(union bpfu_attr, member),                  \
			    sizeof((attr)->member))

/* BPF_F_RDONLY/WRONLY of @flags as an open mode; -EINVAL if both are set. */
int bpfu_attr_file_mode(uint32_t flags);

/* There are no tokens here: -EBADF if @fd is closed, else -EINVAL (it is something else). */
int bpfu_attr_token(int fd);

/* bpf_obj_name_cpy(): letters, digits, '_' and '.', with a NUL in @src. 0 or -EINVAL. */
int bpfu_attr_name(char dst[BPF_OBJ_NAME_LEN], const char src[BPF_OBJ_NAME_LEN]);

/* -E2BIG if bytes [@known, @size) of user memory are not all zero (bpf_check_uarg_tail_zero()). */
int bpfu_user_tail_zero(uint64_t uptr, uint32_t known, uint32_t size);

/* Handlers, by file. */
/* map_cmd.c, map_elem.c, map_batch.c */
int bpfu_cmd_map_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_freeze(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_lookup(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_update(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_delete(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_next_key(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_lookup_and_delete(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_lookup_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_lookup_and_delete_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_update_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_delete_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
/* prog_cmd.c, prog_btf.c, test_run.c */
int bpfu_cmd_prog_load(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_prog_bind_map(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_test_run(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
/* btf_cmd.c */
int bpfu_cmd_btf_load(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
/* obj_cmd.c */
int bpfu_cmd_obj_pin(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_obj_get(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_prog_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_btf_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_link_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_map_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_prog_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_btf_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_link_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_enable_stats(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
/* info_cmd.c */
int bpfu_cmd_info(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
/* link_cmd.c */
int bpfu_cmd_raw_tracepoint_open(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_link_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_link_update(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_link_detach(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_iter_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size);
int bpfu_cmd_task_fd_query(union bpfu_attr *attr, uint64_t uattr, uint32_t size);

#endif
