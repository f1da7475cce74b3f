/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that machine code of programs takes, as the system accounts it. */
#ifndef BPFLAB_CODE_MEMORY_H
#define BPFLAB_CODE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct code_memory {
	bool known;
	uint64_t bytes; /* resident */
	uint64_t huge;  /* of these, mapped as huge pages where it is executed */
};

/*
 * @user: libbpfu's regions in this process, from /proc/self/smaps; @packed chooses between those that
 * programs share and those with pages of their own. Otherwise the running kernel's, from
 * /proc/vmallocinfo (root); it does not tell about huge pages.
 */
void code_memory_read(bool user, bool packed, struct code_memory *m);

/*
 * Load programs of half a megabyte of code on the target entered, libbpfu with its JIT, read the memory of
 * its regions, and remove them again. 0 or a negative errno.
 */
int code_memory_try(struct code_memory *m);

#endif
