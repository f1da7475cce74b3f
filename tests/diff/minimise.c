// SPDX-License-Identifier: BSD-2-Clause
/*
 * The minimiser: delete chunks of instructions, from halves down to single ones, then make
 * constants small, as long as the case still ends as it did. A candidate that no verifier accepts
 * ends as REFUSED and is dropped, so no candidate can loop for ever or touch foreign memory that
 * the original did not; and each runs in a process of its own, as the failure may be a crash.
 */
#include "minimise.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "edit.h"

#define CANDIDATE_SECONDS 5

static __attribute__((noinline)) void run_child(const struct diff_case *c,
						const struct compare_setup *setup,
						struct outcome *shared)
{
	static struct comparison own;
	static struct outcome out;

	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	alarm(CANDIDATE_SECONDS);
	if (!freopen("/dev/null", "w", stderr) || compare_open(&own, setup))
		_exit(BROKEN);
	compare_case(&own, c, &out);
	*shared = out;
	_exit(out.verdict);
}

static __attribute__((noinline)) void shifted_child(const struct diff_case *c,
						    const struct compare_setup *setup,
						    struct outcome *shared)
{
	/* Kept on purpose: what is allocated later lies elsewhere. */
	volatile char stack[48 * 1024 + 16];
	char *heap = malloc(3 * 16 * 1024 + 32);
	void *pages = mmap(NULL, 5 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack[0] = heap && pages != MAP_FAILED;
	run_child(c, setup, shared);
	stack[1] = stack[0];
}

struct ending run_apart(const struct diff_case *c, const struct compare_setup *setup, bool shift)
{
	struct ending end = { .verdict = BROKEN };
	struct outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	if (shared == MAP_FAILED)
		return end;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (shift)
			shifted_child(c, setup, shared);
		else
			run_child(c, setup, shared);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid) {
		if (WIFSIGNALED(status))
			end.signal = WTERMSIG(status);
		else if (WEXITSTATUS(status) < VERDICTS)
			end.verdict = (enum verdict)WEXITSTATUS(status);
		memcpy(end.what, shared->what, sizeof(end.what));
	}
	munmap(shared, sizeof(*shared));
	return end;
}

struct shrink {
	struct diff_case *c;
	const struct compare_setup *setup;
	struct ending want;
	uint32_t tried;
};

/*
 * Take @candidate over if it still fails in the same way, to the place and the values that differ.
 * Without the instructions that made a value of it, a pointer or a stack byte that nobody wrote may
 * become the result, which differs for good reasons: values would change, and those made from
 * addresses also do when memory lies elsewhere.
 */
static bool try(struct shrink *s, const struct diff_case *candidate)
{
	struct ending end = run_apart(candidate, s->setup, false);

	s->tried++;
	if (end.signal != s->want.signal)
		return false;
	if (!end.signal) {
		if (end.verdict != s->want.verdict || strcmp(end.what, s->want.what) != 0)
			return false;
		if (end.verdict == DIFFERENT) {
			struct ending other = run_apart(candidate, s->setup, true);

			if (other.verdict != DIFFERENT || strcmp(end.what, other.what) != 0)
				return false;
		}
	}
	memcpy(s->c, candidate, sizeof(*s->c));
	return true;
}

static bool shrink_chunks(struct shrink *s, struct diff_case *tmp, uint32_t prog, uint32_t size)
{
	bool any = false;
	uint32_t at = 0;

	while (at < s->c->progs[prog].cnt) {
		memcpy(tmp, s->c, sizeof(*tmp));
		if (edit_remove(&tmp->progs[prog], at, at + size)) {
			edit_drop_unreachable(&tmp->progs[prog]);
			if (tmp->progs[prog].cnt < s->c->progs[prog].cnt && try(s, tmp)) {
				any = true;
				continue;
			}
		}
		at += size;
	}
	return any;
}

static void shrink_constants(struct shrink *s, struct diff_case *tmp, uint32_t prog)
{
	static const int32_t small[] = { 0, 1 };

	for (uint32_t i = 0; i < s->c->progs[prog].cnt; i++) {
		const struct bpf_insn *insn = &s->c->progs[prog].insns[i];
		bool mov = BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_K &&
			   (BPF_CLASS(insn->code) == BPF_ALU64 || BPF_CLASS(insn->code) == BPF_ALU);

		if (!mov && !(BPF_CLASS(insn->code) == BPF_ST))
			continue;
		for (int k = 0; k < 2 && s->c->progs[prog].insns[i].imm != small[k]; k++) {
			memcpy(tmp, s->c, sizeof(*tmp));
			tmp->progs[prog].insns[i].imm = small[k];
			if (try(s, tmp))
				break;
		}
	}
}

uint32_t minimise(struct diff_case *c, const struct compare_setup *setup, struct ending want)
{
	struct shrink s = { .c = c, .setup = setup, .want = want };
	struct diff_case *tmp = malloc(sizeof(*tmp));
	bool any = true;

	if (!tmp)
		return 0;
	while (c->prog_cnt > 1) {
		memcpy(tmp, c, sizeof(*tmp));
		tmp->prog_cnt--;
		if (!try(&s, tmp))
			break;
	}
	for (int round = 0; any && round < 4; round++) {
		any = false;
		for (uint32_t prog = 0; prog < c->prog_cnt; prog++)
			for (uint32_t size = c->progs[prog].cnt / 2 + 1; size; size /= 2)
				any |= shrink_chunks(&s, tmp, prog, size);
	}
	for (uint32_t prog = 0; prog < c->prog_cnt; prog++)
		shrink_constants(&s, tmp, prog);
	free(tmp);
	return s.tried;
}
