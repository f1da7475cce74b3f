/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps: one file per family behind one table of functions (map_types.def has one row per type).
 *
 * Two sides use a map. Programs call lookup/update/delete inside a section (percpu/cpu.h) and get
 * pointers into the map. The commands of bpf(2) use the *_user forms, which copy values out or in
 * while holding what the family needs, and see all slots of per-CPU maps: value_size rounded up to
 * 8, times bpfu_possible_cpus().
 *
 * Values are plain memory that programs write without locks, so user-side copies are word-wise
 * relaxed atomics (copy_value.h): torn only between words, as on a kernel, and clean under TSan.
 */
#ifndef BPFU_MAP_MAP_H
#define BPFU_MAP_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "obj/obj.h"
#include "percpu/rcu.h"
#include "util/bits.h"
#include "util/uapi.h"

struct bpfu_btf;
struct bpfu_map;
struct bpfu_map_batch;
struct bpfu_prog;
struct bpfu_record;

enum bpfu_map_batch_cmd {
	BPFU_BATCH_LOOKUP = 1u << 0,
	BPFU_BATCH_LOOKUP_AND_DELETE = 1u << 1,
	BPFU_BATCH_UPDATE = 1u << 2,
	BPFU_BATCH_DELETE = 1u << 3,
};

struct bpfu_map_ops {
	/* Type-specific checks of BPF_MAP_CREATE: 0 or the kernel's errno. */
	int (*alloc_check)(const union bpf_attr *attr);
	/* Allocate; generic fields are filled by bpfu_map_create(). */
	int (*alloc)(const union bpf_attr *attr, struct bpfu_map **out);
	void (*free)(struct bpfu_map *map);

	/* Program side, inside a section. */
	void *(*lookup)(struct bpfu_map *map, const void *key);
	int (*update)(struct bpfu_map *map, const void *key, const void *value, uint64_t flags);
	int (*delete)(struct bpfu_map *map, const void *key);
	void *(*lookup_percpu)(struct bpfu_map *map, const void *key, uint32_t cpu);
	/* bpf_for_each_map_elem: number of elements visited or -errno. */
	int64_t (*for_each)(struct bpfu_map *map, uint64_t callback, uint64_t ctx, uint64_t flags);

	/* User side; key and value are our copies of user memory. NULL: generic over the above. */
	int (*lookup_user)(struct bpfu_map *map, const void *key, void *value, uint64_t flags);
	int (*update_user)(struct bpfu_map *map, const void *key, const void *value,
			   uint64_t flags);
	int (*lookup_and_delete_user)(struct bpfu_map *map, const void *key, void *value,
				      uint64_t flags);
	/* @key NULL: first key. -ENOENT after the last. */
	int (*get_next_key)(struct bpfu_map *map, const void *key, void *next_key);

	/*
	 * Address of byte @off of the single value, for BPF_PSEUDO_MAP_VALUE; NULL if the type has
	 * no such addresses. 0, -EINVAL (@off outside of the value), -ENOTSUPP (several values).
	 */
	int (*direct_value_addr)(struct bpfu_map *map, uint64_t *addr, uint32_t off);
	uint64_t (*mem_usage)(const struct bpfu_map *map);

	/* The last descriptor, pin and user mapping is gone; references of programs may remain. */
	void (*release_uref)(struct bpfu_map *map);

	/*
	 * Lookup batch of a type with an order of its own (hash buckets), @del: and delete. NULL:
	 * key by key over get_next_key. See batch.h for the rest.
	 */
	int (*lookup_batch)(struct bpfu_map *map, struct bpfu_map_batch *batch, bool del);

	/* Maps of descriptors (PROG_ARRAY): update_user takes a fd in *value. */
	bool values_are_fds;
	bool values_percpu;
	/* Batch commands that are supported, enum bpfu_map_batch_cmd (else -ENOTSUPP = 524). */
	uint32_t batch;
};

struct bpfu_map {
	struct bpfu_obj obj;
	struct bpfu_rcu_head rcu;
	const struct bpfu_map_ops *ops;
	enum bpf_map_type type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t map_flags;
	uint64_t map_extra;
	char name[BPF_OBJ_NAME_LEN];
	struct bpfu_btf *btf;            /* reference or NULL */
	uint32_t btf_key_type_id;
	uint32_t btf_value_type_id;
	uint32_t btf_vmlinux_value_type_id;
	struct bpfu_record *record;      /* pointers to objects in values, ours; NULL: none */
	int mem_fd;                      /* BPF_F_MMAPABLE: memfd with the values, else -1 */
	_Atomic bool frozen;
	_Atomic uint32_t writers;        /* writable mmaps; freezing fails with -EBUSY */
	int numa_node;                   /* -1: any */
};

static inline struct bpfu_map *bpfu_map_of(struct bpfu_obj *obj)
{
	return bpfu_container_of(obj, struct bpfu_map, obj);
}

static inline void bpfu_map_put(struct bpfu_map *map)
{
	bpfu_obj_put(map ? &map->obj : NULL);
}

/* Ops of @type or NULL if the type is not supported (the kernel's -EINVAL). */
const struct bpfu_map_ops *bpfu_map_ops_of(uint32_t type);

/*
 * Create a map from a checked attribute (all fields of BPF_MAP_CREATE, BTF resolved by the caller
 * in @btf, reference taken over on success). One reference for the caller; not yet published.
 */
int bpfu_map_create(const union bpf_attr *attr, struct bpfu_btf *btf, struct bpfu_map **out);

/* Bytes that the user side passes for one value. */
uint32_t bpfu_map_user_value_size(const struct bpfu_map *map);

/*
 * The commands' middle layer: dispatch to the ops, with the kernel's errors for what a type does
 * not have. Whether the descriptor may read or write, and whether the map is frozen, is the
 * caller's.
 */
int bpfu_map_lookup_user(struct bpfu_map *map, const void *key, void *value, uint64_t flags);
int bpfu_map_update_user(struct bpfu_map *map, const void *key, const void *value, uint64_t flags);
int bpfu_map_delete_user(struct bpfu_map *map, const void *key);
int bpfu_map_lookup_and_delete_user(struct bpfu_map *map, const void *key, void *value,
				    uint64_t flags);
int bpfu_map_get_next_key(struct bpfu_map *map, const void *key, void *next_key);

/* PROG_ARRAY: what the tail-call sequence of backends reads. ptrs[] is indexed by r3. */
struct bpfu_prog_array {
	struct bpfu_map map;
	struct bpfu_prog_array_owner *owner; /* prog_array.c */
	_Atomic(struct bpfu_prog *) ptrs[];
};

/* ARRAY: element i lies at values + i * elem_size (rewrite/ inlines this). */
struct bpfu_array {
	struct bpfu_map map;
	uint32_t elem_size;              /* value_size rounded up to 8 */
	uint32_t index_mask;             /* entries rounded up to a power of two, minus 1 */
	char *values;
	uint64_t values_size;            /* mapped bytes */
};

/*
 * HASH and PERCPU_HASH: where the value of the element with the key r2 lies in map r1, or 0. In a per-CPU
 * map its per-CPU pointer lies there. For any size of keys, and for those of 4 and of 8 bytes.
 */
uint64_t bpfu_hash_slot(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t bpfu_hash_slot_4(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);
uint64_t bpfu_hash_slot_8(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

/* PERCPU_ARRAY: pptrs[i] is the per-CPU pointer of element i. */
struct bpfu_percpu_array {
	struct bpfu_map map;
	uint32_t elem_size;
	uint32_t index_mask;
	void *values;                    /* per-CPU pointer of element 0; the others follow */
	void *pptrs[];
};

/*
 * What @addr is to @map, for listings: "map NAME" of itself, "map NAME[2] value+16" of a place in its
 * values, "… value per CPU", "… per-CPU pointer". 0 or -ENOENT (map_describe.c).
 */
int bpfu_map_describe(const struct bpfu_map *map, uint64_t addr, char *buf, size_t size);

#endif
