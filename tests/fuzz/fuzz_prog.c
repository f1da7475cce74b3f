// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs: what the verifier accepts runs without a fault, and ends the same on the JIT and in the
 * interpreter. Maps and inputs are those of the differential tester (tests/diff), whose --save
 * writes programs in the form read here:
 *
 *   byte 0   shape: program type and maps     byte 1   unused     then instructions of 8 bytes;
 *   a map is named by its slot (enum map_slot) in imm of LD_IMM64
 *
 * A program may compute with addresses, as a privileged one may on a kernel; then results differ
 * for good reasons. So the interpreter runs twice, the second time on a stack that lies elsewhere,
 * and only a program that does not notice is compared.
 */
#include "fuzz.h"

#include <stdbool.h>

#include "bpfu/bpfu.h"
#include "interp/interp.h"
#include "side.h"

#define MAX_CALLS_OF_LOOP 1

static struct side side;

/* Programs that run for minutes though they are correct: nested bpf_loop, may_goto. */
static bool is_slow(const struct case_prog *p)
{
	uint32_t loops = 0;

	for (uint32_t i = 0; i < p->cnt; i++) {
		const struct bpf_insn *insn = &p->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && insn->imm == BPF_FUNC_loop)
			loops++;
		if (insn->code == (BPF_JMP | BPF_JCOND))
			return true;
	}
	return loops > MAX_CALLS_OF_LOOP;
}

static uint32_t maps_used(const struct case_prog *p)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < p->cnt; i++)
		if (bpfu_insn_is_ld_imm64(&p->insns[i]) &&
		    (p->insns[i].src_reg == BPF_PSEUDO_MAP_FD ||
		     p->insns[i].src_reg == BPF_PSEUDO_MAP_VALUE) &&
		    (uint32_t)p->insns[i].imm < SLOTS)
			used |= 1u << p->insns[i].imm;
	return used;
}

static void find_subprogs(struct case_prog *p)
{
	bool starts[CASE_INSNS] = { true };

	p->subprog_cnt = 0;
	p->needs_btf = false;
	for (uint32_t i = 0; i < p->cnt; i++) {
		const struct bpf_insn *insn = &p->insns[i];
		int64_t target = (int64_t)i + 1 + insn->imm;

		if (!bpfu_insn_is_pseudo_call(insn) && !bpfu_insn_is_pseudo_func(insn))
			continue;
		if (target > 0 && target < p->cnt)
			starts[target] = true;
		p->needs_btf |= bpfu_insn_is_pseudo_func(insn);
	}
	for (uint32_t i = 0; i < p->cnt && p->subprog_cnt < CASE_SUBPROGS; i++)
		if (starts[i])
			p->subprog_start[p->subprog_cnt++] = i;
}

static bool same(const struct result *a, const struct result *b)
{
	return a->run_err == b->run_err && a->retval == b->retval && a->data_len == b->data_len &&
	       !memcmp(a->data, b->data, a->data_len) && a->dump_len == b->dump_len &&
	       !memcmp(a->dump, b->dump, a->dump_len);
}

/*
 * Once more, with the stack a little further down and other bytes in the interpreter's: an outcome
 * that is another then depends on what no two ways of running have in common.
 */
static __attribute__((noinline)) bool run_lower(const struct diff_case *c, struct result *res,
						struct result *clones)
{
	volatile char gap[4096 + 16];

	gap[0] = gap[sizeof(gap) - 1] = 1;
	bpfu_interp_stack_fill = 0xa5;
	return side_run(&side, c, res, RUN_EXEC, &(struct side_extra){ .clones = clones });
}

#ifdef BPFU_LIBFUZZER
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* One field of one instruction, to values that are near the edge of what is accepted. */
static void mutate_insn(struct bpf_insn *insn, struct rng *rng)
{
	static const int32_t imms[] = { 0, 1, -1, 8, 31, 63, 64, 512, INT32_MIN, INT32_MAX };
	static const uint8_t codes[] = {
		0x07, 0x0f, 0x04, 0x0c, 0x57, 0x67, 0x77, 0x2f, 0x3f, 0x9f, 0xbf, 0xbc, 0xb7, 0x15,
		0x1d, 0x25, 0x2d, 0xa5, 0xad, 0x65, 0xc5, 0x16, 0x26, 0xa6, 0x61, 0x69, 0x71, 0x79,
		0x63, 0x6b, 0x73, 0x7b, 0x62, 0x6a, 0x72, 0x7a, 0xdb, 0xc3, 0x81, 0x85
	};

	switch (rng_below(rng, 6)) {
	case 0:
		insn->dst_reg = rng_below(rng, 11);
		break;
	case 1:
		insn->src_reg = rng_below(rng, 11);
		break;
	case 2:
		insn->off = (int16_t)rng_range(rng, -24, 24);
		break;
	case 3:
		insn->imm = imms[rng_below(rng, BPFU_ARRAY_SIZE(imms))];
		break;
	case 4:
		insn->imm = (int32_t)((uint32_t)insn->imm + (uint32_t)rng_range(rng, -4, 4));
		break;
	default:
		insn->code = codes[rng_below(rng, BPFU_ARRAY_SIZE(codes))];
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct rng rng = { .state = seed };
	size_t cnt = size < 2 ? 0 : (size - 2) / 8;
	struct bpf_insn insn;
	uint8_t *at;

	if (!cnt || rng_percent(&rng, 20))
		return LLVMFuzzerMutate(data, size, max_size);
	at = data + 2 + (size_t)8 * rng_below(&rng, (uint32_t)cnt);
	switch (rng_below(&rng, 5)) {
	case 0: /* delete */
		memmove(at, at + 8, (size_t)(data + size - at - 8));
		return size - 8;
	case 1: /* double */
		if (size + 8 > max_size)
			break;
		memmove(at + 8, at, (size_t)(data + size - at));
		return size + 8;
	case 2:
		data[0] = (uint8_t)rng_below(&rng, SHAPES);
		break;
	default:
		memcpy(&insn, at, sizeof(insn));
		mutate_insn(&insn, &rng);
		memcpy(at, &insn, sizeof(insn));
	}
	return size;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct diff_case c;
	static struct result res, res2, clones[CLONE_FORMS], clones2[CLONE_FORMS];

	if (size < 10 || (size - 2) / 8 > 512)
		return 0;
	if (!side.name) {
		int err = side_open(&side, SIDE_JIT);

		FUZZ_CHECK(!err, "libbpfu cannot be used: %d", err);
		side_probe_maps(&side);
	}
	memset(&c, 0, sizeof(c));
	c.shape = data[0] % SHAPES;
	c.type = shape_prog_type(c.shape);
	c.prog_cnt = 1;
	c.input_size = c.type == BPF_PROG_TYPE_RAW_TRACEPOINT ? 96 : 64;
	memset(c.input, 0x5a, sizeof(c.input));
	c.progs[0].cnt = (uint32_t)((size - 2) / 8);
	memcpy(c.progs[0].insns, data + 2, c.progs[0].cnt * 8);
	find_subprogs(&c.progs[0]);
	c.maps_used = maps_used(&c.progs[0]);
	if (is_slow(&c.progs[0]))
		return 0;
	side_options(&side, &c, data[1], NULL);
	bpfu_interp_stack_fill = 0;
	FUZZ_CHECK(side_run(&side, &c, &res, RUN_EXEC, &(struct side_extra){ .clones = clones }), "side");
	if (res.load_err)
		return 0;
	FUZZ_CHECK(run_lower(&c, &res2, clones2), "side");
	if (same(&clones[CLONE_XLATED], &clones2[CLONE_XLATED]) && same(&res, &res2))
		FUZZ_CHECK(same(&res, &clones[CLONE_XLATED]), "JIT returns 0x%x, interpreter 0x%x",
			   res.retval, clones[CLONE_XLATED].retval);
	return 0;
}
