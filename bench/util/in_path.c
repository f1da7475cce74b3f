// SPDX-License-Identifier: BSD-2-Clause
#include "util/in_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_in_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)len, p, program) < (int)sizeof(file) &&
		    !access(file, X_OK))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}
