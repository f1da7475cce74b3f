// SPDX-License-Identifier: BSD-2-Clause
/* Triggers of driver programs, and reading back what they left in maps. */
#include "driver.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/libbpf_log.h"

/* More than any kernel's possible CPUs: what bpf(2) copies out is not for the caller to choose. */
#define MAX_POSSIBLE_CPUS 8192

int driver_run(int prog_fd, uint64_t ops, uint64_t param, uint64_t *events)
{
	uint64_t ctx[2] = { ops, param };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = sizeof(ctx));
	int err = bpf_prog_test_run_opts(prog_fd, &opts);

	*events = opts.retval;
	return err;
}

int driver_percpu_sum_first(int map_fd, uint32_t value_size, uint64_t *sum)
{
	size_t words = (value_size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	uint64_t *values = calloc(MAX_POSSIBLE_CPUS, words * sizeof(*values));
	uint32_t key = 0;
	int err;

	if (!values)
		return -ENOMEM;
	*sum = 0;
	err = bpf_map_lookup_elem(map_fd, &key, values);
	for (size_t i = 0; i < MAX_POSSIBLE_CPUS && !err; i++)
		*sum += values[i * words];
	free(values);
	return err;
}

int driver_percpu_sum(int map_fd, uint64_t *sum)
{
	return driver_percpu_sum_first(map_fd, sizeof(uint64_t), sum);
}

int driver_load_error(struct errline *e, int err, const char *what, const char *target)
{
	const char *detail = libbpf_log_last();
	char reason[128];

	/* libbpf has error numbers of its own beyond errno's. */
	libbpf_strerror(err, reason, sizeof(reason));
	if (strstr(detail, "kernel BTF"))
		return errline_set(e, err, "cannot load '%s' on %s: this kernel has no BTF "
				   "(CONFIG_DEBUG_INFO_BTF), which the program needs; take one that has, "
				   "or --on user", what, target);
	switch (-err) {
	case EPERM:
		return errline_set(e, err, "cannot load '%s' on %s: no permission; run as root or with "
				   "CAP_BPF and CAP_PERFMON, or use --on user", what, target);
	case EMFILE:
		return errline_set(e, err, "cannot load '%s' on %s: it needs more descriptors than this "
				   "process may open; raise the limit (ulimit -n)", what, target);
	case ENOMEM:
		return errline_set(e, err, "cannot load '%s' on %s: out of memory, or RLIMIT_MEMLOCK is "
				   "too small (ulimit -l unlimited)", what, target);
	default:
		return errline_set(e, err, "cannot load '%s' on %s: %s%s%s (-v shows the log)", what,
				   target, reason, detail[0] ? ": " : "", detail);
	}
}

int driver_load_probe_error(struct errline *e, int err, const char *what, const char *target)
{
	if (err != -EPERM || geteuid())
		return driver_load_error(e, err, what, target);
	return errline_set(e, err, "cannot load '%s' on %s: this kernel lets nobody load programs that are "
			   "attached to functions; use --on user", what, target);
}

int driver_attach_error(struct errline *e, int err, const char *what, const char *target)
{
	const char *detail = libbpf_log_last();
	char reason[128];

	libbpf_strerror(err, reason, sizeof(reason));
	switch (-err) {
	case EPERM:
	case EACCES:
		return errline_set(e, err, "cannot attach '%s' on %s: no permission; run as root or with "
				   "CAP_BPF and CAP_PERFMON, or use --on user", what, target);
	case ENOTSUP:
	case 524:
		return errline_set(e, err, "cannot attach '%s' on %s: this kernel is built without what that "
				   "takes (%s); use --on user", what, target,
				   err == -524 ? "direct calls from functions" :
				   strstr(what, "multi") ? "CONFIG_FPROBE" : "tracing of functions");
	default:
		return errline_set(e, err, "cannot attach '%s' on %s: %s%s%s (-v shows the log)", what,
				   target, reason, detail[0] ? ": " : "", detail);
	}
}
