/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies to and from addresses that a caller of bpf(2) gave us. The caller lives in the same address
 * space, so a bad pointer must yield -EFAULT as the kernel's copy_from_user() does, not a crash: the
 * copy loop is covered by an exception table that a SIGSEGV/SIGBUS handler consults before it
 * chains to the application's handler. The same table serves BPFU_PROBE_MEM loads of JIT images.
 */
#ifndef BPFU_UTIL_UACCESS_H
#define BPFU_UTIL_UACCESS_H

#include <stddef.h>
#include <stdint.h>

/*
 * See that the handler is installed; thread-safe. The functions below do it at their first use; call
 * it again where the application may have installed a handler of its own since (every bpf(2)
 * command does): ours is then put in front of it again.
 */
void bpfu_uaccess_init(void);

/* Copy @n bytes; 0 or -EFAULT (a prefix may have been copied). @n of 0 touches nothing. */
int bpfu_copy_from_user(void *dst, uint64_t src, size_t n);
int bpfu_copy_to_user(uint64_t dst, const void *src, size_t n);

/*
 * Copy up to @size bytes with the NUL; returns the length with the NUL, @size if there is none. What
 * follows the NUL in @dst stays as it was.
 */
int bpfu_strncpy_from_user(char *dst, uint64_t src, size_t size);

/*
 * Register code with fixups: if an access at @insn faults, execution continues at @fixup.
 * The table must stay valid and sorted by insn until unregistered. Returns 0 or -ENOMEM.
 */
struct bpfu_extable_entry {
	uint64_t insn;
	uint64_t fixup;
};
int bpfu_extable_register(const struct bpfu_extable_entry *table, size_t cnt);
void bpfu_extable_unregister(const struct bpfu_extable_entry *table);

#endif
