// SPDX-License-Identifier: BSD-2-Clause
/* The models of noise_model.h. */
#include "noise_model.h"

#include <math.h>

#define SIGMA 0.03
#define WALK_PHI 0.9995
#define BIMODAL_STEP 0.08
#define BIMODAL_SWITCH (1.0 / 300)
#define SPIKE_SHARE 0.005
#define SPIKE_MEAN_US 3000.0
#define SPIKE_MAX_US 20000.0
#define PERIOD2_STEP 0.05

const char *noise_name(enum noise_kind kind)
{
	static const char *const names[NR_NOISE_KINDS] = {
		[NOISE_NORMAL] = "normal",   [NOISE_LOGNORMAL] = "lognormal",
		[NOISE_BIMODAL] = "bimodal", [NOISE_AR] = "slow walk",
		[NOISE_RAMP] = "ramp",	     [NOISE_SPIKES] = "spikes",
		[NOISE_PERIOD2] = "period 2", [NOISE_TICKS] = "1 us clock",
		[NOISE_RECORDED] = "recorded",
	};

	return names[kind];
}

/* Marsaglia's polar method. */
double noise_normal(struct noise_model *m)
{
	double u, v, s;

	if (m->has_spare) {
		m->has_spare = false;
		return m->spare;
	}
	do {
		u = 2 * rng_unit(&m->rng) - 1;
		v = 2 * rng_unit(&m->rng) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	s = sqrt(-2 * log(s) / s);
	m->spare = v * s;
	m->has_spare = true;
	return u * s;
}

void noise_init(struct noise_model *m, enum noise_kind kind, uint64_t seed, size_t total)
{
	*m = (struct noise_model){ .kind = kind, .rng = { seed }, .total = total };
	rng_next(&m->rng);
	m->walk = SIGMA * noise_normal(m);
	m->slow = rng_next(&m->rng) & 1;
}

static double recorded_time(struct noise_model *m, double us)
{
	if (!m->step)
		m->at = rng_below(&m->rng, (uint32_t)m->nr_recorded);
	return us * m->recorded[(m->at + m->step++) % m->nr_recorded];
}

double noise_time(struct noise_model *m, double us)
{
	double x, t;

	if (m->kind == NOISE_RECORDED)
		return recorded_time(m, us);
	x = SIGMA * noise_normal(m);
	t = us * (1 + x);
	switch (m->kind) {
	case NOISE_LOGNORMAL:
		t = us * exp(3 * x);
		break;
	case NOISE_BIMODAL:
		m->slow ^= rng_unit(&m->rng) < BIMODAL_SWITCH;
		t *= m->slow ? 1 + BIMODAL_STEP : 1;
		break;
	case NOISE_AR:
		m->walk = WALK_PHI * m->walk +
			  sqrt(1 - WALK_PHI * WALK_PHI) * SIGMA * noise_normal(m);
		t *= 1 + m->walk;
		break;
	case NOISE_RAMP:
		t *= 0.9 + 0.2 * (double)m->step / (double)m->total;
		break;
	case NOISE_SPIKES:
		if (rng_unit(&m->rng) < SPIKE_SHARE)
			t += fmin(SPIKE_MAX_US, -SPIKE_MEAN_US * log(1 - rng_unit(&m->rng)));
		break;
	case NOISE_PERIOD2:
		t *= m->step % 2 ? 1 + PERIOD2_STEP : 1;
		break;
	case NOISE_TICKS:
		t = floor(t + rng_unit(&m->rng));
		break;
	default:
		break;
	}
	m->step++;
	return t;
}
