/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a descriptor refers to: maps, programs, BTF objects and links, with one reference count, one
 * id space per kind, and pinning. Descriptors are real (memfds identified by inode), so dup, fork,
 * SCM_RIGHTS, poll and close work; fd.c keeps the inode table.
 *
 * An object lives while references exist: one per open description known to fd.c, one per pin, and
 * those held by other objects (a program holds its maps, a link its program). The last put runs
 * ->release, which frees through bpfu_call_rcu() where programs may still see the memory.
 */
#ifndef BPFU_OBJ_OBJ_H
#define BPFU_OBJ_OBJ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum bpfu_obj_kind {
	BPFU_OBJ_MAP,
	BPFU_OBJ_PROG,
	BPFU_OBJ_BTF,
	BPFU_OBJ_LINK,
	BPFU_OBJ_STATS,              /* the descriptor of BPF_ENABLE_STATS; has no ids */
	BPFU_OBJ_PERF_EVENT,         /* the same: a kprobe as a descriptor */
	BPFU_OBJ_KINDS,
};

struct bpfu_obj {
	enum bpfu_obj_kind kind;
	uint32_t id;                 /* 0 until published; never reused within 2^31 objects */
	_Atomic int32_t refs;
	void (*release)(struct bpfu_obj *obj);
	/*
	 * User references: descriptors, pins and memory mappings. When the last one goes,
	 * @last_uref (may be NULL) runs while the object is still alive: a program array drops its
	 * programs then, which breaks the cycle of a program that holds the array that holds it.
	 */
	_Atomic int32_t urefs;
	void (*last_uref)(struct bpfu_obj *obj);
};

/* Start with one reference, owned by the caller; no id yet. */
void bpfu_obj_init(struct bpfu_obj *obj, enum bpfu_obj_kind kind,
		   void (*release)(struct bpfu_obj *obj));

/* Assign an id, from here on found by id. Returns 0 or -ENOMEM/-ENOSPC. */
int bpfu_obj_publish(struct bpfu_obj *obj);

void bpfu_obj_get(struct bpfu_obj *obj);
void bpfu_obj_put(struct bpfu_obj *obj); /* NULL is allowed */

/* A reference and a user reference at once, for whatever a user can reach the object through. */
void bpfu_obj_get_user(struct bpfu_obj *obj);
void bpfu_obj_put_user(struct bpfu_obj *obj);

/* Object of @kind with @id, with a reference; NULL if there is none. */
struct bpfu_obj *bpfu_obj_by_id(enum bpfu_obj_kind kind, uint32_t id);

/* Smallest id of @kind above @start; 0 or -ENOENT. */
int bpfu_obj_next_id(enum bpfu_obj_kind kind, uint32_t start, uint32_t *next);

/* ---- descriptors (fd.c) ---- */

/*
 * New descriptor for @obj (close-on-exec); takes over the caller's reference on success.
 * @mem_fd: a memfd whose contents the descriptor must map (BPF_F_MMAPABLE), or -1.
 * Returns the descriptor or -EMFILE/-ENFILE/-ENOMEM.
 */
int bpfu_fd_install(struct bpfu_obj *obj, int mem_fd);

/* The same with an access mode: O_RDWR, O_RDONLY or O_WRONLY (BPF_F_RDONLY, BPF_F_WRONLY). */
int bpfu_fd_install_mode(struct bpfu_obj *obj, int mem_fd, int mode);

/* Object behind @fd with a reference. Returns NULL if @fd is not ours (of any kind). */
struct bpfu_obj *bpfu_fd_get(int fd);

/*
 * For the router, which has to know whether @fd is ours before the command looks at it: true if so,
 * and the object is kept for the calling thread's next look-up of @fd, which saves it a system call.
 * bpfu_fd_unpeek() after the command drops what was not taken.
 */
bool bpfu_fd_peek(int fd);
void bpfu_fd_unpeek(void);

/*
 * As bpfu_fd_get(), with the kernel's errors: -EBADF if the descriptor is closed; @wrong_kind if it is
 * not ours or is an object of another kind (the kernel says -EINVAL in most places).
 */
int bpfu_fd_get_kind(int fd, enum bpfu_obj_kind kind, int wrong_kind, struct bpfu_obj **out);

/* The same; *@mode (may be NULL) gets the descriptor's access mode: O_RDWR, O_RDONLY or O_WRONLY. */
int bpfu_fd_get_mode(int fd, enum bpfu_obj_kind kind, int wrong_kind, struct bpfu_obj **out,
		     int *mode);

/*
 * The shim reports what happens to descriptors: before close(fd), after dup, after one was sent
 * over a socket. No-ops for others' descriptors.
 */
void bpfu_fd_closing(int fd);
void bpfu_fd_duped(int old_fd, int new_fd);
void bpfu_fd_passed(int fd);

/* Largest descriptor number that may be ours, -1 if there is none (for close_range). */
int bpfu_fd_highest(void);

/* For the fork handlers (obj.c): the table's lock around fork, and the owner of the table after it. */
void bpfu_fd_fork_lock(void);
void bpfu_fd_fork_unlock(bool child);

/* ---- pinning, in process (pin.c) ---- */

/*
 * The in-process bpffs: the paths below /sys/fs/bpf, and below BPFU_BPFFS if the environment has it.
 * Its directories and pins exist in this process only. Paths are absolute or relative to the
 * working directory; the errors are those of the kernel's file system.
 */
int bpfu_pin(const char *path, struct bpfu_obj *obj);  /* 0, -EEXIST, -EPERM (not on a bpffs) … */
int bpfu_pin_get(const char *path, struct bpfu_obj **obj);
int bpfu_unpin(const char *path);                       /* what unlink(2) does; -ENOENT */
int bpfu_pin_mkdir(const char *path);
int bpfu_pin_rmdir(const char *path);
bool bpfu_pin_is_bpffs(const char *path);               /* the root itself or anything below it */
void bpfu_pin_fork_lock(void);
void bpfu_pin_fork_unlock(void);

#endif
