// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab doctor`: which targets work, and what in this machine would distort figures. It reads, tries
 * and reports; it never changes a setting. One function per finding, in the tables at the end.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <jansson.h>

#include "bpfu/bpfu.h"
#include "commands.h"
#include "machine/code_memory.h"
#include "machine/env.h"
#include "machine/procfs.h"
#include "target.h"
#include "util/output.h"
#include "vm/boot.h"
#include "vm/store.h"

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARN, LEVEL_BAD };

struct finding {
	enum level level;
	char value[256];
	char advice[1024]; /* what to do about it, or "" */
};

struct check {
	const char *name;
	void (*run)(const struct env *env, struct finding *f);
};

__attribute__((format(printf, 3, 4))) static void found(struct finding *f, enum level level,
							const char *fmt, ...)
{
	va_list ap;

	f->level = level;
	va_start(ap, fmt);
	vsnprintf(f->value, sizeof(f->value), fmt, ap);
	va_end(ap);
}

static void advise(struct finding *f, const char *advice)
{
	snprintf(f->advice, sizeof(f->advice), "%s", advice);
}

static void check_target(const char *spec, struct finding *f)
{
	struct target target;
	struct errline e;

	if (!target_parse(&target, spec, &e) && !target_probe(&target, &e))
		found(f, LEVEL_OK, "works");
	else
		found(f, LEVEL_BAD, "does not work");
	if (f->level == LEVEL_BAD)
		advise(f, e.text);
}

static void check_user(const struct env *env, struct finding *f)
{
	check_target("user:jit=off", f);
}

static void check_user_jit(const struct env *env, struct finding *f)
{
	check_target("user:jit=on", f);
}

static void check_host(const struct env *env, struct finding *f)
{
	check_target("host", f);
}

static void check_vm(const struct env *env, struct finding *f)
{
	char program[4096];
	struct kernel_list list;
	struct errline e;

	if (guest_check_qemu(machine_native(), &e) || guest_program(machine_native(), program, sizeof(program), &e) ||
	    store_list(&list, &e)) {
		found(f, LEVEL_NOTE, "does not work");
		advise(f, e.text);
		return;
	}
	if (list.nr) {
		found(f, LEVEL_OK, "works, with %zu kernels (bpflab kernel list)", list.nr);
	} else {
		found(f, LEVEL_NOTE, "works, but no kernel is here");
		advise(f, "bpflab kernel fetch 6.12");
	}
	store_list_release(&list);
}

/* What the JIT of libbpfu does: one descriptor mapped twice, writable and executable. */
static void check_exec_memory(const struct env *env, struct finding *f)
{
	int fd = memfd_create("bpflab-doctor", MFD_CLOEXEC);
	void *code = MAP_FAILED;

	if (fd < 0) {
		found(f, LEVEL_BAD, "memfd_create fails: %s", strerror(errno));
	} else {
		if (!ftruncate(fd, 4096))
			code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		if (code == MAP_FAILED)
			found(f, LEVEL_BAD, "an executable mapping of a memfd is refused: %s",
			      strerror(errno));
		else
			found(f, LEVEL_OK, "executable mappings of a memfd are allowed");
	}
	if (f->level == LEVEL_BAD)
		advise(f, "a security policy (SELinux execmem, a noexec memfd: vm.memfd_noexec) forbids "
			  "generated code; user:jit=off works without it");
	if (code != MAP_FAILED)
		munmap(code, 4096);
	if (fd >= 0)
		close(fd);
}

static void check_membarrier(const struct env *env, struct finding *f)
{
	long commands = syscall(__NR_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
	    (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE)) {
		found(f, LEVEL_OK, "expedited and core-synchronising commands are there");
		return;
	}
	found(f, LEVEL_WARN, "membarrier(2) is %s", commands < 0 ? strerror(errno) : "incomplete");
	advise(f, "CPU slots and live patching of libbpfu need it: a kernel with CONFIG_MEMBARRIER, and a "
		  "seccomp filter that allows it");
}

static void check_unprivileged(const struct env *env, struct finding *f)
{
	const char *v = env->unprivileged_disabled;

	if (!v[0])
		found(f, LEVEL_NOTE, "not visible");
	else
		found(f, LEVEL_NOTE, "%s (%s)", v,
		      v[0] == '0' ? "anyone may load simple programs" : "CAP_BPF is needed");
}

static void check_capabilities(const struct env *env, struct finding *f)
{
	char text[32];
	unsigned long long caps;

	if (!procfs_key("/proc/self/status", "CapEff", text, sizeof(text))) {
		found(f, LEVEL_NOTE, "not visible");
		return;
	}
	caps = strtoull(text, NULL, 16);
	/* CAP_SYS_ADMIN 21, CAP_PERFMON 38, CAP_BPF 39 */
	found(f, LEVEL_NOTE, "CAP_BPF %s, CAP_PERFMON %s, CAP_SYS_ADMIN %s",
	      caps >> 39 & 1 ? "yes" : "no", caps >> 38 & 1 ? "yes" : "no",
	      caps >> 21 & 1 ? "yes" : "no");
	if (!(caps >> 39 & 1))
		advise(f, "for the target 'host': run as root, or setcap cap_bpf,cap_perfmon+ep on bpflab; "
			  "the target 'user' needs none");
}

static void check_memlock(const struct env *env, struct finding *f)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl)) {
		found(f, LEVEL_NOTE, "not visible");
	} else if (rl.rlim_cur == RLIM_INFINITY) {
		found(f, LEVEL_OK, "unlimited");
	} else {
		found(f, LEVEL_NOTE, "%llu KiB", (unsigned long long)rl.rlim_cur / 1024);
		advise(f, "kernels before 5.11 charge maps to it: ulimit -l unlimited if maps fail with "
			  "EPERM or ENOMEM");
	}
}

static void check_jit(const struct env *env, struct finding *f)
{
	if (!env->jit_enable[0])
		found(f, LEVEL_NOTE, "not visible");
	else if (env->jit_enable[0] == '0')
		found(f, LEVEL_WARN, "0: the kernel interprets programs");
	else
		found(f, env->jit_enable[0] == '2' ? LEVEL_WARN : LEVEL_OK, "%s", env->jit_enable);
	if (f->level == LEVEL_WARN)
		advise(f, "sysctl net.core.bpf_jit_enable=1");
}

static void check_harden(const struct env *env, struct finding *f)
{
	if (!env->jit_harden[0]) {
		found(f, LEVEL_NOTE, "not visible");
	} else if (env->jit_harden[0] == '0') {
		found(f, LEVEL_OK, "0");
	} else {
		found(f, env->jit_harden[0] == '2' ? LEVEL_WARN : LEVEL_NOTE,
		      "%s: constants are blinded, for %s", env->jit_harden,
		      env->jit_harden[0] == '2' ? "all users" : "unprivileged users");
		advise(f, "programs are longer and slower than without: sysctl net.core.bpf_jit_harden=0");
	}
}

static void check_stats(const struct env *env, struct finding *f)
{
	if (!env->stats_enabled[0]) {
		found(f, LEVEL_NOTE, "not visible");
	} else if (env->stats_enabled[0] == '0') {
		found(f, LEVEL_OK, "off");
	} else {
		found(f, LEVEL_WARN, "on: about 20 ns are added to every run of a program");
		advise(f, "sysctl kernel.bpf_stats_enabled=0");
	}
}

static void check_debug(const struct env *env, struct finding *f)
{
	if (!env->debug[0]) {
		found(f, LEVEL_OK, "none found");
		return;
	}
	found(f, LEVEL_WARN, "%s", env->debug);
	advise(f, "figures of the target 'host' are those of a debug kernel; boot one without");
}

static void check_hypervisor(const struct env *env, struct finding *f)
{
	if (!env->hypervisor[0]) {
		found(f, LEVEL_OK, "no");
		return;
	}
	found(f, LEVEL_NOTE, "yes: %s", env->hypervisor);
	advise(f, "compare targets with each other; absolute figures are not those of bare metal");
}

static void check_steal(const struct env *env, struct finding *f)
{
	found(f, env->steal_percent > 1 ? LEVEL_WARN : LEVEL_OK, "%.2f %% since boot",
	      env->steal_percent);
	if (f->level == LEVEL_WARN)
		advise(f, "other guests take this machine's time: longer runs (-d), or another host");
}

static void check_load(const struct env *env, struct finding *f)
{
	found(f, env->load[0] > 0.5 * env->cpus ? LEVEL_WARN : LEVEL_OK, "%.2f on %u CPUs", env->load[0],
	      env->cpus);
	if (f->level == LEVEL_WARN)
		advise(f, "other programs compete for the CPUs: stop them, or run longer (-d)");
}

static void check_governor(const struct env *env, struct finding *f)
{
	if (!env->governor[0])
		found(f, LEVEL_NOTE, "not visible");
	else if (!strcmp(env->governor, "performance"))
		found(f, LEVEL_OK, "performance");
	else
		found(f, LEVEL_WARN, "%s: the clock changes with the load", env->governor);
	if (f->level == LEVEL_WARN)
		advise(f, "cpupower frequency-set -g performance");
}

static void check_turbo(const struct env *env, struct finding *f)
{
	if (!env->turbo[0])
		found(f, LEVEL_NOTE, "not visible");
	else
		found(f, strcmp(env->turbo, "on") ? LEVEL_OK : LEVEL_NOTE, "%s", env->turbo);
	if (!strcmp(env->turbo, "on"))
		advise(f, "the clock depends on temperature and on busy neighbours; drift warnings show it");
}

static void check_smt(const struct env *env, struct finding *f)
{
	if (!env->smt[0]) {
		found(f, LEVEL_NOTE, "not visible");
	} else if (env->smt[strcspn(env->smt, ",-")]) {
		found(f, LEVEL_NOTE, "CPUs %s share a core", env->smt);
		advise(f, "a busy sibling halves the speed: pin producers to separate cores "
			  "(--prod-affinity)");
	} else {
		found(f, LEVEL_OK, "no siblings visible");
	}
}

static void check_clocksource(const struct env *env, struct finding *f)
{
	bool good = !strcmp(env->clocksource, "tsc") || !strcmp(env->clocksource, "kvm-clock") ||
		    !strcmp(env->clocksource, "arch_sys_counter");

	found(f, good ? LEVEL_OK : env->clocksource[0] ? LEVEL_WARN : LEVEL_NOTE, "%s",
	      env->clocksource[0] ? env->clocksource : "not visible");
	if (f->level == LEVEL_WARN)
		advise(f, "reading the clock is a system call here: batches cover it, but boot with "
			  "clocksource=tsc if the CPU has it");
}

static void check_huge_pages(const struct env *env, struct finding *f)
{
	found(f, LEVEL_NOTE, "transparent: %s; of shared memory: %s; reserved: %s",
	      env->thp[0] ? env->thp : "not visible",
	      env->thp_shmem[0] ? env->thp_shmem : "not visible",
	      env->nr_hugepages[0] ? env->nr_hugepages : "not visible");
}

/* Is the code of many programs backed by a huge page? Load some, and look at the mapping. */
static void check_code_pages(const struct env *env, struct finding *f)
{
	struct code_memory m = { 0 };
	struct target target;
	struct errline e;
	int err = target_parse(&target, "user:jit=on", &e);

	if (!err)
		err = target_enter(&target, &e);
	if (!err) {
		err = code_memory_try(&m);
		target_leave(&target);
	}
	if (err || !m.known) {
		found(f, LEVEL_NOTE, "not known: %s", err < 0 ? strerror(-err) : "no /proc/self/smaps");
	} else if (m.huge) {
		found(f, LEVEL_OK, "%llu KiB of memory for code, %llu KiB of it in huge pages",
		      (unsigned long long)m.bytes >> 10, (unsigned long long)m.huge >> 10);
	} else {
		found(f, LEVEL_NOTE, "%llu KiB of memory for code, in small pages",
		      (unsigned long long)m.bytes >> 10);
		advise(f, "prog_pack=on saves pages then, but no huge page: Linux 6.1 or later "
			  "(MADV_COLLAPSE) gives one, or 'advise' in "
			  "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	}
}

static void check_pmu(const struct env *env, struct finding *f)
{
	if (env->has_pmu)
		found(f, LEVEL_OK, "hardware counters can be read");
	else
		found(f, LEVEL_NOTE, "no hardware counters (a virtual machine without PMU, or "
		      "kernel.perf_event_paranoid)");
}

static void check_aslr(const struct env *env, struct finding *f)
{
	char value[16];

	if (!procfs_read("/proc/sys/kernel/randomize_va_space", value, sizeof(value)))
		found(f, LEVEL_NOTE, "not visible");
	else
		found(f, LEVEL_OK, "%s: each run has a layout of its own", value);
	if (value[0] == '0') {
		found(f, LEVEL_WARN, "0: every run has the same layout");
		advise(f, "one layout can be lucky: sysctl kernel.randomize_va_space=2");
	}
}

static const struct check target_checks[] = {
	{ "user:jit=on", check_user_jit },
	{ "user:jit=off", check_user },
	{ "host", check_host },
	{ "vm", check_vm },
};

static const struct check need_checks[] = {
	{ "executable memory", check_exec_memory },
	{ "membarrier", check_membarrier },
	{ "unprivileged_bpf_disabled", check_unprivileged },
	{ "capabilities", check_capabilities },
	{ "RLIMIT_MEMLOCK", check_memlock },
	{ "bpf_jit_enable", check_jit },
};

static const struct check distortion_checks[] = {
	{ "virtual machine", check_hypervisor },
	{ "steal time", check_steal },
	{ "load", check_load },
	{ "governor", check_governor },
	{ "turbo", check_turbo },
	{ "SMT", check_smt },
	{ "clocksource", check_clocksource },
	{ "bpf_stats_enabled", check_stats },
	{ "bpf_jit_harden", check_harden },
	{ "debug kernel", check_debug },
	{ "address randomisation", check_aslr },
	{ "huge pages", check_huge_pages },
	{ "code of user:jit=on", check_code_pages },
	{ "PMU", check_pmu },
};

static const struct section {
	const char *key, *title;
	const struct check *checks;
	size_t nr;
} sections[] = {
	{ "targets", "Targets", target_checks, sizeof(target_checks) / sizeof(target_checks[0]) },
	{ "needs", "What they need", need_checks, sizeof(need_checks) / sizeof(need_checks[0]) },
	{ "distortions", "What would distort figures", distortion_checks,
	  sizeof(distortion_checks) / sizeof(distortion_checks[0]) },
};

static void print_section(const struct section *s, const struct env *env)
{
	static const char *const marks[] = { "ok", "-", "!", "NO" };

	printf("%s\n", s->title);
	for (size_t i = 0; i < s->nr; i++) {
		struct finding f = { 0 };

		s->checks[i].run(env, &f);
		printf("  %-3s %-26s %s\n", marks[f.level], s->checks[i].name, f.value);
		if (f.advice[0])
			printf("      %-26s -> %s\n", "", f.advice);
	}
}

static json_t *section_json(const struct section *s, const struct env *env)
{
	static const char *const levels[] = { "ok", "note", "warning", "failed" };
	json_t *list = json_array();

	for (size_t i = 0; i < s->nr; i++) {
		struct finding f = { 0 };

		s->checks[i].run(env, &f);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "name",
						      s->checks[i].name, "level", levels[f.level],
						      "value", f.value, "advice",
						      f.advice[0] ? json_string(f.advice) : json_null()));
	}
	return list;
}

int cmd_doctor(const struct opts *opts)
{
	json_t *all = json_pack("{s:s}", "schema", "bpflab.doctor/1");
	struct errline e;
	struct env env;
	int err;

	if (opts->nr_args) {
		errline_set(&e, -1, "doctor takes no names, and got '%s'", opts->args[0]);
		print_error(&e);
		json_decref(all);
		return EXIT_USAGE;
	}
	env_collect(&env);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (opts->json_stdout) {
			json_object_set_new(all, sections[i].key, section_json(&sections[i], &env));
			continue;
		}
		printf("%s", i ? "\n" : "");
		print_section(&sections[i], &env);
	}
	if (opts->json_stdout) {
		json_object_set_new(all, "env", env_json(&env));
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(all);
	env_release(&env);
	err = output_flush_stdout(&e);
	if (err)
		print_error(&e);
	return err ? EXIT_USAGE : EXIT_OK;
}
