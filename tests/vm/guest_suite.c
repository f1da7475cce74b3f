// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs tests inside a guest, one after another: guest_suite LIST, in the folder of the files. Each line of
 * LIST is "NAME SECONDS [VARIABLE=VALUE]... PROGRAM [ARG]...". One line of standard output for each test:
 *
 *	ok NAME | skip NAME | FAIL NAME: how it ended
 *
 * with what a failed test wrote below, each line after "# ". Programs are dynamic: the loader lies among the
 * files, and is given its place first; it finds the libraries, which lie there, too. Linked statically.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILES "/bpflab/files/"
#define MAX_WORDS 32
#define MAX_SHOWN 4000

#if defined(__aarch64__)
#define LOADER_FOLDER "/lib"
#define LOADER "ld-linux-aarch64.so.1"
#else
#define LOADER_FOLDER "/lib64"
#define LOADER "ld-linux-x86-64.so.2"
#endif

static void place_libraries(void)
{
	mkdir(LOADER_FOLDER, 0755);
	if (symlink(FILES LOADER, LOADER_FOLDER "/" LOADER))
		fprintf(stderr, "guest_suite: cannot place the loader: %s\n", strerror(errno));
	setenv("LD_LIBRARY_PATH", FILES, 1);
}

static _Noreturn void child(char **argv, int out)
{
	char program[512];

	setsid();
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	for (; argv[0] && strchr(argv[0], '='); argv++)
		putenv(argv[0]);
	if (!argv[0])
		_exit(127);
	snprintf(program, sizeof(program), FILES "%s", argv[0]);
	execv(program, argv);
	printf("cannot run %s: %s\n", program, strerror(errno));
	fflush(stdout);
	_exit(127);
}

/* The status of @argv, or -1 if it took longer. */
static int run(char **argv, int seconds, int out)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	time_t end = time(NULL) + seconds;
	pid_t pid = fork();
	int status;

	if (!pid)
		child(argv, out);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (time(NULL) > end) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		nanosleep(&tick, NULL);
	}
	return status;
}

static void show(int fd)
{
	char text[MAX_SHOWN + 1], *save = NULL;
	ssize_t len = pread(fd, text, MAX_SHOWN, 0);

	text[len > 0 ? len : 0] = '\0';
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		printf("# %s\n", p);
}

static int run_line(char *line)
{
	char *argv[MAX_WORDS + 1], *save = NULL, *name = strtok_r(line, " \n", &save);
	char *seconds = name ? strtok_r(NULL, " \n", &save) : NULL, *p;
	int nr = 0, status, fd;

	if (!seconds)
		return 0;
	while (nr < MAX_WORDS && (p = strtok_r(NULL, " \n", &save)))
		argv[nr++] = p;
	argv[nr] = NULL;
	fd = open("/tmp/output", O_RDWR | O_CREAT | O_TRUNC, 0600);
	status = run(argv, atoi(seconds), fd);
	if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		printf("ok %s\n", name);
	else if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("skip %s\n", name);
	else if (status < 0)
		printf("FAIL %s: it took longer than %s s\n", name, seconds);
	else if (WIFSIGNALED(status))
		printf("FAIL %s: signal %d\n", name, WTERMSIG(status));
	else
		printf("FAIL %s: exit status %d\n", name, WEXITSTATUS(status));
	if (status && !(WIFEXITED(status) && WEXITSTATUS(status) == 77))
		show(fd);
	close(fd);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	char line[4096], path[512];
	FILE *f;

	snprintf(path, sizeof(path), FILES "%s", argc > 1 ? argv[1] : "list");
	f = fopen(path, "r");
	if (!f) {
		fprintf(stderr, "guest_suite: cannot read %s: %s\n", path, strerror(errno));
		return 2;
	}
	place_libraries();
	while (fgets(line, sizeof(line), f))
		run_line(line);
	fclose(f);
	printf("end\n");
	return 0;
}
