// SPDX-License-Identifier: BSD-2-Clause
/* Reading of /proc and /sys. */
#include "machine/procfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool procfs_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n < 0 ? 0 : n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return n >= 0;
}

bool procfs_key(const char *path, const char *key, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t key_len = strlen(key);
	char line[4096];
	bool found = false;

	buf[0] = '\0';
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		char *p = line + key_len;

		if (strncmp(line, key, key_len))
			continue;
		p += strspn(p, " \t");
		if (*p != ':')
			continue;
		p += 1 + strspn(p + 1, " \t");
		p[strcspn(p, "\n")] = '\0';
		snprintf(buf, size, "%s", p);
		found = true;
	}
	fclose(f);
	return found;
}

bool procfs_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		if ((p == text || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

/* The cpu line: user nice system idle iowait irq softirq steal … */
static bool read_cpu_line(uint64_t ticks[8])
{
	char line[256];

	return procfs_read("/proc/stat", line, sizeof(line)) &&
	       sscanf(line,
		      "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		      " %" SCNu64 " %" SCNu64,
		      &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
		      &ticks[7]) == 8;
}

uint64_t procfs_steal_ticks(void)
{
	uint64_t ticks[8];

	return read_cpu_line(ticks) ? ticks[7] : 0;
}

uint64_t procfs_total_ticks(void)
{
	uint64_t ticks[8], sum = 0;

	if (!read_cpu_line(ticks))
		return 0;
	for (int i = 0; i < 8; i++)
		sum += ticks[i];
	return sum;
}
