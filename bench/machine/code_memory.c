// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpfu maps each region twice, under a name. The writable mapping shows what is resident (a page of
 * code is written before it can run), the executable one whether it is a huge page.
 */
#include "machine/code_memory.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
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

/* Since Linux 7.x modules and programs can be told under one name, so only where there are no modules. */
static bool no_modules(void)
{
	FILE *f = fopen("/proc/modules", "re");
	bool none = f ? fgetc(f) == EOF : false;

	if (f)
		fclose(f);
	return none;
}

static void read_vmallocinfo(struct code_memory *m)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	bool execmem = no_modules();
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		const char *pages = strstr(line, " pages=");
		unsigned long long nr;

		/* The size that the line tells includes a guard page. */
		if (pages && sscanf(pages, " pages=%llu", &nr) == 1 &&
		    (strstr(line, " bpf_prog_pack_alloc") || strstr(line, " bpf_jit_alloc_exec") ||
		     (execmem && strstr(line, " execmem_alloc")))) {
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

#define TRY_PROGS 24
#define TRY_INSNS 4096

int code_memory_try(struct code_memory *m)
{
	static struct bpf_insn insns[TRY_INSNS];
	int fds[TRY_PROGS], nr = 0, err = 0;

	insns[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	for (int i = 1; i < TRY_INSNS - 1; i++) /* six bytes each on x86-64, twelve on arm64 */
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_XOR | BPF_K,
					      .imm = 0x12345678 + i };
	insns[TRY_INSNS - 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	while (nr < TRY_PROGS && !err) {
		int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bpflab_probe", "GPL", insns,
				       TRY_INSNS, NULL);

		if (fd < 0)
			err = fd;
		else
			fds[nr++] = fd;
	}
	code_memory_read(true, true, m);
	while (nr)
		close(fds[--nr]);
	return err;
}
