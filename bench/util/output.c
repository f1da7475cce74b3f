// SPDX-License-Identifier: BSD-2-Clause
/* Atomic result files; see output.h. */
#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void output_keep_standard(void)
{
	/* The wrong way round: writing to it fails as it should, and so does reading. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

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
	if (!strcmp(path, "-"))
		return errline_set(e, err, "cannot write standard output: %s", strerror(-err));
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
	o->final = resolve(o->path);
	if (!o->final || asprintf(&o->temp, "%s.XXXXXX", o->final) < 0) {
		o->temp = NULL;
		return errline_set(e, -ENOMEM, "out of memory");
	}
	o->fd = mkostemp(o->temp, O_CLOEXEC);
	if (o->fd < 0) {
		int err = -errno;

		free(o->temp);
		o->temp = NULL;
		return cannot_write(e, err, o->path);
	}
	if (fchmod(o->fd, final_mode(o->final)))
		return cannot_write(e, -errno, o->path);
	return 0;
}

void output_abort(struct output *o)
{
	if (o->file)
		fclose(o->file);
	if (o->fd > STDERR_FILENO)
		close(o->fd);
	if (o->temp)
		unlink(o->temp);
	free(o->text);
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
		o->fd = STDOUT_FILENO;
	} else if (is_written_directly(path)) {
		o->fd = open(path, O_WRONLY | O_CLOEXEC);
		if (o->fd < 0)
			err = cannot_write(e, -errno, path);
	} else {
		err = open_temp(o, e);
	}
	if (!err) {
		o->file = open_memstream(&o->text, &o->size);
		if (!o->file)
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	if (err)
		output_abort(o);
	return err;
}

/* A pipe is not opened for this: its reader would see the end of it. */
static int check_direct(const char *path, struct errline *e)
{
	struct stat st;

	if (stat(path, &st))
		return cannot_write(e, -errno, path);
	if (S_ISDIR(st.st_mode))
		return cannot_write(e, -EISDIR, path);
	return access(path, W_OK) ? cannot_write(e, -errno, path) : 0;
}

int output_check(const char *path, struct errline *e)
{
	struct output o;
	int err;

	if (!strcmp(path, "-"))
		return 0;
	if (is_written_directly(path))
		return check_direct(path, e);
	err = output_open(&o, path, e);
	if (!err)
		output_abort(&o);
	return err;
}

bool output_is_same(const char *a, const char *b)
{
	struct stat x, y;

	if (!strcmp(a, b))
		return strcmp(a, "-") && !is_written_directly(a);
	return !stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int output_flush_stdout(struct errline *e)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errline_set(e, -EIO, "cannot write standard output: %s",
			   strerror(errno ? errno : EIO));
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Everything to the disk before the rename, as a full one may show late. */
static int finish_file(struct output *o)
{
	int fd = o->fd, err;

	err = fclose(o->file) ? -ENOMEM : 0;
	o->file = NULL;
	if (!err)
		err = write_all(fd, o->text, o->size);
	if (!o->temp)
		return err;
	if (!err && fsync(fd))
		err = -errno;
	o->fd = -1;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(o->temp, o->final))
		err = -errno;
	return err;
}

int output_commit(struct output *o, struct errline *e)
{
	int err = finish_file(o);

	if (err) {
		cannot_write(e, err, o->path);
	} else {
		free(o->temp);
		o->temp = NULL;
	}
	output_abort(o);
	return err;
}

int output_view(const char *path, int (*view)(FILE *f, const void *ctx), const void *ctx,
		struct errline *e)
{
	struct output o;
	int err;

	if (!path)
		return 0;
	err = output_open(&o, path, e);
	if (err)
		return err;
	err = view(o.file, ctx);
	if (err == -ENOMEM) {
		output_abort(&o);
		return errline_set(e, err, "cannot write '%s': out of memory", path);
	}
	/* Any error of the stream is found again by the commit. */
	return output_commit(&o, e);
}
