// SPDX-License-Identifier: BSD-2-Clause
/*
 * The plugin writes into a file in memory of this process, by its name in /proc: QEMU is started with no
 * descriptors but its own.
 */
#include "count/in_guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm/boot.h"
#include "vm/guest_files.h"
#include "vm/machine_kind.h"

/*
 * The guest's clock is its own instructions, four nanoseconds each, and its random numbers follow from a seed:
 * nothing of this machine's time and load gets in. Faster, and a timer would tick in more of the windows;
 * slower, and booting would take longer, as some of it waits for time to pass.
 */
#define CLOCK "-icount shift=2,sleep=off -rtc base=2026-01-01,clock=vm -seed"

#define MAX_WORDS 256
#define MAX_SECONDS 900

static const char *cpu_of(const struct machine_kind *machine)
{
	for (size_t i = 0; machine->board[i] && machine->board[i + 1]; i++)
		if (!strcmp(machine->board[i], "-cpu"))
			return machine->board[i + 1];
	return "?";
}

/* What target_probe() asks for, but for the kernel. */
static int can_boot(const struct machine_kind *machine, struct errline *e)
{
	char program[4096];
	int err = guest_check_qemu(machine, e);

	return err ? err : guest_program(machine, program, sizeof(program), e);
}

int count_guest_find(struct count_target *t, struct errline *e)
{
	const struct machine_kind *machine = t->target.vm.machine;
	struct emulator *em = &t->emulator;
	int err = t->kernel ? can_boot(machine, e) : target_probe(&t->target, e);

	memset(em, 0, sizeof(*em));
	em->arch = machine->name;
	em->program = machine->qemu;
	em->cpu = cpu_of(machine);
	if (!err)
		err = emulator_find_plugin(em, e);
	if (!err && strpbrk(em->plugin, " \t"))
		return errline_set(e, -EINVAL, "'%s': counting on a vm takes a plugin in a folder without blanks "
				   "in its name", em->plugin);
	if (!err && t->target.vm.smp > 1)
		return errline_set(e, -EINVAL, "target '%s': instructions are counted on one CPU; leave smp= out",
				   t->target.spec);
	return err;
}

static int judge(const struct guest *g, const struct count_target *t, const struct emulated *res,
		 struct errline *e)
{
	const char *text = g->err_out.text ? g->err_out.text : "";

	if (!strncmp(text, "bpflab: ", 8))
		text += 8;
	if (strncmp(res->counts, "v ", 2))
		return errline_set(e, -ENOEXEC, "%s %s does not load plugins of bpflab's version, which is for QEMU "
				   "4.2 to 8.2", t->emulator.program, t->emulator.version);
	if (!g->status)
		return 0;
	if (text[0])
		return errline_set(e, -EINVAL, "%s: %.*s", t->spec, (int)strcspn(text, "\n"), text);
	return errline_set(e, -EIO, "bpflab in the guest of %s exited with %d", t->spec, g->status);
}

/* What the guest wrote becomes @res's. */
static int take_texts(struct guest *g, int counts, struct emulated *res, struct errline *e)
{
	res->out = g->out.text ? strdup(g->out.text) : strdup("");
	res->err = g->err_out.text ? strdup(g->err_out.text) : strdup("");
	if (!res->out || !res->err)
		return errline_set(e, -ENOMEM, "out of memory");
	res->out_len = strlen(res->out);
	res->err_len = strlen(res->err);
	return emulator_read_back(counts, &res->counts, &res->counts_len, e);
}

int count_guest_run(const struct count_target *t, const char *const *args, const struct count_boot *boot,
		    struct emulated *res, struct errline *e)
{
	const struct guest_settings settings = { .quiet = true };
	const char *more = t->qemu_args ? t->qemu_args : "";
	size_t size = sizeof(t->emulator.plugin) + strlen(more) + 160;
	char *qemu_args = malloc(size);
	const char *argv[MAX_WORDS + 2] = { "/init" };
	struct guest g = { .label = t->spec, .spec = &t->target.vm, .given = t->kernel, .argv = argv,
			   .qemu_args = qemu_args, .max_seconds = t->max_seconds > 0 ? t->max_seconds : MAX_SECONDS };
	int counts = memfd_create("bpflab-counts", MFD_CLOEXEC), err = 0;
	size_t nr = 1;

	memset(res, 0, sizeof(*res));
	if (counts < 0 || !qemu_args) {
		err = errline_set(e, counts < 0 ? -errno : -ENOMEM, "cannot make a file in memory: %s", strerror(errno));
		free(qemu_args);
		return err;
	}
	if (t->files) {
		g.files = t->files->files;
		g.nr_files = t->files->nr;
	}
	while (*args && nr <= MAX_WORDS)
		argv[nr++] = *args++;
	snprintf(qemu_args, size, "-plugin %s,from=ready%s,out=/proc/%d/fd/%d " CLOCK " %u %s", t->emulator.plugin,
		 boot->profile ? ",profile=on" : "", (int)getpid(), counts, boot->seed, more);
	err = guests_run(&g, 1, &settings, e);
	if (!err && g.err) {
		guest_print_console(stderr, &g);
		*e = g.error;
		err = g.err;
	}
	if (!err)
		err = take_texts(&g, counts, res, e);
	if (!err)
		err = judge(&g, t, res, e);
	guest_release(&g);
	free(qemu_args);
	close(counts);
	return err;
}
