// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpflab-count: a plugin of QEMU that counts the instructions a guest executes between two marks
 * (measure/mark.h).
 *
 *	guest:   …  begin  insn insn insn …  end  …  begin  insn insn …  end  …
 *	output:                            w 1 4711                    w 2 815
 *
 * Every instruction except the marks adds one to a counter before it is executed; a mark reads the
 * counter. Code is instrumented when QEMU translates it, whether it runs in a window or not, so that
 * the count does not depend on when that happens.
 *
 * The counter is one for all virtual processors. What another executes while a window is open is
 * counted as well, so a window says how many there were, and whoever reads it decides.
 *
 * With profile=on each address has a counter of its own, too. They are found by address in a table
 * that only grows, under a lock that is taken when code is translated or a window ends, and never
 * while instructions run.
 *
 * With from=ready nothing is instrumented until the mark MARK_READY is executed: what was translated
 * until then is thrown away. It has to lie well before the first window.
 *
 * Arguments: out=FILE, profile=on, from=ready. The output is one line a window, written when it ends:
 *
 *	v VERSION                  first of all: the plugin was loaded
 *	w NUMBER INSNS VCPUS
 *	p ADDRESS TIMES            with profile=on: lines of the window, after its own
 *	e REASON                   the marks make no sense; no window follows
 *	q WINDOWS                  the guest exited
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/mark.h"
#include "plugin/qemu_api.h"

struct place {
	struct place *next; /* in its bucket */
	uint64_t addr;
	uint64_t times;
};

#define NR_BUCKETS (1u << 16)

static struct {
	int fd;
	bool profile, x86;
	bool waits; /* for MARK_READY */
	uint64_t id;
	uint64_t insns;   /* executed so far */
	uint64_t at_begin;
	bool open, broken;
	unsigned int vcpus; /* that exist */
	uint64_t windows;

	pthread_mutex_t lock; /* the table, and the output */
	struct place *buckets[NR_BUCKETS];
} count = { .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

QEMU_API_EXPORT int qemu_plugin_version = QEMU_API_VERSION;

/* ---- output: few lines, or those of a profile in large pieces ---- */

static char text[1 << 16];
static size_t text_len;

static void flush(void)
{
	size_t done = 0;

	while (done < text_len) {
		ssize_t n = write(count.fd, text + done, text_len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* whoever reads misses the line with the number of windows */
		done += (size_t)n;
	}
	text_len = 0;
}

__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
	va_list ap;
	int n;

	if (text_len + 128 > sizeof(text))
		flush();
	va_start(ap, fmt);
	n = vsnprintf(text + text_len, 128, fmt, ap);
	va_end(ap);
	if (n > 0 && n < 128)
		text_len += (size_t)n;
}

/* ---- counters of addresses ---- */

static struct place **bucket_of(uint64_t addr)
{
	return &count.buckets[(addr * 0x9e3779b97f4a7c15ull) >> 48];
}

static struct place *place_at(uint64_t addr)
{
	struct place **bucket = bucket_of(addr), *p;

	for (p = *bucket; p; p = p->next)
		if (p->addr == addr)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		abort(); /* QEMU does the same without memory */
	p->addr = addr;
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void each_place(void (*fn)(struct place *p))
{
	for (size_t i = 0; i < NR_BUCKETS; i++)
		for (struct place *p = count.buckets[i]; p; p = p->next)
			fn(p);
}

static void clear_place(struct place *p)
{
	p->times = 0;
}

static void put_place(struct place *p)
{
	if (p->times)
		put("p %" PRIx64 " %" PRIu64 "\n", p->addr, p->times);
}

/* ---- marks ---- */

static void give_up(const char *why)
{
	put("e %s\n", why);
	flush();
	count.broken = true;
}

static void window_begin(unsigned int vcpu, void *data)
{
	pthread_mutex_lock(&count.lock);
	if (count.open && !count.broken)
		give_up("a window begins in another");
	if (count.waits && !count.broken)
		give_up("a window begins before the mark that all is ready");
	if (count.profile)
		each_place(clear_place);
	count.open = true;
	count.at_begin = count.insns;
	pthread_mutex_unlock(&count.lock);
}

static void window_end(unsigned int vcpu, void *data)
{
	uint64_t insns = count.insns - count.at_begin;

	pthread_mutex_lock(&count.lock);
	if (!count.open && !count.broken)
		give_up("a window ends that did not begin");
	count.open = false;
	if (!count.broken) {
		put("w %" PRIu64 " %" PRIu64 " %u\n", ++count.windows, insns, count.vcpus);
		if (count.profile)
			each_place(put_place);
		flush();
	}
	pthread_mutex_unlock(&count.lock);
}

/* ---- translation ---- */

static void register_all(uint64_t id);

static void ready(unsigned int vcpu, void *data)
{
	if (!count.waits)
		return;
	count.waits = false;
	/* throws away all translations, and calls us when no processor is in one */
	qemu_plugin_reset(count.id, register_all);
}

static enum mark mark_of(struct qemu_plugin_insn *insn)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	size_t len = qemu_plugin_insn_size(insn);

	return count.x86 ? mark_of_x86_64(bytes, len) : mark_of_arm64(bytes, len);
}

static void instrument(struct qemu_plugin_insn *insn)
{
	enum mark mark = mark_of(insn);

	if (mark != MARK_NONE) {
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, mark == MARK_BEGIN ? window_begin : mark == MARK_END ? window_end : ready,
			QEMU_PLUGIN_CB_NO_REGS, NULL);
		return;
	}
	if (count.waits)
		return;
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &count.insns,
						   1);
	if (count.profile)
		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, QEMU_PLUGIN_INLINE_ADD_U64,
			&place_at(qemu_plugin_insn_vaddr(insn))->times, 1);
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);

	pthread_mutex_lock(&count.lock);
	for (size_t i = 0; i < nr; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i));
	pthread_mutex_unlock(&count.lock);
}

static void vcpu_added(uint64_t id, unsigned int vcpu)
{
	__atomic_add_fetch(&count.vcpus, 1, __ATOMIC_RELAXED);
}

static void vcpu_gone(uint64_t id, unsigned int vcpu)
{
	__atomic_sub_fetch(&count.vcpus, 1, __ATOMIC_RELAXED);
}

static void guest_exited(uint64_t id, void *data)
{
	pthread_mutex_lock(&count.lock);
	put("q %" PRIu64 "\n", count.windows);
	flush();
	pthread_mutex_unlock(&count.lock);
}

static void register_all(uint64_t id)
{
	qemu_plugin_register_vcpu_init_cb(id, vcpu_added);
	qemu_plugin_register_vcpu_exit_cb(id, vcpu_gone);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, guest_exited, NULL);
}

/* ---- arguments ---- */

static void complain(const char *what, const char *word, const char *why)
{
	char line[512];

	snprintf(line, sizeof(line), "bpflab-count: %s '%.300s'%s\n", what, word, why);
	fputs(line, stderr);
}

static int take_argument(const char *arg)
{
	if (!strcmp(arg, "profile=on")) {
		count.profile = true;
	} else if (!strcmp(arg, "from=ready")) {
		count.waits = true;
	} else if (!strncmp(arg, "out=", 4)) {
		count.fd = open(arg + 4, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (count.fd < 0) {
			complain("cannot write", arg + 4, "");
			return -1;
		}
	} else {
		complain("no argument", arg, " (out=FILE, profile=on, from=ready)");
		return -1;
	}
	return 0;
}

QEMU_API_EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
					char **argv)
{
	for (int i = 0; i < argc; i++)
		if (take_argument(argv[i]))
			return -1;
	if (count.fd < 0) {
		complain("needs an argument", "out=FILE", "");
		return -1;
	}
	count.x86 = !strcmp(info->target_name, "x86_64");
	if (!count.x86 && strcmp(info->target_name, "aarch64")) {
		complain("knows no marks of", info->target_name, "");
		return -1;
	}
	put("v %d\n", QEMU_API_VERSION);
	flush();
	count.id = id;
	register_all(id);
	return 0;
}
