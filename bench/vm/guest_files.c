// SPDX-License-Identifier: BSD-2-Clause
#include "vm/guest_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/object.h"
#include "vm/guest.h"

int guest_files_add_object(struct guest_files *f, const char *arg, const char **word, struct errline *e)
{
	const char *slash = strrchr(arg, '/'), *base = slash ? slash + 1 : arg;
	const char *colon = strstr(base, ".o:");
	size_t base_len = colon ? (size_t)(colon + 2 - base) : strlen(base);
	char *path, *name = NULL, *inside = NULL;
	int err;

	if (f->nr == GUEST_FILES_MAX)
		return errline_set(e, -E2BIG, "more than %d object files for a guest", GUEST_FILES_MAX);
	path = strndup(arg, (size_t)(base - arg) + base_len);
	if (!path || asprintf(&name, "%zu/%.*s", f->nr, (int)base_len, base) < 0 ||
	    asprintf(&inside, "/" GUEST_FILES "/%s%s", name, base + base_len) < 0) {
		free(path);
		free(name);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	f->owned[f->nr_owned++] = path;
	f->owned[f->nr_owned++] = name;
	f->owned[f->nr_owned++] = inside;
	err = object_check_elf(path, e);
	if (err)
		return err;
	f->files[f->nr++] = (struct initrd_file){ path, name };
	*word = inside;
	return 0;
}

void guest_files_release(struct guest_files *f)
{
	for (size_t i = 0; i < f->nr_owned; i++)
		free(f->owned[i]);
	memset(f, 0, sizeof(*f));
}
