// SPDX-License-Identifier: BSD-2-Clause
/*
 * The process gets three files in memory: standard output, standard error and, by its name in /proc, the
 * plugin's. A file in memory needs nobody who reads while it is written, and disappears with its last
 * descriptor, however the processes end.
 */
#include "count/emulator.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/in_path.h"
#include "util/interrupt.h"
#include "vm/boot.h"
#include "vm/machine_kind.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define MAX_ARGS 512
#define LOOK_MS 200
#define LIMIT_MS (30 * 60 * 1000)
#define PLUGIN "bpflab-count.so"

/* ---- one process ---- */

enum stream { OUT, ERR, COUNTS, NR_STREAMS };

static void child(char *const *argv, const int *files, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C reaches all processes of the terminal; the parent ends this one. */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(files[OUT], STDOUT_FILENO);
	dup2(files[ERR], STDERR_FILENO);
	fcntl(files[COUNTS], F_SETFD, 0); /* QEMU opens it anew, by its number */
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* A file in memory, out of the way of the standard streams. */
static int make_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC), moved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return moved;
}

/* -EINTR after a signal, -ETIMEDOUT; the child is gone in any case. */
static int wait_for(pid_t pid, int *status)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), err = 0;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	for (int left = LIMIT_MS; !err && pidfd >= 0; left -= LOOK_MS) {
		if (interrupt_signal())
			err = -EINTR;
		else if (left <= 0)
			err = -ETIMEDOUT;
		else if (poll(&p, 1, LOOK_MS) > 0)
			break;
	}
	if (err)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	return err;
}

static int spawn(char *const *argv, const int *files, int *status, struct errline *e)
{
	pid_t parent = getpid(), pid = fork();
	int err;

	if (pid < 0)
		return errline_set(e, -errno, "cannot start '%s': %s", argv[0], strerror(errno));
	if (!pid)
		child(argv, files, parent);
	err = wait_for(pid, status);
	if (err == -ETIMEDOUT)
		return errline_set(e, err, "'%s' did not end within %d minutes", argv[0],
				   LIMIT_MS / 60000);
	return err ? errline_set(e, err, "interrupted") : 0;
}

int emulator_read_back(int fd, char **text, size_t *len, struct errline *e)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t done = 0;

	*text = size < 0 ? NULL : malloc((size_t)size + 1);
	if (!*text)
		return errline_set(e, -ENOMEM, "out of memory");
	while (done < (size_t)size) {
		ssize_t n = pread(fd, *text + done, (size_t)size - done, (off_t)done);

		if (n <= 0)
			return errline_set(e, -EIO, "cannot read what was counted");
		done += (size_t)n;
	}
	(*text)[done] = '\0';
	*len = done;
	return 0;
}

void emulated_release(struct emulated *res)
{
	free(res->out);
	free(res->err);
	free(res->counts);
	memset(res, 0, sizeof(*res));
}

/* ---- what is needed ---- */

/* The folder of this program, in @buf. */
static bool own_folder(char *buf, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (len <= 0)
		return false;
	buf[len] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* @file beside this program, as in a build folder, or in the folder where it is installed. */
static bool find_beside(const char *file, const char *installed, char *buf, size_t size)
{
	char folder[4096];

	if (own_folder(folder, sizeof(folder)) &&
	    snprintf(buf, size, "%s/%s", folder, file) < (int)size && !access(buf, R_OK))
		return true;
	return snprintf(buf, size, "%s/%s", installed, file) < (int)size && !access(buf, R_OK);
}

/* This program, or the static one of another architecture (vm/guest_program.c). */
static int find_guest(struct emulator *em, const struct machine_kind *machine, struct errline *e)
{
	ssize_t len;

	if (machine != machine_native())
		return guest_program(machine, em->guest, sizeof(em->guest), e);
	len = readlink("/proc/self/exe", em->guest, sizeof(em->guest) - 1);
	em->guest[len > 0 ? len : 0] = '\0';
	return len > 0 ? 0 : errline_set(e, -ENOENT, "cannot find bpflab itself: no /proc");
}

static void read_version(struct emulator *em)
{
	char *argv[] = { (char *)em->program, (char *)"--version", NULL };
	int files[NR_STREAMS], status;
	struct emulated res = { 0 };
	struct errline e;
	const char *word;

	snprintf(em->version, sizeof(em->version), "?");
	files[OUT] = files[ERR] = files[COUNTS] = make_file("bpflab-version");
	if (files[OUT] < 0)
		return;
	if (!spawn(argv, files, &status, &e) && !emulator_read_back(files[OUT], &res.out, &res.out_len, &e)) {
		word = strstr(res.out, "version ");
		if (word)
			snprintf(em->version, sizeof(em->version), "%.*s",
				 (int)strcspn(word + 8, " \n("), word + 8);
	}
	close(files[OUT]);
	emulated_release(&res);
}

int emulator_find_plugin(struct emulator *em, struct errline *e)
{
	if (!find_beside(PLUGIN, BPFLAB_LIBDIR, em->plugin, sizeof(em->plugin)))
		return errline_set(e, -ENOENT, "counting takes %s, which is neither beside bpflab nor in %s; "
				   "install bpflab anew", PLUGIN, BPFLAB_LIBDIR);
	if (strchr(em->plugin, ','))
		return errline_set(e, -EINVAL, "'%s': QEMU cannot load a plugin from a folder with a comma in "
				   "its name", em->plugin);
	read_version(em);
	return 0;
}

int emulator_find(struct emulator *em, const char *arch, struct errline *e)
{
	const struct machine_kind *machine = arch ? machine_find(arch) : machine_native();
	int err;

	memset(em, 0, sizeof(*em));
	if (!machine)
		return errline_set(e, -EINVAL, "arch=%s: instructions are counted on x86_64 and arm64", arch);
	em->arch = machine->name;
	em->program = machine->qemu_user;
	em->cpu = "max";
	if (!program_in_path(em->program))
		return errline_set(e, -ENOENT, "counting on %s takes %s, which is not in PATH (Debian: "
				   "qemu-user)", em->arch, em->program);
	err = find_guest(em, machine, e);
	return err ? err : emulator_find_plugin(em, e);
}

/* ---- running ---- */

/* Copies the first line of @text without "bpflab: ". */
static void first_line(const char *text, char *buf, size_t size)
{
	if (!strncmp(text, "bpflab: ", 8))
		text += 8;
	snprintf(buf, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Nothing of the plugin's: QEMU does not know the option, or does not want this plugin. */
static int no_plugin(const struct emulator *em, const struct emulated *res, struct errline *e)
{
	char line[512];

	first_line(res->err, line, sizeof(line));
	if (strstr(res->err, "API version") || strstr(res->err, "undefined symbol"))
		return errline_set(e, -ENOEXEC, "%s %s loads plugins of another version than bpflab's, which "
				   "is for QEMU 4.2 to 8.2 (%s)", em->program, em->version, line);
	return errline_set(e, -ENOEXEC, "%s %s does not load plugins, as those of qemu-user-static; install "
			   "Debian's qemu-user (%s)", em->program, em->version, line);
}

static int judge(const struct emulator *em, const struct emulated *res, int status, struct errline *e)
{
	char line[512];

	if (strncmp(res->counts, "v ", 2))
		return no_plugin(em, res, e);
	if (!status)
		return 0;
	first_line(res->err, line, sizeof(line));
	if (WIFSIGNALED(status))
		return errline_set(e, -EIO, "bpflab under %s was ended by signal %d (%s)%s%s", em->program,
				   WTERMSIG(status), strsignal(WTERMSIG(status)), line[0] ? ": " : "",
				   line);
	if (line[0])
		return errline_set(e, -EINVAL, "%s", line);
	return errline_set(e, -EIO, "bpflab under %s exited with %d", em->program, WEXITSTATUS(status));
}

static size_t make_argv(const struct emulator *em, const char *const *args, const char *plugin,
			char **argv)
{
	const char *const head[] = { em->program, "-cpu", em->cpu, "-plugin", plugin, em->guest };
	size_t nr = sizeof(head) / sizeof(head[0]);

	memcpy(argv, head, sizeof(head));
	while (*args && nr < MAX_ARGS - 1)
		argv[nr++] = (char *)*args++;
	argv[nr] = NULL;
	return nr;
}

int emulator_run(const struct emulator *em, const char *const *args, bool profile,
		 struct emulated *res, struct errline *e)
{
	static const char *const names[] = { "bpflab-out", "bpflab-err", "bpflab-counts" };
	char plugin[sizeof(em->plugin) + 64], *argv[MAX_ARGS];
	int files[NR_STREAMS] = { -1, -1, -1 }, status, err = 0;

	memset(res, 0, sizeof(*res));
	for (int i = 0; i < NR_STREAMS && !err; i++) {
		files[i] = make_file(names[i]);
		if (files[i] < 0)
			err = errline_set(e, -errno, "cannot make a file in memory: %s", strerror(errno));
	}
	snprintf(plugin, sizeof(plugin), "%s,out=/proc/self/fd/%d%s", em->plugin, files[COUNTS],
		 profile ? ",profile=on" : "");
	make_argv(em, args, plugin, argv);
	if (!err)
		err = spawn(argv, files, &status, e);
	if (!err)
		err = emulator_read_back(files[OUT], &res->out, &res->out_len, e);
	if (!err)
		err = emulator_read_back(files[ERR], &res->err, &res->err_len, e);
	if (!err)
		err = emulator_read_back(files[COUNTS], &res->counts, &res->counts_len, e);
	for (int i = 0; i < NR_STREAMS; i++)
		if (files[i] >= 0)
			close(files[i]);
	return err ? err : judge(em, res, status, e);
}
