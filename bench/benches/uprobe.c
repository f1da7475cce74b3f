// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trig-uprobe, trig-uretprobe, -multi and trig-usdt benches: what it costs that a program is attached
 * to a function of this program that begins with one instruction or another. The measured arm calls the
 * function with the program attached, the null arm without. An event is a call, counted here; what the
 * program has counted is compared with it at the end.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "driver.h"
#include "target.h"
#include "uprobe.skel.h"

#define SELF "/proc/self/exe"

/* ---- what is probed ---- */

#define FIRST(name, insns)                                                                         \
	void uprobe_target_##name(void);                                                           \
	__asm__(".pushsection .text\n.p2align 6\n.globl uprobe_target_" #name                      \
		"\n.hidden uprobe_target_" #name "\n.type uprobe_target_" #name                    \
		", %function\nuprobe_target_" #name ":\n.cfi_startproc\n" insns                    \
		"\n.cfi_endproc\n.size uprobe_target_" #name ", . - uprobe_target_" #name          \
		"\n.popsection");

/* A note of version 3, as sys/sdt.h writes it: where, what for, without arguments. */
#define NOTE(name, insn)                                                                           \
	static __attribute__((noinline)) void usdt_target_##name(void)                             \
	{                                                                                          \
		__asm__ volatile("990: " insn "\n"                                                 \
				 ".pushsection .note.stapsdt,\"\",%%note\n.balign 4\n"             \
				 ".4byte 992f - 991f, 994f - 993f, 3\n"                            \
				 "991: .asciz \"stapsdt\"\n992: .balign 4\n"                       \
				 "993: .8byte 990b, _.stapsdt.base, 0\n"                           \
				 ".asciz \"bpflab\"\n.asciz \"trig_" #name "\"\n.asciz \"\"\n"     \
				 "994: .balign 4\n.popsection" ::);                                 \
	}
__asm__(".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection");
#include "benches/uprobe.def"
#undef FIRST
#undef NOTE

/* ---- attaching ---- */

enum probe_kind { KIND_UPROBE, KIND_URETPROBE, KIND_MULTI, KIND_MULTI_RETURN, KIND_USDT };

struct uprobe_data {
	enum probe_kind kind;
	void (*call)(void);
	const char *note; /* of USDT */
};

struct uprobe_state {
	struct uprobe *skel;
	struct bpf_program *prog;
	uint64_t offset;
	struct bpf_link *link;
	int link_fd; /* of uprobe.multi */
};

/* link_create.uprobe_multi, which neither the host's header nor its libbpf need have. */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

#define ATTACH_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1

static struct bpf_program *prog_of(const struct uprobe *skel, enum probe_kind kind)
{
	switch (kind) {
	case KIND_UPROBE:
		return skel->progs.trigger_uprobe;
	case KIND_URETPROBE:
		return skel->progs.trigger_uretprobe;
	case KIND_USDT:
		return skel->progs.trigger_usdt;
	default:
		return skel->progs.trigger_uprobe_multi;
	}
}

static int attach_multi(struct uprobe_state *s, bool is_return)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(s->prog),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)SELF,
		.offsets = (uintptr_t)&s->offset,
		.cnt = 1,
		.multi_flags = is_return ? UPROBE_MULTI_RETURN : 0,
	};

	s->link_fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return s->link_fd < 0 ? -errno : 0;
}

/* Of this process only: the others run something else. */
static int attach(struct uprobe_state *s, const struct uprobe_data *data)
{
	switch (data->kind) {
	case KIND_MULTI:
	case KIND_MULTI_RETURN:
		return attach_multi(s, data->kind == KIND_MULTI_RETURN);
	case KIND_USDT:
		s->link = bpf_program__attach_usdt(s->prog, 0, SELF, "bpflab", data->note, NULL);
		break;
	default:
		s->link = bpf_program__attach_uprobe(s->prog, data->kind == KIND_URETPROBE, 0, SELF,
						     s->offset);
	}
	return s->link ? 0 : -errno;
}

static int attach_or_say(struct bench_inst *inst, struct errline *e)
{
	const struct uprobe_data *data = inst->bench->data;
	bool multi = data->kind == KIND_MULTI || data->kind == KIND_MULTI_RETURN;
	int err = attach(inst->priv, data);

	if (err == -EINVAL && multi) /* an attach type that it does not know */
		return errline_set(e, err, "cannot attach '%s' on %s: this kernel has no uprobe.multi (Linux "
				   "6.6 has); use --on user", inst->bench->name, inst->target->spec);
	if (err == -ENOTSUP || err == -524)
		return errline_set(e, err, "cannot attach '%s' on %s: this kernel puts no probe on that "
				   "instruction, or has no uprobes; try trig-uprobe-push, or use "
				   "--on user", inst->bench->name, inst->target->spec);
	return err ? driver_attach_error(e, err, inst->bench->name, inst->target->spec) : 0;
}

static void detach(struct uprobe_state *s)
{
	bpf_link__destroy(s->link);
	s->link = NULL;
	if (s->link_fd >= 0)
		close(s->link_fd);
	s->link_fd = -1;
}

struct search {
	uintptr_t addr;
	uint64_t offset; /* 0: not found */
};

static int look_in_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	for (int i = 0; i < info->dlpi_phnum && !s->offset; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && s->addr >= start && s->addr < start + ph->p_memsz)
			s->offset = ph->p_offset + (s->addr - start);
	}
	return s->offset != 0;
}

/* Where in its file @fn is; not by the mappings, of which probes may have moved some. */
static uint64_t offset_of(void (*fn)(void))
{
	struct search s = { .addr = (uintptr_t)fn };

	dl_iterate_phdr(look_in_file, &s);
	return s.offset;
}

/* ---- the bench ---- */

static int load(struct bench_inst *inst, struct errline *e)
{
	const struct uprobe_data *data = inst->bench->data;
	struct uprobe_state *s = inst->priv;
	int err;

	s->skel = uprobe__open();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	s->prog = prog_of(s->skel, data->kind);
	bpf_program__set_autoload(s->prog, true);
	if (data->kind == KIND_MULTI || data->kind == KIND_MULTI_RETURN)
		bpf_program__set_expected_attach_type(s->prog, ATTACH_UPROBE_MULTI);
	err = uprobe__load(s->skel);
	return err ? driver_load_probe_error(e, err, inst->bench->name, inst->target->spec) : 0;
}

static void uprobe_close(struct bench_inst *inst)
{
	struct uprobe_state *s = inst->priv;

	detach(s);
	uprobe__destroy(s->skel);
	free(s);
	inst->priv = NULL;
}

/* Attached once at the start, so that a target that refuses says so before anything is measured. */
static int uprobe_open(struct bench_inst *inst, struct errline *e)
{
	const struct uprobe_data *data = inst->bench->data;
	struct uprobe_state *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	s->link_fd = -1;
	s->offset = offset_of(data->call);
	inst->priv = s;
	err = load(inst, e);
	if (!err)
		err = attach_or_say(inst, e);
	if (err)
		uprobe_close(inst);
	else
		detach(s);
	return err;
}

static int uprobe_prepare(struct bench_inst *inst, enum bench_arm arm, struct errline *e)
{
	int err;

	if (!arm_is_measured(arm))
		return 0;
	/* libbpf looks for perf's devices where the thread's target says. */
	err = target_enter(inst->target, e);
	if (err)
		return err;
	err = attach_or_say(inst, e);
	target_leave(inst->target);
	return err;
}

static void uprobe_finish(struct bench_inst *inst, enum bench_arm arm)
{
	detach(inst->priv);
}

static int uprobe_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	const struct uprobe_data *data = inst->bench->data;
	uint64_t i = 0;

	while (i < ops) {
		data->call();
		i++;
	}
	*events = i;
	return 0;
}

static int uprobe_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct uprobe_state *s = inst->priv;

	*counted = 0;
	for (size_t i = 0; i < sizeof(s->skel->bss->hits) / sizeof(s->skel->bss->hits[0]); i++)
		*counted += s->skel->bss->hits[i].value;
	return 0;
}

static int uprobe_prog_fd(const struct bench_inst *inst)
{
	const struct uprobe_state *s = inst->priv;

	return bpf_program__fd(s->prog);
}

#define UPROBE_BENCH(ident, name_, event_, kind_, call_, note_)                                    \
	const struct bench bench_trig_##ident = {                                                  \
		.name = name_,                                                                     \
		.event = event_,                                                                   \
		.null_is = "the same call without a probe",                                        \
		.flags = BENCH_NEEDS_BPF | BENCH_HAS_PRODUCERS,                                    \
		.classic_ops = 1000,                                                               \
		.open = uprobe_open,                                                               \
		.close = uprobe_close,                                                             \
		.prepare = uprobe_prepare,                                                         \
		.finish = uprobe_finish,                                                           \
		.trigger = uprobe_trigger,                                                         \
		.left_behind = uprobe_left_behind,                                                 \
		.prog_fd = uprobe_prog_fd,                                                         \
		.data = &(const struct uprobe_data){ kind_, call_, note_ },                        \
	};

#define FIRST(name, insns)                                                                         \
	UPROBE_BENCH(uprobe_##name, "trig-uprobe-" #name,                                          \
		     "entering a uprobe program on a function that begins with " #name,            \
		     KIND_UPROBE, uprobe_target_##name, NULL)                                      \
	UPROBE_BENCH(uretprobe_##name, "trig-uretprobe-" #name,                                    \
		     "entering a uretprobe program on a function that begins with " #name,         \
		     KIND_URETPROBE, uprobe_target_##name, NULL)                                   \
	UPROBE_BENCH(uprobe_multi_##name, "trig-uprobe-multi-" #name,                              \
		     "entering a uprobe.multi program on a function that begins with " #name,      \
		     KIND_MULTI, uprobe_target_##name, NULL)                                       \
	UPROBE_BENCH(uretprobe_multi_##name, "trig-uretprobe-multi-" #name,                        \
		     "entering a uretprobe.multi program on a function that begins with " #name,   \
		     KIND_MULTI_RETURN, uprobe_target_##name, NULL)
#define NOTE(name, insn)                                                                           \
	UPROBE_BENCH(usdt_##name, "trig-usdt-" #name,                                              \
		     "entering a usdt program on a static probe that is a " #name, KIND_USDT,      \
		     usdt_target_##name, "trig_" #name)
#include "benches/uprobe.def"
