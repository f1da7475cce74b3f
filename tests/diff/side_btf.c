// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the sides have as BTF. Callbacks need func_info, so there are as many static functions as a case can
 * have; objects that programs make are of a type, and so are the values that own them. And each side has
 * its own ids of kernel functions.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "btf/func.h"
#include "percpu/sys.h"
#include "side.h"

/*
 *   1 long   2 long ()   3 … f00, f01, …   then struct object { long a; int b, c; }, the tag "kptr" of it,
 *   a pointer to that, struct owner { long n; the pointer p; }, int, u32
 */
#define STRINGS "\0l\0i\0a\0b\0c\0n\0p\0object\0owner\0kptr\0u"
enum { S_L = 1, S_I = 3, S_A = 5, S_B = 7, S_C = 9, S_N = 11, S_P = 13, S_OBJECT = 15, S_OWNER = 22,
       S_KPTR = 28, S_U = 33, S_FUNCS = sizeof(STRINGS) };

struct blob {
	struct btf_header hdr;
	struct btf_type integer;
	uint32_t encoding;
	struct btf_type proto;
	struct btf_type func[CASE_SUBPROGS];
	struct btf_type object;
	struct btf_member object_member[3];
	struct btf_type tag, kptr;
	struct btf_type owner;
	struct btf_member owner_member[2];
	struct btf_type small;
	uint32_t small_encoding;
	struct btf_type key;
	uint32_t key_encoding;
	char strings[S_FUNCS + 4 * CASE_SUBPROGS];
} __attribute__((packed));

static struct btf_type type(uint32_t name, uint32_t kind, uint32_t vlen, uint32_t size_or_type)
{
	struct btf_type t = { .name_off = name, .info = kind << 24 | vlen };

	t.size = size_or_type;
	return t;
}

static struct btf_member member(uint32_t name, uint32_t type_id, uint32_t off)
{
	return (struct btf_member){ .name_off = name, .type = type_id, .offset = off * 8 };
}

static int load(struct side *side)
{
	struct blob b;
	union bpf_attr attr;

	memset(&b, 0, sizeof(b));
	b.hdr.magic = BTF_MAGIC;
	b.hdr.version = BTF_VERSION;
	b.hdr.hdr_len = sizeof(b.hdr);
	b.hdr.type_len = offsetof(struct blob, strings) - sizeof(b.hdr);
	b.hdr.str_off = b.hdr.type_len;
	b.hdr.str_len = sizeof(b.strings);
	memcpy(b.strings, STRINGS, sizeof(STRINGS));
	b.integer = type(S_L, BTF_KIND_INT, 0, 8);
	b.encoding = BTF_INT_SIGNED << 24 | 64;
	b.proto = type(0, BTF_KIND_FUNC_PROTO, 0, 1);
	for (uint32_t i = 0; i < CASE_SUBPROGS; i++) {
		b.func[i] = type(S_FUNCS + 4 * i, BTF_KIND_FUNC, BTF_FUNC_STATIC, 2);
		snprintf(b.strings + S_FUNCS + 4 * i, 4, "f%02u", i);
	}
	b.object = type(S_OBJECT, BTF_KIND_STRUCT, 3, sizeof(struct case_object));
	b.object_member[0] = member(S_A, 1, offsetof(struct case_object, a));
	b.object_member[1] = member(S_B, TYPE_INT, offsetof(struct case_object, b));
	b.object_member[2] = member(S_C, TYPE_INT, offsetof(struct case_object, c));
	b.tag = type(S_KPTR, BTF_KIND_TYPE_TAG, 0, TYPE_OBJECT);
	b.kptr = type(0, BTF_KIND_PTR, 0, TYPE_TAG);
	b.owner = type(S_OWNER, BTF_KIND_STRUCT, 2, sizeof(struct case_owner));
	b.owner_member[0] = member(S_N, 1, offsetof(struct case_owner, n));
	b.owner_member[1] = member(S_P, TYPE_KPTR, offsetof(struct case_owner, object));
	b.small = type(S_I, BTF_KIND_INT, 0, 4);
	b.small_encoding = BTF_INT_SIGNED << 24 | 32;
	b.key = type(S_U, BTF_KIND_INT, 0, 4);
	b.key_encoding = 32;
	memset(&attr, 0, sizeof(attr));
	attr.btf = bpfu_u64(&b);
	attr.btf_size = sizeof(b);
	return side->bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
}

int side_btf(struct side *side)
{
	if (side->btf_fd < 0)
		side->btf_fd = load(side);
	return side->btf_fd;
}

/* ---- kernel functions ---- */

static const char *const names[] = {
	[KFUNC_OBJ_NEW] = "bpf_obj_new_impl",
	[KFUNC_OBJ_DROP] = "bpf_obj_drop_impl",
};

static size_t tail_size(uint32_t kind, uint32_t vlen)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return vlen * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return vlen * 8;
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return vlen * 12;
	default:
		return 0;
	}
}

/* In the running kernel's BTF, which @blob is. */
static void find_functions(const char *blob, int32_t ids[])
{
	const struct btf_header *hdr = (const void *)blob;
	const char *at = blob + hdr->hdr_len + hdr->type_off, *end = at + hdr->type_len;
	const char *strings = blob + hdr->hdr_len + hdr->str_off;

	for (int32_t id = 1; at < end; id++) {
		const struct btf_type *t = (const void *)at;
		uint32_t kind = BTF_INFO_KIND(t->info);

		for (size_t i = 1; kind == BTF_KIND_FUNC && i < BPFU_ARRAY_SIZE(names); i++)
			if (!strcmp(strings + t->name_off, names[i]))
				ids[i] = id;
		at += sizeof(*t) + tail_size(kind, BTF_INFO_VLEN(t->info));
	}
}

static bool read_all(int fd, char *buf, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = read(fd, buf + at, size - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void find_kernel_ids(int32_t ids[])
{
	/* Past the router, which has libbpfu's BTF in its place. */
	int fd = (int)bpfu_sys6(SYS_openat, AT_FDCWD, (long)"/sys/kernel/btf/vmlinux",
				O_RDONLY | O_CLOEXEC, 0, 0, 0);
	struct stat st;
	char *blob;

	if (fd < 0)
		return;
	blob = !fstat(fd, &st) && st.st_size > 0 ? malloc((size_t)st.st_size) : NULL;
	if (blob && read_all(fd, blob, (size_t)st.st_size))
		find_functions(blob, ids);
	free(blob);
	close(fd);
}

int32_t side_kfunc_id(struct side *side, int32_t kfunc)
{
	static int32_t kernel_ids[BPFU_ARRAY_SIZE(names)];
	static bool looked;

	if (kfunc <= 0 || (size_t)kfunc >= BPFU_ARRAY_SIZE(names))
		return 0;
	if (side->kind != SIDE_KERNEL) {
		const struct bpfu_func *func = bpfu_func_by_name(names[kfunc]);

		return func ? (int32_t)func->btf_id : 0;
	}
	if (!looked)
		find_kernel_ids(kernel_ids);
	looked = true;
	return kernel_ids[kfunc];
}
