// SPDX-License-Identifier: BSD-2-Clause
/* Run a case on every side and form, and hold the results against each other. */
#include "compare.h"

#include <errno.h>
#include <string.h>

#include "interp/interp.h"

/* The JIT's result is the one that all others are held against. */
enum {
	RES_JIT,
	RES_INTERP,
	RES_KERNEL,
	RES_REMOTE,
	RES_XLATED,
	RES_RAW,
	RESULTS,
};

static const char *const result_names[RESULTS] = { "jit",	      "interp",
						   "kernel",	      "the other machine's jit",
						   "xlated-in-interp", "raw-in-interp" };

struct results {
	struct result res[RESULTS];
	bool valid[RESULTS];
};

int compare_open(struct comparison *cmp, const struct compare_setup *setup)
{
	cmp->setup = *setup;
	for (int kind = 0; kind < SIDES; kind++) {
		int err;

		cmp->usable[kind] = false;
		if (kind == SIDE_KERNEL && !setup->kernel)
			continue;
		err = side_open(&cmp->side[kind], kind);
		if (err && kind != SIDE_KERNEL)
			return err;
		cmp->usable[kind] = !err;
	}
	return setup->with ? remote_open(&cmp->remote, setup->with, setup->limit) : 0;
}

void compare_close(struct comparison *cmp)
{
	for (int kind = 0; kind < SIDES; kind++)
		if (cmp->usable[kind])
			side_close(&cmp->side[kind]);
	remote_close(&cmp->remote);
}

static bool differ(const struct diff_case *c, const struct result *a, const struct result *b,
		   char *what, size_t size)
{
	if (a->load_err != b->load_err) {
		snprintf(what, size, "load: %d and %d", a->load_err, b->load_err);
		return true;
	}
	if (a->run_err != b->run_err) {
		snprintf(what, size, "test run: %d and %d", a->run_err, b->run_err);
		return true;
	}
	if (a->retval != b->retval) {
		snprintf(what, size, "return value: 0x%x and 0x%x", a->retval, b->retval);
		return true;
	}
	if (a->data_len != b->data_len) {
		snprintf(what, size, "data length: %u and %u", a->data_len, b->data_len);
		return true;
	}
	for (uint32_t i = 0; i < a->data_len; i++)
		if (a->data[i] != b->data[i]) {
			snprintf(what, size, "byte %u of data or context: 0x%02x and 0x%02x", i,
				 a->data[i], b->data[i]);
			return true;
		}
	if (a->dump_len != b->dump_len) {
		snprintf(what, size, "number of map elements");
		return true;
	}
	for (uint32_t i = 0; i < a->dump_len; i++)
		if (a->dump[i] != b->dump[i]) {
			char place[64];

			dump_describe(c, i, place, sizeof(place));
			snprintf(what, size, "%s: byte 0x%02x and 0x%02x", place, a->dump[i],
				 b->dump[i]);
			return true;
		}
	return false;
}

static uint64_t options_seed(const struct comparison *cmp, const struct diff_case *c)
{
	return cmp->setup.random_options ? c->seed : 0;
}

static bool run_side(struct comparison *cmp, enum side_kind kind, const struct diff_case *c,
		     struct results *r, int slot, uint32_t flags, const struct side_extra *extra)
{
	struct side *side = &cmp->side[kind];

	r->valid[slot] = false;
	if (!cmp->usable[kind])
		return true;
	if (cmp->setup.random_options || kind != SIDE_KERNEL)
		side_options(side, c, options_seed(cmp, c), NULL);
	if (!side_run(side, c, &r->res[slot], flags, extra))
		return false;
	r->valid[slot] = true;
	if (extra && extra->clones)
		for (int form = 0; form < CLONE_FORMS; form++)
			r->valid[RES_XLATED + form] = !r->res[slot].load_err &&
						      clone_possible(c, form);
	return true;
}

/* The side's own words for a refusal: load again with a log. */
static void explain(struct comparison *cmp, enum side_kind kind, const struct diff_case *c,
		    struct outcome *out)
{
	static struct result res;

	side_options(&cmp->side[kind], c, options_seed(cmp, c), NULL);
	side_run(&cmp->side[kind], c, &res, RUN_LOG, NULL);
	snprintf(out->log, sizeof(out->log), "%s", res.log);
}

/*
 * Linux 6.18 refuses a few programs for faults of its own ("verifier bug: …", -EFAULT), and for
 * want of memory.
 */
static bool is_own_fault(int err)
{
	return err == -EFAULT || err == -ENOMEM;
}

/*
 * Verification, which is the same code on all machines, is most of what an emulator has to do for a
 * case: the other machine gets programs that are verified already, except for one in so many.
 */
#define WHOLE_ONE_IN 32

static bool sends_whole(const struct diff_case *c)
{
	return rng_mix(c->seed) % WHOLE_ONE_IN == 0;
}

static void send_parcel(void *arg, const struct side *side, const struct diff_case *c, const int *fds)
{
	static struct parcel parcel;
	struct comparison *cmp = arg;

	if (parcel_pack(&parcel, side, c, fds))
		remote_send_parcel(&cmp->remote, &parcel);
	else
		remote_send(&cmp->remote, c, options_seed(cmp, c));
}

static bool end_remote(struct comparison *cmp, struct results *r, struct outcome *out)
{
	if (!cmp->setup.with || !cmp->remote.asked)
		return true;
	r->valid[RES_REMOTE] = remote_receive(&cmp->remote, &r->res[RES_REMOTE]);
	if (!r->valid[RES_REMOTE])
		snprintf(out->what, sizeof(out->what), "the other machine: %s", cmp->remote.died);
	return r->valid[RES_REMOTE];
}

static void compare_once(struct comparison *cmp, const struct diff_case *c, struct results *r,
			 struct outcome *out)
{
	bool exec = !(cmp->setup.modes & MODE_ACCEPT), kernel_ok = true, user_ok;
	struct side_extra extra = { .arg = cmp };
	uint32_t flags;

	memset(r->valid, 0, sizeof(r->valid));
	out->verdict = BROKEN;
	/* The kernel first: what it refuses for good reasons is not run in our own process. */
	if (!run_side(cmp, SIDE_KERNEL, c, r, RES_KERNEL, exec ? RUN_EXEC : 0, NULL))
		return;
	if (r->valid[RES_KERNEL])
		kernel_ok = !r->res[RES_KERNEL].load_err;
	exec &= kernel_ok;
	flags = exec ? RUN_EXEC : 0;
	/* The other machine works while our own JIT and interpreter do. */
	if (exec && cmp->setup.with) {
		if (sends_whole(c))
			remote_send(&cmp->remote, c, options_seed(cmp, c));
		else
			extra.loaded = send_parcel;
	}
	if (exec && cmp->setup.modes & MODE_CLONE)
		extra.clones = &r->res[RES_XLATED];
	if (!run_side(cmp, SIDE_JIT, c, r, RES_JIT, flags, &extra))
		return;
	user_ok = !r->res[RES_JIT].load_err;
	if (!kernel_ok || !user_ok) {
		if (!end_remote(cmp, r, out))
			return;
		out->verdict = kernel_ok == user_ok || is_own_fault(r->res[RES_KERNEL].load_err) ?
				       REFUSED :
			       user_ok ? UNSOUND :
					 MISSED;
		if (!r->valid[RES_KERNEL])
			out->verdict = REFUSED;
		return;
	}
	if ((cmp->setup.modes & MODE_LOAD) && exec &&
	    !run_side(cmp, SIDE_INTERP, c, r, RES_INTERP, flags, NULL))
		return;
	if (!end_remote(cmp, r, out))
		return;
	out->verdict = SAME;
	for (int i = RES_JIT; i < RESULTS; i++) {
		if (!r->valid[i] || !r->res[i].interpreted)
			continue;
		out->verdict = DIFFERENT;
		snprintf(out->what, sizeof(out->what), "%s: not compiled", result_names[i]);
		return;
	}
	for (int i = RES_JIT + 1; exec && i < RESULTS; i++) {
		char what[128];

		if (!r->valid[i] || !differ(c, &r->res[RES_JIT], &r->res[i], what, sizeof(what)))
			continue;
		out->verdict = DIFFERENT;
		snprintf(out->what, sizeof(out->what), "jit and %s: %s", result_names[i], what);
		return;
	}
}

/*
 * Linux 6.18 follows precision through loads from the stack, but not through what an atomic fetch loads:
 * it may take two paths for one that leave different constants there, and remove the branch that only
 * one of them takes. Such a program goes wrong on the kernel alone.
 */
static bool may_be_folded(const struct diff_case *c, const struct results *r)
{
	char what[128];
	bool fetches = false;

	for (uint32_t p = 0; p < c->prog_cnt; p++)
		for (uint32_t i = 0; i < c->progs[p].cnt; i++) {
			const struct bpf_insn *insn = &c->progs[p].insns[i];

			fetches |= BPF_CLASS(insn->code) == BPF_STX &&
				   BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm & BPF_FETCH;
		}
	for (int i = RES_JIT + 1; fetches && i < RESULTS; i++)
		if (i != RES_KERNEL && r->valid[i] &&
		    differ(c, &r->res[RES_JIT], &r->res[i], what, sizeof(what)))
			return false;
	return fetches;
}

/* A privileged program may read stack that it never wrote: what two fillings of it show depends on that. */
static bool is_undetermined(struct comparison *cmp, const struct diff_case *c)
{
	static struct results r;
	static struct result zeros;
	char what[128];
	bool ok;

	if (cmp->setup.modes & MODE_ACCEPT)
		return false;
	bpfu_interp_stack_fill = 0;
	ok = run_side(cmp, SIDE_INTERP, c, &r, RES_INTERP, RUN_EXEC, NULL);
	zeros = r.res[RES_INTERP];
	bpfu_interp_stack_fill = 0xa5;
	ok = ok && run_side(cmp, SIDE_INTERP, c, &r, RES_INTERP, RUN_EXEC, NULL);
	bpfu_interp_stack_fill = -1;
	return ok && differ(c, &zeros, &r.res[RES_INTERP], what, sizeof(what));
}

void compare_case(struct comparison *cmp, const struct diff_case *c, struct outcome *out)
{
	static struct results r;

	memset(out, 0, sizeof(*out));
	compare_once(cmp, c, &r, out);
	/*
	 * What depends on the moment (an allocation from the kernel's non-preallocated maps that
	 * failed) does not repeat; a bug does.
	 */
	for (int again = 0; again < 2 && out->verdict == DIFFERENT; again++) {
		compare_once(cmp, c, &r, out);
		if (out->verdict == SAME)
			out->verdict = UNSTABLE;
	}
	if (out->verdict == DIFFERENT && is_undetermined(cmp, c))
		out->verdict = UNSTABLE;
	if (out->verdict == DIFFERENT && may_be_folded(c, &r))
		out->verdict = FOLDED;
	if (out->verdict == MISSED || out->verdict == REFUSED)
		explain(cmp, SIDE_JIT, c, out);
	else if (out->verdict == UNSOUND)
		explain(cmp, SIDE_KERNEL, c, out);
}
