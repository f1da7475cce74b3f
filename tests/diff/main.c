// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpfu-diff: random valid programs on the JIT, the interpreter and the kernel (docs/testing.md).
 * The programs run in worker processes, so that a crash or a hang is a finding like others: the
 * parent knows from shared memory which seed it was. Workers take seeds from one counter, so what has
 * been run at the end is a range without holes, after which another run can go on.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "minimise.h"
#include "options.h"
#include "summary.h"

static struct diff_options opt;
static struct diff_run *run; /* shared with the workers */

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
				       .with = opt.with,
				       .limit = (uint32_t)opt.limit };
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

/* On both sides of a pipe; our end waits a little longer, so that the other can say what it was. */
static uint32_t own_limit(void)
{
	return (uint32_t)(opt.with ? opt.limit + opt.limit / 10 + 1 : opt.limit);
}

static void take_off(struct comparison *cmp)
{
	const struct compare_setup setup = { .kernel = !opt.no_kernel,
					     .random_options = !opt.default_options,
					     .with = opt.with,
					     .limit = (uint32_t)opt.limit };
	int err;

	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* the parent's business, and so is a second one, which ends it at once */
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = compare_open(cmp, &setup);
	if (!err)
		return;
	if (err != -EPROTO) /* the other machine's, reported */
		fprintf(stderr, "bpfu-diff: libbpfu cannot be used: %s\n", strerror(-err));
	_exit(1);
}

/* The next program's index; false if there is none, or no time for it. */
static bool take(struct worker *w, double deadline)
{
	if (atomic_load(&run->stop) || (deadline > 0 && now() > deadline))
		return false;
	w->index = atomic_fetch_add(&run->next, 1);
	return w->index < opt.count;
}

static void work(struct worker *w, double deadline)
{
	static struct diff_case c;
	static struct comparison cmp;
	struct outcome out;

	take_off(&cmp);
	w->had_kernel = cmp.usable[SIDE_KERNEL];
	if (opt.with)
		memcpy(w->machine, cmp.remote.machine, sizeof(w->machine));
	while (take(w, deadline)) {
		uint64_t seed = opt.seed + w->index;

		alarm(own_limit());
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
	report(opt.seed + w->index, what, "", (struct ending){ .signal = signal });
}

static void on_signal(int signal)
{
	if (signal != SIGALRM)
		atomic_store(&run->stop, true);
}

/* Interrupt wait() once a second, or no more. */
static void tick(bool on)
{
	const struct itimerval period = { { on, 0 }, { on, 0 } };

	setitimer(ITIMER_REAL, &period, NULL);
}

/* A second SIGINT or SIGTERM ends us at once. */
static void catch_signals(void)
{
	struct sigaction once = { .sa_handler = on_signal,
				  .sa_flags = (int)(SA_RESETHAND | SA_RESTART) };
	struct sigaction always = { .sa_handler = on_signal };

	sigaction(SIGINT, &once, NULL);
	sigaction(SIGTERM, &once, NULL);
	sigaction(SIGALRM, &always, NULL);
	tick(true);
}

static void start_workers(pid_t *pids, uint32_t *running, double deadline)
{
	for (uint32_t job = 0; job < opt.jobs; job++) {
		struct worker *w = &run->worker[job];

		if (pids[job] || w->finished || atomic_load(&run->stop) ||
		    atomic_load(&run->next) >= opt.count)
			continue;
		fflush(NULL);
		pids[job] = fork();
		if (!pids[job])
			work(w, deadline);
		*running += 1;
	}
}

/* Run all workers to their end. Returns the number of failures. */
static uint32_t supervise(double start, double deadline)
{
	pid_t pids[JOBS_MAX] = { 0 };
	uint32_t failures = 0, running = 0, job;

	for (;;) {
		int status;
		pid_t pid;

		if (failures < opt.max_failures)
			start_workers(pids, &running, deadline);
		if (!running)
			return failures;
		pid = wait(&status);
		if (pid < 0)
			show_progress(&opt, run, failures, now() - start);
		for (job = 0; job < opt.jobs && pids[job] != pid; job++)
			;
		if (pid < 0 || job == opt.jobs)
			continue;
		pids[job] = 0;
		running--;
		tick(false);
		if (WIFSIGNALED(status)) {
			failures++;
			report_signal(&run->worker[job], WTERMSIG(status));
		} else if (WEXITSTATUS(status) == 2) {
			failures++;
			report_verdict(&run->worker[job]);
		} else if (WEXITSTATUS(status)) {
			return failures + 1;
		}
		tick(true);
	}
}

/* Programs are made of what libbpfu has, so a seed's program changes when it learns a map type. */
static void probe_maps(void)
{
	struct side side;

	if (!side_open(&side, SIDE_INTERP)) {
		side_probe_maps(&side);
		side_close(&side);
	}
	/* Kernels before 6.2 have no functions for objects. */
	if (!side_open(&side, SIDE_KERNEL)) {
		if (!side_kfunc_id(&side, KFUNC_OBJ_NEW) || !side_kfunc_id(&side, KFUNC_OBJ_DROP))
			shape_forbid_kptr();
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
	double start = now();
	uint32_t failures;

	options_parse(&opt, argc, argv);
	probe_maps();
	if (opt.serve)
		return remote_serve((uint32_t)opt.limit);
	if (opt.print || opt.save) {
		static struct diff_case c;

		make_case(&c, opt.seed);
		if (opt.print)
			case_print(stdout, &c);
		return opt.save ? save(&c, opt.save) : 0;
	}
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED) {
		perror("bpfu-diff: mmap");
		return 1;
	}
	printf("bpfu-diff: seed 0x%llx\n", (unsigned long long)opt.seed);
	catch_signals();
	failures = supervise(start, opt.seconds ? start + (double)opt.seconds : 0);
	return summarise(&opt, run, failures, now() - start);
}
