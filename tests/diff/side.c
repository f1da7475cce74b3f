// SPDX-License-Identifier: BSD-2-Clause
/* Load and run a case on one side, through bpf(2). */
#include "side.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "jit/image.h"
#include "map/map.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/options.h"

/* ---- the two ways to bpf(2) ---- */

/*
 * The kernel's, past any router: an instruction of our own, not libc's syscall().
 */
static int kernel_bpf(int cmd, union bpf_attr *attr, unsigned int size)
{
	long ret;

#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"((long)__NR_bpf), "D"((long)cmd), "S"(attr), "d"((long)size)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = __NR_bpf;
	register long x0 __asm__("x0") = cmd;
	register long x1 __asm__("x1") = (long)attr;
	register long x2 __asm__("x2") = size;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	ret = x0;
#else
	ret = -ENOSYS;
#endif
	return (int)ret;
}

const char *const side_names[SIDES] = { "kernel", "jit", "interp" };

int side_open(struct side *side, enum side_kind kind)
{
	union bpf_attr attr;
	int fd;

	memset(side, 0, sizeof(*side));
	side->kind = kind;
	side->name = side_names[kind];
	side->bpf = kind == SIDE_KERNEL ? kernel_bpf : bpfu_bpf;
	side->cpus = kind == SIDE_KERNEL ? (uint32_t)sysconf(_SC_NPROCESSORS_CONF) :
					   bpfu_possible_cpus();
	side->btf_fd = -1;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_HASH; /* needs privileges where arrays may not */
	attr.key_size = attr.value_size = 8;
	attr.max_entries = 1;
	fd = side->bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void side_close(struct side *side)
{
	for (uint32_t shape = 0; shape < SHAPES; shape++)
		for (uint32_t slot = 0; side->built[shape] && slot < SLOT_ALL; slot++) {
			bpfu_map_put(side->maps[shape][slot]);
			if (side->fds[shape][slot] >= 0)
				close(side->fds[shape][slot]);
		}
	if (side->btf_fd >= 0)
		close(side->btf_fd);
}

/*
 * All that change what is generated: perf_map, jitdump and gdb only tell others, and the memory without a
 * file that images have with perf_map is drawn as "image". harden is rare, as blinded programs have no
 * constants left to be clever about, and take the verifier five times as long.
 */
static const struct drawn {
	const char *name;
	uint8_t percent; /* on */
	bool standard;
} drawn[] = {
	{ "inline_helpers", 60, true }, { "inline_percpu", 60, true }, { "inline_loop", 60, true },
	{ "prog_pack", 60, true },	{ "loop_idioms", 60, true },	{ "harden", 8, false },
};

_Static_assert(sizeof(struct bpfu_options) == BPFU_ARRAY_SIZE(drawn) + 5,
	       "an option that is neither drawn nor jit, private_stack, perf_map, jitdump or gdb");

static void set_option(const char *name, const char *value, FILE *out)
{
	bpfu_option_set(name, value);
	if (out)
		fprintf(out, " %s=%s", name, value);
}

void side_options(const struct side *side, const struct diff_case *c, uint64_t seed, FILE *out)
{
	static const char *const stacks[] = { "on", "auto", "off" };
	struct rng rng = { .state = rng_mix(seed ^ 0x0b71035) + side->kind };
	bool anonymous;

	if (side->kind == SIDE_KERNEL)
		return;
	bpfu_option_set("jit", side->kind == SIDE_INTERP ? "off" : "on");
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(drawn); i++) {
		bool on = seed ? rng_percent(&rng, drawn[i].percent) : drawn[i].standard;

		set_option(drawn[i].name, on ? "on" : "off", out);
	}
	/* Frames of more than 512 bytes in all: off would refuse them. */
	set_option("private_stack", stacks[seed ? rng_below(&rng, c->deep_stacks ? 2 : 3) : 1], out);
	anonymous = seed && rng_percent(&rng, 6);
	bpfu_image_set_mode(anonymous ? BPFU_IMAGE_ANON : BPFU_IMAGE_AUTO);
	if (out)
		fprintf(out, " image=%s", anonymous ? "anonymous" : "auto");
}

/* ---- loading ---- */

static void resolve_maps(struct bpf_insn *insns, uint32_t cnt, const int *fds)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (!bpfu_insn_is_ld_imm64(&insns[i]))
			continue;
		/* A number that is no slot must not happen to be a descriptor of one side. */
		if (insns[i].src_reg == BPF_PSEUDO_MAP_FD ||
		    insns[i].src_reg == BPF_PSEUDO_MAP_VALUE)
			insns[i].imm = (uint32_t)insns[i].imm < SLOTS ? fds[insns[i].imm] : -1;
		i++;
	}
}

static void resolve_kfuncs(struct side *side, struct bpf_insn *insns, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) &&
		    insns[i].src_reg == BPF_PSEUDO_KFUNC_CALL)
			insns[i].imm = side_kfunc_id(side, insns[i].imm);
}

static void last_line(const char *log, char *line, size_t size)
{
	const char *end = log + strlen(log), *begin;

	/* "processed N insns…" comes after what we are looking for */
	while (end > log) {
		while (end > log && end[-1] == '\n')
			end--;
		for (begin = end; begin > log && begin[-1] != '\n'; begin--)
			;
		if (strncmp(begin, "processed ", 10) && strncmp(begin, "verification time", 17) &&
		    strncmp(begin, "stack depth", 11)) {
			snprintf(line, size, "%.*s", (int)(end - begin), begin);
			return;
		}
		end = begin;
	}
	snprintf(line, size, "(no log)");
}

static int prog_load(struct side *side, const struct diff_case *c, const struct case_prog *p,
		     struct result *res, bool log)
{
	static struct bpf_insn insns[CASE_INSNS];
	static char log_buf[1 << 20];
	struct bpf_func_info info[CASE_SUBPROGS];
	union bpf_attr attr;
	int fd;

	memcpy(insns, p->insns, p->cnt * sizeof(insns[0]));
	resolve_maps(insns, p->cnt, side->fds[c->shape]);
	resolve_kfuncs(side, insns, p->cnt);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = c->type;
	attr.insns = bpfu_u64(insns);
	attr.insn_cnt = p->cnt;
	attr.license = bpfu_u64("GPL");
	memcpy(attr.prog_name, "diff", 4);
	if (c->type == BPF_PROG_TYPE_SYSCALL)
		attr.prog_flags = BPF_F_SLEEPABLE;
	if (p->needs_btf) {
		for (uint32_t i = 0; i < p->subprog_cnt; i++)
			info[i] = (struct bpf_func_info){ p->subprog_start[i], TYPE_FUNCS + i };
		attr.prog_btf_fd = (uint32_t)side_btf(side);
		attr.func_info = bpfu_u64(info);
		attr.func_info_cnt = p->subprog_cnt;
		attr.func_info_rec_size = sizeof(info[0]);
	}
	if (log) {
		log_buf[0] = '\0';
		attr.log_buf = bpfu_u64(log_buf);
		attr.log_size = sizeof(log_buf);
		attr.log_level = 1;
	}
	fd = side->bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0 && log)
		last_line(log_buf, res->log, sizeof(res->log));
	return fd;
}

/* ---- running ---- */

/* A run of a loaded program; .form: CLONE_FORMS for as it is. */
struct loaded {
	struct side *side;
	const struct diff_case *c;
	int fd, form;
};

static int run_loaded(void *arg, union bpf_attr *attr)
{
	const struct loaded *l = arg;

	attr->test.prog_fd = (uint32_t)l->fd;
	if (l->form == CLONE_FORMS)
		return l->side->bpf(BPF_PROG_TEST_RUN, attr, sizeof(*attr));
	return clone_run(l->fd, l->c, l->side->fds[l->c->shape], l->form, attr);
}

static void test_run(const struct diff_case *c, side_run_fn run, void *arg, struct result *res)
{
	struct __sk_buff skb = { .mark = 0x11223344, .priority = 7, .cb = { 1, 2, 3, 4, 5 } };
	bool is_packet = c->type == BPF_PROG_TYPE_XDP || c->type == BPF_PROG_TYPE_SCHED_CLS;
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	if (is_packet) {
		attr.test.data_in = bpfu_u64(c->input);
		attr.test.data_size_in = c->input_size;
		attr.test.data_out = bpfu_u64(res->data);
		attr.test.data_size_out = DATA_MAX - sizeof(skb);
		attr.test.repeat = 1;
	} else {
		memcpy(res->data, c->input, c->input_size);
		res->data_len = c->input_size;
		attr.test.ctx_in = bpfu_u64(res->data);
		attr.test.ctx_size_in = c->input_size;
	}
	if (c->type == BPF_PROG_TYPE_SCHED_CLS) {
		attr.test.ctx_in = attr.test.ctx_out = bpfu_u64(&skb);
		attr.test.ctx_size_in = attr.test.ctx_size_out = sizeof(skb);
	}
	res->run_err = run(arg, &attr);
	res->retval = res->run_err ? 0 : attr.test.retval;
	if (!is_packet)
		return;
	res->data_len = res->run_err ? 0 : attr.test.data_size_out;
	if (c->type == BPF_PROG_TYPE_SCHED_CLS && res->data_len <= DATA_MAX - sizeof(skb)) {
		memcpy(res->data + res->data_len, &skb, sizeof(skb));
		res->data_len += sizeof(skb);
	}
}

/*
 * Put the programs @fds into the prog array, or take them out (NULL). The kernel waits for a grace
 * period for every program that it takes out, unless the array goes with them: it gets a new one for
 * each case (side_maps_renew()).
 */
static bool set_tail_calls(struct side *side, const struct diff_case *c, const int *fds)
{
	union bpf_attr attr;

	for (uint32_t key = 0; key < c->prog_cnt; key++) {
		int err;

		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)side->fds[c->shape][SLOT_PROGS];
		attr.key = bpfu_u64(&key);
		if (fds)
			attr.value = bpfu_u64(&fds[key]);
		err = side->bpf(fds ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, &attr, 32);
		if (err) {
			fprintf(stderr, "bpfu-diff: %s: cannot set tail call %u: %s\n", side->name,
				key, strerror(-err));
			return false;
		}
	}
	return true;
}

bool side_run_with(struct side *side, const struct diff_case *c, side_run_fn run, void *arg,
		   struct result *res)
{
	if (!side_maps_reset(side, c))
		return false;
	test_run(c, run, arg, res);
	side_maps_dump(side, c, res);
	return true;
}

static bool run_all(struct side *side, const struct diff_case *c, const int *fds,
		    struct result *res, struct result *clones)
{
	struct loaded l = { side, c, fds[0], CLONE_FORMS };
	bool tails = c->prog_cnt > 1;
	bool ok = !tails || set_tail_calls(side, c, fds);

	ok = ok && side_run_with(side, c, run_loaded, &l, res);
	for (l.form = 0; ok && clones && l.form < CLONE_FORMS; l.form++) {
		if (!clone_possible(c, l.form))
			continue;
		result_init(&clones[l.form]);
		ok = side_run_with(side, c, run_loaded, &l, &clones[l.form]);
	}
	if (tails && side->kind != SIDE_KERNEL)
		ok = set_tail_calls(side, c, NULL) && ok;
	return ok;
}

void result_init(struct result *res)
{
	res->load_err = res->run_err = 0;
	res->interpreted = false;
	res->data_len = res->dump_len = 0;
	res->retval = 0;
	res->log[0] = '\0';
}

/* What the JIT refuses libbpfu interprets, which then would be compared with the interpreter. */
static bool is_compiled(int prog_fd)
{
	struct bpfu_obj *obj;
	bool jited;

	if (bpfu_fd_get_kind(prog_fd, BPFU_OBJ_PROG, -EINVAL, &obj))
		return false;
	jited = bpfu_prog_of(obj)->jited;
	bpfu_obj_put(obj);
	return jited;
}

bool side_run(struct side *side, const struct diff_case *c, struct result *res, uint32_t flags,
	      const struct side_extra *extra)
{
	int fds[CASE_PROGS] = { -1, -1, -1 };
	bool ok = side_maps_build(side, c->shape) && side_maps_renew(side, c);

	result_init(res);
	for (uint32_t i = 0; ok && i < c->prog_cnt && !res->load_err; i++) {
		fds[i] = prog_load(side, c, &c->progs[i], res, flags & RUN_LOG);
		if (fds[i] < 0)
			res->load_err = fds[i];
		else if (side->kind == SIDE_JIT && !is_compiled(fds[i]))
			res->interpreted = true;
	}
	if (ok && extra && extra->loaded && !res->load_err)
		extra->loaded(extra->arg, side, c, fds);
	if (ok && (flags & RUN_EXEC) && !res->load_err)
		ok = run_all(side, c, fds, res, extra ? extra->clones : NULL);
	for (uint32_t i = 0; i < c->prog_cnt; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return ok;
}
