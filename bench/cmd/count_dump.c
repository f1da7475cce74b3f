// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab dump --counts`: the listing that the bpflab in the emulator made of its own program, with the
 * times that the plugin counted at each address of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "count/places.h"
#include "count/elf_symbols.h"
#include "count/kernel_symbols.h"
#include "result/record.h"
#include "util/interrupt.h"
#include "util/json_line.h"
#include "util/output.h"

static int check(const struct opts *opts, struct errline *e)
{
	const struct {
		bool given;
		const char *name, *why;
	} unfit[] = {
		{ opts->xlated, "xlated", "machine code is executed" },
		{ opts->diff.nr, "diff", "bpflab compare --count=insns compares two" },
		{ opts->on.nr > 1, "on, given twice", "one program is dumped" },
		{ opts->nr_args > 1, "a second name", "the program that the bench measures is shown" },
	};

	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "dump takes a bench or an object file (bpflab help dump)");
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
		if (unfit[i].given)
			return errline_set(e, -EINVAL, "--counts goes without %s%s: %s",
					   i < 2 ? "--" : "", unfit[i].name, unfit[i].why);
	return 0;
}

/* --arch is the other way to write arch=. */
static int init_target(struct count_target *t, const struct opts *opts, struct errline *e)
{
	const char *on = opts->on.nr ? opts->on.items[0] : "user";
	char spec[320];

	snprintf(spec, sizeof(spec), "%s%s%s%s", on, !opts->arch ? "" : strchr(on, ':') ? "," : ":",
		 opts->arch ? "arch=" : "", opts->arch ? opts->arch : "");
	return count_target_init(t, spec, e);
}

/* ---- what is executed outside ---- */

struct outside {
	struct outside_func {
		const char *name;
		int64_t times;
	} *funcs;
	size_t nr;
};

static bool is_inside(const json_t *code, uint64_t addr)
{
	json_t *func;
	size_t i;

	json_array_foreach(json_object_get(code, "functions"), i, func) {
		uint64_t begin = (uint64_t)json_integer_value(json_object_get(func, "address"));

		if (addr - begin < (uint64_t)json_integer_value(json_object_get(func, "bytes")))
			return true;
	}
	return false;
}

static void add_outside(struct outside *o, const char *name, int64_t times)
{
	size_t i = 0;

	while (i < o->nr && strcmp(o->funcs[i].name, name))
		i++;
	if (i == o->nr)
		o->funcs[o->nr++] = (struct outside_func){ .name = name };
	o->funcs[i].times += times;
}

static int by_times(const void *a, const void *b)
{
	const struct outside_func *x = a, *y = b;

	return x->times < y->times ? 1 : -(x->times > y->times);
}

/* Where names come from: bpflab's own symbol table, or those of the kernel in the guest. */
struct names {
	bool kernel;
	uint64_t base; /* of bpflab */
	struct elf_symbols own;
	struct kernel_symbols guest;
};

static int names_init(struct names *n, const struct count_target *t, const json_t *code, struct errline *e)
{
	const json_t *line = t->points[0].line;

	memset(n, 0, sizeof(*n));
	n->kernel = target_is_vm(&t->target);
	n->base = (uint64_t)json_integer_value(json_object_get(code, "base"));
	if (n->kernel)
		return kernel_symbols_parse(&n->guest, json_string_value(json_object_get(line, "image_symbols")),
					    json_string_value(json_object_get(line, "symbols")), e);
	elf_symbols_read(&n->own, t->emulator.guest);
	return 0;
}

static void names_release(struct names *n)
{
	elf_symbols_release(&n->own);
	kernel_symbols_release(&n->guest);
}

static const char *name_of(const struct names *n, uint64_t addr)
{
	const struct elf_symbol *symbol;
	const char *name;

	if (n->kernel && !(addr >> 63))
		return "(user space)";
	if (n->kernel) {
		name = kernel_symbols_find(&n->guest, addr);
	} else {
		symbol = elf_symbols_find(&n->own, addr - n->base);
		name = symbol ? symbol->name : NULL;
	}
	return name ? name : "(without a name)";
}

/* Functions by their times. False without memory. */
static bool find_outside(struct outside *o, const json_t *code, const struct count_places *p,
			 const struct names *names)
{

	o->nr = 0;
	o->funcs = calloc(p->nr + 1, sizeof(*o->funcs));
	for (size_t i = 0; i < p->nr && o->funcs; i++) {
		const struct count_place *place = &p->places[i];

		if (place->times && !is_inside(code, place->addr))
			add_outside(o, name_of(names, place->addr), place->times);
	}
	if (o->funcs)
		qsort(o->funcs, o->nr, sizeof(*o->funcs), by_times);
	return o->funcs;
}

static void put_outside(FILE *f, const struct outside *o, const struct count_places *p)
{
	char text[64];

	if (o->nr)
		fprintf(f, "\noutside:\n");
	for (size_t i = 0; i < o->nr; i++)
		if (o->funcs[i].times)
			fprintf(f, "%10s  %s\n",
				fraction_text(fraction_make(o->funcs[i].times, p->events), false, text,
					      sizeof(text)),
				o->funcs[i].name);
}

static json_t *outside_json(const struct outside *o, const struct count_places *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->nr; i++) {
		struct fraction times = fraction_make(o->funcs[i].times, p->events);

		if (o->funcs[i].times)
			json_array_append_new(list, json_pack("{s:s, s:[I, I]}", "function", o->funcs[i].name, "times",
							      (json_int_t)times.num, (json_int_t)times.den));
	}
	return list;
}

/* ---- views ---- */

static uint64_t address_of(const json_t *func, const json_t *insn)
{
	return (uint64_t)json_integer_value(json_object_get(func, "address")) +
	       (uint64_t)json_integer_value(json_object_get(insn, "offset"));
}

/* "times" of each instruction; *@inside: their sum per event. */
static void annotate(json_t *code, const struct count_places *p, struct fraction *inside)
{
	struct fraction sum = fraction_make(0, 1);
	json_t *func, *insn;
	size_t i, k;

	json_array_foreach(json_object_get(code, "functions"), i, func)
		json_array_foreach(json_object_get(func, "instructions"), k, insn) {
			struct fraction times = count_places_at(p, address_of(func, insn));

			json_object_set_new(insn, "times", json_pack("[I, I]", (json_int_t)times.num,
								     (json_int_t)times.den));
			times.num = -times.num;
			sum = fraction_sub(sum, times);
		}
	*inside = sum;
}

static void put_source(FILE *f, const json_t *insn, json_int_t *last)
{
	const json_t *source = json_object_get(insn, "source");
	const char *file = record_text(source, "file"), *slash = strrchr(file, '/');
	json_int_t line = json_integer_value(json_object_get(source, "line"));

	if (!line || line == *last)
		return;
	*last = line;
	fprintf(f, "; %s:%lld: %s\n", slash ? slash + 1 : file, (long long)line,
		record_text(source, "text"));
}

static void put_insn(FILE *f, const json_t *insn, const struct opts *opts)
{
	const json_t *times = json_object_get(insn, "times");
	const char *bytes = record_text(insn, "bytes");
	char text[64];

	if (json_object_get(insn, "label"))
		fprintf(f, "%19s:\n", record_text(insn, "label"));
	fraction_text(fraction_make(json_integer_value(json_array_get(times, 0)),
				    json_integer_value(json_array_get(times, 1))),
		      false, text, sizeof(text));
	fprintf(f, "%10s  %6llx:  ", text,
		(unsigned long long)json_integer_value(json_object_get(insn, "offset")));
	if (opts->bytes)
		fprintf(f, "%-22s", bytes);
	fprintf(f, "%s\n", record_text(insn, "text"));
}

static void put_listing(FILE *f, const json_t *code, const struct opts *opts)
{
	json_t *func, *insn;
	size_t i, k;

	json_array_foreach(json_object_get(code, "functions"), i, func) {
		json_int_t last = 0;

		fprintf(f, "\n%s:\n", record_text(func, "name"));
		json_array_foreach(json_object_get(func, "instructions"), k, insn) {
			if (!opts->no_source)
				put_source(f, insn, &last);
			put_insn(f, insn, opts);
		}
	}
}

static void print_text(FILE *f, const struct count_target *t, const json_t *code,
		       const struct count_places *p, const struct outside *o, struct fraction inside,
		       const struct opts *opts)
{
	const struct count_point *pt = &t->points[0];
	const struct fraction all = fraction_make(p->insns, p->events);
	char a[64], b[64], c[64];

	fprintf(f, "%s: %s on %s, executed per event that the program runs\n", pt->label,
		record_text(code, "program"), t->spec);
	put_listing(f, code, opts);
	put_outside(f, o, p);
	fprintf(f, "\n%s instructions per event, %s of them here and %s outside (%s);"
		   "\nnothing is subtracted. Counted under %s %s (-cpu %s)%s, between windows of %lld "
		   "events.\n",
		fraction_text(all, false, a, sizeof(a)), fraction_text(inside, false, b, sizeof(b)),
		fraction_text(fraction_sub(all, inside), false, c, sizeof(c)),
		target_is_vm(&t->target) ? "the rest of the kernel, the trigger" : "helpers, maps, the test run",
		t->emulator.program, t->emulator.version, t->emulator.cpu,
		target_is_vm(&t->target) ? ": emulated" : "", (long long)p->events);
}

static int print_json(const struct count_target *t, json_t *code, const struct count_places *p,
		      const struct outside *o, struct errline *e)
{
	json_object_set_new(code, "target", json_string(t->spec));
	json_object_set_new(code, "events", json_integer((json_int_t)p->events));
	json_object_set_new(code, "insns", json_integer((json_int_t)p->insns));
	json_object_set_new(code, "outside", outside_json(o, p));
	if (target_is_vm(&t->target))
		json_object_set_new(code, "emulated", json_true());
	return json_line_put(stdout, json_incref(code)) ? errline_set(e, -EIO, "cannot write the listing") : 0;
}

static int print(struct count_target *t, const struct count_places *p, const struct opts *opts,
		 struct errline *e)
{
	json_t *code = json_object_get(t->points[0].line, "code");
	struct outside o = { .nr = 0 };
	struct fraction inside;
	struct names names;
	int err;

	if (!json_is_object(code))
		return errline_set(e, -ENOENT, "'%s' has no program whose code could be shown",
				   opts->args[0]);
	err = names_init(&names, t, code, e);
	if (!err && !find_outside(&o, code, p, &names))
		err = errline_set(e, -ENOMEM, "out of memory");
	if (!err) {
		annotate(code, p, &inside);
		if (opts->json_stdout)
			err = print_json(t, code, p, &o, e);
		else
			print_text(stdout, t, code, p, &o, inside, opts);
	}
	free(o.funcs);
	names_release(&names);
	return err ? err : output_flush_stdout(e);
}

int cmd_dump_counts(const struct opts *opts)
{
	struct count_target t = { 0 };
	struct count_places p = { 0 };
	struct errline e = { "" };
	int err = check(opts, &e);

	if (!err)
		err = init_target(&t, opts, &e);
	if (!err)
		err = count_places_measure(&p, &t, opts->args[0], opts, &e);
	if (!err)
		err = print(&t, &p, opts, &e);
	count_places_release(&p);
	count_target_release(&t);
	if (interrupt_signal())
		return EXIT_INTERRUPTED + interrupt_signal();
	if (!err)
		return EXIT_OK;
	print_error(&e);
	return err == -EBADMSG ? EXIT_BENCH_FAILED : EXIT_USAGE;
}
