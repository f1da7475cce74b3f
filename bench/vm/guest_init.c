// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first process of a guest. There is no shell and no other program: what a command of bpflab or a
 * test needs of a system is set up here. What fails is said on the control port, or on the console as
 * long as there is none.
 */
#include "vm/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORDS 256
#define PORT_WAIT_MS 10000

static int control = -1;

bool guest_is_init(void)
{
	/* a container's first process has number 1, too */
	return getpid() == 1 && !access("/" GUEST_COMMAND, R_OK) && !access("/init", X_OK);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(text))
		len = sizeof(text) - 1;
	if (write(control >= 0 ? control : STDERR_FILENO, text, (size_t)len) != len)
		return; /* nobody is left to be told */
}

static _Noreturn void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	/* a board that cannot; with -no-reboot this ends the emulator, too */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static _Noreturn void give_up(const char *what)
{
	tell("failed %s: %s\n", what, strerror(errno));
	power_off();
}

/* Kernels differ in what they have; the command finds out what is missing. */
static void mount_all(void)
{
	static const struct {
		const char *type, *where;
	} mounts[] = {
		{ "devtmpfs", "/dev" },
		{ "proc", "/proc" },
		{ "sysfs", "/sys" },
		{ "tmpfs", "/tmp" },
		{ "debugfs", "/sys/kernel/debug" },
		{ "tracefs", "/sys/kernel/tracing" },
		{ "bpf", "/sys/fs/bpf" },
		{ "cgroup2", "/sys/fs/cgroup" },
		{ "securityfs", "/sys/kernel/security" },
	};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].where, 0755);
		mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, NULL);
	}
}

static void set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* this kernel has no such setting */
	if (write(fd, value, strlen(value)) < 0)
		tell("%s: %s\n", path, strerror(errno));
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static bool load_module(const char *name)
{
	char path[512];
	bool loaded;
	int fd;

	snprintf(path, sizeof(path), "/" GUEST_MODULES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	loaded = fd >= 0 && (!syscall(SYS_finit_module, fd, "", 0) || errno == EEXIST);
	if (fd >= 0)
		close(fd);
	return loaded;
}

/* Which module needs which has changed between kernels: what fails is tried again after the others. */
static void load_modules(void)
{
	struct dirent **list;
	int nr = scandir("/" GUEST_MODULES, &list, is_visible, by_name), left = nr, before = nr + 1;

	while (left > 0 && left < before) {
		before = left;
		for (int i = 0; i < nr; i++) {
			if (!list[i] || !load_module(list[i]->d_name))
				continue;
			free(list[i]);
			list[i] = NULL;
			left--;
		}
	}
	for (int i = 0; i < nr; i++) {
		if (list[i])
			tell("bpflab: cannot load %s\n", list[i]->d_name);
		free(list[i]);
	}
	if (nr >= 0)
		free(list);
}

/* Ports come when the driver has talked to the emulator. */
static int open_port(enum guest_port port)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	char path[64];
	int fd = -1;

	snprintf(path, sizeof(path), "/dev/vport0p%d", (int)port);
	for (int i = 0; i < PORT_WAIT_MS && fd < 0; i++) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			nanosleep(&ms, NULL);
	}
	return fd;
}

static void loopback_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0)
		return;
	ioctl(fd, SIOCSIFFLAGS, &req);
	close(fd);
}

static void prepare(void)
{
	const struct rlimit files = { 65536, 65536 }, locked = { RLIM_INFINITY, RLIM_INFINITY };

	set("/proc/sys/kernel/kptr_restrict", "0");
	set("/proc/sys/kernel/perf_event_paranoid", "-1");
	/* an interrupt takes long under emulation; samples are not to become rarer for it */
	set("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	set("/proc/sys/net/core/bpf_jit_kallsyms", "1");
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_MEMLOCK, &locked);
	setenv("HOME", "/tmp", 1);
	setenv("PATH", "/" GUEST_FILES, 1);
	loopback_up();
}

/* The words of the command, and then the environment's, after an empty word. */
static void read_command(char **argv)
{
	static char text[65536];
	int fd = open("/" GUEST_COMMAND, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t nr = 0;
	char *p = text;

	if (len <= 0)
		give_up("/" GUEST_COMMAND);
	close(fd);
	for (; p < text + len && *p && nr < MAX_WORDS; p += strlen(p) + 1)
		argv[nr++] = p;
	argv[nr] = NULL;
	for (p++; p < text + len && *p; p += strlen(p) + 1)
		putenv(p);
}

static _Noreturn void child(char **argv, int out, int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (chdir("/tmp"))
		_exit(126);
	execv(argv[0], argv);
	tell("failed cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Everything that ends is ours to bury; the command's own end is the guest's. */
static int run(char **argv, int out, int err)
{
	const struct timespec second = { .tv_sec = 1 };
	int status = 0;
	sigset_t ended;
	pid_t pid;

	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	pid = fork();
	if (!pid)
		child(argv, out, err);
	if (pid < 0)
		give_up("fork");
	for (;;) {
		pid_t gone;
		int what;

		while ((gone = waitpid(-1, &what, WNOHANG)) > 0) {
			if (gone == pid)
				status = what;
			if (gone == pid)
				return status;
		}
		if (sigtimedwait(&ended, NULL, &second) < 0 && errno == EAGAIN)
			tell("alive\n");
	}
}

_Noreturn void guest_init(void)
{
	char *argv[MAX_WORDS + 1], release[128] = "?";
	int out, err, status, fd;

	mount_all();
	load_modules();
	control = open_port(GUEST_CONTROL);
	if (control < 0)
		tell("bpflab: this kernel has no virtio-serial ports\n");
	out = open_port(GUEST_OUT);
	err = open_port(GUEST_ERR);
	if (control < 0 || out < 0 || err < 0)
		give_up("virtio-serial ports");
	prepare();
	read_command(argv);
	fd = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t len = read(fd, release, sizeof(release) - 1);

		release[len > 0 ? len : 0] = '\0';
		close(fd);
	}
	release[strcspn(release, "\n")] = '\0';
	tell("ready %s\n", release);
	status = run(argv, out, err);
	if (WIFSIGNALED(status))
		tell("signal %d\n", WTERMSIG(status));
	else
		tell("exit %d\n", WEXITSTATUS(status));
	power_off();
}
