/* SPDX-License-Identifier: BSD-2-Clause */
/* What object.bpf.c and kptr.bpf.c have in common: objects, and maps whose values own some. */
#ifndef TEST_VERIFIER_KPTR_H
#define TEST_VERIFIER_KPTR_H

#include <bpf/bpf_core_read.h>

#define __kptr __attribute__((btf_type_tag("kptr")))
#define __kptr_untrusted __attribute__((btf_type_tag("kptr_untrusted")))

extern void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;

#define new_of(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define drop(p) bpf_obj_drop_impl(p, NULL)

struct pair {
	short x, y;
};

struct obj {
	__u64 a;
	__u32 b;
	__u8 c[8];
	struct pair i;
	void *ptr;
};

struct other {
	__u64 a, b;
};

struct small {
	__u64 a;
};

struct linked {
	__u64 a;
	struct obj __kptr *next;
};

struct value {
	__u64 n;
	struct obj __kptr *p;
	struct obj __kptr *q;
	struct obj __kptr_untrusted *u;
};

#define MAP(name, kind)                                                                            \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__type(key, __u32);                                                                \
		__type(value, struct value);                                                       \
		__uint(max_entries, 2);                                                            \
	} name SEC(".maps")

MAP(m, ARRAY);
MAP(percpu, PERCPU_ARRAY);
MAP(hash, HASH);
MAP(percpu_hash, PERCPU_HASH);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 2);
} plain SEC(".maps");

static __always_inline struct value *find(void *map)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(map, &key);
}

/* For what may be refused first of all: one value, and one object in hand. */
#define GET                                                                                        \
	struct value *v = find(&m);                                                                \
	if (!v)                                                                                    \
		return 9
#define NEW                                                                                        \
	struct obj *o = new_of(struct obj);                                                        \
	if (!o)                                                                                    \
		return 8

#endif
