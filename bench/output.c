// SPDX-License-Identifier: BSD-2-Clause
/* Atomic result files; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where @path leads: symbolic links are followed, so that it is their target that is replaced. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

static bool is_written_directly(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int cannot_write(struct errline *e, int err, const char *path)
{
	return errline_set(e, err, "cannot write '%s': %s", path, strerror(-err));
}

/* The mode of a new file, or that of the one that is replaced. */
static mode_t final_mode(const char *final)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(final, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

static int open_temp(struct output *o, struct errline *e)
{
	int fd, err;

	o->final = resolve(o->path);
	if (!o->final || asprintf(&o->temp, "%s.XXXXXX", o->final) < 0)
		return errline_set(e, -ENOMEM, "out of memory");
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(o->temp);
		o->temp = NULL;
		return cannot_write(e, err, o->path);
	}
	if (fchmod(fd, final_mode(o->final)) || !(o->file = fdopen(fd, "w"))) {
		err = -errno;
		close(fd);
		return cannot_write(e, err, o->path);
	}
	return 0;
}

void output_abort(struct output *o)
{
	if (o->file && o->file != stdout)
		fclose(o->file);
	if (o->temp)
		unlink(o->temp);
	free(o->temp);
	free(o->final);
	memset(o, 0, sizeof(*o));
}

int output_open(struct output *o, const char *path, struct errline *e)
{
	int err = 0;

	memset(o, 0, sizeof(*o));
	o->path = path;
	if (!strcmp(path, "-")) {
		o->file = stdout;
	} else if (is_written_directly(path)) {
		o->file = fopen(path, "we");
		if (!o->file)
			err = cannot_write(e, -errno, path);
	} else {
		err = open_temp(o, e);
	}
	if (err)
		output_abort(o);
	return err;
}

int output_check(const char *path, struct errline *e)
{
	struct output o;
	int err = output_open(&o, path, e);

	if (!err)
		output_abort(&o);
	return err;
}

int output_flush_stdout(struct errline *e)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errline_set(e, -EIO, "cannot write standard output: %s",
			   strerror(errno ? errno : EIO));
}

/* Everything to the disk, so that a full one shows before the rename. */
static int finish_file(struct output *o)
{
	int err = 0;

	errno = 0;
	if (fflush(o->file) || ferror(o->file))
		err = errno ? -errno : -EIO;
	if (!err && o->temp && fsync(fileno(o->file)))
		err = -errno;
	if (fclose(o->file) && !err)
		err = -errno;
	o->file = NULL;
	if (!err && o->temp && rename(o->temp, o->final))
		err = -errno;
	return err;
}

int output_commit(struct output *o, struct errline *e)
{
	int err;

	if (o->file == stdout)
		return output_flush_stdout(e);
	err = finish_file(o);
	if (err) {
		cannot_write(e, err, o->path);
	} else {
		free(o->temp);
		o->temp = NULL;
	}
	output_abort(o);
	return err;
}
