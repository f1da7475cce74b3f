// SPDX-License-Identifier: BSD-2-Clause
/*
 * The suite jit-*: how good the code of a JIT is. Each bench is a kernel of progs/jit/, compiled to BPF
 * and to native code from the same source. An event is one run of the kernel; the null program is the
 * same driver around a kernel that does nothing.
 *
 * All forms are held against an expectation that is written another way (jit_expect.c): result and
 * memory when the bench is opened, the results of every single run while it is measured.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "benches/jit_expect.h" /* before the skeleton, which has a struct jit_data in it */
#include "driver.h"
#include "jit.skel.h"
#include "native.h"
#include "measure/sample.h"
#include "target.h"

struct jit_row {
	const char *name;
	__u64 (*expect)(struct jit_data *d);
	struct native_forms native;
};

struct jit_state {
	struct jit *skel;              /* NULL on native */
	int full_fd, null_fd;          /* programs, or */
	native_driver full, null;      /* … native drivers */
	struct jit_data *data;         /* what they work on; shared by benches on native */
	__u64 expected;
};

struct jit_data *jit_data_of_vec(void);
struct jit_data *jit_data_of_novec(void);
NATIVE_DRIVER(jit_null_driver)

static const struct native_forms null_forms = NATIVE_FORMS(jit_null_driver);

/* ---- loading ---- */

static struct bpf_program *driver_of(const struct jit *skel, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "jit_%s_driver", name);
	return bpf_object__find_program_by_name(skel->obj, full);
}

static int load_bpf(struct bench_inst *inst, struct jit_state *s, struct errline *e)
{
	const struct jit_row *row = inst->bench->data;
	struct bpf_program *full, *null;
	int err = -ENOENT;

	s->skel = jit__open();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	full = driver_of(s->skel, row->name);
	null = driver_of(s->skel, "null");
	if (full && null) {
		bpf_program__set_autoload(full, true);
		bpf_program__set_autoload(null, true);
		err = jit__load(s->skel);
	}
	if (err)
		return driver_load_error(e, err, inst->bench->name, inst->target->spec);
	s->full_fd = bpf_program__fd(full);
	s->null_fd = bpf_program__fd(null);
	s->data = &s->skel->bss->jit_data;
	return 0;
}

static void load_native(struct bench_inst *inst, struct jit_state *s)
{
	const struct jit_row *row = inst->bench->data;

	s->full = native_choose(&row->native, inst->target);
	s->null = native_choose(&null_forms, inst->target);
	s->data = s->full == row->native.vec ? jit_data_of_vec() : jit_data_of_novec();
}

/* ---- running ---- */

static int run_driver(struct jit_state *s, bool null, uint64_t ops, uint64_t *events)
{
	if (s->full)
		return native_run(null ? s->null : s->full, ops, 0, events);
	return driver_run(null ? s->null_fd : s->full_fd, ops, 0, events);
}

static int jit_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
		       uint64_t ops, uint64_t *events)
{
	struct jit_state *s = inst->priv;
	bool null = arm == ARM_NULL || arm == ARM_TRIGGER;
	int err;

	s->data->runs = 0;
	s->data->sum = 0;
	err = run_driver(s, null, ops, events);
	if (err)
		return err;
	if (s->data->runs != *events)
		return -EBADMSG;
	return s->data->sum == (null ? 0 : ops * s->expected) ? 0 : -EBADMSG;
}

/* ---- checking ---- */

static int check_memory(const struct bench_inst *inst, const struct jit_data *got,
			const struct jit_data *want, struct errline *e)
{
	for (size_t i = 0; i < sizeof(want->out); i++)
		if (got->out[i] != want->out[i])
			return errline_set(e, -EBADMSG, "%s on %s: byte %zu of its output is 0x%02x, not "
					   "0x%02x as expected", inst->bench->name, inst->target->spec, i,
					   got->out[i], want->out[i]);
	return 0;
}

static int check_run(struct bench_inst *inst, struct jit_state *s, struct jit_data *want,
		     struct errline *e)
{
	const struct jit_row *row = inst->bench->data;
	uint64_t events;
	int err;

	jit_fill(want);
	jit_fill(s->data);
	s->expected = row->expect(want);
	err = run_driver(s, false, 1, &events);
	if (sample_fault() == FAULT_WRONG_RESULT)
		s->data->sum ^= 1;
	if (err)
		return errline_set(e, err, "%s on %s: running the program fails: %s", inst->bench->name,
				   inst->target->spec, strerror(-err));
	if (s->data->sum != s->expected)
		return errline_set(e, -EBADMSG, "%s on %s: its result is 0x%" PRIx64 ", not 0x%" PRIx64
				   " as expected", inst->bench->name, inst->target->spec,
				   (uint64_t)s->data->sum, (uint64_t)s->expected);
	return check_memory(inst, s->data, want, e);
}

static void jit_close(struct bench_inst *inst)
{
	struct jit_state *s = inst->priv;

	jit__destroy(s->skel);
	free(s);
	inst->priv = NULL;
}

static int jit_open(struct bench_inst *inst, struct errline *e)
{
	struct jit_data *want = malloc(sizeof(*want));
	struct jit_state *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s || !want) {
		free(s);
		free(want);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	inst->priv = s;
	if (target_is_native(inst->target))
		load_native(inst, s);
	else
		err = load_bpf(inst, s, e);
	if (!err)
		err = check_run(inst, s, want, e);
	if (err)
		jit_close(inst);
	free(want);
	return err;
}

static int jit_prog_fd(const struct bench_inst *inst)
{
	const struct jit_state *s = inst->priv;

	return s->skel ? s->full_fd : -1;
}

#define JIT(kernel, what)                                                                          \
	NATIVE_DRIVER(jit_##kernel##_driver)                                                       \
	static const struct jit_row jit_row_##kernel = {                                           \
		.name = #kernel,                                                                   \
		.expect = jit_expect_##kernel,                                                     \
		.native = NATIVE_FORMS(jit_##kernel##_driver),                                     \
	};                                                                                         \
	const struct bench bench_jit_##kernel = {                                                  \
		.name = "jit-" #kernel,                                                            \
		.event = what,                                                                     \
		.null_is = "the same driver around a kernel that does nothing",                    \
		.flags = BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_NATIVE | BENCH_OPS_REPORT |    \
			 BENCH_LONG_OPS,                                                           \
		.classic_ops = 100,                                                                \
		.open = jit_open,                                                                  \
		.close = jit_close,                                                                \
		.trigger = jit_trigger,                                                            \
		.prog_fd = jit_prog_fd,                                                            \
		.data = &jit_row_##kernel,                                                         \
	};
#include "benches/jit.def"
