/* SPDX-License-Identifier: BSD-2-Clause */
/* Object files that a command names, packed for a guest that runs it. */
#ifndef BPFLAB_GUEST_FILES_H
#define BPFLAB_GUEST_FILES_H

#include "errline.h"
#include "vm/initrd.h"

#define GUEST_FILES_MAX 64

struct guest_files {
	struct initrd_file files[GUEST_FILES_MAX];
	size_t nr;
	char *owned[3 * GUEST_FILES_MAX];
	size_t nr_owned;
};

/*
 * Pack the object file of @arg, PROG.bpf.o or PROG.bpf.o:NAME, and name it as it is called inside in *@word,
 * which lives as long as @f. -EINVAL with a line if it is none.
 */
int guest_files_add_object(struct guest_files *f, const char *arg, const char **word, struct errline *e);
void guest_files_release(struct guest_files *f);

#endif
