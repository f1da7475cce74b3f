// SPDX-License-Identifier: BSD-2-Clause
/* Each argument and why it is there. Results have to be the same from boot to boot, as far as they can. */
#include "vm/qemu_args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add(struct qemu_args *a, const char *word)
{
	if (a->nr == QEMU_MAX_ARGS)
		a->failed = true;
	else
		a->argv[a->nr++] = word;
}

__attribute__((format(printf, 2, 3))) static void addf(struct qemu_args *a, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0 || a->nr_owned == QEMU_MAX_ARGS) {
		a->failed = true;
		if (len >= 0)
			free(text);
		return;
	}
	a->owned[a->nr_owned++] = text;
	add(a, text);
}

struct words {
	char *list[QEMU_MAX_ARGS];
	size_t nr;
	char *text[2];
};

static void split(struct words *w, char *text)
{
	char *save = NULL;

	for (char *p = text ? strtok_r(text, " \t\n", &save) : NULL; p && w->nr < QEMU_MAX_ARGS;
	     p = strtok_r(NULL, " \t\n", &save))
		w->list[w->nr++] = p;
}

static bool is_given(const struct words *w, const char *option)
{
	for (size_t i = 0; i < w->nr; i++)
		if (!strcmp(w->list[i], option) || (w->list[i][0] == '-' && !strcmp(w->list[i] + 1, option)))
			return true;
	return false;
}

static const char *program(const struct machine_kind *m)
{
	char name[64] = "BPFLAB_QEMU_";
	const char *value;
	size_t len = strlen(name);

	for (const char *p = m->name; *p && len + 1 < sizeof(name); p++)
		name[len++] = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	name[len] = '\0';
	value = getenv(name);
	return value && *value ? value : m->qemu;
}

static void add_machine(struct qemu_args *a, const struct vm_spec *spec, const struct words *w)
{
	const struct machine_kind *m = spec->machine;

	for (size_t i = 0; i + 1 < sizeof(m->board) / sizeof(m->board[0]); i += 2) {
		if (is_given(w, m->board[i]))
			continue;
		add(a, m->board[i]);
		add(a, m->board[i + 1]);
	}
	if (!is_given(w, "-accel")) {
		add(a, "-accel");
		add(a, "tcg");
	}
	if (!is_given(w, "-m")) {
		add(a, "-m");
		addf(a, "%u", spec->mem);
	}
	if (!is_given(w, "-smp")) {
		add(a, "-smp");
		addf(a, "%u", spec->smp);
	}
	for (const char *const *p = (const char *const[]){ "-nodefaults", "-no-user-config", "-display", "none",
							   "-no-reboot", NULL }; *p; p++)
		add(a, *p);
}

/*
 * panic=-1: a panic ends the guest at once. cryptomgr.notests: its threads would take the CPU for many
 * seconds after boot. jent_mod_init measures the jitter of a clock, a tenth of what booting takes. No random kernel addresses and stack offsets: they cost a varying number of
 * instructions. rcu_expedited: attaching and detaching waits less. A value of ours can be set again by the target's, which comes last.
 */
static void add_kernel(struct qemu_args *a, const struct vm_spec *spec, const struct kernel *k,
		       const struct qemu_files *files)
{
	add(a, "-kernel");
	add(a, files->kernel ? files->kernel : k->image);
	add(a, "-initrd");
	add(a, files->initrd);
	add(a, "-append");
	addf(a, "console=%s quiet loglevel=4 panic=-1 oops=panic cryptomgr.notests=1 "
	     "initcall_blacklist=jent_mod_init "
	     "randomize_kstack_offset=off nokaslr rcupdate.rcu_expedited=1%s%s%s",
	     spec->machine->console, spec->machine->cmdline,
	     spec->cmdline[0] ? " " : "", spec->cmdline);
}

static void add_ports(struct qemu_args *a, const struct qemu_files *files)
{
	static const char *const names[GUEST_NR_PORTS] = { NULL, "control", "out", "err" };

	add(a, "-serial");
	addf(a, "file:%s", files->console);
	add(a, "-device");
	addf(a, "virtio-serial-pci,max_ports=%d,ioeventfd=off", GUEST_NR_PORTS);
	for (int i = GUEST_CONTROL; i < GUEST_NR_PORTS; i++) {
		add(a, "-chardev");
		addf(a, "file,id=%s,path=%s", names[i], files->ports[i]);
		add(a, "-device");
		addf(a, "virtserialport,chardev=%s,nr=%d,name=%s", names[i], i, names[i]);
	}
}

int qemu_args_make(struct qemu_args *a, const struct vm_spec *spec, const struct kernel *k,
		   const struct qemu_files *files, const char *extra, struct errline *e)
{
	const char *from_env = getenv("BPFLAB_QEMU_ARGS");
	struct words w = { 0 };

	memset(a, 0, sizeof(*a));
	w.text[0] = extra ? strdup(extra) : NULL;
	w.text[1] = from_env ? strdup(from_env) : NULL;
	if ((extra && !w.text[0]) || (from_env && !w.text[1]))
		a->failed = true;
	split(&w, w.text[0]);
	split(&w, w.text[1]);
	add(a, program(spec->machine));
	add_machine(a, spec, &w);
	add_kernel(a, spec, k, files);
	add_ports(a, files);
	for (size_t i = 0; i < w.nr; i++)
		addf(a, "%s", w.list[i]);
	free(w.text[0]);
	free(w.text[1]);
	a->argv[a->nr] = NULL;
	return a->failed ? errline_set(e, -ENOMEM, "too many words for QEMU, or out of memory") : 0;
}

void qemu_args_release(struct qemu_args *a)
{
	for (size_t i = 0; i < a->nr_owned; i++)
		free(a->owned[i]);
	a->nr = a->nr_owned = 0;
}

void qemu_args_print(FILE *f, const struct qemu_args *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		const char *word = a->argv[i];

		if (i)
			putc(' ', f);
		if (*word && !word[strcspn(word, " \t\n'\"\\$`*?[]()<>|&;#~!{}")]) {
			fputs(word, f);
			continue;
		}
		putc('\'', f);
		for (const char *p = word; *p; p++)
			fputs(*p == '\'' ? "'\\''" : (char[]){ *p, '\0' }, f);
		putc('\'', f);
	}
	putc('\n', f);
}
