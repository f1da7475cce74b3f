// SPDX-License-Identifier: BSD-2-Clause
/*
 * Parser of sysfs number lists (cpu_list.h), free of libc's streams: it runs at first use anywhere.
 */
#include "percpu/cpu_list.h"

#include <errno.h>
#include <stddef.h>

#include "percpu/sys.h"

#define MAX_NUMBER 1000000u

static int parse_number(const char **pos, uint32_t *out)
{
	const char *s = *pos;
	uint32_t n = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (uint32_t)(*s - '0');
		if (n > MAX_NUMBER)
			return -EINVAL;
	}
	*pos = s;
	*out = n;
	return 0;
}

int bpfu_cpu_list_parse(const char *text, uint32_t wanted, bool *has)
{
	uint32_t first, last, cnt = 0;
	int err;

	if (has)
		*has = false;
	while (*text && *text != '\n') {
		err = parse_number(&text, &first);
		if (err)
			return err;
		last = first;
		if (*text == '-') {
			text++;
			err = parse_number(&text, &last);
			if (err)
				return err;
		}
		if (last < first)
			return -EINVAL;
		cnt += last - first + 1;
		if (has && wanted >= first && wanted <= last)
			*has = true;
		if (*text == ',')
			text++;
		else if (*text && *text != '\n')
			return -EINVAL;
	}
	return cnt ? (int)cnt : -EINVAL;
}

int bpfu_cpu_list_read(const char *path, uint32_t wanted, bool *has)
{
	char buf[4096];
	int len = bpfu_read_small_file(path, buf, sizeof(buf));

	return len < 0 ? len : bpfu_cpu_list_parse(buf, wanted, has);
}
