// SPDX-License-Identifier: BSD-2-Clause
/*
 * Storage of libbpfu's own BTF. Address space for the largest object is reserved at once, so that
 * growing moves nothing and costs only the pages touched:
 *
 *      types[]    pointers, by id          | void | int | ... | FUNC |......
 *      data       struct btf_type, packed  | int | ... | FUNC |.............
 *      strings    NUL-terminated names     | "" | "int" | ... |.............
 */
#include "btf/vmlinux.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/bits.h"

#define TYPES_MAX (1u << 18)
#define DATA_MAX (8u << 20)
#define STRINGS_MAX (8u << 20)

static struct bpfu_btf *vmlinux;
static uint8_t *types_data;
static uint32_t types_len; /* bytes of types_data in use */
static char *strings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void never_released(struct bpfu_obj *obj)
{
}

static void init(void)
{
	static const struct btf_type void_type;
	struct bpfu_btf *btf = calloc(1, sizeof(*btf));

	types_data = reserve(DATA_MAX);
	strings = reserve(STRINGS_MAX);
	if (btf)
		btf->types = reserve(TYPES_MAX * sizeof(*btf->types));
	if (!btf || !types_data || !strings || !btf->types)
		return;
	bpfu_obj_init(&btf->obj, BPFU_OBJ_BTF, never_released);
	btf->strings = strings;
	btf->str_len = 1;
	btf->types[0] = &void_type;
	btf->type_cnt = 1;
	btf->is_kernel = true;
	memcpy(btf->name, "vmlinux", sizeof("vmlinux"));
	if (!bpfu_obj_publish(&btf->obj))
		vmlinux = btf;
}

struct bpfu_btf *bpfu_vmlinux(void)
{
	pthread_once(&once, init);
	return vmlinux;
}

/* Offset of a copy of @name. */
static int add_string(const char *name)
{
	uint32_t at = vmlinux->str_len;
	size_t size = strlen(name) + 1;

	if (size == 1)
		return 0;
	if (size > STRINGS_MAX - at)
		return -ENOSPC;
	memcpy(strings + at, name, size);
	vmlinux->str_len += size;
	return (int)at;
}

/* A type with @extra bytes behind its struct; *@tail points to those. */
static int add_type(const char *name, uint32_t info, uint32_t size_or_type, size_t extra,
		    void **tail)
{
	struct btf_type *t;
	int name_off;

	if (!bpfu_vmlinux())
		return -ENOMEM;
	if (vmlinux->type_cnt == TYPES_MAX || sizeof(*t) + extra > DATA_MAX - types_len)
		return -ENOSPC;
	name_off = add_string(name);
	if (name_off < 0)
		return name_off;
	t = (struct btf_type *)(types_data + types_len);
	*t = (struct btf_type){ .name_off = name_off, .info = info, .size = size_or_type };
	if (tail)
		*tail = t + 1;
	types_len += sizeof(*t) + extra;
	vmlinux->types[vmlinux->type_cnt] = t;
	/* Readers look at entries below the count only. */
	__atomic_store_n(&vmlinux->type_cnt, vmlinux->type_cnt + 1, __ATOMIC_RELEASE);
	return (int)vmlinux->type_cnt - 1;
}

/*
 * The few types that functions have in common, for finding them again: prototypes and functions
 * are not looked for.
 */
#define COMMON_MAX 1024
static uint32_t common[COMMON_MAX];
static uint32_t common_cnt;

static int add_common(uint32_t kind, const char *name, uint32_t info, uint32_t size_or_type,
		      size_t extra, void **tail)
{
	int id;

	if (tail)
		*tail = NULL;
	for (uint32_t i = 0; i < common_cnt; i++) {
		const struct btf_type *t = vmlinux->types[common[i]];

		if (bpfu_btf_kind(t) == kind && !strcmp(strings + t->name_off, name) &&
		    (name[0] || t->type == size_or_type))
			return (int)common[i];
	}
	id = add_type(name, info, size_or_type, extra, tail);
	if (id >= 0 && common_cnt < COMMON_MAX)
		common[common_cnt++] = (uint32_t)id;
	return id;
}

static uint32_t kind_info(uint32_t kind, uint32_t vlen)
{
	return kind << 24 | vlen;
}

int bpfu_vmlinux_add_int(const char *name, uint32_t size, uint32_t encoding)
{
	void *tail;
	int id = add_common(BTF_KIND_INT, name, kind_info(BTF_KIND_INT, 0), size, sizeof(uint32_t),
			    &tail);

	if (id >= 0 && tail)
		*(uint32_t *)tail = encoding << 24 | size * 8;
	return id;
}

int bpfu_vmlinux_add_typedef(const char *name, uint32_t type)
{
	return add_common(BTF_KIND_TYPEDEF, name, kind_info(BTF_KIND_TYPEDEF, 0), type, 0, NULL);
}

int bpfu_vmlinux_add_tag(uint32_t kind, const char *name)
{
	return add_common(kind, name, kind_info(kind, 0), kind == BTF_KIND_ENUM ? 4 : 0, 0, NULL);
}

int bpfu_vmlinux_add_ref(uint32_t kind, uint32_t type)
{
	return add_common(kind, "", kind_info(kind, 0), type, 0, NULL);
}

int bpfu_vmlinux_add_proto(uint32_t ret, const struct bpfu_param *params, uint32_t cnt)
{
	struct btf_param *p;
	void *tail;
	int id = add_type("", kind_info(BTF_KIND_FUNC_PROTO, cnt), ret, cnt * sizeof(*p), &tail);

	if (id < 0)
		return id;
	p = tail;
	for (uint32_t i = 0; i < cnt; i++) {
		int name_off = add_string(params[i].name);

		p[i] = (struct btf_param){ .name_off = name_off < 0 ? 0 : (uint32_t)name_off,
					   .type = params[i].type };
	}
	return id;
}

int bpfu_vmlinux_add_func(const char *name, uint32_t proto)
{
	return add_type(name, kind_info(BTF_KIND_FUNC, BTF_FUNC_STATIC), proto, 0, NULL);
}

int bpfu_vmlinux_add_var(const char *name, uint32_t type)
{
	struct btf_var *var;
	void *tail;
	int id = add_type(name, kind_info(BTF_KIND_VAR, 0), type, sizeof(*var), &tail);

	if (id >= 0) {
		var = tail;
		var->linkage = BTF_VAR_GLOBAL_ALLOCATED;
	}
	return id;
}

int bpfu_vmlinux_add_datasec(const char *name, const struct btf_var_secinfo *vars, uint32_t cnt)
{
	const struct btf_var_secinfo *last = &vars[cnt - 1];
	void *tail;
	int id = add_type(name, kind_info(BTF_KIND_DATASEC, cnt), last->offset + last->size,
			  cnt * sizeof(*vars), &tail);

	if (id >= 0)
		memcpy(tail, vars, cnt * sizeof(*vars));
	return id;
}

int bpfu_vmlinux_blob(void **data, uint32_t *size)
{
	struct btf_header hdr = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(hdr) };
	uint8_t *blob;

	if (!bpfu_vmlinux())
		return -ENOMEM;
	hdr.type_len = types_len;
	hdr.str_off = types_len;
	hdr.str_len = vmlinux->str_len;
	*size = sizeof(hdr) + types_len + hdr.str_len;
	blob = malloc(*size);
	if (!blob)
		return -ENOMEM;
	memcpy(blob, &hdr, sizeof(hdr));
	memcpy(blob + sizeof(hdr), types_data, types_len);
	memcpy(blob + sizeof(hdr) + types_len, strings, hdr.str_len);
	*data = blob;
	return 0;
}
