// SPDX-License-Identifier: BSD-2-Clause
/* Results as CSV with a header line and RFC 4180 quoting: one line per result, no samples. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

/* Quoted where it has to be. */
static void put_text(FILE *f, const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		fputs(s, f);
		return;
	}
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			putc('"', f);
		putc(*s, f);
	}
	putc('"', f);
}

static void put_warnings(FILE *f, const struct estimate *est)
{
	char text[2048];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < est->nr_warnings && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "; " : "",
					est->warnings[i]);
	put_text(f, text);
}

static void put_result(FILE *f, const struct report *r, const struct result *res)
{
	const struct bench_inst *inst = &res->point->inst;
	const struct estimate *est = &res->est;

	put_text(f, inst->bench->name);
	putc(',', f);
	put_text(f, inst->target->spec);
	if (inst->bench->flags & BENCH_HAS_NR_LOOPS)
		fprintf(f, ",%llu", (unsigned long long)inst->params.nr_loops);
	else
		fprintf(f, ",");
	fprintf(f, ",%u,", inst->params.producers);
	if (inst->params.trig_batch_iters)
		fprintf(f, "%u", inst->params.trig_batch_iters);
	fprintf(f, ",%.9g,%.9g,%.9g,%d,", est->value, est->ci.lo, est->ci.hi, est->distinguishable);
	if (!isnan(est->trigger))
		fprintf(f, "%.9g", est->trigger);
	fprintf(f, ",%.9g,%.9g,%.9g,%.9g,%.9g,%llu,%llu,%u,0x%016llx,", est->null, est->gross,
		est->floor, est->rate_mean, est->rate_stddev,
		(unsigned long long)res->point->expected, (unsigned long long)res->point->counted,
		r->suite->rounds_done, (unsigned long long)r->suite->seed);
	put_warnings(f, est);
	putc(',', f);
	if (inst->bench->flags & BENCH_HAS_PROGRAMS)
		fprintf(f, "%u", inst->params.programs);
	fprintf(f, ",%d\n", inst->params.stacktrace);
}

int report_csv(FILE *f, const struct report *r)
{
	fputs("bench,target,nr_loops,producers,trig_batch_iters,ns_per_op,ci95_lo,ci95_hi,"
	      "distinguishable,trigger_ns,null_ns,gross_ns,floor_ns,throughput_mean_m,"
	      "throughput_stddev_m,events_expected,events_counted,rounds,seed,warnings,programs,stacktrace\n", f);
	for (size_t i = 0; i < r->nr_results; i++)
		put_result(f, r, &r->results[i]);
	return ferror(f) ? -EIO : 0;
}
