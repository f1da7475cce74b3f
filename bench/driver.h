/* SPDX-License-Identifier: BSD-2-Clause */
/* Running BPF programs by BPF_PROG_TEST_RUN, as the benches do. */
#ifndef BPFLAB_DRIVER_H
#define BPFLAB_DRIVER_H

#include <stdint.h>

#include "errline.h"

/*
 * Run the driver program @prog_fd (progs/bench.bpf.h) once with @ops and @param. *@events: the
 * program's return value. Returns 0 or a negative errno.
 */
int driver_run(int prog_fd, uint64_t ops, uint64_t param, uint64_t *events);

/* The sum over CPUs of the 8-byte value at key 0 of the per-CPU map @map_fd. */
int driver_percpu_sum(int map_fd, uint64_t *sum);

/* Of the first 8 bytes of a value of @value_size bytes. */
int driver_percpu_sum_first(int map_fd, uint32_t value_size, uint64_t *sum);

/*
 * A line for a skeleton or object @what that did not load on @target with error @err (negative): the
 * reason, and what would help.
 */
int driver_load_error(struct errline *e, int err, const char *what, const char *target);
/* The same for one with programs that are attached to functions, which some kernels let nobody load. */
int driver_load_probe_error(struct errline *e, int err, const char *what, const char *target);

/* The same for a program that could not be attached. */
int driver_attach_error(struct errline *e, int err, const char *what, const char *target);

#endif
