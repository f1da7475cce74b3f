// SPDX-License-Identifier: BSD-2-Clause
/* Asking a kernel: programs are loaded and attached one by one, and what it says is noted. */
#include "vm/abilities.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abilities.skel.h"
#include "machine/procfs.h"
#include "util/libbpf_log.h"

static const struct {
	const char *name, *prog;
} attached[] = {
	{ "raw_tp", "raw_tp" },
	{ "tp_btf", "tp_btf" },
	{ "tracepoint", "tracepoint" },
	{ "kprobe", "kprobe" },
	{ "kretprobe", "kretprobe" },
	{ "kprobe.multi", "kprobe_multi" },
	{ "kretprobe.multi", "kretprobe_multi" },
	{ "fentry", "fentry" },
	{ "fexit", "fexit" },
	{ "fmod_ret", "fmod_ret" },
	{ "lsm", "lsm" },
	{ "bpf_loop", "loop" },
	{ "ringbuf", "ringbuf" },
};

static json_t *reason(const char *step, int err)
{
	char text[400], why[128];
	const char *detail = libbpf_log_last();

	libbpf_strerror(err, why, sizeof(why));
	snprintf(text, sizeof(text), "%s: %s%s%.200s", step, why, detail[0] ? ": " : "", detail);
	return json_string(text);
}

static json_t *try_attach(const char *name)
{
	struct abilities *skel = abilities__open();
	struct bpf_program *prog = skel ? bpf_object__find_program_by_name(skel->obj, name) : NULL;
	struct bpf_link *link;
	json_t *result;
	int err;

	if (!prog)
		return reason("open", -errno);
	libbpf_log_clear();
	bpf_program__set_autoload(prog, true);
	if (strcmp(name, "ringbuf"))
		bpf_map__set_autocreate(skel->maps.ring, false);
	err = abilities__load(skel);
	if (err) {
		result = reason("load", err);
	} else {
		link = bpf_program__attach(prog);
		result = link ? json_true() : reason("attach", -errno);
		bpf_link__destroy(link);
	}
	abilities__destroy(skel);
	return result;
}

static json_t *try_btf(void)
{
	struct btf *btf;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return json_string("no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return reason("read", -errno);
	btf__free(btf);
	return json_true();
}

/* A program's length as machine code: 0 if it was not compiled. */
static json_t *try_jit(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	char enable[16];
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bpflab_jit", "GPL", insns, 2, NULL), err;

	if (fd < 0)
		return reason("load", fd);
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	if (err)
		return reason("info", err);
	if (info.jited_prog_len)
		return json_true();
	procfs_read("/proc/sys/net/core/bpf_jit_enable", enable, sizeof(enable));
	return json_sprintf("programs are interpreted (net.core.bpf_jit_enable=%s)", enable[0] ? enable : "?");
}

json_t *abilities_ask(void)
{
	json_t *all = json_object();
	struct utsname u;

	json_object_set_new(all, "BTF", try_btf());
	json_object_set_new(all, "JIT", try_jit());
	for (size_t i = 0; i < sizeof(attached) / sizeof(attached[0]); i++)
		json_object_set_new(all, attached[i].name, try_attach(attached[i].prog));
	uname(&u);
	return json_pack("{s:s, s:s, s:s, s:o}", "schema", "bpflab.kernel/1", "release", u.release, "arch",
			 u.machine, "abilities", all);
}

static void file_name(const struct kernel *k, const char *ending, char *buf, size_t size)
{
	snprintf(buf, size, "%s/abilities.json%s", k->dir, ending);
}

json_t *abilities_load(const struct kernel *k)
{
	char path[4200];
	json_t *o;

	file_name(k, "", path, sizeof(path));
	o = json_load_file(path, 0, NULL);
	if (json_is_object(json_object_get(o, "abilities")))
		return o;
	json_decref(o);
	return NULL;
}

int abilities_save(const struct kernel *k, const json_t *o, struct errline *e)
{
	char path[4200], temp[4200];

	file_name(k, "", path, sizeof(path));
	file_name(k, ".new", temp, sizeof(temp));
	errno = 0;
	if (json_dump_file(o, temp, JSON_INDENT(2)) || rename(temp, path)) {
		int err = errno ? -errno : -EIO;

		unlink(temp);
		return store_write_error(e, err, k->dir);
	}
	return 0;
}
