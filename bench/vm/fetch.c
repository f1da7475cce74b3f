// SPDX-License-Identifier: BSD-2-Clause
/*
 * apt is given a state of its own below the staging folder of the store: lists, archives, sources, an empty
 * status. So the system's stays as it is, nothing needs root, and whatever happens is removed with that
 * folder. Packages are verified by apt with the archive's key, as always.
 */
#include "vm/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/interrupt.h"
#include "vm/subprocess.h"
#include "vm/unpack.h"

#define KEYRING "/usr/share/keyrings/debian-archive-keyring.gpg"
#define DEFAULT_MIRROR "http://deb.debian.org/debian"
#define MAX_SOURCES (1u << 20)
#define MAX_WORDS 64
#define PACKAGE_MAX 256

/*
 * Where a line lives: only the order of looking. What is not in the first row that fits is looked for in
 * the last.
 */
static const struct {
	const char *line;
	const char *suites[6]; /* '+': of the security archive */
} suite_table[] = {
	{ "5.10", { "bullseye" } },
	{ "6.1", { "bookworm", "+bookworm-security" } },
	{ "6.12", { "trixie", "+trixie-security" } },
	{ "", { "trixie-backports", "sid" } },
	{ "", { "bookworm-backports", "trixie", "+trixie-security", "trixie-backports", "sid" } },
};

#define NR_SUITE_ROWS (sizeof(suite_table) / sizeof(suite_table[0]))

struct fetch {
	const struct fetch_request *r;
	struct store_stage stage;
	char mirror[512];
	char options[8][4200];
	const char *apt[32]; /* the options of every call */
	size_t nr_apt;
	char package[128], version[64], name[KERNEL_NAME_MAX];
};

__attribute__((format(printf, 2, 3))) static void say(const struct fetch *f, const char *fmt, ...)
{
	va_list ap;

	if (f->r->quiet)
		return;
	fputs("bpflab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}

/* -------------------------------------------------------------- the mirror */

static bool mirror_in_file(const char *path, char *buf, size_t size)
{
	struct errline ignored;
	bool found = false;
	size_t len;
	void *text;

	if (unpack_read(path, MAX_SOURCES, &text, &len, &ignored))
		return false;
	((char *)text)[len] = '\0';
	found = fetch_find_mirror(text, buf, size);
	free(text);
	return found;
}

static void find_mirror(struct fetch *f)
{
	DIR *dir = opendir("/etc/apt/sources.list.d");
	bool found = false;
	struct dirent *d;

	snprintf(f->mirror, sizeof(f->mirror), "%s", f->r->mirror ?: "");
	if (!f->mirror[0])
		found = mirror_in_file("/etc/apt/sources.list", f->mirror, sizeof(f->mirror));
	while (!f->mirror[0] && !found && dir && (d = readdir(dir))) {
		char path[512];

		snprintf(path, sizeof(path), "/etc/apt/sources.list.d/%s", d->d_name);
		found = mirror_in_file(path, f->mirror, sizeof(f->mirror));
	}
	if (dir)
		closedir(dir);
	if (!f->mirror[0])
		snprintf(f->mirror, sizeof(f->mirror), DEFAULT_MIRROR);
}

/* -------------------------------------------------------------- apt */

static void option(struct fetch *f, size_t idx, const char *name, const char *value)
{
	snprintf(f->options[idx], sizeof(f->options[idx]), "%s=%.4000s%s", name, f->stage.dir, value);
	f->apt[f->nr_apt++] = "-o";
	f->apt[f->nr_apt++] = f->options[idx];
}

static int prepare_apt(struct fetch *f, struct errline *e)
{
	static const char *const folders[] = { "apt", "apt/lists", "apt/lists/partial", "apt/archives",
					       "apt/archives/partial", "deb", "tree" };
	static const char *const fixed[] = { "Dir::Etc::sourceparts=/dev/null", "APT::Sandbox::User=",
					     "Acquire::Languages=none", "APT::Update::Error-Mode=any",
					     "Acquire::Retries=1", "Acquire::http::Timeout=20" };
	char path[4200];
	FILE *status;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->stage.dir, folders[i]);
		if (mkdir(path, 0755))
			return store_write_error(e, -errno, f->stage.dir);
	}
	snprintf(path, sizeof(path), "%s/apt/status", f->stage.dir);
	status = fopen(path, "we");
	if (!status)
		return store_write_error(e, -errno, f->stage.dir);
	fclose(status);
	option(f, 0, "Dir::State", "/apt");
	option(f, 1, "Dir::State::lists", "/apt/lists");
	option(f, 2, "Dir::State::status", "/apt/status");
	option(f, 3, "Dir::Cache", "/apt");
	option(f, 4, "Dir::Cache::archives", "/apt/archives");
	option(f, 5, "Dir::Etc::sourcelist", "/apt/sources.list");
	for (int i = 6; i < 8; i++) {
		snprintf(f->options[i], sizeof(f->options[i]), "%s=%s",
			 i == 6 ? "APT::Architecture" : "APT::Architectures", f->r->machine->debian);
		f->apt[f->nr_apt++] = "-o";
		f->apt[f->nr_apt++] = f->options[i];
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		f->apt[f->nr_apt++] = "-o";
		f->apt[f->nr_apt++] = fixed[i];
	}
	return 0;
}

static int write_sources(const struct fetch *f, size_t row, struct errline *e)
{
	const char *signed_by = access(KEYRING, R_OK) ? "" : "[signed-by=" KEYRING "] ";
	char path[4200];
	FILE *out;
	int err = 0;

	snprintf(path, sizeof(path), "%s/apt/sources.list", f->stage.dir);
	out = fopen(path, "we");
	for (size_t i = 0; out && suite_table[row].suites[i]; i++) {
		const char *suite = suite_table[row].suites[i];

		if (*suite == '+')
			fprintf(out, "deb %s%s-security %s main\n", signed_by, f->mirror, suite + 1);
		else
			fprintf(out, "deb %s%s %s main\n", signed_by, f->mirror, suite);
	}
	if (!out || ferror(out))
		err = -errno;
	if (out && fclose(out) && !err)
		err = -errno;
	return err ? store_write_error(e, err, f->stage.dir) : 0;
}

/* What stands in the way, told by what apt says. */
static int explain(const struct fetch *f, int err, struct errline *e)
{
	char said[400];

	if (err == -ENOENT)
		return errline_set(e, err, "fetching kernels needs apt-get, apt-cache and dpkg-deb, as Debian "
				   "and Ubuntu have them; elsewhere: bpflab kernel add NAME VMLINUZ");
	if (err != -ECHILD)
		return err;
	snprintf(said, sizeof(said), "%.399s", e->text);
	if (strstr(said, "No space left"))
		return store_write_error(e, -ENOSPC, f->stage.dir);
	if (strstr(said, "NO_PUBKEY") || strstr(said, "not signed"))
		return errline_set(e, err, "apt does not know the key of '%s' (%s): install "
				   "debian-archive-keyring", f->mirror, said);
	return errline_set(e, err, "cannot fetch from '%s': %s; is the network there? --mirror URL names "
			   "another mirror", f->mirror, said);
}

/* `@program OPTIONS @verb @words` in folder @dir. */
static int apt(const struct fetch *f, const char *program, const char *verb, char **words, const char *dir,
	       struct subprocess_output *out, struct errline *e)
{
	const char *argv[MAX_WORDS + 40];
	size_t nr = 0;
	int err;

	argv[nr++] = program;
	for (size_t i = 0; i < f->nr_apt; i++)
		argv[nr++] = f->apt[i];
	argv[nr++] = "-q";
	argv[nr++] = verb;
	for (size_t i = 0; words && words[i] && i < MAX_WORDS; i++)
		argv[nr++] = words[i];
	argv[nr] = NULL;
	err = subprocess_run(argv, dir, out, e);
	return err ? explain(f, err, e) : 0;
}

/* -------------------------------------------------------------- finding */

/* The newest image of the line, or -ENODATA. @names: all packages called linux-… */
static int newest(struct fetch *f, const char *names, struct errline *e)
{
	char images[16384] = "", *words[MAX_WORDS + 1], *save = NULL;
	struct subprocess_output out;
	bool found = false;
	size_t nr = 0;
	int err;

	fetch_pick_images(names, f->r->line, f->r->machine, images, sizeof(images));
	for (char *p = strtok_r(images, "\n", &save); p && nr < MAX_WORDS; p = strtok_r(NULL, "\n", &save))
		words[nr++] = p;
	words[nr] = NULL;
	if (!nr)
		return -ENODATA;
	err = apt(f, "apt-cache", "show", words, NULL, &out, e);
	if (err)
		return err;
	if (out.out.text)
		found = fetch_pick_newest(out.out.text, f->r->line, f->package, f->version, f->name);
	free(out.out.text);
	return found ? 0 : -ENODATA;
}

static void suites_text(size_t row, char *buf, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; suite_table[row].suites[i] && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "",
					suite_table[row].suites[i] + (suite_table[row].suites[i][0] == '+'));
}

/* Look in the suites of @row; *@names: the packages there. */
static int look_in(struct fetch *f, size_t row, char **names, struct errline *e)
{
	char *prefix[] = { (char *)"linux-", NULL }, suites[256];
	struct subprocess_output out = { 0 };
	int err = write_sources(f, row, e);

	suites_text(row, suites, sizeof(suites));
	say(f, "looking for %s (%s) in %s of %s", f->r->line, f->r->machine->name, suites, f->mirror);
	if (!err)
		err = apt(f, "apt-get", "update", NULL, NULL, NULL, e);
	if (!err)
		err = apt(f, "apt-cache", "pkgnames", prefix, NULL, &out, e);
	if (!err)
		err = out.out.text ? newest(f, out.out.text, e) : -ENODATA;
	if (err)
		free(out.out.text);
	*names = err ? NULL : out.out.text;
	return err;
}

static int look(struct fetch *f, char **names, struct errline *e)
{
	size_t first = 0, line_len;
	int err;

	for (; first < NR_SUITE_ROWS - 1; first++) {
		line_len = strlen(suite_table[first].line);
		if (!strncmp(f->r->line, suite_table[first].line, line_len) &&
		    (!line_len || !f->r->line[line_len] || f->r->line[line_len] == '.'))
			break;
	}
	err = look_in(f, first, names, e);
	if (err == -ENODATA && first != NR_SUITE_ROWS - 1)
		err = look_in(f, NR_SUITE_ROWS - 1, names, e);
	if (err == -ENODATA)
		return errline_set(e, -ENOENT, "no kernel %s for %s is at '%s'; Debian keeps the newest of "
				   "each line: 5.10, 6.1, 6.12 and those of trixie-backports and sid",
				   f->r->line, f->r->machine->name, f->mirror);
	return err;
}

/* -------------------------------------------------------------- getting */

static bool has_name(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = names; (p = strstr(p, name)); p += len)
		if ((p == names || p[-1] == '\n') && (p[len] == '\n' || !p[len]))
			return true;
	return false;
}

/* Newer kernels are in several packages: image, modules and configuration. */
static size_t packages(const struct fetch *f, const char *names, char (*list)[PACKAGE_MAX])
{
	static const char *const parts[] = { "linux-binary-", "linux-modules-", "linux-base-" };
	const char *what = f->package + strlen("linux-image-");
	size_t nr = 0;

	snprintf(list[nr++], PACKAGE_MAX, "%s=%s", f->package, f->version);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char name[PACKAGE_MAX];

		snprintf(name, sizeof(name), "%s%s", parts[i], what);
		if (has_name(names, name))
			memcpy(list[nr++], name, sizeof(name));
	}
	return nr;
}

static int unpack_all(const struct fetch *f, struct errline *e)
{
	char deb[4200], tree[4200];
	struct dirent *d;
	int err = 0;
	DIR *dir;

	snprintf(deb, sizeof(deb), "%s/deb", f->stage.dir);
	snprintf(tree, sizeof(tree), "%s/tree", f->stage.dir);
	dir = opendir(deb);
	while (dir && !err && (d = readdir(dir))) {
		char path[4500];
		const char *argv[] = { "dpkg-deb", "-x", path, tree, NULL };

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", deb, d->d_name);
		err = subprocess_run(argv, NULL, NULL, e);
	}
	if (dir)
		closedir(dir);
	return err ? explain(f, err, e) : 0;
}

static int download(const struct fetch *f, const char *names, struct errline *e)
{
	char list[4][PACKAGE_MAX], deb[4200], *words[5];
	size_t nr = packages(f, names, list);
	int err;

	for (size_t i = 0; i < nr; i++)
		words[i] = list[i];
	words[nr] = NULL;
	snprintf(deb, sizeof(deb), "%s/deb", f->stage.dir);
	say(f, "downloading %s %s", f->package, f->version);
	err = apt(f, "apt-get", "download", words, deb, NULL, e);
	return err ? err : unpack_all(f, e);
}

/* -------------------------------------------------------------- keeping */

static struct {
	char image[4300], config[4300];
} found;

static int note_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;

	if (type != FTW_F)
		return 0;
	if (!strncmp(name, "vmlinuz", 7))
		snprintf(found.image, sizeof(found.image), "%s", path);
	else if (!strcmp(name, "config") || !strncmp(name, "config-", 7))
		snprintf(found.config, sizeof(found.config), "%s", path);
	return 0;
}

static int remove_path(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int keep(struct fetch *f, struct errline *e)
{
	static const char *const parts[] = { "apt", "deb", "tree" };
	char tree[4200], path[4300];
	int err;

	memset(&found, 0, sizeof(found));
	snprintf(tree, sizeof(tree), "%s/tree", f->stage.dir);
	nftw(tree, note_file, 32, FTW_PHYS);
	if (!found.image[0])
		return errline_set(e, -ENOENT, "there is no vmlinuz in package %s %s", f->package,
				   f->version);
	snprintf(path, sizeof(path), "%s/vmlinuz", f->stage.dir);
	err = kernel_copy_file(found.image, path, e);
	snprintf(path, sizeof(path), "%s/config", f->stage.dir);
	if (!err && found.config[0])
		err = kernel_copy_file(found.config, path, e);
	snprintf(path, sizeof(path), "%s/modules", f->stage.dir);
	if (!err)
		err = kernel_copy_modules(tree, path, e);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->stage.dir, parts[i]);
		nftw(path, remove_path, 16, FTW_DEPTH | FTW_PHYS);
	}
	snprintf(path, sizeof(path), "%.100s %.60s", f->package, f->version);
	return err ? err : store_stage_commit(&f->stage, f->name, f->r->machine, path, e);
}

static bool is_here(const struct fetch *f, struct kernel *k)
{
	char package[256];
	struct errline ignored;

	snprintf(package, sizeof(package), "%.100s %.60s", f->package, f->version);
	return !store_find(k, f->name, f->r->machine, &ignored) && !strcmp(k->package, package);
}

/* One fetch at a time: the second finds what it wants in the store. */
static int wait_for_turn(const struct fetch *f, struct errline *e)
{
	char root[4000], path[4200];
	int err = store_dir(root, sizeof(root), e), fd;
	bool told = false;

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/.fetch", root);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return store_write_error(e, -errno, root);
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (interrupt_signal()) {
			close(fd);
			return errline_set(e, -EINTR, "interrupted");
		}
		if (!told)
			say(f, "waiting for another fetch to end");
		told = true;
		usleep(200000);
	}
	return fd;
}

int fetch_kernel(const struct fetch_request *r, struct kernel *k, struct errline *e)
{
	struct fetch *f = calloc(1, sizeof(*f));
	char *names = NULL;
	int turn, err;

	if (!f)
		return errline_set(e, -ENOMEM, "out of memory");
	f->r = r;
	turn = wait_for_turn(f, e);
	if (turn < 0) {
		free(f);
		return turn;
	}
	find_mirror(f);
	err = store_stage_begin(&f->stage, e);
	if (!err)
		err = prepare_apt(f, e);
	if (!err)
		err = look(f, &names, e);
	if (!err && is_here(f, k)) {
		say(f, "kernel %s for %s is here, and the newest", k->name, r->machine->name);
	} else if (!err) {
		err = download(f, names, e);
		if (!err)
			err = keep(f, e);
		if (!err)
			err = store_find(k, f->name, r->machine, e);
	}
	store_stage_end(&f->stage);
	close(turn);
	free(names);
	free(f);
	return err;
}
