// SPDX-License-Identifier: BSD-2-Clause
/* What apt prints, and which of it is wanted. All of it may be anything. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/fetch.h"

bool fetch_find_mirror(const char *text, char *buf, size_t size)
{
	while (*text) {
		size_t line = strcspn(text, "\n");
		const char *end = text + line;

		for (const char *p = text; p < end && *text != '#'; p++) {
			size_t len = strcspn(p, " \t\n");
			size_t path = len && p[len - 1] == '/' ? len - 1 : len;

			if ((!strncmp(p, "http://", 7) || !strncmp(p, "https://", 8)) && path > 15 &&
			    !strncmp(p + path - 7, "/debian", 7) && path < size) {
				snprintf(buf, size, "%.*s", (int)path, p);
				return true;
			}
			p += len;
		}
		text = *end ? end + 1 : end;
	}
	return false;
}

/* The version in a package's name: 6.12.118+deb13, 6.1.0-50; compared with the line asked for. */
static bool name_fits(const char *name, size_t len, const char *line, const char *suffix)
{
	static const char prefix[] = "linux-image-";
	size_t suffix_len = strlen(suffix), line_len = strlen(line);
	const char *version = name + strlen(prefix);

	if (len <= strlen(prefix) + suffix_len || strncmp(name, prefix, strlen(prefix)))
		return false;
	/* the point version need not be in the name: of bookworm's it is not */
	while (line_len && strncmp(version, line, line_len)) {
		while (line_len && line[--line_len] != '.')
			;
		if (!memchr(line, '.', line_len))
			return false;
	}
	if (!line_len || isdigit((unsigned char)version[line_len]))
		return false;
	return !strncmp(name + len - suffix_len, suffix, suffix_len);
}

void fetch_pick_images(const char *names, const char *line, const struct machine_kind *machine, char *buf,
		       size_t size)
{
	char suffix[64];
	size_t used = strlen(buf);

	snprintf(suffix, sizeof(suffix), "-cloud-%s", machine->debian);
	while (*names) {
		size_t len = strcspn(names, "\n");

		if (name_fits(names, len, line, suffix) && used + len + 2 < size)
			used += (size_t)snprintf(buf + used, size - used, "%.*s\n", (int)len, names);
		names += len + (names[len] == '\n');
	}
}

/* The value of @key in the stanza @text of @len bytes. */
static bool stanza_value(const char *text, size_t len, const char *key, char *buf, size_t size)
{
	size_t key_len = strlen(key);

	for (const char *p = text; p < text + len;) {
		size_t line = strcspn(p, "\n");

		if (line > key_len + 2 && !strncmp(p, key, key_len) && p[key_len] == ':') {
			snprintf(buf, size, "%.*s", (int)(line - key_len - 2), p + key_len + 2);
			return true;
		}
		p += line + 1;
	}
	return false;
}

bool fetch_pick_newest(const char *stanzas, const char *line, char package[128], char version[64],
		       char name[KERNEL_NAME_MAX])
{
	size_t line_len = strlen(line);
	bool found = false;

	while (*stanzas) {
		const char *end = strstr(stanzas, "\n\n");
		size_t len = end ? (size_t)(end - stanzas) : strlen(stanzas);
		char p[128], v[64];

		if (stanza_value(stanzas, len, "Package", p, sizeof(p)) &&
		    stanza_value(stanzas, len, "Version", v, sizeof(v)) && !strncmp(v, line, line_len) &&
		    !isalnum((unsigned char)v[line_len]) &&
		    (!found || store_compare_versions(v, version) > 0)) {
			found = true;
			memcpy(package, p, sizeof(p));
			memcpy(version, v, sizeof(v));
			/* 6.12.118-1, 7.0~rc3-1~exp1, 6.12.95-1~bpo12+1 */
			snprintf(name, KERNEL_NAME_MAX, "%.*s", (int)strcspn(v, "-+"), v);
		}
		stanzas += len + (end ? 2 : 0);
		while (*stanzas == '\n')
			stanzas++;
	}
	return found;
}
