// SPDX-License-Identifier: BSD-2-Clause
/*
 * Instructions out of line: a probe on each instruction of a function, alone and on all of them at once.
 * The function must do what it did, and each program see each execution. First one with every kind of
 * instruction that depends on its place, then functions of the C library.
 *
 * usage: probe_steps jit
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <search.h>
#include <wchar.h>

#include <bpf/bpf.h>

#include "place.h"
#include "probe/extent.h"
#include "probe/outline.h"
#include "uprobe.skel.h"

#define PLACES_MAX 4096

static struct uprobe *s;

/* ---- walking over functions ---- */

/* Offsets of all instructions of @fn; its file in @path. */
static uint32_t instructions_of(const void *fn, uint64_t *offsets, char path[256])
{
	struct bpfu_extent extent;
	uint64_t start = place_of(fn, path);
	uint32_t cnt = 0;
	const uint8_t *p = fn;

	if (!bpfu_extent_find((uintptr_t)fn, &extent, NULL)) {
		expect_true(!"a function without extent");
		return 0;
	}
	while ((uintptr_t)p < extent.end && cnt < PLACES_MAX) {
		int len = bpfu_insn_len(p, extent.end - (uintptr_t)p);

		if (len <= 0)
			break;
		if (bpfu_outline_len(p, extent.end - (uintptr_t)p) > 0)
			offsets[cnt++] = start + (uint64_t)(p - (const uint8_t *)fn);
		p += len;
	}
	expect_eq((uintptr_t)p, extent.end);
	return cnt;
}

static int probe(const char *path, const uint64_t *offsets, uint32_t cnt)
{
	static uint64_t cookies[PLACES_MAX];
	int fd;

	for (uint32_t i = 0; i < cnt; i++)
		cookies[i] = i;
	memset(s->bss, 0, sizeof(*s->bss));
	fd = place_attach(s->progs.on_place, path, offsets, cookies, cnt, 0);
	expect_true(fd >= 0);
	return fd;
}

/* ---- every kind of instruction ---- */

#if defined(__x86_64__)

long steps(long a, long *memory);
long (*steps_table[2])(long) __attribute__((used)) = { 0 };
long steps_data __attribute__((used)) = 1000;

static long step_callee(long a)
{
	return a + 7;
}

/* Each line is one instruction. rdi: a, rsi: memory of 4 words; the result is in r12. */
__asm__(".pushsection .text\n.type steps, @function\nsteps:\n.cfi_startproc\n"
	"endbr64\n"
	"push %rbp\n"
	"mov %rsp, %rbp\n"
	"push %r12\n"
	"push %rbx\n"
	"mov %rsi, %rbx\n"
	"mov %rdi, %r12\n"
	"add steps_data(%rip), %r12\n"           /* relative operand */
	"cmpl $1000, steps_data(%rip)\n"         /* … and an immediate behind it */
	"jne 9f\n"                               /* not taken */
	"je 1f\n"
	"ud2\n"
	"1: jmp 2f\n"
	"ud2\n"
	"2: stc\n"                               /* flags go through */
	"nop\n"
	"adc $0, %r12\n"
	"lea steps_data(%rip), %rax\n"
	"add (%rax), %r12\n"
	"mov %r12, %rdi\n"
	"call 8f\n"                              /* relative call */
	"add %rax, %r12\n"
	"mov $5, %edi\n"
	"call *steps_table(%rip)\n"              /* indirect: relative operand */
	"add %rax, %r12\n"
	"lea steps_table(%rip), %rcx\n"
	"call *(%rcx)\n"                         /* register base */
	"add %rax, %r12\n"
	"mov (%rcx), %r11\n"
	"call *%r11\n"                           /* register */
	"add %rax, %r12\n"
	"push (%rcx)\n"
	"push $0\n"
	"call *8(%rsp)\n"                        /* relative to the stack */
	"add $16, %rsp\n"
	"add %rax, %r12\n"
	"mov $3, %ecx\n"
	"3: inc %r12\n"
	"loop 3b\n"
	"jrcxz 4f\n"
	"ud2\n"
	"4: mov $1, %ecx\n"
	"jrcxz 9f\n"
	"lea 5f(%rip), %rdx\n"
	"jmp *%rdx\n"
	"ud2\n"
	"5: movq %r12, %xmm5\n"
	"paddq %xmm5, %xmm5\n"
	"movq %xmm5, (%rbx)\n"
	"lock xadd %r12, 8(%rbx)\n"
	"pushf\n"
	"popf\n"
	"xchg %r12, 16(%rbx)\n"
	"mov %fs:0, %rax\n"
	"mov $39, %eax\n"                        /* getpid */
	"syscall\n"
	"mov %rax, 24(%rbx)\n"
	"mov 8(%rbx), %r12\n"
	"mov %r12, %rax\n"
	"pop %rbx\n"
	"pop %r12\n"
	"leave\n"
	"repz ret\n"
	"9: ud2\n"
	"8: lea 2(%rdi), %rax\n"
	"ret $0\n"
	".cfi_endproc\n.size steps, . - steps\n.popsection");

static void run_steps(long memory[4])
{
	memset(memory, 0, 4 * sizeof(memory[0]));
	memory[1] = 11;
	memory[2] = steps(100, memory);
}

static void test_kinds(void)
{
	uint64_t offsets[PLACES_MAX];
	long want[4], got[4];
	char path[256];
	uint32_t cnt;
	int fd;

	steps_table[0] = step_callee;
	cnt = instructions_of(steps, offsets, path);
	expect_true(cnt > 60);
	run_steps(want);
	expect_eq(want[3], getpid());
	for (uint32_t i = 0; i < cnt; i++) {
		fd = probe(path, &offsets[i], 1);
		run_steps(got);
		if (memcmp(want, got, sizeof(want)))
			printf("instruction %u\n", i);
		expect_eq(memcmp(want, got, sizeof(want)), 0);
		/* Behind the branches that are not taken nobody comes; the loop's are three. */
		expect_true(s->bss->hits <= 3);
		bpfu_fd_close(fd);
	}
	fd = probe(path, offsets, cnt);
	run_steps(got);
	expect_eq(memcmp(want, got, sizeof(want)), 0);
	/* All but none are ud2, and the loop makes four more. */
	expect_eq(s->bss->hits, cnt + 4);
	for (uint32_t i = 0; i < cnt; i++)
		expect_true(s->bss->places[i] == 1 || s->bss->places[i] == 3);
	bpfu_fd_close(fd);
	run_steps(got);
	expect_eq(memcmp(want, got, sizeof(want)), 0);
	expect_eq(s->bss->hits, cnt + 4);
}

#else

static void test_kinds(void)
{
}

#endif

/* ---- functions of libraries ---- */

static int cmp_int(const void *a, const void *b, void *arg)
{
	return *(const int *)a - *(const int *)b;
}

/* Everything that the functions below are asked for, in one text. */
static void use_library(char out[512])
{
	int numbers[] = { 5, 3, 9, -1, 7, 7, 2, 100, -50, 0 };
	uint8_t addr[16] = { 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 };
	struct hsearch_data table = { 0 };
	ENTRY *found = NULL;
	mbstate_t state = { 0 };
	wchar_t wide = 0;
	size_t n = 0;

	qsort_r(numbers, 10, sizeof(numbers[0]), cmp_int, NULL);
	for (int i = 0; i < 10; i++)
		n += (size_t)snprintf(out + n, 512 - n, "%d ", numbers[i]);
	inet_ntop(AF_INET6, addr, out + n, 64);
	n += strlen(out + n);
	mbrtowc(&wide, "z", 1, &state);
	hcreate_r(100, &table);
	for (long i = 0; i < 50; i++) {
		static char keys[50][8];

		snprintf(keys[i], sizeof(keys[i]), "k%ld", i);
		hsearch_r((ENTRY){ keys[i], (void *)(i * i) }, ENTER, &found, &table);
	}
	hsearch_r((ENTRY){ "k7", NULL }, FIND, &found, &table);
	snprintf(out + n, 512 - n, " %c %ld %.6f %ld", (char)wide, found ? (long)found->data : 0,
		 325e-2, a64l("zyx."));
	hdestroy_r(&table);
}

static void test_library(const char *name)
{
	static uint64_t offsets[PLACES_MAX];
	const void *fn = dlsym(RTLD_DEFAULT, name);
	char path[256], want[512] = "", got[512] = "";
	uint32_t cnt;
	int fd;

	expect_true(fn != NULL);
	cnt = fn ? instructions_of(fn, offsets, path) : 0;
	if (!cnt)
		return;
	use_library(want);
	fd = probe(path, offsets, cnt);
	use_library(got);
	bpfu_fd_close(fd);
	expect_str(__LINE__, got, want);
	printf("  %s: %u instructions, %llu executed\n", name, cnt,
	       (unsigned long long)s->bss->hits);
	expect_true(s->bss->hits >= 5);
}

int main(int argc, char **argv)
{
	probe_init(argc, argv);
	s = uprobe__open();
	if (!s)
		return 1;
	bpf_program__set_expected_attach_type(s->progs.on_place, ATTACH_UPROBE_MULTI);
	if (uprobe__load(s)) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	test_kinds();
	test_library("snprintf");
	test_library("qsort_r");
	test_library("inet_ntop");
	test_library("mbrtowc");
	test_library("hsearch_r");
	test_library("a64l");
	uprobe__destroy(s);
	printf("%s\n", failures ? "not ok" : "ok");
	return probe_result();
}
