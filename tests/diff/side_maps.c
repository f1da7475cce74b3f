// SPDX-License-Identifier: BSD-2-Clause
/*
 * The maps of a side: made once per shape, brought to a known content before a run, written down in
 * a canonical form after it. Canonical: hashes in the order of their keys; of per-CPU values the
 * one that differs from the initial value, as a run happens on one CPU and which is not our
 * business.
 */
#include "side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "map/map.h"
#include "util/bits.h"

#define VALUE_MAX 128
#define CPUS_MAX  256
#define KEYS_MAX  64

/* A map of the side: slot @slot of @shape. */
struct place {
	struct side *side;
	int fd;
	struct bpfu_map *map;
	struct map_spec spec;
	uint32_t slot;
};

static int command(struct side *side, int cmd, int fd, const void *key, void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(value);
	return side->bpf(cmd, &attr, offsetof(union bpf_attr, flags) + sizeof(attr.flags));
}

/*
 * Of libbpfu's maps, what its commands do once they have found the map: these calls are the most
 * frequent by far, and it is programs that are tested here.
 */
static int map_op(const struct place *p, int cmd, const void *key, void *value)
{
	if (!p->map)
		return command(p->side, cmd, p->fd, key, value);
	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM:
		return bpfu_map_lookup_user(p->map, key, value, 0);
	case BPF_MAP_UPDATE_ELEM:
		return bpfu_map_update_user(p->map, key, value, 0);
	case BPF_MAP_DELETE_ELEM:
		return bpfu_map_delete_user(p->map, key);
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		return bpfu_map_lookup_and_delete_user(p->map, key, value, 0);
	default:
		return bpfu_map_get_next_key(p->map, key, value);
	}
}

static int map_create(struct side *side, const struct map_spec *spec, uint32_t slot, int inner_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = spec->type;
	attr.key_size = spec->key_size;
	attr.value_size = spec->value_size;
	attr.max_entries = spec->max_entries;
	attr.map_flags = spec->flags;
	attr.inner_map_fd = (uint32_t)inner_fd;
	if (slot == SLOT_KPTR) {
		attr.btf_fd = (uint32_t)side_btf(side);
		attr.btf_key_type_id = TYPE_KEY;
		attr.btf_value_type_id = TYPE_OWNER;
	}
	return side->bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

void side_probe_maps(struct side *side)
{
	static uint64_t probed;
	struct map_spec specs[SLOT_ALL];
	int inner = -1;

	if (!side_kfunc_id(side, KFUNC_OBJ_NEW) || !side_kfunc_id(side, KFUNC_OBJ_DROP))
		shape_forbid_kptr();
	shape_maps(1, specs); /* packet programs may use every type */
	for (int slot = SLOT_ALL - 1; slot >= 0; slot--) {
		int fd;

		if (!specs[slot].type || probed & 1ull << specs[slot].type)
			continue;
		probed |= 1ull << specs[slot].type;
		fd = map_create(side, &specs[slot], (uint32_t)slot,
				slot == SLOT_OF_MAPS ? inner : 0);
		if (fd == -EINVAL)
			shape_forbid(specs[slot].type);
		if (slot == SLOT_INNER)
			inner = fd;
		else if (fd >= 0)
			close(fd);
	}
	if (inner >= 0)
		close(inner);
}

static struct bpfu_map *map_of(int fd)
{
	struct bpfu_obj *obj;

	return bpfu_fd_get_kind(fd, BPFU_OBJ_MAP, -EINVAL, &obj) ? NULL : bpfu_map_of(obj);
}

bool side_maps_build(struct side *side, uint32_t shape)
{
	struct map_spec specs[SLOT_ALL];
	int *fds = side->fds[shape];

	if (side->built[shape])
		return true;
	shape_maps(shape, specs);
	for (int slot = SLOT_ALL - 1; slot >= 0; slot--) {
		fds[slot] = -1;
		if (!specs[slot].type)
			continue;
		fds[slot] =
			map_create(side, &specs[slot], (uint32_t)slot,
				   slot == SLOT_OF_MAPS ? fds[SLOT_INNER] : 0);
		if (fds[slot] < 0) {
			fprintf(stderr, "bpfu-diff: %s: cannot create map %d of type %u: %s\n",
				side->name, slot, specs[slot].type, strerror(-fds[slot]));
			return false;
		}
		side->maps[shape][slot] = side->kind == SIDE_KERNEL ? NULL : map_of(fds[slot]);
	}
	for (uint32_t key = 0; key < 2 && fds[SLOT_OF_MAPS] >= 0; key++) {
		int err = command(side, BPF_MAP_UPDATE_ELEM, fds[SLOT_OF_MAPS], &key,
				  &fds[SLOT_INNER]);

		if (err) {
			fprintf(stderr, "bpfu-diff: %s: cannot set up the map of maps: %s\n",
				side->name, strerror(-err));
			return false;
		}
	}
	side->built[shape] = true;
	return true;
}

bool side_maps_renew(struct side *side, const struct diff_case *c)
{
	struct map_spec specs[SLOT_ALL];
	int *fd = &side->fds[c->shape][SLOT_PROGS];

	if (side->kind != SIDE_KERNEL || c->prog_cnt == 1)
		return true;
	shape_maps(c->shape, specs);
	close(*fd);
	*fd = map_create(side, &specs[SLOT_PROGS], SLOT_PROGS, 0);
	if (*fd < 0)
		fprintf(stderr, "bpfu-diff: kernel: cannot create a prog array: %s\n", strerror(-*fd));
	return *fd >= 0;
}

static bool is_percpu(const struct map_spec *spec)
{
	return spec->type == BPF_MAP_TYPE_PERCPU_ARRAY || spec->type == BPF_MAP_TYPE_PERCPU_HASH;
}

static bool is_indexed(const struct map_spec *spec)
{
	return spec->type == BPF_MAP_TYPE_ARRAY || spec->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

/* Initial value of element @key, the same on all CPUs. */
static void fill_value(uint8_t *value, const struct map_spec *spec, uint32_t slot, uint32_t key,
		       uint32_t cpus)
{
	uint32_t stride = BPFU_ROUND_UP(spec->value_size, 8);

	for (uint32_t cpu = 0; cpu < (is_percpu(spec) ? cpus : 1); cpu++)
		for (uint32_t i = 0; i < spec->value_size; i++)
			value[cpu * stride + i] = (uint8_t)(slot * 16 + key * 31 + i * 7);
}

static void make_key(uint8_t key[8], uint32_t slot, uint32_t n)
{
	memset(key, 0, 8);
	if (slot == SLOT_LPM) {
		uint32_t prefix = 8 * n;

		memcpy(key, &prefix, 4);
		memcpy(key + 4, &n, 4);
	} else {
		memcpy(key, &n, 4);
	}
}

static int clear_map(const struct place *p)
{
	static _Alignas(8) uint8_t value[VALUE_MAX * CPUS_MAX];
	_Alignas(8) uint8_t key[8];
	int err = 0;

	if (!p->spec.key_size) {
		while (!err)
			err = map_op(p, BPF_MAP_LOOKUP_AND_DELETE_ELEM, NULL, value);
		return err == -ENOENT ? 0 : err;
	}
	while (!map_op(p, BPF_MAP_GET_NEXT_KEY, NULL, key) && !err)
		err = map_op(p, BPF_MAP_DELETE_ELEM, key, NULL);
	return err;
}

static int reset_map(const struct place *p)
{
	static _Alignas(8) uint8_t value[VALUE_MAX * CPUS_MAX];
	const struct map_spec *spec = &p->spec;
	uint32_t count = is_indexed(spec) ? spec->max_entries : 3;
	_Alignas(8) uint8_t key[8];
	int err = is_indexed(spec) ? 0 : clear_map(p);

	if (!spec->key_size)
		count = 1;
	for (uint32_t n = 0; n < count && !err; n++) {
		make_key(key, p->slot, n);
		fill_value(value, spec, p->slot, n, p->side->cpus);
		err = map_op(p, BPF_MAP_UPDATE_ELEM, spec->key_size ? key : NULL, value);
	}
	return err;
}

/* The map with the data of @slot; false if @c has nothing to do with it. */
static bool find_place(struct side *side, const struct diff_case *c,
		       const struct map_spec specs[SLOT_ALL], uint32_t slot, struct place *p)
{
	uint32_t real = slot == SLOT_OF_MAPS ? SLOT_INNER : slot;

	if (!(c->maps_used & 1u << slot) || slot == SLOT_PROGS)
		return false;
	*p = (struct place){ side, side->fds[c->shape][real], side->maps[c->shape][real],
			     specs[real], real };
	return true;
}

bool side_maps_reset(struct side *side, const struct diff_case *c)
{
	struct map_spec specs[SLOT_ALL];
	struct place p;

	shape_maps(c->shape, specs);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		int err;

		if (!find_place(side, c, specs, slot, &p))
			continue;
		err = reset_map(&p);
		if (err) {
			fprintf(stderr, "bpfu-diff: %s: cannot reset map %u: %s\n", side->name,
				slot, strerror(-err));
			return false;
		}
	}
	return true;
}

/* ---- dumps ---- */

static void dump_bytes(struct result *res, const void *bytes, uint32_t size)
{
	if (res->dump_len + size > DUMP_MAX)
		size = DUMP_MAX - res->dump_len;
	memcpy(res->dump + res->dump_len, bytes, size);
	res->dump_len += size;
}

static bool is_zero(const uint8_t *bytes, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/*
 * Of all CPUs' copies in @value the one that the run wrote, to the front, whichever CPU it was on.
 * The others hold the initial value, or zero if the program made the element.
 */
static void canonical_percpu(uint8_t *value, const struct map_spec *spec, uint32_t slot,
			     uint32_t key, uint32_t cpus)
{
	uint8_t initial[VALUE_MAX * 2];
	uint32_t size = spec->value_size, stride = BPFU_ROUND_UP(size, 8);
	const uint8_t *zero = NULL, *written = NULL;
	struct map_spec one = *spec;

	one.type = BPF_MAP_TYPE_ARRAY;
	fill_value(initial, &one, slot, key, 1);
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		const uint8_t *copy = value + cpu * stride;

		if (is_zero(copy, size))
			zero = copy;
		else if (memcmp(copy, initial, size) != 0)
			written = copy;
	}
	if (written || zero)
		memmove(value, written ? written : zero, size);
}

static void dump_value(const struct place *p, struct result *res, const uint8_t *key)
{
	static _Alignas(8) uint8_t value[VALUE_MAX * CPUS_MAX];
	const struct map_spec *spec = &p->spec;
	int err;
	uint32_t n;

	err = map_op(p, BPF_MAP_LOOKUP_ELEM, key, value);
	dump_bytes(res, key, spec->key_size);
	memcpy(&n, key, 4);
	if (err) {
		dump_bytes(res, &err, sizeof(err));
		return;
	}
	if (is_percpu(spec))
		canonical_percpu(value, spec, p->slot, n, p->side->cpus);
	dump_bytes(res, value, spec->value_size);
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

static void dump_keyed(const struct place *p, struct result *res)
{
	_Alignas(8) uint8_t keys[KEYS_MAX + 1][8] = { 0 };
	uint32_t count = 0;
	int err = map_op(p, BPF_MAP_GET_NEXT_KEY, NULL, keys[0]);

	while (!err && count < KEYS_MAX) {
		count++;
		err = map_op(p, BPF_MAP_GET_NEXT_KEY, keys[count - 1], keys[count]);
	}
	if (p->slot != SLOT_LPM) /* a trie is walked in a defined order */
		qsort(keys, count, sizeof(keys[0]), by_bytes);
	dump_bytes(res, &count, sizeof(count));
	for (uint32_t i = 0; i < count; i++)
		dump_value(p, res, keys[i]);
}

static void dump_queue(const struct place *p, struct result *res)
{
	_Alignas(8) uint8_t value[VALUE_MAX] = { 0 };

	while (!map_op(p, BPF_MAP_LOOKUP_AND_DELETE_ELEM, NULL, value))
		dump_bytes(res, value, p->spec.value_size);
}

static void dump_place(const struct place *p, struct result *res)
{
	_Alignas(8) uint8_t key[8];

	if (!p->spec.key_size) {
		dump_queue(p, res);
	} else if (is_indexed(&p->spec)) {
		for (uint32_t n = 0; n < p->spec.max_entries; n++) {
			make_key(key, p->slot, n);
			dump_value(p, res, key);
		}
	} else {
		dump_keyed(p, res);
	}
}

void side_maps_dump(struct side *side, const struct diff_case *c, struct result *res)
{
	struct map_spec specs[SLOT_ALL];

	shape_maps(c->shape, specs);
	res->dump_len = 0;
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint32_t mark = 0xd1ff0000 | slot;
		struct place p;

		if (!find_place(side, c, specs, slot, &p))
			continue;
		dump_bytes(res, &mark, sizeof(mark));
		dump_place(&p, res);
	}
}

void dump_describe(const struct diff_case *c, uint32_t pos, char *buf, size_t size)
{
	if ((c->maps_used & 1u << SLOT_OUT) && pos >= 8 && pos < 8 + 80)
		snprintf(buf, size, "register r%u at exit", (pos - 8) / 8);
	else
		snprintf(buf, size, "map contents, byte %u of the dump", pos);
}
