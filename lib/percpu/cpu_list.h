/* SPDX-License-Identifier: BSD-2-Clause */
/* The list files of sysfs ("0-3,8,10-11"): /sys/devices/system/{cpu,node}/{possible,online}. */
#ifndef BPFU_PERCPU_CPU_LIST_H
#define BPFU_PERCPU_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Parse @text. Returns how many numbers the list has or -EINVAL; *@has (may be NULL) tells whether
 * @wanted is among them.
 */
int bpfu_cpu_list_parse(const char *text, uint32_t wanted, bool *has);

/* The same for the file @path; also the errno of opening or reading it. */
int bpfu_cpu_list_read(const char *path, uint32_t wanted, bool *has);

#endif
