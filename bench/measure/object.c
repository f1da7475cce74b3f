// SPDX-License-Identifier: BSD-2-Clause
/*
 * Benches made of a user's object file. The object is loaded once per target, with the programs that
 * can be measured; a point is one of them. Types that take `repeat` run a batch in one trigger; for
 * the others a batch is that many triggers, and the null's cost is mostly the trigger's.
 */
#include "measure/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"
#include "util/interrupt.h"
#include "util/libbpf_log.h"

#define MAX_INSNS 1000000 /* what the kernel takes of a privileged user */
#define PACKET_SIZE 64

enum input { INPUT_NONE, INPUT_ARGS, INPUT_PACKET };

static const struct type_row {
	enum bpf_prog_type type;
	const char *name;
	enum input input;
	bool repeats;
} type_table[] = {
	{ BPF_PROG_TYPE_RAW_TRACEPOINT, "raw_tp", INPUT_ARGS, false },
	{ BPF_PROG_TYPE_SYSCALL, "syscall", INPUT_NONE, false },
	{ BPF_PROG_TYPE_XDP, "xdp", INPUT_PACKET, true },
	{ BPF_PROG_TYPE_SCHED_CLS, "tc", INPUT_PACKET, true },
	{ BPF_PROG_TYPE_SCHED_ACT, "action", INPUT_PACKET, true },
	{ BPF_PROG_TYPE_SOCKET_FILTER, "socket", INPUT_PACKET, true },
};

/* bench->data of such a bench */
struct object_prog {
	char *path;
	char *prog_name;
	char *bench_name;
	const struct type_row *type;
};

/* An object loaded on a target, shared by its points. */
struct object_load {
	struct object_load *next;
	const char *path; /* of the first point's object_prog */
	const struct target *target;
	struct bpf_object *obj;
	unsigned int users;
};

/* inst->priv */
struct object_inst {
	struct object_load *load;
	int prog_fd, null_fd;
	const struct type_row *type;
	uint32_t retval;   /* of the last run; both are for the report and may be stale */
	bool retval_varies;
	bool ran;
};

static struct object_load *loads;

/* Ethernet, IPv4 and UDP headers of a packet from 10.0.0.1 to 10.0.0.2, port 9. */
static const uint8_t packet[PACKET_SIZE] = {
	0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00,
	0x45, 0, 0, PACKET_SIZE - 14, 0, 0, 0x40, 0, 64, 17, 0x26, 0xb9, 10, 0, 0, 1, 10, 0, 0, 2,
	0x10, 0, 0, 9, 0, PACKET_SIZE - 34, 0, 0,
};

bool object_is_path(const char *arg)
{
	struct stat st;
	const char *dot_o = strstr(arg, ".o");

	if (strchr(arg, '/') || (dot_o && (!dot_o[2] || dot_o[2] == ':')))
		return true;
	return !stat(arg, &st) && S_ISREG(st.st_mode);
}

static const struct type_row *find_type(const struct bpf_program *prog)
{
	for (size_t i = 0; i < sizeof(type_table) / sizeof(type_table[0]); i++)
		if (type_table[i].type == bpf_program__type(prog))
			return &type_table[i];
	return NULL;
}

struct bpf_object *object_open_file(const char *path, struct errline *e)
{
	struct bpf_object *obj;
	const char *detail;
	char reason[128];
	int err = object_check_elf(path, e);

	if (err) {
		errno = -err;
		return NULL;
	}
	libbpf_log_clear();
	obj = bpf_object__open_file(path, NULL);
	if (obj)
		return obj;
	err = -errno;
	detail = libbpf_log_last();
	libbpf_strerror(err, reason, sizeof(reason));
	errline_set(e, err, "cannot open '%s' as a BPF object: %s%s%s; compile it with clang -g -O2 "
		    "-target bpf -c", path, reason, detail[0] ? ": " : "", detail);
	errno = -err;
	return NULL;
}

/* Load only what can be measured: an object may hold kprobes as well. Returns how many there are. */
static int choose_programs(struct bpf_object *obj, const char *path, struct errline *e)
{
	struct bpf_program *prog;
	int nr = 0;

	bpf_object__for_each_program(prog, obj) {
		if (bpf_program__insn_cnt(prog) > MAX_INSNS)
			return errline_set(e, -E2BIG, "'%s': program '%s' has %zu instructions, more than "
					   "the %d a program may have; split it, with tail calls for "
					   "instance", path, bpf_program__name(prog),
					   bpf_program__insn_cnt(prog), MAX_INSNS);
		if (find_type(prog) && bpf_program__autoload(prog))
			nr++;
		else
			bpf_program__set_autoload(prog, false);
	}
	return nr;
}

static int load_error(struct bpf_object *obj, const char *path, int err, const char *target,
		      struct errline *e)
{
	struct bpf_map *map;
	int maps = 0;

	bpf_object__for_each_map(map, obj)
		maps++;
	if (err == -EMFILE)
		return errline_set(e, err, "cannot load '%s' on %s: its %d maps need more descriptors "
				   "than this process may open; raise the limit (ulimit -n %d)", path,
				   target, maps, maps + 256);
	return driver_load_error(e, err, path, target);
}

static struct object_load *get_load(const struct object_prog *op, const struct target *target,
				    struct errline *e)
{
	struct object_load *load;
	int err;

	for (load = loads; load; load = load->next)
		if (load->target == target && !strcmp(load->path, op->path)) {
			load->users++;
			return load;
		}
	load = calloc(1, sizeof(*load));
	if (!load) {
		errline_set(e, -ENOMEM, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	load->obj = object_open_file(op->path, e);
	err = load->obj ? choose_programs(load->obj, op->path, e) : -errno;
	if (err >= 0) {
		libbpf_log_clear();
		err = bpf_object__load(load->obj);
		if (err)
			load_error(load->obj, op->path, err, target->spec, e);
	}
	if (err < 0) {
		bpf_object__close(load->obj);
		free(load);
		errno = -err;
		return NULL;
	}
	load->path = op->path;
	load->target = target;
	load->users = 1;
	load->next = loads;
	loads = load;
	return load;
}

static void put_load(struct object_load *load)
{
	struct object_load **p = &loads;

	if (--load->users)
		return;
	while (*p != load)
		p = &(*p)->next;
	*p = load->next;
	bpf_object__close(load->obj);
	free(load);
}

/* The empty program of @type. Only sleepable programs can be of type syscall. */
static int load_null(const struct type_row *type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .prog_flags = type->type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0);

	return bpf_prog_load(type->type, "bpflab_null", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
}

static int object_open(struct bench_inst *inst, struct errline *e)
{
	const struct object_prog *op = inst->bench->data;
	struct object_inst *oi = calloc(1, sizeof(*oi));
	int err;

	if (!oi)
		return errline_set(e, -ENOMEM, "out of memory");
	oi->type = op->type;
	oi->load = get_load(op, inst->target, e);
	if (!oi->load) {
		err = -errno;
		free(oi);
		return err;
	}
	oi->prog_fd = bpf_program__fd(bpf_object__find_program_by_name(oi->load->obj, op->prog_name));
	oi->null_fd = load_null(op->type);
	if (oi->null_fd < 0) {
		err = driver_load_error(e, oi->null_fd, "the empty program", inst->target->spec);
		put_load(oi->load);
		free(oi);
		return err;
	}
	inst->priv = oi;
	return 0;
}

static void object_close(struct bench_inst *inst)
{
	struct object_inst *oi = inst->priv;

	close(oi->null_fd);
	put_load(oi->load);
	free(oi);
	inst->priv = NULL;
}

static void note_retval(struct object_inst *oi, uint32_t retval)
{
	if (__atomic_load_n(&oi->ran, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&oi->retval, __ATOMIC_RELAXED) != retval)
		__atomic_store_n(&oi->retval_varies, true, __ATOMIC_RELAXED);
	__atomic_store_n(&oi->retval, retval, __ATOMIC_RELAXED);
	__atomic_store_n(&oi->ran, true, __ATOMIC_RELAXED);
}

static int object_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	struct object_inst *oi = inst->priv;
	uint64_t args[12] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	bool repeats = oi->type->repeats;
	bool measured = arm_is_measured(arm);
	int err = 0, fd = measured ? oi->prog_fd : oi->null_fd;

	if (oi->type->input == INPUT_PACKET) {
		opts.data_in = packet;
		opts.data_size_in = sizeof(packet);
	} else if (oi->type->input == INPUT_ARGS) {
		opts.ctx_in = args;
		opts.ctx_size_in = sizeof(args);
	}
	if (repeats)
		opts.repeat = (int)ops;
	*events = 0;
	for (uint64_t i = 0; i < (repeats ? 1 : ops) && !err; i++) {
		/* Long repeats can be interrupted, by job control for one; the run is then repeated. */
		do
			err = bpf_prog_test_run_opts(fd, &opts);
		while (err == -EINTR && !interrupt_signal());
		if (!err)
			*events += repeats ? ops : 1;
	}
	if (measured && !err)
		note_retval(oi, opts.retval);
	return err;
}

static int object_prog_fd(const struct bench_inst *inst)
{
	const struct object_inst *oi = inst->priv;

	return oi->prog_fd;
}

static void object_note(const struct bench_inst *inst, char *buf, size_t size)
{
	const struct object_inst *oi = inst->priv;

	if (oi->retval_varies)
		snprintf(buf, size, "the program returned different values, %d last: not every run did "
			 "the same", (int)oi->retval);
	else
		snprintf(buf, size, "the program returned %d%s", (int)oi->retval,
			 oi->type->input == INPUT_PACKET ? " for a 64-byte UDP packet" : "");
}

static void free_bench(struct bench *bench)
{
	struct object_prog *op = bench ? (struct object_prog *)bench->data : NULL;

	if (op) {
		free(op->path);
		free(op->prog_name);
		free(op->bench_name);
		free(op);
	}
	free(bench);
}

static struct bench *make_bench(const char *path, const struct bpf_program *prog)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct bench *bench = calloc(1, sizeof(*bench));
	struct object_prog *op = calloc(1, sizeof(*op));

	if (!bench || !op) {
		free(op);
		free(bench);
		return NULL;
	}
	bench->data = op;
	op->path = strdup(path);
	op->prog_name = strdup(bpf_program__name(prog));
	op->type = find_type(prog);
	if (asprintf(&op->bench_name, "%s:%s", base, bpf_program__name(prog)) < 0)
		op->bench_name = NULL;
	if (!op->path || !op->prog_name || !op->bench_name) {
		free_bench(bench);
		return NULL;
	}
	bench->name = op->bench_name;
	bench->event = "one run of the program";
	bench->null_is = "an empty program of the same type";
	bench->flags = BENCH_NEEDS_BPF | BENCH_HAS_PRODUCERS |
		       (op->type->repeats ? BENCH_NO_EMPTY_TRIGGER : 0);
	bench->classic_ops = 100;
	bench->open = object_open;
	bench->close = object_close;
	bench->trigger = object_trigger;
	bench->prog_fd = object_prog_fd;
	bench->note = object_note;
	return bench;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The bench of @s with the name of @bench, by which results are told apart, or NULL. */
static const struct object_prog *find_name(const struct suite *s, const struct bench *bench)
{
	for (size_t i = 0; i < s->nr_objects; i++)
		if (!strcmp(s->objects[i]->name, bench->name))
			return s->objects[i]->data;
	return NULL;
}

/* Takes over @bench. A program that is named twice is one bench, as it is with other benches. */
static int append_bench(struct suite *s, struct bench *bench, struct errline *e)
{
	const struct object_prog *op = bench ? bench->data : NULL, *other = op ? find_name(s, bench) : NULL;
	struct bench **grown;
	int err = 0;

	if (other) {
		if (!is_same_file(other->path, op->path))
			err = errline_set(e, -EINVAL, "'%s' and '%s' have one name in results, '%s'; run one at a time, "
					  "or compare them: bpflab compare %s %s", other->path, op->path, bench->name,
					  other->path, op->path);
		free_bench(bench);
		return err;
	}
	grown = bench ? realloc(s->objects, (s->nr_objects + 1) * sizeof(*grown)) : NULL;

	if (!grown) {
		free_bench(bench);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	s->objects = grown;
	s->objects[s->nr_objects++] = bench;
	return 0;
}

static int add_programs(struct suite *s, struct bpf_object *obj, const char *path, const char *only,
			struct errline *e)
{
	struct bpf_program *prog;
	int err = choose_programs(obj, path, e);
	bool any = false;

	if (err < 0)
		return err;
	bpf_object__for_each_program(prog, obj) {
		if (!bpf_program__autoload(prog) || (only && strcmp(only, bpf_program__name(prog))))
			continue;
		err = append_bench(s, make_bench(path, prog), e);
		if (err)
			return err;
		any = true;
	}
	if (any)
		return 0;
	if (only)
		return errline_set(e, -ENOENT, "'%s' has no program '%s' that can be measured", path,
				   only);
	return errline_set(e, -ENOENT, "'%s' has no program that can be measured: only raw_tp, syscall, "
			   "xdp, tc, action and socket programs can be run by BPF_PROG_TEST_RUN", path);
}

int object_add(struct suite *s, const char *arg, struct errline *e)
{
	const char *dot_o = strstr(arg, ".o:");
	char *path = dot_o ? strndup(arg, (size_t)(dot_o + 2 - arg)) : strdup(arg);
	struct bpf_object *obj;
	int err;

	if (!path)
		return errline_set(e, -ENOMEM, "out of memory");
	obj = object_open_file(path, e);
	err = obj ? add_programs(s, obj, path, dot_o ? dot_o + 3 : NULL, e) : -errno;
	bpf_object__close(obj);
	free(path);
	return err;
}

void object_release_all(struct suite *s)
{
	for (size_t i = 0; i < s->nr_objects; i++)
		free_bench(s->objects[i]);
	free(s->objects);
	s->objects = NULL;
	s->nr_objects = 0;
}

const char *object_prog_lacks(const struct bpf_program *prog)
{
	enum bpf_prog_type type = bpf_program__type(prog);

	if (type != BPF_PROG_TYPE_EXT &&
	    (type != BPF_PROG_TYPE_TRACING || strchr(bpf_program__section_name(prog), '/')))
		return NULL;
	return "it is for a function of another program; only a process that has loaded that one can load it";
}
