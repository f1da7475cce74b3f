// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs as dumps show them: the text of instructions, machine code for any backend, and what the
 * addresses in it are. Nothing here is needed to load or run a program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "helper/helper.h"
#include "jit/backend.h"
#include "jit/jit.h"
#include "map/map.h"
#include "obj/prog.h"
#include "percpu/percpu_alloc.h"
#include "syscall/syscall.h"

#define MAX_HELPER 1024 /* no kernel has as many */

int bpfu_insn_text(char *buf, size_t size, const struct bpf_insn *insn)
{
	return bpfu_insn_print(buf, size, insn, bpfu_helper_name);
}

static int get_prog(int fd, struct bpfu_prog **prog)
{
	struct bpfu_obj *obj;
	int err = bpfu_fd_get_kind(fd, BPFU_OBJ_PROG, -EINVAL, &obj);

	if (!err)
		*prog = bpfu_container_of(obj, struct bpfu_prog, obj);
	return err;
}

/* ---- machine code ---- */

/* One block: the description, the offsets, the bytes. */
static struct bpfu_code *code_new(const struct bpfu_prog *prog, uint64_t base, uint32_t size,
				  const uint8_t *bytes, const uint32_t *insn_off,
				  const uint32_t *func_off, const uint32_t *func_len)
{
	size_t insns = prog->insn_cnt + 1ul, funcs = prog->subprog_cnt;
	struct bpfu_code *code;
	uint32_t *offs;

	code = malloc(sizeof(*code) + (insns + 2 * funcs) * sizeof(uint32_t) + size);
	if (!code)
		return NULL;
	offs = (uint32_t *)(code + 1);
	memcpy(offs, insn_off, insns * sizeof(uint32_t));
	memcpy(offs + insns, func_off, funcs * sizeof(uint32_t));
	memcpy(offs + insns + funcs, func_len, funcs * sizeof(uint32_t));
	memcpy(offs + insns + 2 * funcs, bytes, size);
	*code = (struct bpfu_code){
		.base = base,
		.bytes = (const uint8_t *)(offs + insns + 2 * funcs),
		.size = size,
		.insn_cnt = prog->insn_cnt,
		.func_cnt = prog->subprog_cnt,
		.insn_off = offs,
		.func_off = offs + insns,
		.func_len = offs + insns + funcs,
	};
	return code;
}

/*
 * Where code for another machine is put: as images are, below our own code and in reach of a direct
 * call. At a fixed distance, so that what depends on it is the same in every process.
 */
static uint64_t foreign_base(void)
{
	const uint64_t page = 4096, below = 64ul << 20;

	return ((uintptr_t)bpfu_insn_text & ~(page - 1)) - below;
}

/* Of the first thread-local variables of an executable, as its machine's ABI lays them out. */
static int64_t foreign_tpoff(const struct bpfu_jit_backend *backend)
{
	const int64_t thread_control_block = 16;

	return backend == &bpfu_jit_x86_64 ? -(int64_t)sizeof(struct bpfu_cpu_self) :
					     thread_control_block;
}

static int generate(const struct bpfu_prog *prog, const struct bpfu_jit_backend *backend,
		    struct bpfu_code **out)
{
	struct bpfu_jit_target target;
	uint64_t base = foreign_base();
	struct bpfu_jit_code code;
	int err;

	bpfu_jit_target_init(&target, backend);
	if (backend != bpfu_jit_backend_find(NULL))
		target.self_tpoff = foreign_tpoff(backend);
	err = bpfu_jit_generate(prog, backend, &target, base, &code);
	if (err == -ERANGE) {
		target.far_calls = true;
		err = bpfu_jit_generate(prog, backend, &target, base, &code);
	}
	if (err)
		return err;
	*out = code_new(prog, base, code.size, code.bytes, code.insn_off, code.func_off,
			code.func_len);
	bpfu_jit_code_release(&code);
	return *out ? 0 : -ENOMEM;
}

static int code_of(const struct bpfu_prog *prog, const char *arch, struct bpfu_code **out)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(arch);
	const struct bpfu_jit_image *jit = prog->jit;

	if (!backend)
		return arch ? -EOPNOTSUPP : -ENOENT;
	if (arch && (!jit || backend != bpfu_jit_backend_find(NULL)))
		return generate(prog, backend, out);
	if (!jit)
		return -ENOENT;
	*out = code_new(prog, bpfu_u64(jit->code), jit->size, jit->code, jit->insn_off,
			jit->subprog_off, jit->subprog_len);
	return *out ? 0 : -ENOMEM;
}

int bpfu_prog_code(int prog_fd, const char *arch, struct bpfu_code **code)
{
	struct bpfu_prog *prog;
	int err = get_prog(prog_fd, &prog);

	if (err)
		return err;
	err = code_of(prog, arch, code);
	bpfu_prog_put(prog);
	return err;
}

void bpfu_code_free(struct bpfu_code *code)
{
	free(code);
}

/* ---- symbols ---- */

static const char *helper_at(uint64_t addr)
{
	for (int32_t id = 1; id < MAX_HELPER; id++) {
		const struct bpfu_helper *helper = bpfu_helper_by_id(id);

		if (helper && helper->fn && bpfu_u64((void *)(uintptr_t)helper->fn) == addr)
			return helper->name;
	}
	return NULL;
}

static int used_map_at(const struct bpfu_prog *prog, uint64_t addr, char *buf, size_t size)
{
	int err = -ENOENT;

	bpfu_prog_lock_maps();
	for (uint32_t i = 0; i < prog->used_map_cnt && err; i++)
		err = bpfu_map_describe(prog->used_maps[i], addr, buf, size);
	bpfu_prog_unlock_maps();
	return err;
}

/* Of the compiled program, or what stands for it in code that is not run; all of it, or main's. */
static bool is_private_stack(const struct bpfu_prog *prog, uint64_t addr)
{
	struct bpfu_private_stack stack = { .mem = BPFU_PRIVATE_NOWHERE };

	if (addr == bpfu_u64(stack.mem) || addr == bpfu_private_stack_main(&stack))
		return true;
	if (!prog->jit || !prog->jit->private_stack.mem)
		return false;
	stack = prog->jit->private_stack;
	return addr == bpfu_u64(stack.mem) || addr == bpfu_private_stack_main(&stack);
}

int bpfu_prog_symbol(int prog_fd, uint64_t addr, char *buf, size_t size)
{
	const char *name = helper_at(addr);
	struct bpfu_prog *prog;
	int err = get_prog(prog_fd, &prog);

	if (err)
		return err;
	if (!name && addr == bpfu_u64(bpfu_percpu_cpu_number()))
		name = "CPU number per CPU";
	if (!name && is_private_stack(prog, addr))
		name = "private stack per CPU";
	if (name)
		snprintf(buf, size, "%s", name);
	else
		err = used_map_at(prog, addr, buf, size);
	bpfu_prog_put(prog);
	return err;
}
