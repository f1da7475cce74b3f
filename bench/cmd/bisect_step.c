// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab bisect --run`: one kernel, judged in the words of `git bisect run`: 0 good, 1 bad, 125 cannot be
 * judged, and from 128 on what ends the bisection. Whatever is wrong with the command line or the machine has to be
 * one of the last, or git would take it for a bad kernel.
 */
#include <errno.h>
#include <string.h>

#include "cmd/bisect.h"
#include "cmd/count.h"
#include "commands.h"
#include "measure/object.h"
#include "report/report_bisect.h"
#include "result/record.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

#define EXIT_STEP_GOOD 0
#define EXIT_STEP_BAD 1
#define EXIT_STEP_SKIP 125
#define EXIT_STEP_STOP 128

static int check(const struct opts *opts, struct errline *e)
{
	const struct {
		const char *given;
		const char *name;
	} not_run[] = {
		{ opts->good, "good" }, { opts->bad, "bad" }, { opts->kernels, "kernels" }, { opts->order, "order" },
	};

	for (size_t i = 0; i < sizeof(not_run) / sizeof(not_run[0]); i++)
		if (not_run[i].given)
			return errline_set(e, -EINVAL, "--run judges one kernel: leave out --%s", not_run[i].name);
	if (opts->nr_args != 2)
		return errline_set(e, -EINVAL, "--run takes a bench and a kernel's image, as in bpflab bisect --run "
				   "--good-value 339 trig-kprobe arch/x86/boot/bzImage");
	if (!opts->good_value == !opts->baseline)
		return errline_set(e, -EINVAL, "--run takes %s: --good-value INSNS or --baseline FILE",
				   opts->baseline ? "one of them" : "what a good kernel costs");
	return 0;
}

/* -------------------------------------------------------------- what good costs */

static struct fraction fraction_of(const json_t *o, const char *key)
{
	const json_t *pair = json_object_get(o, key);

	return fraction_make(json_integer_value(json_array_get(pair, 0)),
			     json_integer_value(json_array_get(pair, 1)));
}

static int cost_of(const struct record *r, const char *path, struct bisect_cost *cost, struct errline *e)
{
	cost->value = fraction_of(r->json, "fraction");
	cost->lo = fraction_of(r->json, "least");
	cost->hi = fraction_of(r->json, "most");
	cost->runs = cost->equal = 1;
	if (fraction_is_valid(cost->value) && fraction_is_valid(cost->lo) && fraction_is_valid(cost->hi))
		return 0;
	return errline_set(e, -EINVAL, "'%s': '%s' is stored with figures that cannot be; count again", path,
			   r->label);
}

/*
 * The only result for the bench in the file. Before the bench ran, @label, its name with parameters, is "", and one of
 * several is good enough to see that there is one.
 */
static int read_baseline(const char *path, const char *name, const char *label, struct bisect_cost *cost,
			 struct errline *e)
{
	struct record_list list = { 0 };
	const struct record *found = NULL;
	int err = records_read(&list, path, 0, RECORD_COUNT, e);

	for (size_t i = 0; i < list.nr && !err; i++) {
		const struct record *r = &list.items[i];

		if (strcmp(label[0] ? r->label : record_text(r->json, "bench"), label[0] ? label : name))
			continue;
		if (found && label[0])
			err = errline_set(e, -EINVAL, "'%s' has more than one result of '%s' (%s and %s); keep that of "
					  "the good kernel", path, r->label, found->target, r->target);
		found = r;
	}
	if (!err && !found)
		err = errline_set(e, -ENODATA, "'%s' has no counts of '%s'", path, label[0] ? label : name);
	if (!err)
		err = cost_of(found, path, cost, e);
	records_release(&list);
	return err;
}

static int good_cost(const struct opts *opts, const char *label, struct bisect_cost *cost, struct errline *e)
{
	if (opts->baseline && !label[0] && object_is_path(opts->args[0]))
		return 0; /* its programs are named when they have run */
	if (opts->baseline)
		return read_baseline(opts->baseline, opts->args[0], label, cost, e);
	if (bisect_parse_cost(cost, opts->good_value))
		return errline_set(e, -EINVAL, "--good-value: '%s' is not a number, as in 339, 10.0312 or 321/32",
				   opts->good_value);
	return 0;
}

/* -------------------------------------------------------------- the verdict */

static int write_json(const struct bisect_bench *b, const struct kernel *k, const struct bisect_cost *good,
		      const struct bisect_cost *cost, enum bisect_state state, const char *reason)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:b, s:f}", "schema", "bpflab.bisect-step/1", "bench",
			      b->label[0] ? b->label : b->name, "kernel", k->name, "verdict",
			      bisect_state_name(state), "emulated", 1, "good", fraction_value(good->value));

	if (state == BISECT_SKIPPED)
		json_object_set_new(o, "reason", json_string(reason));
	else
		json_object_set_new(o, "estimate", json_real(fraction_value(cost->value)));
	return json_line_put(stdout, o);
}

static void print_verdict(const struct bisect_bench *b, const struct kernel *k, const struct bisect_cost *good,
			  const struct bisect_cost *cost, enum bisect_state state, const char *reason)
{
	char text[2][64];

	if (state == BISECT_SKIPPED)
		printf("%s: skipped: %s\n", k->name, reason);
	else
		printf("%s: %s: %s instructions per event, %s is good: %s\n", k->name, b->label,
		       fraction_text(cost->value, true, text[0], sizeof(text[0])),
		       fraction_text(good->value, true, text[1], sizeof(text[1])), bisect_state_name(state));
}

/* 0 with *@state, or a negative errno. */
static int judge(const struct opts *opts, enum bisect_state *state, struct errline *e)
{
	const struct bisect_rule rule = { .cheaper = opts->cheaper, .above = opts->above };
	struct bisect_cost good, cost = { .runs = 0 };
	struct errline reason = { "" };
	struct bisect_bench b;
	struct kernel k;
	int err = bisect_bench_init(&b, opts, e), skip;

	if (!err)
		err = good_cost(opts, "", &good, e);
	if (!err)
		err = bisect_kernel(&k, opts->args[1], opts, e);
	if (err)
		return err;
	skip = bisect_measure(&b, &k, &cost, &reason);
	if (skip < 0) {
		*e = reason;
		return skip;
	}
	/* with its parameters it may be another of the file's */
	err = skip ? 0 : good_cost(opts, b.label, &good, e);
	if (err)
		return err;
	*state = skip ? BISECT_SKIPPED : bisect_judge(&rule, &good, &cost);
	if (!opts->json_stdout)
		print_verdict(&b, &k, &good, &cost, *state, reason.text);
	else if (write_json(&b, &k, &good, &cost, *state, reason.text))
		return errline_set(e, -EIO, "cannot write to standard output");
	return output_flush_stdout(e);
}

int cmd_bisect_step(const struct opts *opts)
{
	enum bisect_state state = BISECT_SKIPPED;
	struct errline e = { "" };
	int err = check(opts, &e);

	if (!err)
		err = judge(opts, &state, &e);
	if (interrupt_signal())
		return EXIT_STEP_STOP + interrupt_signal();
	if (err) {
		print_error(&e);
		return EXIT_STEP_STOP;
	}
	return state == BISECT_GOOD ? EXIT_STEP_GOOD : state == BISECT_BAD ? EXIT_STEP_BAD : EXIT_STEP_SKIP;
}
