// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpfu-plugin: one run of a program that no verifier has seen, for conformance suites (README.md).
 *
 *   bpfu-plugin [MEMORY] [OPTION]... < PROGRAM
 *
 * Both are bytes in hexadecimal. r1 is the address of the memory (0 if there is none), r2 its length;
 * r0 is printed in hexadecimal. The program is checked for what the backends rely on, and run in a
 * process of its own between pages that fault: what it does wrong ends that process.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "helper/helper.h"
#include "insn/insn.h"
#include "insn/opcode.h"
#include "jit/facts.h"
#include "jit/jit.h"

#include "../insn/prog.h"

#define NOWHERE "a branch, a call or the end of a function leads nowhere"
#define SECONDS 10 /* of processor time, before a program counts as endless */
#define PAGE 65536ul /* at least a page of any machine */
#define TEXT_MAX (16ul * BPFU_MAX_INSNS * 4)

struct options {
	bool jit;
	bool debug;
	char *program; /* --program HEX instead of standard input; NULL: read it */
	char *memory;
};

/* What the process that runs the program tells. */
struct outcome {
	bool ok;
	uint64_t r0;
	char why[160];
};

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	va_list ap;

	fputs("bpfu-plugin: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

/* ---- input ---- */

/*
 * Bytes of two digits, separated by blanks or not, in place. Returns how many, or -1 with a
 * message.
 */
static ssize_t parse_hex(const char *what, char *text)
{
	uint8_t *out = (uint8_t *)text;
	ssize_t cnt = 0;

	for (const char *p = text; *p;) {
		char digits[3];

		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1])) {
			fail("%s: '%.*s' at byte %zd is not two hexadecimal digits", what,
			     (int)strcspn(strlen(p) > 8 ? "12345678" : p, "\r\n"), p, cnt);
			return -1;
		}
		digits[0] = p[0];
		digits[1] = p[1];
		digits[2] = '\0';
		p += 2;
		out[cnt++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return cnt;
}

static char *read_all(FILE *f)
{
	size_t room = 4096, len = 0, got;
	char *text = malloc(room);

	while (text && (got = fread(text + len, 1, room - len - 1, f)) > 0) {
		len += got;
		if (len > TEXT_MAX) /* no program that could be accepted is as long */
			break;
		if (room - len < 2) {
			char *grown = realloc(text, room *= 2);

			if (!grown)
				free(text);
			text = grown;
		}
	}
	if (text)
		text[len] = '\0';
	return text;
}

static int usage(FILE *f)
{
	fputs("usage: bpfu-plugin [MEMORY] [--jit | --interpret] [--debug] [--program HEX]\n"
	      "runs the BPF program on standard input, prints r0; all in hexadecimal\n", f);
	return f == stdout ? 0 : 1;
}

/* One word of an argument; suites pass all options in one. *@next: the argument after it, if any. */
static int parse_word(struct options *o, const char *word)
{
	if (!strcmp(word, "--jit"))
		o->jit = true;
	else if (!strcmp(word, "--interpret"))
		o->jit = false;
	else if (!strcmp(word, "--debug"))
		o->debug = true;
	else
		return fail("no option '%s'", word);
	return 0;
}

static int parse_words(struct options *o, char *arg)
{
	char *save = NULL;
	int err = 0;

	for (char *word = strtok_r(arg, " ", &save); word && !err; word = strtok_r(NULL, " ", &save))
		err = parse_word(o, word);
	return err;
}

/* 0, 1 after an error, -1 to end well. */
static int parse_args(struct options *o, int argc, char **argv)
{
	*o = (struct options){ .jit = bpfu_jit_available() };
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help"))
			return usage(stdout) - 1;
		if (!strcmp(argv[i], "--version"))
			return printf("bpfu-plugin %s\n", bpfu_version()) ? -1 : 1;
		if (!strcmp(argv[i], "--program")) {
			if (i + 1 == argc)
				return fail("--program needs a value");
			o->program = argv[++i];
		} else if (!strncmp(argv[i], "--", 2)) {
			if (parse_words(o, argv[i]))
				return 1;
		} else if (argv[i][0] && o->memory) {
			return fail("memory is given twice");
		} else if (argv[i][0]) {
			o->memory = argv[i];
		}
	}
	return 0;
}

/* ---- the program ---- */

/*
 * RFC 9669 masks shift counts; the kernel's verifier, and ours, refuses immediate ones that are out of
 * range. Here the RFC counts.
 */
static void mask_shift(struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if ((class == BPF_ALU || class == BPF_ALU64) && BPF_SRC(insn->code) == BPF_K &&
	    (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH))
		insn->imm &= class == BPF_ALU64 ? 63 : 31;
}

/* What needs a verifier, or objects that there are none of here. */
static const char *unsupported(const struct bpf_insn *insn)
{
	const struct bpfu_helper *helper;

	if (bpfu_insn_is_ld_imm64(insn) && insn->src_reg && insn->src_reg != BPF_PSEUDO_FUNC)
		return "refers to a map or to BTF; there are none here";
	if (BPF_CLASS(insn->code) == BPF_LD && !bpfu_insn_is_ld_imm64(insn))
		return "loads from a packet; there is none here";
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg == BPF_PSEUDO_CALL)
		return NULL;
	if (insn->src_reg)
		return "calls a kernel function; there are none here";
	helper = bpfu_helper_by_id(insn->imm);
	return helper && helper->fn ? NULL : "calls a helper that libbpfu lacks";
}

/* Calls and callback values; branches are looked at with the facts. */
static bool leads_nowhere(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx)
{
	int64_t target = (int64_t)idx + 1 + insns[idx].imm;

	return (bpfu_insn_is_pseudo_call(&insns[idx]) || bpfu_insn_is_pseudo_func(&insns[idx])) &&
	       (target < 0 || target >= cnt);
}

static int check(struct bpf_insn *insns, uint32_t cnt)
{
	char msg[128];

	for (uint32_t i = 0; i < cnt; i++) {
		const char *why;

		mask_shift(&insns[i]);
		if (bpfu_insn_check(insns, cnt, i, msg, sizeof(msg)))
			return fail("instruction %u: %s", i, msg);
		why = unsupported(&insns[i]);
		if (why)
			return fail("instruction %u %s", i, why);
		if (leads_nowhere(insns, cnt, i))
			return fail(NOWHERE);
		if (bpfu_insn_is_ld_imm64(&insns[i]))
			i++;
	}
	return 0;
}

static void print_program(const struct bpf_insn *insns, uint32_t cnt)
{
	char text[128];

	for (uint32_t i = 0; i < cnt; i++) {
		bpfu_insn_text(text, sizeof(text), &insns[i]);
		fprintf(stderr, "%4u: %s\n", i, text);
		if (bpfu_insn_is_ld_imm64(&insns[i]))
			i++;
	}
}

/*
 * The program as it is run, r2 set first (all offsets are relative, so it only moves). NULL after a
 * message.
 */
static struct bpf_insn *make_program(const struct options *o, char *text, size_t mem_len,
				     uint32_t *cnt)
{
	ssize_t bytes = parse_hex("program", text);
	struct bpf_insn *insns;

	if (bytes < 0)
		return NULL;
	if (!bytes || bytes % sizeof(*insns)) {
		fail("a program is a number of instructions of 8 bytes, not %zd bytes", bytes);
		return NULL;
	}
	if ((size_t)bytes / sizeof(*insns) >= BPFU_MAX_INSNS) {
		fail("%zd instructions are too many; %d are the most", bytes / 8,
		     BPFU_MAX_INSNS - 1);
		return NULL;
	}
	*cnt = (uint32_t)((size_t)bytes / sizeof(*insns)) + 1;
	insns = malloc(*cnt * sizeof(*insns));
	if (!insns) {
		fail("out of memory");
		return NULL;
	}
	insns[0] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, (int32_t)mem_len);
	memcpy(insns + 1, text, (size_t)bytes);
	if (o->debug)
		print_program(insns + 1, *cnt - 1);
	if (!check(insns + 1, *cnt - 1))
		return insns;
	free(insns);
	return NULL;
}

/* ---- the run ---- */

/* A copy of @len bytes that ends, but for alignment, where a page that faults begins. */
static void *guarded_copy(const char *bytes, size_t len)
{
	size_t room = BPFU_ROUND_UP(len, PAGE);
	char *p = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, room, PROT_READ | PROT_WRITE))
		return NULL;
	return memcpy(p + PAGE + room - BPFU_ROUND_UP(len, 8), bytes, len);
}

static bool facts_hold(const struct bpfu_prog *prog)
{
	struct bpfu_facts facts;

	if (bpfu_facts_init(&facts, prog, BPFU_MAX_REG))
		return false;
	bpfu_facts_release(&facts);
	return true;
}

static void run(struct outcome *out, const struct options *o, const struct bpf_insn *insns,
		uint32_t cnt, size_t mem_len)
{
	void *mem = mem_len ? guarded_copy(o->memory, mem_len) : NULL;
	struct bpfu_prog *prog;
	int err;

	if (mem_len && !mem) {
		snprintf(out->why, sizeof(out->why), "out of memory");
		return;
	}
	/* The interpreter trusts the verifier; what the compiler checks first holds for both. */
	err = test_prog_new(insns, cnt, BACKEND_INTERP, &prog);
	if (!err && !facts_hold(prog)) {
		snprintf(out->why, sizeof(out->why), "%s", NOWHERE);
		return;
	}
	if (!err && o->jit)
		err = test_prog_new(insns, cnt, BACKEND_JIT, &prog);
	if (err) {
		snprintf(out->why, sizeof(out->why), "cannot prepare the program: %s", strerror(-err));
		return;
	}
	out->r0 = bpfu_prog_run(prog, mem);
	out->ok = true;
}

static int tell_fd;

/* The program did it: what we were doing is over, but this much still works. */
static void on_fault(int sig)
{
	struct outcome out = { .ok = false,
			       .why = "the program accessed memory that is not there" };
	ssize_t ignored = write(tell_fd, &out, sizeof(out));

	(void)ignored;
	_exit(0);
}

/* On a stack of its own, as the program may have used up the other. */
static void catch_faults(int fd)
{
	static char stack[65536];
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };

	tell_fd = fd;
	sigaltstack(&alt, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
}

/* In the child: everything but the message goes away with it. */
static void run_and_tell(int fd, const struct options *o, const struct bpf_insn *insns, uint32_t cnt,
			 size_t mem_len)
{
	const struct rlimit seconds = { SECONDS, SECONDS }, none = { 0, 0 };
	struct outcome out = { .ok = false };
	ssize_t ignored;

	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_CORE, &none);
	catch_faults(fd);
	run(&out, o, insns, cnt, mem_len);
	ignored = write(fd, &out, sizeof(out));
	(void)ignored;
	_exit(0);
}

static int report(pid_t pid, int fd)
{
	struct outcome out;
	bool told = read(fd, &out, sizeof(out)) == sizeof(out);
	int status, sig;

	if (waitpid(pid, &status, 0) != pid)
		return fail("cannot wait for the program: %s", strerror(errno));
	if (told && out.ok) {
		printf("%" PRIx64 "\n", out.r0);
		return fflush(stdout) ? fail("cannot write: %s", strerror(errno)) : 0;
	}
	if (told)
		return fail("%.*s", (int)sizeof(out.why), out.why);
	sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (sig == SIGKILL || sig == SIGXCPU)
		return fail("the program did not end within %d s", SECONDS);
	return fail("the program ended its process (%s)", sig ? strsignal(sig) : "exit");
}

int main(int argc, char **argv)
{
	struct options o;
	struct bpf_insn *insns;
	ssize_t mem_len = 0;
	uint32_t cnt;
	char *text;
	int fds[2];
	pid_t pid;
	int err = parse_args(&o, argc, argv);

	if (err)
		return err < 0 ? 0 : usage(stderr);
	if (o.memory)
		mem_len = parse_hex("memory", o.memory);
	if (mem_len < 0)
		return 1;
	text = o.program ? o.program : read_all(stdin);
	insns = text ? make_program(&o, text, (size_t)mem_len, &cnt) : NULL;
	if (!o.program)
		free(text);
	if (!insns)
		return 1;
	if (pipe(fds))
		return fail("no pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return fail("no process: %s", strerror(errno));
	if (!pid)
		run_and_tell(fds[1], &o, insns, cnt, (size_t)mem_len);
	free(insns);
	close(fds[1]);
	return report(pid, fds[0]);
}
