// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sequences of bpf(2) calls with arbitrary attributes on a state that grows as they succeed:
 * nothing crashes, leaks, hangs, or writes where the caller did not point.
 *
 * The input is an arena of ARENA bytes, which pointers of attributes lead into, and then calls:
 *
 *   command, size of the attribute, and its words of 4 bytes, each preceded by a byte that says
 *   what is made of it: a number as it is, a descriptor from the table, or an address in the arena
 *   (also at its very end, and outside of anything mapped).
 *
 * Behind the arena lies a wide gap without access, so that a size that is too large for the place
 * pointed to must end in -EFAULT, as on a kernel.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "util/bits.h"
#include "util/uapi.h"

#define ARENA	     4096u
#define ARENA_MAPPED (64u << 10)
#define GAP	     (1ull << 36)
#define FDS	     32
#define CALLS	     64

static char *arena;
static int fds[FDS];
static uint32_t fd_cnt;

#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN
#endif
#endif
#ifdef HAVE_ASAN
/* Absurd sizes are to end in -ENOMEM. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}
#endif

static uint64_t address(uint32_t word)
{
	switch (word & 7) {
	case 0:
		return 0;
	case 1:
		return bpfu_u64(arena) + ARENA_MAPPED - (word >> 3) % 64; /* runs into the gap */
	case 2:
		return bpfu_u64(arena) + ARENA_MAPPED + (word >> 3);
	case 3:
		return UINT64_MAX - (word >> 3) % 4096;
	default:
		return bpfu_u64(arena) + (word >> 3) % ARENA;
	}
}

static int some_fd(uint32_t word)
{
	return fd_cnt ? fds[word % fd_cnt] : (int)(word % 8) - 1;
}

/* Bounds on what costs time or memory without being wrong. */
static void tame(int cmd, union bpf_attr *attr)
{
	if (cmd == BPF_MAP_CREATE) {
		if (attr->max_entries < 0x80000000u)
			attr->max_entries %= 1u << 14;
		if (attr->value_size < 0x40000000u)
			attr->value_size %= 1u << 12;
	} else if (cmd == BPF_PROG_TEST_RUN) {
		attr->test.repeat %= 4;
	}
}

/* Commands whose non-negative result is a descriptor. */
static bool makes_fd(int cmd)
{
	switch (cmd) {
	case BPF_MAP_CREATE:
	case BPF_PROG_LOAD:
	case BPF_OBJ_GET:
	case BPF_PROG_GET_FD_BY_ID:
	case BPF_MAP_GET_FD_BY_ID:
	case BPF_BTF_GET_FD_BY_ID:
	case BPF_LINK_GET_FD_BY_ID:
	case BPF_BTF_LOAD:
	case BPF_LINK_CREATE:
	case BPF_RAW_TRACEPOINT_OPEN:
	case BPF_ITER_CREATE:
	case BPF_ENABLE_STATS:
		return true;
	default:
		return false;
	}
}

static void keep_fd(int fd)
{
	if (fd_cnt == FDS) {
		close(fds[0]);
		memmove(fds, fds + 1, (FDS - 1) * sizeof(fds[0]));
		fd_cnt--;
	}
	fds[fd_cnt++] = fd;
}

static void call(struct fuzz_input *in)
{
	union {
		union bpf_attr attr;
		uint32_t words[64];
		uint8_t bytes[256];
	} u;
	int cmd = fuzz_u8(in) % 40, ret;
	uint32_t size = fuzz_u8(in);

	memset(&u, 0, sizeof(u));
	for (uint32_t i = 0; i < (size + 3) / 4; i++) {
		uint8_t how = fuzz_u8(in);

		if (how < 0x60) /* zero: most fields of most calls */
			continue;
		u.words[i] = fuzz_u32(in);
		if (how < 0x90) {
			u.words[i] = how & 15;
		} else if (how < 0xb0) {
			u.words[i] = (uint32_t)some_fd(u.words[i]);
		} else if (how < 0xe0 && i % 2 == 0 && i + 1 < (size + 3) / 4) {
			uint64_t addr = address(u.words[i]);

			memcpy(&u.words[i++], &addr, sizeof(addr));
		}
	}
	tame(cmd, &u.attr);
	ret = bpfu_bpf(cmd, &u.attr, size);
	FUZZ_CHECK(ret > -4096 && (ret >= 0 || ret != -EINTR), "command %d returned %d", cmd, ret);
	if (ret >= 0 && makes_fd(cmd)) {
		FUZZ_CHECK(bpfu_fd_is_user(ret) || cmd == BPF_ENABLE_STATS ||
				   cmd == BPF_ITER_CREATE,
			   "command %d returned descriptor %d, which is not libbpfu's", cmd, ret);
		keep_fd(ret);
	}
}

static void drop_log(enum bpfu_log_level level, const char *line, void *ctx)
{
}

static void set_up(void)
{
	arena = mmap(NULL, ARENA_MAPPED + GAP, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	FUZZ_CHECK(arena != MAP_FAILED, "mmap: %s", strerror(errno));
	FUZZ_CHECK(!mprotect(arena, ARENA_MAPPED, PROT_READ | PROT_WRITE), "mprotect");
	bpfu_set_log_cb(drop_log, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (!arena)
		set_up();
	memset(arena, 0, ARENA);
	fuzz_bytes(&in, arena, size < 2 * ARENA ? size / 2 : ARENA);
	for (int calls = 0; in.left && calls < CALLS; calls++)
		call(&in);
	while (fd_cnt)
		close(fds[--fd_cnt]);
	/* What was pinned stays for ever otherwise. */
	unlink("/sys/fs/bpf/a");
	return 0;
}
