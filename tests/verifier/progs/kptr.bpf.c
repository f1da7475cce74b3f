// SPDX-License-Identifier: BSD-2-Clause
/* Pointers to objects in the values of maps: loads, stores, and bpf_kptr_xchg(). */
#include "../expect.h"

#include "kptr.h"

/* ---- pointers in values ---- */

SEC("tc") __success __retval(3) int load(void *ctx)
{
	GET;
	struct obj *o = v->p;

	return o ? o->a : 3;
}

SEC("tc") __failure(EACCES) __msg("invalid mem access 'rcu_ptr_or_null_'") int load_unchecked(void *ctx)
{
	GET;
	return v->p->a;
}

SEC("tc") __failure(EACCES) __msg("access beyond struct obj at off 32 size 8") int load_past_end(void *ctx)
{
	GET;
	struct obj *o = v->p;

	return o ? o[1].a : 0;
}

SEC("syscall") __failure(EACCES) __msg("only read is supported") int load_sleepable_write(void *ctx)
{
	GET;
	struct obj *o = v->p;

	if (o)
		o->a = 1;
	return 0;
}

SEC("syscall") __success __retval(3) int load_sleepable(void *ctx)
{
	GET;
	struct obj *o = v->p;

	return o ? o->a : 3;
}

SEC("tc") __success __retval(17) int untrusted(void *ctx)
{
	GET;
	NEW;
	o->a = 17;
	v->u = o;
	struct obj *seen = v->u;
	int ret = seen ? seen->a : 3;

	v->u = NULL;
	drop(o);
	return ret;
}

SEC("raw_tp") __failure(EACCES) __msg("only read is supported") int untrusted_write(void *ctx)
{
	GET;
	struct obj *o = v->u;

	if (o)
		o->a = 1;
	return 0;
}

SEC("tc") __success int untrusted_copy(void *ctx)
{
	GET;
	v->u = v->u;
	return 0;
}

SEC("tc") __failure(EACCES)
__msg("type=rcu_ptr_or_null_ expected=ptr_obj or untrusted_ptr_obj")
int untrusted_of_owned(void *ctx)
{
	GET;
	v->u = v->p;
	return 0;
}

SEC("tc") __failure(EACCES)
__msg("type=scalar expected=ptr_obj or untrusted_ptr_obj")
int untrusted_number(void *ctx)
{
	GET;
	*(volatile __u64 *)&v->u = bpf_get_prandom_u32();
	return 0;
}

SEC("tc") __failure(EACCES) __msg("store to referenced kptr disallowed") int store_null(void *ctx)
{
	GET;
	v->p = NULL;
	return 0;
}

SEC("tc") __failure(EACCES) __msg("store to referenced kptr disallowed") int store_object(void *ctx)
{
	GET;
	NEW;
	v->p = o;
	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("kptr access size must be BPF_DW") int load_half(void *ctx)
{
	GET;
	return *(volatile __u32 *)&v->p;
}

SEC("tc") __failure(EACCES) __msg("kptr access misaligned expected=8 off=12") int load_between(void *ctx)
{
	GET;
	return *(volatile __u64 *)((char *)&v->p + 4);
}

SEC("tc") __failure(EACCES) __msg("kptr access cannot have variable offset") int load_variable(void *ctx)
{
	GET;
	__u64 k = bpf_get_prandom_u32() & 8;

	asm volatile("" : "+r"(k));
	return *(volatile __u64 *)((char *)&v->p + k);
}

SEC("tc") __failure(EACCES) __msg("kptr in map can only be accessed using BPF_MEM instruction mode")
int atomic_add(void *ctx)
{
	GET;
	__sync_fetch_and_add((__u64 *)&v->p, 1);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("kptr cannot be accessed indirectly by helper") int helper_writes(void *ctx)
{
	GET;
	return bpf_get_current_comm(v, sizeof(*v));
}

SEC("tc") __success __retval(0) int helper_beside(void *ctx)
{
	__u32 key = 1;

	GET;
	return bpf_map_update_elem(&plain, &key, &v->n, 0);
}

SEC("tc") __failure(EACCES) __msg("kptr cannot be accessed indirectly by helper") int update_from_value(void *ctx)
{
	__u32 key = 1;

	GET;
	return bpf_map_update_elem(&m, &key, v, 0);
}

/* ---- global variables, which are a map's value, too ---- */

/* Hidden: what user space could map must not have such pointers. */
struct obj __kptr *stash SEC(".data.stash") __hidden;

SEC("tc") __success __retval(11) int global(void *ctx)
{
	NEW;
	o->a = 11;
	o = bpf_kptr_xchg(&stash, o);
	if (o)
		drop(o);
	o = bpf_kptr_xchg(&stash, NULL);
	if (!o)
		return 1;
	int ret = o->a;

	drop(o);
	return ret;
}

SEC("tc") __failure(EACCES) __msg("store to referenced kptr disallowed") int global_store(void *ctx)
{
	stash = NULL;
	return 0;
}

/* ---- bpf_kptr_xchg() ---- */

#define EXCHANGE(where, what)                                                                      \
	do {                                                                                       \
		void *old = bpf_kptr_xchg((void *)(where), what);                                  \
		if (old)                                                                           \
			drop(old);                                                                 \
	} while (0)

SEC("tc") __failure(EACCES) __msg("invalid kptr access, R2 type=ptr_other expected=ptr_obj")
int exchange_other(void *ctx)
{
	GET;
	struct other *o = new_of(struct other);

	if (!o)
		return 8;
	EXCHANGE(&v->p, o);
	return 0;
}

SEC("tc") __failure(EFAULT) __msg("invalid PTR_TO_BTF_ID register for type match")
int exchange_unchecked(void *ctx)
{
	GET;
	EXCHANGE(&v->p, new_of(struct obj));
	return 0;
}

SEC("tc") __failure(EACCES) __msg("off=24 kptr isn't referenced kptr") int exchange_untrusted(void *ctx)
{
	GET;
	NEW;
	EXCHANGE(&v->u, o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("off=0 doesn't point to kptr") int exchange_number(void *ctx)
{
	GET;
	NEW;
	EXCHANGE(&v->n, o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("off=12 doesn't point to kptr") int exchange_between(void *ctx)
{
	GET;
	NEW;
	EXCHANGE((char *)&v->p + 4, o);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 has no valid kptr") int exchange_plain(void *ctx)
{
	void *where = find(&plain);

	if (!where)
		return 9;
	NEW;
	EXCHANGE(where, o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("R1 type=fp expected=map_value, ptr_") int exchange_stack(void *ctx)
{
	struct obj *slot = NULL;

	NEW;
	EXCHANGE(&slot, o);
	return 0;
}

SEC("tc") __failure(EINVAL) __msg("R1 has no valid kptr") int exchange_in_object(void *ctx)
{
	NEW;
	EXCHANGE(&o->ptr, NULL);
	drop(o);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("R2 type=scalar expected=ptr_, trusted_ptr_, rcu_ptr_")
int exchange_scalar(void *ctx)
{
	GET;
	EXCHANGE(&v->p, (void *)5);
	return 0;
}

SEC("tc") __failure(EACCES) __msg("invalid kptr access, R2 type=ptr_obj expected=ptr_obj")
int exchange_inside(void *ctx)
{
	GET;
	NEW;
	EXCHANGE(&v->p, (char *)o + 8);
	return 0;
}

SEC("tc") __failure(EINVAL)
__msg("R1 doesn't have constant offset. kptr has to be at the constant offset")
int exchange_variable(void *ctx)
{
	GET;
	NEW;
	__u64 k = bpf_get_prandom_u32() & 8;

	asm volatile("" : "+r"(k));
	EXCHANGE((char *)&v->p + k, o);
	return 0;
}

/* ---- types of the kernel ---- */

/* What the kernel takes for its own, and libbpfu for the program's; docs/differences.md. */
struct task_struct {
	int pid;
};

struct task_value {
	struct task_struct __kptr *task;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct task_value);
	__uint(max_entries, 1);
} tasks SEC(".maps");

SEC("tc") __success __retval(4) __kernel(EACCES) int kptr_of_kernel_type(void *ctx)
{
	struct task_struct *task = new_of(struct task_struct);
	__u32 key = 0;
	struct task_value *v = bpf_map_lookup_elem(&tasks, &key);
	int ret;

	if (!task)
		return 8;
	if (!v) {
		drop(task);
		return 9;
	}
	task->pid = 4;
	task = bpf_kptr_xchg(&v->task, task);
	if (task)
		drop(task);
	task = bpf_kptr_xchg(&v->task, NULL);
	if (!task)
		return 7;
	ret = task->pid;
	drop(task);
	return ret;
}
