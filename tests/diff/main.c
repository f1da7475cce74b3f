// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpfu-diff: random valid programs on the JIT, the interpreter and the kernel (docs/testing.md).
 * The programs run in worker processes, so that a crash or a hang is a finding like others: the
 * parent knows from shared memory which seed it was.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "minimise.h"
#include "options.h"

#define JOBS_MAX	16
#define REASONS		48
#define PROGRAM_SECONDS 20 /* one that takes longer hangs */
#define EMULATED_SLOWER 10

struct reason {
	char text[120];
	uint64_t seed; /* the first one */
	uint64_t count;
	enum verdict verdict;
};

/* A worker's part of the shared memory; read by the parent after the worker's end. */
struct worker {
	uint64_t next; /* index of the program being run */
	bool finished;
	bool had_kernel;
	char machine[16]; /* the other one, if there is one */
	uint64_t programs, insns;
	uint64_t verdicts[VERDICTS];
	struct reason reasons[REASONS];
	uint64_t failed_seed; /* of the failure the worker stopped at */
	struct outcome failure;
};

static struct diff_options opt;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * A second load finds what depends on options; clones, which cost nothing next to a load, find the
 * rest. Programs that tail-call each other have no clones.
 */
static uint32_t modes_of(const struct diff_case *c)
{
	if (opt.modes)
		return opt.modes;
	return c->seed % (c->prog_cnt > 1 ? 2 : 4) ? MODE_CLONE : MODE_LOAD;
}

static void make_case(struct diff_case *c, uint64_t seed)
{
	struct rng rng = { .state = seed ^ 0x5eed };

	case_generate(c, seed);
	if (opt.mutate)
		case_mutate(c, &rng);
}

static struct compare_setup setup_for(const struct diff_case *c)
{
	return (struct compare_setup){ .modes = modes_of(c),
				       .kernel = !opt.no_kernel,
				       .random_options = !opt.default_options,
				       .with = opt.with };
}

/* ---- the worker ---- */

/* Numbers become N, so that alike refusals count together. */
static void add_reason(struct worker *w, const struct outcome *out, uint64_t seed)
{
	char text[120];
	size_t len = 0;

	for (const char *p = out->log; *p && len + 1 < sizeof(text); p++) {
		bool digit = *p >= '0' && *p <= '9';

		if (digit && len && text[len - 1] == 'N')
			continue;
		text[len++] = digit ? 'N' : *p;
	}
	text[len] = '\0';
	for (int i = 0; i < REASONS; i++) {
		struct reason *r = &w->reasons[i];

		if (!r->count) {
			memcpy(r->text, text, len + 1);
			r->seed = seed;
			r->verdict = out->verdict;
		}
		if (r->verdict == out->verdict && !strcmp(r->text, text)) {
			r->count++;
			return;
		}
	}
}

static bool is_failure(enum verdict verdict)
{
	return verdict == DIFFERENT || verdict == UNSOUND || verdict == BROKEN;
}

static void work(struct worker *w, double deadline)
{
	static struct diff_case c;
	static struct comparison cmp;
	struct outcome out;
	const struct compare_setup setup = setup_for(&c);
	int err = compare_open(&cmp, &setup);

	if (err) {
		if (err != -EPROTO) /* the other machine's, reported */
			fprintf(stderr, "bpfu-diff: libbpfu cannot be used: %s\n",
				strerror(-err));
		_exit(1);
	}
	w->had_kernel = cmp.usable[SIDE_KERNEL];
	if (opt.with)
		memcpy(w->machine, cmp.remote.machine, sizeof(w->machine));
	for (; w->next < opt.count; w->next += opt.jobs) {
		uint64_t seed = opt.seed + w->next;

		if (deadline > 0 && now() > deadline)
			break;
		alarm(opt.with ? PROGRAM_SECONDS * EMULATED_SLOWER : PROGRAM_SECONDS);
		make_case(&c, seed);
		cmp.setup.modes = modes_of(&c);
		compare_case(&cmp, &c, &out);
		alarm(0);
		w->programs++;
		for (uint32_t i = 0; i < c.prog_cnt; i++)
			w->insns += c.progs[i].cnt;
		w->verdicts[out.verdict]++;
		if (out.log[0])
			add_reason(w, &out, seed);
		if (is_failure(out.verdict)) {
			w->failure = out;
			w->failed_seed = seed;
			w->next += opt.jobs;
			_exit(2);
		}
	}
	w->finished = true;
	compare_close(&cmp);
	_exit(0);
}

/* ---- the parent ---- */

static void report(uint64_t seed, const char *what, const char *log, struct ending end)
{
	static struct diff_case c;
	struct compare_setup setup;

	make_case(&c, seed);
	setup = setup_for(&c);
	printf("FAIL seed 0x%llx%s: %s%s%s\n", (unsigned long long)seed,
	       opt.mutate ? " (mutated)" : "", what, *log ? ": " : "", log);
	fflush(stdout); /* shrinking takes a while */
	for (enum side_kind kind = SIDE_JIT; !opt.default_options && kind < SIDES; kind++) {
		const struct side shown = { .kind = kind };

		printf("%s:", side_names[kind]);
		side_options(&shown, &c, seed, stdout);
		printf("\n");
	}
	if (opt.minimise) {
		struct ending again = run_apart(&c, &setup, false);

		if (again.signal != end.signal || (!end.signal && again.verdict != end.verdict))
			printf("alone it does not fail; not minimised\n");
		else
			printf("minimised in %u steps\n", minimise(&c, &setup, again));
	}
	case_print(stdout, &c);
	printf("again: bpfu-diff --seed 0x%llx --count 1%s%s%s%s%s%s\n", (unsigned long long)seed,
	       opt.mutate ? " --mutate" : "", opt.minimise ? "" : " --minimise",
	       opt.no_kernel ? " --no-kernel" : "", opt.with ? " --with '" : "",
	       opt.with ? opt.with : "", opt.with ? "'" : "");
	fflush(stdout);
}

static void report_verdict(const struct worker *w)
{
	static const char *const names[VERDICTS] = {
		[DIFFERENT] = "results differ",
		[UNSOUND] = "libbpfu accepts what the kernel refuses",
		[BROKEN] = "a side could not be used",
	};
	char what[256];

	snprintf(what, sizeof(what), "%s%s%s", names[w->failure.verdict],
		 w->failure.what[0] ? ": " : "", w->failure.what);
	report(w->failed_seed, what, w->failure.log,
	       (struct ending){ .verdict = w->failure.verdict });
}

static void report_signal(struct worker *w, int signal)
{
	char what[64];

	snprintf(what, sizeof(what), "%s", signal == SIGALRM ? "hangs" : strsignal(signal));
	w->programs++;
	w->next += opt.jobs;
	report(opt.seed + w->next - opt.jobs, what, "", (struct ending){ .signal = signal });
}

/* Run all workers to their end. Returns the number of failures. */
static uint32_t supervise(struct worker *workers, double deadline)
{
	pid_t pids[JOBS_MAX] = { 0 };
	uint32_t failures = 0, running = 0;

	for (uint32_t job = 0; job < opt.jobs; job++)
		workers[job].next = job;
	for (;;) {
		int status;
		uint32_t job;
		pid_t pid;

		for (job = 0; job < opt.jobs; job++) {
			if (pids[job] || workers[job].finished || failures >= opt.max_failures ||
			    workers[job].next >= opt.count)
				continue;
			fflush(NULL);
			pids[job] = fork();
			if (!pids[job])
				work(&workers[job], deadline);
			running++;
		}
		if (!running)
			return failures;
		pid = wait(&status);
		for (job = 0; job < opt.jobs && pids[job] != pid; job++)
			;
		if (pid < 0 || job == opt.jobs)
			continue;
		pids[job] = 0;
		running--;
		if (WIFSIGNALED(status)) {
			failures++;
			report_signal(&workers[job], WTERMSIG(status));
		} else if (WEXITSTATUS(status) == 2) {
			failures++;
			report_verdict(&workers[job]);
		} else if (WEXITSTATUS(status)) {
			return failures + 1;
		}
	}
}

static void print_reasons(struct worker *workers, enum verdict verdict, const char *title)
{
	struct reason *best;

	for (int rows = 0; rows < 12; rows++) {
		best = NULL;
		for (uint32_t job = 0; job < opt.jobs; job++)
			for (int i = 0; i < REASONS; i++) {
				struct reason *r = &workers[job].reasons[i];

				if (r->count && r->verdict == verdict &&
				    (!best || r->count > best->count))
					best = r;
			}
		if (!best)
			return;
		if (!rows)
			printf("%s:\n", title);
		printf("  %6llu  %s  (seed 0x%llx)\n", (unsigned long long)best->count, best->text,
		       (unsigned long long)best->seed);
		best->count = 0;
	}
}

static int summarise(struct worker *workers, uint32_t failures, double seconds)
{
	uint64_t programs = 0, insns = 0, v[VERDICTS] = { 0 }, ran, both;
	bool kernel = false;
	char sides[80];
	double accept;

	for (uint32_t job = 0; job < opt.jobs; job++) {
		programs += workers[job].programs;
		insns += workers[job].insns;
		kernel |= workers[job].had_kernel;
		for (int i = 0; i < VERDICTS; i++)
			v[i] += workers[job].verdicts[i];
	}
	ran = v[SAME] + v[DIFFERENT] + v[UNSTABLE] + v[FOLDED];
	both = ran + v[MISSED];
	accept = both ? 100.0 * (double)ran / (double)both : 100.0;
	snprintf(sides, sizeof(sides), "jit, %s%s%s", workers[0].machine,
		 workers[0].machine[0] ? " jit, " : "",
		 kernel ? "interpreter and kernel" : "interpreter (no kernel)");
	print_reasons(workers, MISSED, "refused by libbpfu, accepted by the kernel");
	if (!kernel)
		print_reasons(workers, REFUSED, "refused by libbpfu");
	printf("seed 0x%llx: %llu programs, %.0f instructions each, %.0f/s; %s\n",
	       (unsigned long long)opt.seed, (unsigned long long)programs,
	       programs ? (double)insns / (double)programs : 0.0,
	       seconds > 0 ? (double)programs / seconds : 0.0,
	       sides);
	printf("%llu run on all sides, %llu refused, acceptance %.2f %% (%llu missed), "
	       "%llu unstable, %u failures\n",
	       (unsigned long long)ran, (unsigned long long)v[REFUSED], accept,
	       (unsigned long long)v[MISSED], (unsigned long long)v[UNSTABLE], failures);
	if (v[FOLDED])
		printf("%llu with atomic fetches wrong on the kernel alone (docs/differences.md)\n",
		       (unsigned long long)v[FOLDED]);
	if (kernel && accept < (double)opt.min_accept) {
		printf("acceptance is below %llu %%\n", (unsigned long long)opt.min_accept);
		return 1;
	}
	return failures ? 1 : 0;
}

/* Programs are made of what libbpfu has, so a seed's program changes when it learns a map type. */
static void probe_maps(void)
{
	struct side side;

	if (!side_open(&side, SIDE_INTERP)) {
		side_probe_maps(&side);
		side_close(&side);
	}
}

static int save(const struct diff_case *c, const char *path)
{
	uint8_t head[2] = { (uint8_t)c->shape, 0 };
	FILE *file = fopen(path, "wb");
	bool ok;

	if (!file) {
		fprintf(stderr, "bpfu-diff: cannot write '%s': %s\n", path, strerror(errno));
		return 1;
	}
	ok = fwrite(head, sizeof(head), 1, file) == 1 &&
	     fwrite(c->progs[0].insns, sizeof(struct bpf_insn), c->progs[0].cnt, file) ==
		     c->progs[0].cnt;
	return fclose(file) || !ok;
}

int main(int argc, char **argv)
{
	struct worker *workers;
	double start = now();
	uint32_t failures;

	options_parse(&opt, argc, argv);
	probe_maps();
	if (opt.serve)
		return remote_serve();
	if (opt.print || opt.save) {
		static struct diff_case c;

		make_case(&c, opt.seed);
		if (opt.print)
			case_print(stdout, &c);
		return opt.save ? save(&c, opt.save) : 0;
	}
	workers = mmap(NULL, sizeof(*workers) * opt.jobs, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED) {
		perror("bpfu-diff: mmap");
		return 1;
	}
	printf("bpfu-diff: seed 0x%llx\n", (unsigned long long)opt.seed);
	failures = supervise(workers, opt.seconds ? start + (double)opt.seconds : 0);
	return summarise(workers, failures, now() - start);
}
