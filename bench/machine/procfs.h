/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files of /proc and /sys. */
#ifndef BPFLAB_PROCFS_H
#define BPFLAB_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line of @path without newline; "" (and false) if it cannot be read. */
bool procfs_read(const char *path, char *buf, size_t size);

/* The value after "@key<blanks>:" in the first such line of @path; "" (and false) if there is none. */
bool procfs_key(const char *path, const char *key, char *buf, size_t size);

/* True if @word is one of the blank-separated words in @text. */
bool procfs_has_word(const char *text, const char *word);

/* Steal time of all CPUs so far, in ticks of USER_HZ. */
uint64_t procfs_steal_ticks(void);
/* All time of all CPUs so far, in the same unit. */
uint64_t procfs_total_ticks(void);

#endif
