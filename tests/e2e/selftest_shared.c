// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trap: libbpfu linked in with its --wrap options, but libbpf shared. No call of libbpf is
 * routed then, and the program must be told.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpfu/bpfu.h"

static int lines;

static void on_log(enum bpfu_log_level level, const char *line, void *ctx)
{
	lines++;
	if (!strstr(line, "do not reach libbpfu"))
		lines = 1000;
}

int main(void)
{
	int err;

	bpfu_set_log_cb(on_log, NULL);
	err = bpfu_selftest();
	printf("bpfu_selftest() returned %d, %d lines\n", err, lines);
	/* libbpf has to be needed by the program, or the linker leaves it out. */
	close(bpf_obj_get("/no/such/path"));
	return err != -ENOSYS || lines != 1;
}
