// SPDX-License-Identifier: BSD-2-Clause
/*
 * Descriptors. Each is a real one: a memfd, whose inode number says which object it stands for.
 *
 *     fd 7 ──┐                     inodes (hash)                objects
 *     fd 9 ──┴─> inode 4711  ──>  { 4711, fds 2, mode }  ──>  map 12
 *     fd 8 ────> inode 4712  ──>  { 4712, fds 1, mode }  ──>  map 12   (a second open description)
 *
 * An inode's row holds one user reference to its object and goes when its last descriptor does. The
 * kernel does not tell when that is, so the shim reports close and dup, and by_fd[] remembers which
 * row each descriptor number was last seen with. What the reports miss is found by other means:
 *
 *   - a descriptor that arrived unreported (SCM_RIGHTS, a raw dup) joins its row at its first use;
 *   - one that went unreported is noticed when its number turns up with another inode, or by the
 *     sweep that runs each time the number of rows has doubled;
 *   - a row whose descriptor was sent over a socket outlives its last known descriptor once.
 *
 * A map whose memory can be mapped (BPF_F_MMAPABLE) must hand out the memory's own inode, so all its
 * descriptors share one row and the access mode is that of the open file.
 *
 * After fork() parent and child each have a copy of the objects and of this table. A vfork() child
 * shares them, and must not disturb them by closing its copies: reports of other processes are
 * ignored, except after a real fork, whose handler makes the child the owner of its copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obj/obj.h"
#include "percpu/lock.h"
#include "percpu/sys.h"
#include "util/bits.h"

#define MODE_OF_FILE (-1) /* several open descriptions share the inode */

struct inode_row {
	uint64_t ino;
	struct bpfu_obj *obj;   /* with a user reference */
	uint32_t fds;           /* descriptors that by_fd[] maps to this row */
	int mode;               /* O_RDWR, …, or MODE_OF_FILE */
	bool passed;            /* sent over a socket and not seen again since */
	struct inode_row *next; /* in its bucket, or in a list of dropped rows */
};

/*
 * All of it under fds_lock, row_cnt is also read without. A signal handler may look up elements of maps
 * and close descriptors: what changes the table has signals blocked, and a handler that interrupts a
 * look-up of its own thread may read the table, too, but leaves closes to be noticed afterwards.
 */
static struct bpfu_lock fds_lock;
static struct inode_row **buckets;
static uint32_t bucket_cnt;             /* a power of two */
static _Atomic uint32_t row_cnt;
static uint32_t sweep_at = 64;
static struct inode_row **by_fd;
static int by_fd_cap;
static _Atomic pid_t owner;
static _Atomic uint64_t memfd_dev;      /* device of every memfd, 0: none made yet */

static __thread bool missed_close; /* by a handler, see above */

/* To change the table: 0, or -EBUSY in a handler that interrupted a look-up. */
static int fds_lock_get(uint64_t *signals)
{
	bpfu_signals_block_async(signals);
	if (!bpfu_lock(&fds_lock))
		return 0;
	bpfu_signals_restore(signals);
	return -EBUSY;
}

static void fds_lock_put(const uint64_t *signals)
{
	bpfu_unlock(&fds_lock);
	bpfu_signals_restore(signals);
}

static struct inode_row **bucket_of(uint64_t ino)
{
	return &buckets[(ino * 0x9e3779b97f4a7c15ull >> 32) & (bucket_cnt - 1)];
}

static struct inode_row *row_find(uint64_t ino)
{
	struct inode_row *row = bucket_cnt ? *bucket_of(ino) : NULL;

	while (row && row->ino != ino)
		row = row->next;
	return row;
}

static int rows_grow(void)
{
	uint32_t old_cnt = bucket_cnt;
	uint32_t cnt = old_cnt ? old_cnt * 2 : 64;
	struct inode_row **old = buckets;
	struct inode_row **bigger;

	if (row_cnt < old_cnt)
		return 0;
	bigger = calloc(cnt, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	buckets = bigger;
	bucket_cnt = cnt;
	for (uint32_t i = 0; i < old_cnt; i++) {
		struct inode_row *row = old[i], *next;

		for (; row; row = next) {
			next = row->next;
			row->next = *bucket_of(row->ino);
			*bucket_of(row->ino) = row;
		}
	}
	free(old);
	return 0;
}

static void row_insert(struct inode_row *row)
{
	struct inode_row **bucket = bucket_of(row->ino);

	row->next = *bucket;
	*bucket = row;
	row_cnt++;
}

/* Take @row out; it joins *@dropped, whose references are put after the lock is released. */
static void row_drop(struct inode_row *row, struct inode_row **dropped)
{
	struct inode_row **at = bucket_of(row->ino);

	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
	row_cnt--;
	row->next = *dropped;
	*dropped = row;
}

static void put_dropped(struct inode_row *dropped)
{
	while (dropped) {
		struct inode_row *next = dropped->next;

		bpfu_obj_put_user(dropped->obj);
		free(dropped);
		dropped = next;
	}
}

/* @fd no longer belongs to the row it was seen with. */
static void fd_forget(int fd, struct inode_row **dropped)
{
	struct inode_row *row = fd < by_fd_cap ? by_fd[fd] : NULL;

	if (!row)
		return;
	by_fd[fd] = NULL;
	if (--row->fds == 0 && !row->passed)
		row_drop(row, dropped);
}

static int by_fd_reserve(int fd)
{
	int cap = by_fd_cap ? by_fd_cap : 64;
	struct inode_row **bigger;

	if (fd < by_fd_cap)
		return 0;
	while (cap <= fd)
		cap *= 2;
	bigger = realloc(by_fd, cap * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	memset(bigger + by_fd_cap, 0, (cap - by_fd_cap) * sizeof(*bigger));
	by_fd = bigger;
	by_fd_cap = cap;
	return 0;
}

/* @fd was seen with @row's inode. Out of memory only makes the count too low. */
static void fd_note(int fd, struct inode_row *row, struct inode_row **dropped)
{
	if (by_fd_reserve(fd) || by_fd[fd] == row)
		return;
	fd_forget(fd, dropped);
	by_fd[fd] = row;
	row->fds++;
	row->passed = false;
}

/* True if @fd is a memfd; *@ino gets its inode. */
static bool memfd_ino(int fd, uint64_t *ino)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_dev != memfd_dev || !S_ISREG(st.st_mode))
		return false;
	*ino = st.st_ino;
	return true;
}

/* Forget descriptors that were closed without a report. */
static void sweep(struct inode_row **dropped)
{
	for (int fd = 0; fd < by_fd_cap; fd++) {
		uint64_t ino;

		if (by_fd[fd] && (!memfd_ino(fd, &ino) || by_fd[fd]->ino != ino))
			fd_forget(fd, dropped);
	}
	sweep_at = BPFU_MAX(64, row_cnt * 2);
}

/* ---- making descriptors ---- */

static const char *kind_name(enum bpfu_obj_kind kind)
{
	static const char *const names[BPFU_OBJ_KINDS] = { "bpf-map", "bpf-prog", "btf", "bpf_link",
							   "bpf-stats", "perf-event" };

	return names[kind];
}

/* A descriptor of the same inode with less access. Closes @fd on success. */
static int fd_reopen(int fd, int mode)
{
	char path[32];
	int restricted;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	restricted = open(path, mode | O_CLOEXEC);
	if (restricted < 0)
		return -errno;
	close(fd);
	return restricted;
}

static int fd_open(const struct bpfu_obj *obj, int mem_fd, int mode)
{
	int fd, restricted;

	fd = mem_fd >= 0 ? fcntl(mem_fd, F_DUPFD_CLOEXEC, 0) :
			   memfd_create(kind_name(obj->kind), MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (mode == O_RDWR)
		return fd;
	restricted = fd_reopen(fd, mode);
	if (restricted < 0)
		close(fd);
	return restricted;
}

/* The row of @fd's inode, made if there is none; the caller's reference goes into a new row. */
static int fd_enter(int fd, uint64_t ino, struct bpfu_obj *obj, int mode, bool *taken,
		    struct inode_row **dropped)
{
	struct inode_row *row = row_find(ino);
	int err;

	/* A row of another object with a live inode's number is a leftover. */
	if (row && row->obj != obj) {
		for (int i = 0; i < by_fd_cap; i++)
			if (by_fd[i] == row)
				by_fd[i] = NULL;
		row_drop(row, dropped);
		row = NULL;
	}
	*taken = !row;
	err = rows_grow();
	if (!err)
		err = by_fd_reserve(fd);
	if (err)
		return err;
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->ino = ino;
		row->obj = obj;
		row->mode = mode;
		atomic_fetch_add(&obj->urefs, 1);
		row_insert(row);
	}
	fd_note(fd, row, dropped);
	return 0;
}

int bpfu_fd_install_mode(struct bpfu_obj *obj, int mem_fd, int mode)
{
	struct inode_row *dropped = NULL;
	bool taken = false;
	uint64_t signals;
	struct stat st;
	int fd, err;

	fd = fd_open(obj, mem_fd, mode);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = fds_lock_get(&signals);
	if (err) {
		close(fd);
		return err;
	}
	memfd_dev = st.st_dev;
	if (!owner)
		owner = getpid();
	if (row_cnt >= sweep_at)
		sweep(&dropped);
	err = fd_enter(fd, st.st_ino, obj, mem_fd >= 0 ? MODE_OF_FILE : mode, &taken, &dropped);
	fds_lock_put(&signals);
	put_dropped(dropped);
	if (err) {
		close(fd);
		return err;
	}
	if (!taken)
		bpfu_obj_put(obj);
	return fd;
}

int bpfu_fd_install(struct bpfu_obj *obj, int mem_fd)
{
	return bpfu_fd_install_mode(obj, mem_fd, O_RDWR);
}

/* ---- looking descriptors up ---- */

/*
 * What bpfu_fd_peek() found for the call in progress on this thread. A signal handler that calls bpf(2)
 * drops it and leaves nothing here.
 */
static __thread struct {
	_Atomic(struct bpfu_obj *) obj; /* with a reference, NULL: nothing, or taken */
	int fd;
	int mode;
} peeked;

/* A handler closed descriptors while this thread was looking one up. */
static void notice_closes(void)
{
	struct inode_row *dropped = NULL;
	uint64_t signals;

	if (fds_lock_get(&signals))
		return;
	missed_close = false;
	sweep(&dropped);
	fds_lock_put(&signals);
	put_dropped(dropped);
}

/* With the lock: see that @fd is known to belong to @row. */
static void note_locked(int fd, struct inode_row *row, struct inode_row **dropped)
{
	uint64_t signals;

	if (fd < by_fd_cap && by_fd[fd] == row)
		return;
	bpfu_signals_block_async(&signals);
	fd_note(fd, row, dropped);
	bpfu_signals_restore(&signals);
}

static struct bpfu_obj *fd_look_up(int fd, int *mode)
{
	struct inode_row *dropped = NULL;
	struct bpfu_obj *obj = NULL;
	struct inode_row *row;
	uint64_t ino;
	bool nested;

	if (!row_cnt || !memfd_ino(fd, &ino))
		return NULL;
	nested = bpfu_lock(&fds_lock) != 0;
	row = row_find(ino);
	if (row) {
		if (!nested)
			note_locked(fd, row, &dropped);
		obj = row->obj;
		*mode = row->mode;
		bpfu_obj_get(obj);
	}
	if (!nested)
		bpfu_unlock(&fds_lock);
	put_dropped(dropped);
	if (bpfu_unlikely(missed_close) && !nested)
		notice_closes();
	if (obj && *mode == MODE_OF_FILE)
		*mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	return obj;
}

static struct bpfu_obj *take_peeked(void)
{
	return atomic_exchange_explicit(&peeked.obj, NULL, memory_order_relaxed);
}

static struct bpfu_obj *fd_get(int fd, int *mode)
{
	struct bpfu_obj *obj = NULL;

	if (peeked.fd == fd) {
		*mode = peeked.mode;
		atomic_signal_fence(memory_order_seq_cst);
		obj = take_peeked();
	}
	return obj ? obj : fd_look_up(fd, mode);
}

bool bpfu_fd_peek(int fd)
{
	struct bpfu_obj *obj;
	int mode = 0;

	bpfu_fd_unpeek();
	obj = fd_look_up(fd, &mode);
	/* The object last: a handler may have been here meanwhile. */
	peeked.fd = fd;
	peeked.mode = mode;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&peeked.obj, obj, memory_order_relaxed);
	return obj != NULL;
}

void bpfu_fd_unpeek(void)
{
	bpfu_obj_put(take_peeked());
}

struct bpfu_obj *bpfu_fd_get(int fd)
{
	int mode;

	return fd_get(fd, &mode);
}

int bpfu_fd_get_mode(int fd, enum bpfu_obj_kind kind, int wrong_kind, struct bpfu_obj **out,
		     int *mode)
{
	int any;
	struct bpfu_obj *obj = fd_get(fd, mode ? mode : &any);

	if (!obj)
		return fcntl(fd, F_GETFD) < 0 ? -EBADF : wrong_kind;
	if (obj->kind != kind) {
		bpfu_obj_put(obj);
		return wrong_kind;
	}
	*out = obj;
	return 0;
}

int bpfu_fd_get_kind(int fd, enum bpfu_obj_kind kind, int wrong_kind, struct bpfu_obj **out)
{
	return bpfu_fd_get_mode(fd, kind, wrong_kind, out, NULL);
}

/* ---- what the shim reports ---- */

/* True if @fd may be ours and the table belongs to this process. */
static bool is_candidate(int fd, uint64_t *ino)
{
	return row_cnt && memfd_ino(fd, ino) && owner == getpid();
}

void bpfu_fd_closing(int fd)
{
	struct inode_row *dropped = NULL;
	uint64_t ino, signals;

	if (!is_candidate(fd, &ino))
		return;
	if (fds_lock_get(&signals)) {
		missed_close = true;
		return;
	}
	fd_forget(fd, &dropped);
	fds_lock_put(&signals);
	put_dropped(dropped);
}

void bpfu_fd_duped(int old_fd, int new_fd)
{
	struct inode_row *dropped = NULL;
	struct inode_row *row;
	uint64_t ino, signals;

	if (!is_candidate(old_fd, &ino))
		return;
	/* Otherwise it is noted at its first use. */
	if (fds_lock_get(&signals))
		return;
	row = row_find(ino);
	if (row)
		fd_note(new_fd, row, &dropped);
	fds_lock_put(&signals);
	put_dropped(dropped);
}

void bpfu_fd_passed(int fd)
{
	struct inode_row *row;
	uint64_t ino, signals;

	if (!is_candidate(fd, &ino))
		return;
	if (fds_lock_get(&signals))
		return;
	row = row_find(ino);
	if (row)
		row->passed = true;
	fds_lock_put(&signals);
}

int bpfu_fd_highest(void)
{
	uint64_t signals;
	int fd;

	if (fds_lock_get(&signals))
		return by_fd_cap - 1;
	fd = by_fd_cap - 1;
	while (fd >= 0 && !by_fd[fd])
		fd--;
	fds_lock_put(&signals);
	return fd;
}

static bool fork_has_lock; /* false: fork() by a handler that interrupted a look-up */

void bpfu_fd_fork_lock(void)
{
	bool locked = !bpfu_lock(&fds_lock);

	fork_has_lock = locked;
}

void bpfu_fd_fork_unlock(bool child)
{
	if (child)
		owner = getpid();
	if (fork_has_lock)
		bpfu_unlock(&fds_lock);
}
