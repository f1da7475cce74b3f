// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpfu maps each region twice, under a name. The writable mapping shows what is resident (a page of
 * code is written before it can run), the executable one whether it is a huge page.
 */
#include "machine/code_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_smaps(bool packed, struct code_memory *m)
{
	const char *name = packed ? "/memfd:bpfu-jit-pack " : "/memfd:bpfu-jit-pages ";
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512], perms[5] = "";
	bool ours = false;

	if (!f)
		return;
	m->known = true;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long kb;

		if (sscanf(line, "%*x-%*x %4s", perms) == 1)
			ours = strstr(line, name);
		else if (ours && perms[1] == 'w' && sscanf(line, "Rss: %llu kB", &kb) == 1)
			m->bytes += kb << 10;
		else if (ours && perms[2] == 'x' && sscanf(line, "ShmemPmdMapped: %llu kB", &kb) == 1)
			m->huge += kb << 10;
	}
	fclose(f);
}

static void read_vmallocinfo(struct code_memory *m)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		const char *pages = strstr(line, " pages=");
		unsigned long long nr;

		/* The size that the line tells includes a guard page. */
		if (pages && sscanf(pages, " pages=%llu", &nr) == 1 &&
		    (strstr(line, " bpf_prog_pack_alloc") || strstr(line, " bpf_jit_alloc_exec"))) {
			m->known = true;
			m->bytes += nr * (unsigned long long)sysconf(_SC_PAGESIZE);
		}
	}
	fclose(f);
}

void code_memory_read(bool user, bool packed, struct code_memory *m)
{
	memset(m, 0, sizeof(*m));
	if (user)
		read_smaps(packed, m);
	else
		read_vmallocinfo(m);
}
