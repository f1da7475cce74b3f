/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGINT and SIGTERM: noted, and looked at between batches. */
#ifndef BPFLAB_INTERRUPT_H
#define BPFLAB_INTERRUPT_H

#include <stdbool.h>

void interrupt_init(void);
/* The signal that asked bpflab to stop, or 0. */
int interrupt_signal(void);

#endif
