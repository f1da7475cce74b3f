/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of the machine. */
#ifndef BPFLAB_IN_PATH_H
#define BPFLAB_IN_PATH_H

#include <stdbool.h>

/* Whether a folder of PATH has @program, to be executed. */
bool program_in_path(const char *program);

#endif
