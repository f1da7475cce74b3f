// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf(2): the table of commands, and the entry that checks the attribute's size and copies it in. A
 * command without a row is answered with -EINVAL, as by a kernel that does not know it.
 */
#include <errno.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "percpu/rcu.h"
#include "syscall/syscall.h"
#include "util/bits.h"
#include "util/uaccess.h"

/* clang-format off */
static const bpfu_cmd_fn commands[] = {
	[BPF_MAP_CREATE]                  = bpfu_cmd_map_create,
	[BPF_MAP_LOOKUP_ELEM]             = bpfu_cmd_map_lookup,
	[BPF_MAP_UPDATE_ELEM]             = bpfu_cmd_map_update,
	[BPF_MAP_DELETE_ELEM]             = bpfu_cmd_map_delete,
	[BPF_MAP_GET_NEXT_KEY]            = bpfu_cmd_map_next_key,
	[BPF_PROG_LOAD]                   = bpfu_cmd_prog_load,
	[BPF_OBJ_PIN]                     = bpfu_cmd_obj_pin,
	[BPF_OBJ_GET]                     = bpfu_cmd_obj_get,
	[BPF_PROG_TEST_RUN]               = bpfu_cmd_test_run,
	[BPF_PROG_GET_NEXT_ID]            = bpfu_cmd_prog_next_id,
	[BPF_MAP_GET_NEXT_ID]             = bpfu_cmd_map_next_id,
	[BPF_PROG_GET_FD_BY_ID]           = bpfu_cmd_prog_fd_by_id,
	[BPF_MAP_GET_FD_BY_ID]            = bpfu_cmd_map_fd_by_id,
	[BPF_OBJ_GET_INFO_BY_FD]          = bpfu_cmd_info,
	[BPF_RAW_TRACEPOINT_OPEN]         = bpfu_cmd_raw_tracepoint_open,
	[BPF_BTF_LOAD]                    = bpfu_cmd_btf_load,
	[BPF_BTF_GET_FD_BY_ID]            = bpfu_cmd_btf_fd_by_id,
	[BPF_TASK_FD_QUERY]               = bpfu_cmd_task_fd_query,
	[BPF_MAP_LOOKUP_AND_DELETE_ELEM]  = bpfu_cmd_map_lookup_and_delete,
	[BPF_MAP_FREEZE]                  = bpfu_cmd_map_freeze,
	[BPF_BTF_GET_NEXT_ID]             = bpfu_cmd_btf_next_id,
	[BPF_MAP_LOOKUP_BATCH]            = bpfu_cmd_map_lookup_batch,
	[BPF_MAP_LOOKUP_AND_DELETE_BATCH] = bpfu_cmd_map_lookup_and_delete_batch,
	[BPF_MAP_UPDATE_BATCH]            = bpfu_cmd_map_update_batch,
	[BPF_MAP_DELETE_BATCH]            = bpfu_cmd_map_delete_batch,
	[BPF_LINK_CREATE]                 = bpfu_cmd_link_create,
	[BPF_LINK_UPDATE]                 = bpfu_cmd_link_update,
	[BPF_LINK_GET_FD_BY_ID]           = bpfu_cmd_link_fd_by_id,
	[BPF_LINK_GET_NEXT_ID]            = bpfu_cmd_link_next_id,
	[BPF_ENABLE_STATS]                = bpfu_cmd_enable_stats,
	[BPF_ITER_CREATE]                 = bpfu_cmd_iter_create,
	[BPF_LINK_DETACH]                 = bpfu_cmd_link_detach,
	[BPF_PROG_BIND_MAP]               = bpfu_cmd_prog_bind_map,
};
/* clang-format on */

_Static_assert(sizeof(union bpfu_attr) >= BPFU_ATTR_SIZE, "a field would be cut off");
_Static_assert(sizeof(union bpf_attr) <= sizeof(union bpfu_attr), "the host knows more fields");
_Static_assert(offsetof(union bpfu_attr, prog_load.log_true_size) == 140, "ABI");
_Static_assert(offsetof(union bpfu_attr, map_create.excl_prog_hash) == 80, "ABI");

int bpfu_bpf(int cmd, union bpf_attr *uattr, unsigned int size)
{
	union bpfu_attr attr;
	int err;

	bpfu_uaccess_init();
	err = bpfu_user_tail_zero(bpfu_u64(uattr), BPFU_MIN(size, BPFU_ATTR_SIZE), size);
	if (err)
		return err;
	memset(&attr, 0, sizeof(attr));
	err = bpfu_copy_from_user(&attr, bpfu_u64(uattr), BPFU_MIN(size, BPFU_ATTR_SIZE));
	if (err)
		return err;
	if (cmd < 0 || (size_t)cmd >= BPFU_ARRAY_SIZE(commands) || !commands[cmd])
		return -EINVAL;
	err = commands[cmd](&attr, bpfu_u64(uattr), size);
	if (bpfu_rcu_is_behind())
		bpfu_rcu_poll();
	return err;
}

const char *bpfu_version(void)
{
	return BPFU_VERSION;
}
