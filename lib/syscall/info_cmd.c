// SPDX-License-Identifier: BSD-2-Clause
/* BPF_OBJ_GET_INFO_BY_FD of maps, BTF objects and links; info_prog.c has programs. */
#include "syscall/info.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "btf/func.h"
#include "map/map.h"
#include "obj/link.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/sha256.h"
#include "util/uaccess.h"

int bpfu_info_in(struct bpfu_info_io *io, void *info, uint32_t known)
{
	int err = bpfu_user_tail_zero(io->uinfo, BPFU_MIN(known, io->len), io->len);

	if (err)
		return err;
	io->len = BPFU_MIN(io->len, known);
	memset(info, 0, known);
	return bpfu_copy_from_user(info, io->uinfo, io->len);
}

int bpfu_info_out(const struct bpfu_info_io *io, const void *info)
{
	return bpfu_copy_to_user(io->uinfo, info, io->len);
}

/*
 * Text with the kernel's rules: pointer and length go together, a short buffer gets what fits, with
 * a NUL, and -ENOSPC.
 */
static int text_out(uint64_t ubuf, uint32_t room, const char *text)
{
	uint32_t len = strlen(text);

	if (!ubuf != !room)
		return -EINVAL;
	if (!ubuf)
		return 0;
	if (room > len)
		return bpfu_copy_to_user(ubuf, text, len + 1);
	if (bpfu_copy_to_user(ubuf, text, room - 1) || bpfu_copy_to_user(ubuf + room - 1, "", 1))
		return -EFAULT;
	return -ENOSPC;
}

/* ---- maps ---- */

/* struct bpf_map_info of 6.18; the host's may be shorter. */
struct map_info {
	uint32_t type, id, key_size, value_size, max_entries, map_flags;
	char name[BPF_OBJ_NAME_LEN];
	uint32_t ifindex, btf_vmlinux_value_type_id;
	uint64_t netns_dev, netns_ino;
	uint32_t btf_id, btf_key_type_id, btf_value_type_id, btf_vmlinux_id;
	uint64_t map_extra;
	uint64_t hash;       /* in: where the hash of the contents goes */
	uint32_t hash_size;  /* in: its size */
};
_Static_assert(sizeof(struct map_info) == 104, "ABI");

/* The hash of a frozen array's contents, by which a signed loader knows its maps. */
static int hash_out(struct bpfu_map *map, const struct map_info *info)
{
	struct bpfu_array *array = bpfu_container_of(map, struct bpfu_array, map);
	uint8_t digest[BPFU_SHA256_SIZE];

	if (!info->hash)
		return info->hash_size ? -EINVAL : 0;
	if (map->type != BPF_MAP_TYPE_ARRAY || info->hash_size != sizeof(digest))
		return -EINVAL;
	if (!map->frozen)
		return -EPERM;
	bpfu_sha256(array->values, (uint64_t)array->elem_size * map->max_entries, digest);
	return bpfu_copy_to_user(info->hash, digest, sizeof(digest));
}

/* What does not apply keeps the caller's value, as in the kernel. */
static int info_map(struct bpfu_map *map, struct bpfu_info_io *io)
{
	struct map_info info;
	int err;

	err = bpfu_info_in(io, &info, sizeof(info));
	if (err)
		return err;
	info.type = map->type;
	info.id = map->obj.id;
	info.key_size = map->key_size;
	info.value_size = map->value_size;
	info.max_entries = map->max_entries;
	/* Rights belong to descriptors. */
	info.map_flags = map->map_flags & ~(BPF_F_RDONLY | BPF_F_WRONLY);
	info.map_extra = map->map_extra;
	memcpy(info.name, map->name, sizeof(info.name));
	if (map->btf) {
		info.btf_id = map->btf->obj.id;
		info.btf_key_type_id = map->btf_key_type_id;
		info.btf_value_type_id = map->btf_value_type_id;
	}
	info.btf_vmlinux_value_type_id = map->btf_vmlinux_value_type_id;
	err = hash_out(map, &info);
	return err ? err : bpfu_info_out(io, &info);
}

/* ---- BTF ---- */

/* libbpfu's own object grows, so its bytes are made when they are wanted. */
static int btf_data_out(const struct bpfu_btf *btf, uint64_t ubuf, uint32_t room, uint32_t *size)
{
	void *blob = NULL;
	int err;

	if (btf->is_kernel) {
		err = bpfu_func_btf(&blob, size);
		if (err)
			return err;
	} else {
		*size = btf->data_size;
	}
	err = bpfu_copy_to_user(ubuf, blob ? blob : btf->data, BPFU_MIN(*size, room));
	free(blob);
	return err;
}

static int info_btf(const struct bpfu_btf *btf, struct bpfu_info_io *io)
{
	struct bpf_btf_info info;
	uint32_t size;
	int err, name_err;

	err = bpfu_info_in(io, &info, sizeof(info));
	if (err)
		return err;
	err = btf_data_out(btf, info.btf, info.btf_size, &size);
	if (err)
		return err;
	name_err = text_out(info.name, info.name_len, btf->name);
	if (name_err == -EINVAL || name_err == -EFAULT)
		return name_err;
	info.id = btf->obj.id;
	info.btf_size = size;
	info.name_len = strlen(btf->name);
	info.kernel_btf = btf->is_kernel;
	err = bpfu_info_out(io, &info);
	return err ? err : name_err;
}

/* ---- links ---- */

/* The host's struct bpf_link_info with the room that newer members take. */
union link_info {
	struct bpf_link_info known;
	uint8_t bytes[64];
};
_Static_assert(sizeof(union link_info) == 64, "ABI");

static int info_link(const struct bpfu_link *link, struct bpfu_info_io *io)
{
	union link_info info;
	int err;

	err = bpfu_info_in(io, &info, sizeof(info));
	if (err)
		return err;
	info.known.type = link->type;
	info.known.id = link->obj.id;
	info.known.prog_id = link->prog ? link->prog->obj.id : 0;
	if (link->ops->fill_info) {
		err = link->ops->fill_info(link, &info.known);
		if (err)
			return err;
	}
	return bpfu_info_out(io, &info);
}

int bpfu_cmd_info(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_info_io io = { attr->a.info.info, attr->a.info.info_len };
	struct bpfu_obj *obj;
	int err = -EINVAL;

	if (!bpfu_attr_ends_with(attr, a.info.info))
		return -EINVAL;
	obj = bpfu_fd_get(attr->a.info.bpf_fd);
	if (!obj)
		return fcntl(attr->a.info.bpf_fd, F_GETFD) < 0 ? -EBADFD : -EINVAL;
	switch (obj->kind) {
	case BPFU_OBJ_MAP:
		err = info_map(bpfu_map_of(obj), &io);
		break;
	case BPFU_OBJ_PROG:
		err = bpfu_info_prog(bpfu_prog_of(obj), &io);
		break;
	case BPFU_OBJ_BTF:
		err = info_btf(bpfu_btf_of(obj), &io);
		break;
	case BPFU_OBJ_LINK:
		err = info_link(bpfu_link_of(obj), &io);
		break;
	default:
		break;
	}
	if (!err || err == -ENOSPC) {
		attr->a.info.info_len = io.len;
		if (bpfu_attr_put(attr, uattr, size, a.info.info_len))
			err = -EFAULT;
	}
	bpfu_obj_put(obj);
	return err;
}
