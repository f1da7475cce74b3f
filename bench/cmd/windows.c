// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab windows`: what --count=insns starts inside an emulator. By hand it is of use under an emulator
 * of one's own; without one it runs its windows all the same, and nobody counts.
 */
#include <errno.h>

#include "commands.h"
#include "count/windows.h"
#include "util/interrupt.h"
#include "util/output.h"

#define DEFAULT_ROUNDS 1

static int run(struct suite *s, const struct opts *opts, struct errline *e)
{
	int err;

	if (opts->on.nr > 1)
		return errline_set(e, -EINVAL, "windows runs on one target, not '%s' and '%s'",
				   opts->on.items[0], opts->on.items[1]);
	if (!opts->nr_args)
		return errline_set(e, -EINVAL, "windows takes a bench (bpflab help windows)");
	err = suite_build(s, opts, e);
	if (!err)
		err = suite_start_producers(s, opts, e);
	if (!err)
		err = windows_run(s, opts->rounds ? opts->rounds : DEFAULT_ROUNDS, stdout, e);
	return err ? err : output_flush_stdout(e);
}

int cmd_windows(const struct opts *opts)
{
	struct suite suite = { 0 };
	struct errline e = { "" };
	int err = run(&suite, opts, &e);

	suite_release(&suite);
	if (interrupt_signal())
		return EXIT_INTERRUPTED + interrupt_signal();
	if (!err)
		return EXIT_OK;
	print_error(&e);
	return EXIT_USAGE;
}
