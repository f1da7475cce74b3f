// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of somebody else's: ordinary libbpf code, built outside the tree against the installed
 * pkg-config file. It must be answered by libbpfu, not by the running kernel.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bpfu/bpfu.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

static const struct bpf_insn insns[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 42 },
	{ .code = BPF_JMP | BPF_EXIT },
};

int main(void)
{
	unsigned char packet[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1);
	int fd, err;

	if (strcmp(bpfu_version(), EXPECTED_VERSION)) {
		fprintf(stderr, "version is %s, expected %s\n", bpfu_version(), EXPECTED_VERSION);
		return 1;
	}
	err = bpfu_selftest();
	if (err) {
		fprintf(stderr, "libbpf's calls bypass the router: %s\n", strerror(-err));
		return 1;
	}
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "answer", "BSD", insns, 2, NULL);
	if (fd < 0) {
		fprintf(stderr, "prog_load: %s\n", strerror(-fd));
		return 1;
	}
	if (!bpfu_fd_is_user(fd)) {
		fprintf(stderr, "the program was loaded by the kernel\n");
		return 1;
	}
	err = bpf_prog_test_run_opts(fd, &run);
	if (err || run.retval != 42) {
		fprintf(stderr, "test_run: %s, retval %u, expected 42\n", strerror(-err), run.retval);
		return 1;
	}
	return 0;
}
