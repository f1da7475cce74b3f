// SPDX-License-Identifier: BSD-2-Clause
/* [#####-----]  52 %  5 s left  hash-inc on host: 5.9 ns, redrawn at most ten times a second. */
#include "measure/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_WIDTH 24
#define DEFAULT_COLUMNS 80

static bool shown;
static double total_seconds;
static uint64_t last_draw_ns;

void progress_begin(const struct opts *opts)
{
	shown = !opts->quiet && isatty(STDERR_FILENO);
	total_seconds = opts->duration > 0 ? opts->duration : 10;
	last_draw_ns = 0;
}

static bool is_due(void)
{
	uint64_t now = shown ? sample_now_ns() : 0;

	if (!shown || now - last_draw_ns < 100000000u)
		return false;
	last_draw_ns = now;
	return true;
}

/* Cut @line off before the last column: what wraps could not be drawn over, and would scroll the terminal. */
static void fit(char *line)
{
	struct winsize size = { .ws_col = 0 };
	unsigned int left;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		size.ws_col = DEFAULT_COLUMNS;
	left = size.ws_col - 1u;
	for (; *line; line++) {
		if (((unsigned char)*line & 0xc0) == 0x80)
			continue;
		if (!left--) {
			*line = '\0';
			return;
		}
	}
}

static void draw(double share, const char *text)
{
	int full = (int)(share * BAR_WIDTH);
	char bar[BAR_WIDTH + 1], line[BAR_WIDTH + 300];

	memset(bar, '-', BAR_WIDTH);
	memset(bar, '#', (size_t)full);
	bar[BAR_WIDTH] = '\0';
	snprintf(line, sizeof(line), "[%s] %3.0f %%  %s", bar, 100 * share, text);
	fit(line);
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
}

void progress_prepare(const struct suite *s, size_t idx)
{
	char text[256];

	if (!is_due())
		return;
	snprintf(text, sizeof(text), "warming up %.60s on %.60s", s->points[idx].label,
		 s->points[idx].inst.target->spec);
	draw(0, text);
}

/* The cost in the last round alone, at least 0; good enough to look at. */
static double last_net(const struct point *pt)
{
	double ns[2][2] = { { 0 } };
	const struct batch *last = &pt->batches[pt->nr_batches - 1];
	uint32_t iters = pt->inst.params.trig_batch_iters;
	double full, null;

	for (const struct batch *b = last; b >= pt->batches && b->round == last->round; b--)
		if (b->arm <= ARM_NULL && b->size <= SIZE_EIGHTH)
			ns[b->arm][b->size] = b->ns;
	full = (ns[ARM_FULL][SIZE_N] - ns[ARM_FULL][SIZE_EIGHTH]) /
	       (double)(pt->n_full - batch_eighth(pt->n_full, iters));
	null = (ns[ARM_NULL][SIZE_N] - ns[ARM_NULL][SIZE_EIGHTH]) /
	       (double)(pt->n_null - batch_eighth(pt->n_null, iters));
	return full > null ? (full - null) / (double)bench_events_per_op(&pt->inst) : 0;
}

void progress_round(const struct suite *s, const struct point *pt, double seconds)
{
	double share = ((double)s->rounds_done + 0.5) / s->rounds;
	double total = share > 0 ? seconds / share : total_seconds;
	char text[256];

	if (!is_due() || pt->failed || !pt->nr_batches)
		return;
	if (total < total_seconds)
		total = total_seconds;
	snprintf(text, sizeof(text), "%.0f s left  %.60s on %.60s: %.3g ns", total - seconds, pt->label,
		 pt->inst.target->spec, last_net(pt));
	draw(share < 1 ? share : 1, text);
}

void progress_show(double share, const char *text)
{
	if (is_due())
		draw(share, text);
}

void progress_end(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
