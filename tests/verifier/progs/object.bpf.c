// SPDX-License-Identifier: BSD-2-Clause
/* Objects that programs make (bpf_obj_new): what they are for, who owns one, and its members. */
#include "../expect.h"

#include "kptr.h"

/* ---- what objects are for ---- */

SEC("syscall") __success __retval(5) int through_array(void *ctx)
{
	GET;
	NEW;
	o->a = 5;
	o = bpf_kptr_xchg(&v->p, o);
	if (o)
		drop(o);
	o = bpf_kptr_xchg(&v->p, NULL);
	if (!o)
		return 1;
	int ret = o->a;

	drop(o);
	return ret;
}

/* The third exchange gives back what the first one put there. */
SEC("tc") __success __retval(0x120) int swaps(void *ctx)
{
	GET;
	NEW;
	o->a = 1;
	o = bpf_kptr_xchg(&v->p, o);
	if (o)
		drop(o);
	o = new_of(struct obj);
	if (!o)
		return 7;
	o->a = 2;
	o = bpf_kptr_xchg(&v->p, o);
	if (!o)
		return 6;
	__u64 seen = o->a << 8;

	o = bpf_kptr_xchg(&v->p, o);
	if (!o)
		return 5;
	seen += o->a << 4;
	drop(o);
	return seen;
}

static __always_inline int keeps(void *map)
{
	struct value *v = find(map);
	struct obj *o;
	int ret;

	if (!v)
		return 9;
	o = new_of(struct obj);
	if (!o)
		return 8;
	o->a = 40;
	o = bpf_kptr_xchg(&v->q, o);
	if (o)
		drop(o);
	v = find(map);
	if (!v)
		return 7;
	o = v->q;
	if (!o)
		return 6;
	o->a += 2;
	o = bpf_kptr_xchg(&v->q, NULL);
	if (!o)
		return 5;
	ret = o->a;
	drop(o);
	return ret;
}

static __always_inline int keeps_of_new_key(void *map)
{
	struct value zero = {};
	__u32 key = 0;

	if (bpf_map_update_elem(map, &key, &zero, BPF_ANY))
		return 4;
	return keeps(map);
}

SEC("tc") __success __retval(42) int in_percpu_array(void *ctx)
{
	return keeps(&percpu);
}

SEC("tc") __success __retval(42) int in_hash(void *ctx)
{
	return keeps_of_new_key(&hash);
}

SEC("tc") __success __retval(42) int in_percpu_hash(void *ctx)
{
	return keeps_of_new_key(&percpu_hash);
}

/* An update frees what the value owned, and so does a new value for a key that was deleted. */
static __always_inline int update_clears(void *map, int remove)
{
	struct value zero = {}, *v;
	struct obj *o;
	__u32 key = 0;

	bpf_map_update_elem(map, &key, &zero, BPF_ANY);
	v = find(map);
	if (!v)
		return 9;
	o = new_of(struct obj);
	if (!o)
		return 8;
	o = bpf_kptr_xchg(&v->p, o);
	if (o)
		drop(o);
	if (remove)
		bpf_map_delete_elem(map, &key);
	zero.n = 3;
	bpf_map_update_elem(map, &key, &zero, BPF_ANY);
	v = find(map);
	if (!v)
		return 7;
	o = bpf_kptr_xchg(&v->p, NULL);
	if (!o)
		return v->n;
	drop(o);
	return 1;
}

SEC("tc") __success __retval(3) int update_array(void *ctx)
{
	return update_clears(&m, 0);
}

SEC("tc") __success __retval(3) int update_percpu_array(void *ctx)
{
	return update_clears(&percpu, 0);
}

SEC("tc") __success __retval(3) int update_hash(void *ctx)
{
	return update_clears(&hash, 0);
}

SEC("tc") __success __retval(3) int update_percpu_hash(void *ctx)
{
	return update_clears(&percpu_hash, 0);
}

SEC("tc") __success __retval(3) int delete_hash(void *ctx)
{
	return update_clears(&hash, 1);
}

SEC("tc") __success __retval(3) int delete_percpu_hash(void *ctx)
{
	return update_clears(&percpu_hash, 1);
}

static __noinline int use_up(struct obj *o)
{
	o->a = 3;
	int ret = o->a;

	drop(o);
	return ret;
}

SEC("tc") __success __retval(3) int to_function(void *ctx)
{
	NEW;
	return use_up(o);
}

SEC("tc") __success __retval(7) int over_stack(void *ctx)
{
	NEW;
	struct obj *volatile kept = o;
	struct obj *again = kept;

	again->a = 7;
	int ret = again->a;

	drop(again);
	return ret;
}

static int make_and_drop(__u32 i, void *ctx)
{
	struct obj *o = new_of(struct obj);

	if (o)
		drop(o);
	return 0;
}

SEC("tc") __success __retval(3) int in_callback(void *ctx)
{
	return bpf_loop(3, make_and_drop, NULL, 0);
}

/* Larger than any object is: there is none, and the program has to look. */
struct large {
	__u8 bytes[8192];
};

SEC("tc") __success __retval(2) int too_large(void *ctx)
{
	struct large *l = new_of(struct large);

	if (!l)
		return 2;
	drop(l);
	return 1;
}

/* Many in turn: they are used again, and hold what was written last. */
SEC("tc") __success __retval(499500) int many(void *ctx)
{
	__u64 sum = 0;

	for (int i = 0; i < 1000; i++) {
		struct other *o = new_of(struct other);

		if (!o)
			return 1;
		o->b = i;
		sum += o->b;
		drop(o);
	}
	return sum;
}

/* ---- who may ---- */

SEC("xdp") __success __retval(0) int type_xdp(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("tp/syscalls/sys_enter_nanosleep") __success int type_tracepoint(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("raw_tp") __failure(EACCES) __msg("calling kernel function bpf_obj_new_impl is not allowed")
int type_raw_tp(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("kprobe") __failure(EACCES) __msg("calling kernel function bpf_obj_new_impl is not allowed")
int type_kprobe(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("socket") __failure(EACCES) __msg("calling kernel function bpf_obj_new_impl is not allowed")
int type_socket(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("action") __failure(EACCES) __msg("calling kernel function bpf_obj_new_impl is not allowed")
int type_action(void *ctx)
{
	NEW;
	drop(o);
	return 0;
}

SEC("raw_tp") __failure(EINVAL) __msg("Unreleased reference id=2 alloc_insn=")
__msg("BPF_EXIT instruction in main prog would lead to reference leak")
int exchange_anywhere(void *ctx)
{
	GET;
	return !bpf_kptr_xchg(&v->p, NULL);
}

/* ---- what is owned has to be released, once ---- */

SEC("tc") __failure(EINVAL) __msg("Unreleased reference id=2 alloc_insn=3")
__msg("BPF_EXIT instruction in main prog would lead to reference leak")
int leak(void *ctx)
{
	NEW;
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("Unreleased reference id=2 alloc_insn=") int leak_of_map(void *ctx)
{
	GET;
	return !bpf_kptr_xchg(&v->p, NULL);
}

__noinline int leaks(void)
{
	NEW;
	return o->a;
}

SEC("tc") __failure(EINVAL) __msg("Unreleased reference id=2 alloc_insn=") int leak_in_global(void *ctx)
{
	return leaks();
}

static int make(__u32 i, void *ctx)
{
	return !new_of(struct obj);
}

SEC("tc") __failure(EINVAL) __msg("Unreleased reference id=") int leak_in_callback(void *ctx)
{
	bpf_loop(3, make, NULL, 0);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 must be referenced or trusted") int twice(void *ctx)
{
	NEW;
	drop(o);
	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("invalid mem access 'scalar'") int after_drop(void *ctx)
{
	NEW;
	drop(o);
	return o->a;
}

SEC("tc") __failure(EACCES) __msg("invalid mem access 'scalar'") int after_exchange(void *ctx)
{
	GET;
	NEW;
	struct obj *old = bpf_kptr_xchg(&v->p, o);

	if (old)
		drop(old);
	return o->a;
}

SEC("tc") __failure(EACCES) __msg("R2 type=scalar expected=ptr_, trusted_ptr_, rcu_ptr_")
int given_twice(void *ctx)
{
	GET;
	NEW;
	struct obj *old = bpf_kptr_xchg(&v->p, o);

	if (old)
		drop(old);
	old = bpf_kptr_xchg(&v->q, o);
	if (old)
		drop(old);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("invalid mem access 'ptr_or_null_'") int unchecked(void *ctx)
{
	struct obj *o = new_of(struct obj);

	o->a = 1;
	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("Possibly NULL pointer passed to trusted arg0") int drop_unchecked(void *ctx)
{
	struct obj *o = new_of(struct obj);

	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("Possibly NULL pointer passed to trusted arg0") int drop_null(void *ctx)
{
	drop(NULL);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 must be referenced or trusted") int drop_stack(void *ctx)
{
	int x = 0;

	drop(&x);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 must be referenced or trusted") int drop_value(void *ctx)
{
	GET;
	drop(v);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 must have zero offset when passed to release func or trusted arg to kfunc")
int drop_inside(void *ctx)
{
	NEW;
	drop((void *)o + 8);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 must be referenced or trusted") int drop_loaded(void *ctx)
{
	GET;
	struct obj *o = v->p;

	if (o)
		drop(o);
	return 0;
}

/* ---- what type ---- */

SEC("tc") __failure(EINVAL) __msg("R1 must be a known constant") int type_unknown(void *ctx)
{
	void *o = bpf_obj_new_impl(bpf_get_prandom_u32(), NULL);

	if (o)
		drop(o);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("type ID argument must be of a struct") int type_none(void *ctx)
{
	void *o = bpf_obj_new_impl(100000, NULL);

	if (o)
		drop(o);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("local type ID argument must be in range [0, U32_MAX]") int type_wide(void *ctx)
{
	void *o = bpf_obj_new_impl(0x100000001ULL, NULL);

	if (o)
		drop(o);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("type ID argument must be of a struct") int type_int(void *ctx)
{
	void *o = bpf_obj_new_impl(bpf_core_type_id_local(int), NULL);

	if (o)
		drop(o);
	return 0;
}

/* docs/differences.md */
SEC("tc") __failure(95) __our_msg("with locks, lists, trees, counts or kptrs in them are not supported")
__kernel(0) int kptr_in_object(void *ctx)
{
	struct linked *l = new_of(struct linked);

	if (l)
		drop(l);
	return 0;
}

/* ---- fields of objects ---- */

SEC("tc") __success __retval(10) int fields(void *ctx)
{
	NEW;
	o->a = 1;
	o->b = 2;
	o->c[3] = 4;
	o->i.y = 3;
	int ret = o->a + o->b + o->c[3] + o->i.y;

	drop(o);
	return ret;
}

SEC("tc") __success __retval(1) int field_atomic(void *ctx)
{
	NEW;
	o->a = 0;
	__sync_fetch_and_add(&o->a, 1);
	int ret = o->a;

	drop(o);
	return ret;
}

/* A pointer is a number once it is in an object; docs/differences.md. */
SEC("tc") __failure(EACCES) __our_msg("invalid mem access 'scalar'") __kernel(0)
int field_pointer(void *ctx)
{
	NEW;
	o->ptr = ctx;
	int ret = *(int *)*(void *volatile *)&o->ptr;

	drop(o);
	return ret;
}

#define STORE_AT(type, off)                                                                        \
	NEW;                                                                                       \
	*(type *)((char *)o + (off)) = 1;                                                          \
	drop(o);                                                                                   \
	return 0

SEC("tc") __failure(EACCES)
__msg("cannot access ptr member ptr with moff 24 in struct obj with off 24 size 4")
int part_of_pointer(void *ctx)
{
	STORE_AT(__u32, 24);
}

SEC("tc") __failure(EACCES) __msg("access beyond struct obj at off 32 size 8") int past_end(void *ctx)
{
	STORE_AT(__u64, 32);
}

SEC("tc") __failure(EACCES) __msg("R0 is ptr_obj invalid negative access: off=-8") int before_start(void *ctx)
{
	STORE_AT(__u64, -8);
}

SEC("tc") __failure(EACCES)
__msg("access beyond the end of member a (mend:8) in struct obj with off 6 size 4")
int across_members(void *ctx)
{
	STORE_AT(__u32, 6);
}

SEC("tc") __success int inside_member(void *ctx)
{
	STORE_AT(__u32, 2);
}

SEC("tc") __success int numbers_of_array(void *ctx)
{
	STORE_AT(__u64, 12);
}

SEC("tc") __failure(EACCES)
__msg("access beyond the end of member c (mend:20) in struct obj with off 14 size 8")
int past_array(void *ctx)
{
	STORE_AT(__u64, 14);
}

SEC("tc") __failure(EACCES) __msg("is ptr_obj invalid variable offset: off=12, var_off=(0x0; 0x7)")
int variable_offset(void *ctx)
{
	NEW;
	o->c[bpf_get_prandom_u32() & 7] = 1;
	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("R2 type=ptr_ expected=fp, pkt, pkt_meta, map_key, map_value, mem")
int as_key(void *ctx)
{
	NEW;
	int ret = !bpf_map_lookup_elem(&plain, &o->b);

	drop(o);
	return ret;
}

__noinline int of_small(struct small *s)
{
	return s ? s->a : 0;
}

SEC("tc") __success __retval(6) int to_global(void *ctx)
{
	struct small *s = new_of(struct small);
	int ret;

	if (!s)
		return 8;
	s->a = 6;
	ret = of_small(s);
	drop(s);
	return ret;
}
