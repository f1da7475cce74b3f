// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab windows`: what --count=insns starts inside an emulator. By hand it is of use under an emulator
 * of one's own; without one it runs its windows all the same, and nobody counts.
 */
#include <errno.h>
#include <link.h>
#include <string.h>

#include "commands.h"
#include "count/windows.h"
#include "dump/dump_view.h"
#include "util/output.h"

#define DEFAULT_ROUNDS 1

/* The program itself is the first that is told of. */
static int take_base(struct dl_phdr_info *info, size_t size, void *base)
{
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

/* Where each function lies, and this program itself, which listings leave out. */
static void add_addresses(json_t *code, const struct dump_prog *prog)
{
	json_t *funcs = json_object_get(code, "functions");
	uint64_t base = 0;

	dl_iterate_phdr(take_base, &base);
	json_object_set_new(code, "base", json_integer((json_int_t)base));
	for (uint32_t i = 0; i < prog->nr_funcs; i++)
		json_object_set_new(json_array_get(funcs, i), "address",
				    json_integer((json_int_t)prog->funcs[i].addr));
}

/* The listing of the measured program, as bpflab dump --jited --json has it. */
static int listing_of(const struct bench_inst *inst, json_t **code, struct errline *e)
{
	int fd = inst->bench->prog_fd ? inst->bench->prog_fd(inst) : -1, err;
	struct listing l = { 0 };
	struct dump_prog prog = { 0 };
	const struct dump_item item = { .target = inst->target->spec, .prog = &prog, .listing = &l,
					.jited = true };

	if (fd < 0)
		return errline_set(e, -ENOENT, "%s on %s has no program whose code could be shown",
				   inst->bench->name, inst->target->spec);
	err = target_enter(inst->target, e);
	if (err)
		return err;
	err = dump_prog_read(&prog, fd, inst->target->spec, NULL, DUMP_PROG_CODE, e);
	target_leave(inst->target);
	if (!err && listing_jited(&l, &prog))
		err = errline_set(e, -ENOMEM, "cannot disassemble '%s'", prog.name);
	if (!err) {
		*code = dump_view_json(&item);
		add_addresses(*code, &prog);
	}
	listing_release(&l);
	dump_prog_release(&prog);
	return err;
}

static int run(struct suite *s, const struct opts *opts, struct errline *e)
{
	const struct windows_settings settings = {
		.rounds = opts->rounds ? opts->rounds : DEFAULT_ROUNDS,
		.keep_going = opts->keep_going,
		.symbols = opts->symbols,
		.code = opts->jited ? listing_of : NULL,
	};
	int err;

	if (opts->on.nr > 1)
		return errline_set(e, -EINVAL, "windows runs on one target, not '%s' and '%s'",
				   opts->on.items[0], opts->on.items[1]);
	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "windows takes a bench (bpflab help windows)");
	if (opts->symbols && (!opts->on.nr || strncmp(opts->on.items[0], "host", 4)))
		return errline_set(e, -EINVAL, "--symbols tells what lies where in a kernel: add --on host");
	err = suite_build(s, opts, e);
	if (!err)
		err = suite_start_producers(s, opts, e);
	if (!err)
		err = windows_run(s, &settings, stdout, e);
	return err ? err : output_flush_stdout(e);
}

int cmd_windows(const struct opts *opts)
{
	struct suite suite = { 0 };
	struct errline e = { "" };
	int err = run(&suite, opts, &e);

	suite_release(&suite);
	return command_end(err, EXIT_OK, &e);
}
