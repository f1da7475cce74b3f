// SPDX-License-Identifier: BSD-2-Clause
/* The summary and the line of progress. */
#include "summary.h"

#include <signal.h>
#include <unistd.h>

#include "util/bits.h"

static void print_reasons(const struct diff_options *opt, struct worker *workers, enum verdict verdict, const char *title)
{
	struct reason *best;

	for (int rows = 0; rows < 12; rows++) {
		best = NULL;
		for (uint32_t job = 0; job < opt->jobs; job++)
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

static bool is_shown(void)
{
	return isatty(STDERR_FILENO);
}

void show_progress(const struct diff_options *opt, const struct diff_run *run, uint32_t failures,
		   double seconds)
{
	uint64_t programs = 0;

	if (!is_shown())
		return;
	for (uint32_t job = 0; job < opt->jobs; job++)
		programs += run->worker[job].programs;
	fprintf(stderr, "\r%llu programs in %.0f s, %.0f/s, %u failures \033[K",
		(unsigned long long)programs, seconds, (double)programs / seconds, failures);
}

/* "jit, aarch64 jit, interpreter and kernel" */
static void name_sides(const struct worker *w, char *buf, size_t size)
{
	snprintf(buf, size, "jit, %s%s%s", w->machine, w->machine[0] ? " jit, " : "",
		 w->had_kernel ? "interpreter and kernel" : "interpreter (no kernel)");
}

int summarise(const struct diff_options *opt, struct diff_run *run, uint32_t failures, double seconds)
{
	uint64_t next = opt->seed + BPFU_MIN(atomic_load(&run->next), opt->count);
	uint64_t programs = 0, insns = 0, v[VERDICTS] = { 0 }, ran, both;
	struct worker *workers = run->worker;
	bool kernel = workers[0].had_kernel;
	char sides[80];
	double accept;

	if (is_shown())
		fprintf(stderr, "\r\033[K");
	for (uint32_t job = 0; job < opt->jobs; job++) {
		programs += workers[job].programs;
		insns += workers[job].insns;
		for (int i = 0; i < VERDICTS; i++)
			v[i] += workers[job].verdicts[i];
	}
	ran = v[SAME] + v[DIFFERENT] + v[UNSTABLE] + v[FOLDED];
	both = ran + v[MISSED];
	accept = both ? 100.0 * (double)ran / (double)both : 100.0;
	name_sides(&workers[0], sides, sizeof(sides));
	print_reasons(opt, workers, MISSED, "refused by libbpfu, accepted by the kernel");
	if (!kernel)
		print_reasons(opt, workers, REFUSED, "refused by libbpfu");
	printf("seeds 0x%llx to 0x%llx: %llu programs, %.0f instructions each, %.0f/s; %s\n",
	       (unsigned long long)opt->seed, (unsigned long long)next - 1,
	       (unsigned long long)programs, programs ? (double)insns / (double)programs : 0.0,
	       seconds > 0 ? (double)programs / seconds : 0.0, sides);
	printf("%llu run on all sides, %llu refused, acceptance %.2f %% (%llu missed), "
	       "%llu unstable, %u failures\n",
	       (unsigned long long)ran, (unsigned long long)v[REFUSED], accept,
	       (unsigned long long)v[MISSED], (unsigned long long)v[UNSTABLE], failures);
	if (v[FOLDED])
		printf("%llu with atomic fetches wrong on the kernel alone (docs/differences.md)\n",
		       (unsigned long long)v[FOLDED]);
	if (next - opt->seed < opt->count)
		printf("to go on: --seed 0x%llx\n", (unsigned long long)next);
	if (kernel && accept < (double)opt->min_accept) {
		printf("acceptance is below %llu %%\n", (unsigned long long)opt->min_accept);
		return 1;
	}
	return failures ? 1 : atomic_load(&run->stop) ? 128 + SIGINT : 0;
}
