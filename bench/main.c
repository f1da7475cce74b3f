// SPDX-License-Identifier: BSD-2-Clause
/* bpflab: what BPF programs cost. The commands are in files of their own. */
#include <stdio.h>

#include "bpfu/bpfu.h"
#include "commands.h"
#include "opts.h"
#include "opts_pairs.h"
#include "util/interrupt.h"
#include "util/libbpf_log.h"
#include "util/output.h"
#include "vm/guest.h"

void print_error(const struct errline *e)
{
	fprintf(stderr, "bpflab: %s\n", e->text);
}

int command_end(int err, int status, const struct errline *e)
{
	if (interrupt_signal())
		return EXIT_INTERRUPTED + interrupt_signal();
	if (!err)
		return status;
	print_error(e);
	return EXIT_USAGE;
}

/* `bpflab help CMD` is `bpflab CMD --help`. */
static int cmd_help(const struct opts *opts)
{
	char *argv[] = { (char *)"bpflab", (char *)(opts->nr_args ? opts->args[0] : ""), NULL };
	unsigned int command = 0;
	struct errline e;
	struct opts named;

	if (opts->nr_args > 1) {
		errline_set(&e, -1, "help takes one command, not '%s' and '%s'", opts->args[0],
			    opts->args[1]);
		print_error(&e);
		return EXIT_USAGE;
	}
	if (opts->nr_args) {
		int err = opts_parse(&named, 2, argv, &e);

		command = named.command;
		opts_release(&named);
		if (err) {
			print_error(&e);
			return EXIT_USAGE;
		}
	}
	opts_print_help(stdout, command);
	return output_flush_stdout(&e) ? EXIT_USAGE : EXIT_OK;
}

static int run_command(const struct opts *opts)
{
	struct errline e;

	if (opts->version) {
		printf("bpflab %s\n", BPFU_VERSION);
		return output_flush_stdout(&e) ? EXIT_USAGE : EXIT_OK;
	}
	if (opts->help && opts->command != CMD_HELP) {
		opts_print_help(stdout, opts->command);
		return output_flush_stdout(&e) ? EXIT_USAGE : EXIT_OK;
	}
	if (opts_check_pairs(opts, &e)) {
		print_error(&e);
		return EXIT_USAGE;
	}
	switch (opts->command) {
	case CMD_LIST:
		return cmd_list(opts);
	case CMD_RUN:
		return cmd_run(opts);
	case CMD_COMPARE:
		return cmd_compare(opts);
	case CMD_DUMP:
		return cmd_dump(opts);
	case CMD_PROFILE:
		return cmd_profile(opts);
	case CMD_NOISE:
		return cmd_noise(opts);
	case CMD_REPORT:
		return cmd_report(opts);
	case CMD_HISTORY:
		return cmd_history(opts);
	case CMD_KERNEL:
		return cmd_kernel(opts);
	case CMD_VERIFY:
		return cmd_verify(opts);
	case CMD_BISECT:
		return cmd_bisect(opts);
	case CMD_DOCTOR:
		return cmd_doctor(opts);
	case CMD_WINDOWS:
		return cmd_windows(opts);
	default:
		return cmd_help(opts);
	}
}

int main(int argc, char **argv)
{
	struct errline e;
	struct opts opts;
	int status;

	if (guest_is_init())
		guest_init();
	output_keep_standard();
	interrupt_init();
	/* Outside of targets this process speaks to the kernel, whatever BPFU_ROUTE says. */
	bpfu_route_set(BPFU_ROUTE_KERNEL);
	if (opts_parse(&opts, argc, argv, &e)) {
		print_error(&e);
		status = opts.command == CMD_BISECT ? bisect_usage_status(argc, argv) : EXIT_USAGE;
	} else {
		if (opts.command == CMD_DUMP)
			dump_fix_addresses(argv);
		libbpf_log_init(opts.verbose);
		status = run_command(&opts);
	}
	opts_release(&opts);
	return status;
}
