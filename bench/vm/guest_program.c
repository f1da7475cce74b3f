// SPDX-License-Identifier: BSD-2-Clause
/* Where the two programs lie that a guest needs: QEMU, and bpflab for the inside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/in_path.h"
#include "vm/boot.h"

#ifndef BPFLAB_LIBEXECDIR
#define BPFLAB_LIBEXECDIR "/usr/local/libexec"
#endif

static bool try(const char *dir, const char *below, const struct machine_kind *m, char *buf, size_t size)
{
	int len = snprintf(buf, size, "%s%s/bpflab-guest-%s", dir, below, m->name);

	return len > 0 && (size_t)len < size && !access(buf, R_OK);
}

int guest_program(const struct machine_kind *machine, char *buf, size_t size, struct errline *e)
{
	const char *given = getenv("BPFLAB_GUEST_DIR");
	char self[4096] = "";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (given && *given) {
		if (try(given, "", machine, buf, size))
			return 0;
		return errline_set(e, -ENOENT, "BPFLAB_GUEST_DIR: no bpflab-guest-%s in '%s'",
				   machine->name, given);
	}
	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (slash && (try(self, "", machine, buf, size) ||
		      try(self, "/../libexec/bpflab", machine, buf, size)))
		return 0;
	if (try(BPFLAB_LIBEXECDIR, "/bpflab", machine, buf, size))
		return 0;
	return errline_set(e, -ENOENT, "no program to run inside %s guests (bpflab-guest-%s): %s",
			   machine->name, machine->name, machine == machine_native() ?
			   "build it with 'make', which needs the static libraries of the -dev packages" :
			   "'make guests' builds it where the cross compiler is");
}

int guest_check_qemu(const struct machine_kind *machine, struct errline *e)
{
	if (program_in_path(machine->qemu))
		return 0;
	return errline_set(e, -ENOENT, "no %s here: apt-get install --no-install-recommends %s",
			   machine->qemu, machine->package);
}
