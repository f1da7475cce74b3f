/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and addresses of the running kernel's functions. */
#ifndef BPFLAB_KALLSYMS_H
#define BPFLAB_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

/* The symbol at exactly @addr, NULL if there is none or addresses are hidden (kptr_restrict). */
const char *kallsyms_name(uint64_t addr);

/* The last symbol at or below @addr, NULL if there is none or addresses are hidden. */
const char *kallsyms_near(uint64_t addr);

/* Read anew when next asked: programs and trampolines have come or gone. */
void kallsyms_forget(void);

/* The address of @name, 0 if unknown. */
uint64_t kallsyms_addr(const char *name);

#endif
