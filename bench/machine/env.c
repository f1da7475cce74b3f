// SPDX-License-Identifier: BSD-2-Clause
/* Reading the environment record from /proc, /sys and a few calls. */
#include "machine/env.h"

#include <bpf/libbpf.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "machine/procfs.h"

/* The hypervisor's name for itself: CPUID leaf 0x40000000, or what the firmware says. */
static void read_hypervisor(struct env *env)
{
	char vendor[64] = "", product[64] = "";

#ifdef __x86_64__
	unsigned int eax, regs[3];
	char name[13] = "";

	__cpuid(0x40000000, eax, regs[0], regs[1], regs[2]);
	memcpy(name, regs, 12);
	for (int i = 11; i >= 0 && name[i] == ' '; i--)
		name[i] = '\0';
	if (name[0])
		snprintf(env->hypervisor, sizeof(env->hypervisor), "%s", name);
	if (env->hypervisor[0])
		return;
#endif
	procfs_read("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	procfs_read("/sys/class/dmi/id/product_name", product, sizeof(product));
	snprintf(env->hypervisor, sizeof(env->hypervisor), "%s%s%s", vendor[0] ? vendor : "unknown",
		 product[0] ? " " : "", product);
}

static void read_cpu(struct env *env)
{
	char flags[4096];

	if (!procfs_key("/proc/cpuinfo", "model name", env->cpu, sizeof(env->cpu)))
		procfs_key("/proc/cpuinfo", "CPU part", env->cpu, sizeof(env->cpu));
	procfs_key("/proc/cpuinfo", "microcode", env->microcode, sizeof(env->microcode));
	procfs_key("/proc/cpuinfo", "cpu MHz", env->mhz, sizeof(env->mhz));
	procfs_key("/proc/cpuinfo", "flags", flags, sizeof(flags));
	if (procfs_has_word(flags, "hypervisor"))
		read_hypervisor(env);
	procfs_read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", env->smt,
		    sizeof(env->smt));
}

static void read_frequency(struct env *env)
{
	char value[16];

	procfs_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", env->governor,
		    sizeof(env->governor));
	if (procfs_read("/sys/devices/system/cpu/intel_pstate/no_turbo", value, sizeof(value)))
		snprintf(env->turbo, sizeof(env->turbo), value[0] == '0' ? "on" : "off");
	else if (procfs_read("/sys/devices/system/cpu/cpufreq/boost", value, sizeof(value)))
		snprintf(env->turbo, sizeof(env->turbo), value[0] == '1' ? "on" : "off");
}

static void read_sysctls(struct env *env)
{
	procfs_read("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		    env->clocksource, sizeof(env->clocksource));
	procfs_read("/proc/sys/net/core/bpf_jit_enable", env->jit_enable, sizeof(env->jit_enable));
	procfs_read("/proc/sys/net/core/bpf_jit_harden", env->jit_harden, sizeof(env->jit_harden));
	procfs_read("/proc/sys/kernel/bpf_stats_enabled", env->stats_enabled,
		    sizeof(env->stats_enabled));
	procfs_read("/proc/sys/kernel/unprivileged_bpf_disabled", env->unprivileged_disabled,
		    sizeof(env->unprivileged_disabled));
}

/* "always [madvise] never": the word in brackets. */
static void read_choice(const char *path, char *buf, size_t size)
{
	char line[128];
	const char *open, *close;

	procfs_read(path, line, sizeof(line));
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	snprintf(buf, size, "%.*s", close ? (int)(close - open - 1) : 0, open ? open + 1 : "");
}

static void read_huge_pages(struct env *env)
{
	read_choice("/sys/kernel/mm/transparent_hugepage/enabled", env->thp, sizeof(env->thp));
	read_choice("/sys/kernel/mm/transparent_hugepage/shmem_enabled", env->thp_shmem,
		    sizeof(env->thp_shmem));
	procfs_read("/proc/sys/vm/nr_hugepages", env->nr_hugepages, sizeof(env->nr_hugepages));
}

static void add_debug(struct env *env, const char *name)
{
	size_t len = strlen(env->debug);

	snprintf(env->debug + len, sizeof(env->debug) - len, "%s%s", len ? " " : "", name);
}

/* The kernel's configuration where there is one; zlib reads a plain file as well. */
static void read_debug_config(struct env *env)
{
	static const struct {
		const char *config, *name;
	} table[] = {
		{ "CONFIG_KASAN=y", "KASAN" },
		{ "CONFIG_KCSAN=y", "KCSAN" },
		{ "CONFIG_KMSAN=y", "KMSAN" },
		{ "CONFIG_UBSAN=y", "UBSAN" },
		{ "CONFIG_PROVE_LOCKING=y", "lockdep" },
		{ "CONFIG_DEBUG_PREEMPT=y", "DEBUG_PREEMPT" },
		{ "CONFIG_DEBUG_PAGEALLOC=y", "DEBUG_PAGEALLOC" },
		{ "CONFIG_KCOV=y", "KCOV" },
	};
	char path[256], line[512];
	struct utsname uts;
	gzFile f = gzopen("/proc/config.gz", "re");

	if (!f && !uname(&uts)) {
		snprintf(path, sizeof(path), "/boot/config-%.200s", uts.release);
		f = gzopen(path, "re");
	}
	if (!f) {
		if (!access("/proc/lockdep", F_OK))
			add_debug(env, "lockdep");
		return;
	}
	while (gzgets(f, line, sizeof(line))) {
		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (!strcmp(line, table[i].config))
				add_debug(env, table[i].name);
	}
	gzclose(f);
}

static void read_mitigations(struct env *env)
{
	static const char dir_name[] = "/sys/devices/system/cpu/vulnerabilities";
	DIR *dir = opendir(dir_name);
	struct dirent *d;

	env->mitigations = json_object();
	while (dir && (d = readdir(dir))) {
		char path[512], value[256];

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir_name, d->d_name);
		if (procfs_read(path, value, sizeof(value)))
			json_object_set_new(env->mitigations, d->d_name, json_string(value));
	}
	if (dir)
		closedir(dir);
}

static bool find_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void read_load(struct env *env)
{
	uint64_t total = procfs_total_ticks();
	cpu_set_t cpus;

	if (getloadavg(env->load, 3) != 3)
		env->load[0] = env->load[1] = env->load[2] = 0;
	env->steal_percent = total ? 100.0 * (double)procfs_steal_ticks() / (double)total : 0;
	env->cpus = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (unsigned int)CPU_COUNT(&cpus);
}

void env_collect(struct env *env)
{
	time_t now = time(NULL);
	struct utsname uts;
	struct tm tm;

	memset(env, 0, sizeof(*env));
	if (gmtime_r(&now, &tm))
		strftime(env->time, sizeof(env->time), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!uname(&uts)) {
		snprintf(env->kernel, sizeof(env->kernel), "%s", uts.release);
		snprintf(env->arch, sizeof(env->arch), "%.31s", uts.machine);
	}
	read_cpu(env);
	read_frequency(env);
	read_sysctls(env);
	read_huge_pages(env);
	read_debug_config(env);
	read_mitigations(env);
	read_load(env);
	env->has_pmu = find_pmu();
}

void env_release(struct env *env)
{
	json_decref(env->mitigations);
	env->mitigations = NULL;
}

/* A text, or null where the machine did not tell. */
static json_t *text(const char *value)
{
	return value[0] ? json_string(value) : json_null();
}

json_t *env_json(const struct env *env)
{
	const char *options = getenv("BPFU_OPTIONS");

	return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:[f,f,f], s:f, s:i, s:b}",
			 "tool", BPFU_VERSION, "bpfu_options", text(options ? options : ""), "time",
			 env->time, "libbpf", libbpf_version_string(), "clang", BPFLAB_BPF_CLANG, "kernel",
			 env->kernel, "cpu", text(env->cpu), "arch", env->arch, "microcode",
			 text(env->microcode), "hypervisor", text(env->hypervisor), "smt_siblings",
			 text(env->smt), "governor", text(env->governor), "turbo", text(env->turbo), "mhz",
			 text(env->mhz), "clocksource", text(env->clocksource), "bpf_jit_enable",
			 text(env->jit_enable), "bpf_jit_harden", text(env->jit_harden),
			 "bpf_stats_enabled", text(env->stats_enabled), "unprivileged_bpf_disabled",
			 text(env->unprivileged_disabled), "thp", text(env->thp), "thp_shmem",
			 text(env->thp_shmem), "nr_hugepages", text(env->nr_hugepages), "debug_kernel", text(env->debug), "mitigations",
			 env->mitigations ? json_incref(env->mitigations) : json_null(),
			 "overhead_policy", "trigger (slope) and null program subtracted", "load",
			 env->load[0], env->load[1], env->load[2], "steal_percent", env->steal_percent,
			 "cpus", (int)env->cpus, "pmu", env->has_pmu);
}
