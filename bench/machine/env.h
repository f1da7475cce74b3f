/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine, as far as it bears on figures: part of every result, and what doctor looks at. */
#ifndef BPFLAB_ENV_H
#define BPFLAB_ENV_H

#include <jansson.h>
#include <stdbool.h>

#define ENV_TEXT 128

/* Texts are "" where the machine does not tell. */
struct env {
	char time[32]; /* UTC */
	char kernel[ENV_TEXT];
	char arch[32];
	char cpu[ENV_TEXT];
	char microcode[32];
	char hypervisor[ENV_TEXT]; /* "" on bare metal */
	char smt[ENV_TEXT];        /* CPUs that share a core with CPU 0 */
	char governor[32];
	char turbo[16];            /* on, off */
	char mhz[32];
	char clocksource[32];
	char jit_enable[16], jit_harden[16], stats_enabled[16], unprivileged_disabled[16];
	char thp[16], thp_shmem[16]; /* transparent huge pages: the settings in force */
	char nr_hugepages[16];     /* reserved ones */
	char debug[ENV_TEXT];      /* debug features of the kernel that slow it down */
	double load[3];
	double steal_percent;      /* since boot */
	unsigned int cpus;         /* that this process may use */
	bool has_pmu;
	json_t *mitigations;       /* of the CPU's vulnerabilities, by name */
};

/* Reads only. Release with env_release(). */
void env_collect(struct env *env);
void env_release(struct env *env);

/* A new reference, or NULL if out of memory. */
json_t *env_json(const struct env *env);

#endif
