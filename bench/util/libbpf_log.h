/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libbpf prints. By default it is kept quiet, and the line that says why something failed is kept
 * for the error message; with -v everything goes to standard error.
 */
#ifndef BPFLAB_LIBBPF_LOG_H
#define BPFLAB_LIBBPF_LOG_H

#include <stdbool.h>

void libbpf_log_init(bool verbose);
/* Forget what was kept. Call before an operation whose failure is to be explained. */
void libbpf_log_clear(void);
/*
 * Why the last thing failed: the line of a verifier log that names the mistake, or libbpf's own
 * warning; "" if there was none.
 */
const char *libbpf_log_last(void);

#endif
