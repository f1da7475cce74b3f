// SPDX-License-Identifier: BSD-2-Clause
/*
 * The driver of ordinary builds: replays files, or all files of folders, through the target it is
 * linked with. No fuzzer is needed, so every corpus file is a test everywhere.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"

#define INPUT_MAX (1u << 20)

static int replayed;

static int replay_file(const char *path)
{
	static uint8_t buf[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	uint8_t *copy;
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	size = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	/* A block of its own, so that a sanitizer sees a read past the input's end. */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 1;
	memcpy(copy, buf, size);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	replayed++;
	return 0;
}

static int replay(const char *path)
{
	struct dirent **names;
	struct stat st;
	int count, err = 0;

	if (stat(path, &st)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	count = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char full[4096];

		snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			err |= replay(full);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return err || count < 0;
}

int main(int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc; i++)
		err |= replay(argv[i]);
	if (!replayed) {
		fprintf(stderr, "usage: %s FILE|FOLDER...: no input replayed\n", argv[0]);
		return 1;
	}
	printf("%d inputs replayed\n", replayed);
	return err;
}
