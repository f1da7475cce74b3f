// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that links libbpf dynamically and knows nothing of libbpfu. Under the preload library
 * its objects are libbpfu's, which it can tell only by what its descriptors look like.
 *
 * usage: dynamic user|kernel     who is expected to answer
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct arith {
	int64_t a64, b64;
	int32_t a32, b32;
	uint64_t out[8];
};

#include SKEL_HEADER

static int side_of(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return -1;
	return strstr(target, "memfd:bpf") ? 'u' : strstr(target, "anon_inode:bpf") ? 'k' : -1;
}

static int run(struct e2e *skel)
{
	uint64_t args[2] = { 10, 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	char path[64];
	int fd;

	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.globals), &opts) ||
	    opts.retval != 16 || skel->bss->sum != 30) {
		printf("run: returned %d, sum %llu\n", (int)opts.retval,
		       (unsigned long long)skel->bss->sum);
		return 1;
	}
	snprintf(path, sizeof(path), "/sys/fs/bpf/dynamic_%d", getpid());
	if (bpf_obj_pin(bpf_map__fd(skel->maps.hash), path)) {
		printf("no pin: %s\n", strerror(errno)); /* the kernel's bpffs may not be mounted */
		return 0;
	}
	fd = bpf_obj_get(path);
	if (fd < 0 || side_of(fd) != side_of(bpf_map__fd(skel->maps.hash))) {
		printf("pin: got descriptor %d\n", fd);
		return 1;
	}
	return close(fd) || unlink(path);
}

int main(int argc, char **argv)
{
	int want = argc > 1 && !strcmp(argv[1], "kernel") ? 'k' : 'u';
	struct e2e *skel = e2e__open();
	int ret;

	if (!skel)
		return 1;
	skel->rodata->factor = 3;
	if (e2e__load(skel)) {
		printf("cannot load: %s\n", strerror(errno));
		return want == 'k' && errno == EPERM ? 77 : 1;
	}
	if (side_of(bpf_map__fd(skel->maps.hash)) != want ||
	    side_of(bpf_program__fd(skel->progs.globals)) != want) {
		printf("the wrong side answered\n");
		return 1;
	}
	ret = run(skel);
	e2e__destroy(skel);
	printf("%s: %s\n", argc > 1 ? argv[1] : "user", ret ? "failed" : "ok");
	return ret;
}
