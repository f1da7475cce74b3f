/* SPDX-License-Identifier: BSD-2-Clause */
/* Other programs: started without a shell, their output read, ended with us. */
#ifndef BPFLAB_SUBPROCESS_H
#define BPFLAB_SUBPROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include "errline.h"
#include "util/text_buf.h"

struct subprocess_output {
	struct text_buf out; /* standard output; free its text */
	char err[512];   /* the last line that says something on standard error */
};

/*
 * Run @argv in folder @dir (NULL: here) to its end; standard output is kept in @out, or with
 * @out NULL dropped. A program that is missing or fails is an error that has the last line of its
 * standard error. A signal to us stops it: -EINTR.
 */
int subprocess_run(const char *const *argv, const char *dir, struct subprocess_output *out,
		   struct errline *e);

/*
 * Start @argv with @nr descriptors @fds kept open under their numbers, all others closed but 0, 1 and 2,
 * of which 0 and 1 are /dev/null and 2 is @err. It dies with this process. The new process, or a
 * negative errno.
 */
pid_t subprocess_start(const char *const *argv, const int *fds, size_t nr, int err, struct errline *e);

/* End @pid, which subprocess_start() started, at once, and collect it. Returns its status. */
int subprocess_stop(pid_t pid);

#endif
