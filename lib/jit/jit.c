// SPDX-License-Identifier: BSD-2-Clause
/*
 * The driver: facts -> backend's lowering -> layout -> image. One pass over the program each; the
 * only repetition is for helpers that turn out to be out of reach of a direct call.
 */
#include "jit/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jit/backend.h"
#include "jit/gdb.h"
#include "jit/image.h"
#include "jit/join.h"
#include "jit/thread.h"
#include "obj/prog.h"
#include "rewrite/blind.h"
#include "util/log.h"
#include "util/uaccess.h"

#ifndef ENOTSUPP
#define ENOTSUPP 524
#endif

static const struct bpfu_jit_backend *const backends[] = {
	&bpfu_jit_x86_64,
	&bpfu_jit_arm64,
};

#if defined(__x86_64__)
#define HOST "x86_64"
#elif defined(__aarch64__)
#define HOST "aarch64"
#else
#define HOST "none"
#endif

const struct bpfu_jit_backend *bpfu_jit_backend_find(const char *name)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(backends); i++)
		if (!strcmp(backends[i]->name, name ? name : HOST))
			return backends[i];
	return NULL;
}

bool bpfu_jit_available(void)
{
	return bpfu_jit_backend_find(NULL) && bpfu_image_available();
}

void bpfu_jit_target_init(struct bpfu_jit_target *target, const struct bpfu_jit_backend *backend)
{
	bool native = backend == bpfu_jit_backend_find(NULL);

	target->cpu = native ? backend->cpu_features() : backend->cpu_all;
	target->self_tpoff = bpfu_cpu_self_tpoff();
	target->far_calls = false;
}

/* Code to be run gets memory of its own; other code shows that of the program, if it has any. */
static void plan_private_stack(struct bpfu_jit_ctx *ctx, bool to_run)
{
	struct bpfu_private_stack *stack = &ctx->private_stack;

	bpfu_private_stack_plan(stack, &ctx->facts, ctx->prog);
	if (!stack->size)
		return;
	if (!to_run) {
		stack->mem = ctx->prog->jit && ctx->prog->jit->private_stack.mem ?
				     ctx->prog->jit->private_stack.mem :
				     BPFU_PRIVATE_NOWHERE;
	} else if (bpfu_private_stack_alloc(stack)) {
		bpfu_warn("prog '%s': no per-CPU memory for a private stack; using the thread's",
			  ctx->prog->name);
		bpfu_private_stack_drop(stack, &ctx->facts);
	}
}

/* The program stays as it is: its own instructions are what the interpreter runs and a dump shows. */
static int simplify(struct bpfu_jit_ctx *ctx)
{
	size_t size = ctx->insn_cnt * sizeof(ctx->insns[0]);
	uint32_t branch = bpfu_thread_find(ctx->insns, ctx->insn_cnt, 0, &ctx->facts);
	bool join = bpfu_join_worthwhile(ctx->insns, ctx->insn_cnt);

	if (!join && branch == ctx->insn_cnt)
		return 0;
	ctx->simplified = malloc(size);
	if (!ctx->simplified)
		return -ENOMEM;
	memcpy(ctx->simplified, ctx->insns, size);
	ctx->insns = ctx->simplified;
	bpfu_thread_branches(ctx->simplified, ctx->insn_cnt, branch, &ctx->facts);
	if (join)
		bpfu_join_loads(ctx->simplified, ctx->insn_cnt, &ctx->facts);
	return 0;
}

static void release_blind(struct bpfu_jit_ctx *ctx)
{
	if (ctx->blind_start)
		bpfu_blind_release(&ctx->blind, ctx->blind_start);
}

static void ctx_release(struct bpfu_jit_ctx *ctx)
{
	bpfu_layout_release(&ctx->layout);
	bpfu_facts_release(&ctx->facts);
	free(ctx->simplified);
	release_blind(ctx);
}

/* Blinding trusts a program's branches, so their check comes first. */
static int blind(struct bpfu_jit_ctx *ctx, const struct bpfu_prog *prog)
{
	int err = bpfu_facts_init(&ctx->facts, prog, BPFU_MAX_REG);

	if (err)
		return err;
	bpfu_facts_release(&ctx->facts);
	return bpfu_blind(prog, &ctx->blind, &ctx->blind_start);
}

/* Facts, lowering and layout: after this, ctx->layout can be written. */
static int ctx_init(struct bpfu_jit_ctx *ctx, const struct bpfu_prog *prog,
		    const struct bpfu_patches *patches, const struct bpfu_jit_backend *backend,
		    const struct bpfu_jit_target *target, bool to_run)
{
	int err;

	ctx->orig_cnt = prog->insn_cnt;
	ctx->blind_start = NULL;
	if (prog->options.harden) {
		err = blind(ctx, prog);
		if (err)
			return err;
		prog = &ctx->blind;
	}
	ctx->prog = prog;
	ctx->insns = prog->insns;
	ctx->insn_cnt = prog->insn_cnt;
	ctx->simplified = NULL;
	ctx->target = *target;
	ctx->patches = patches;
	err = bpfu_facts_init(&ctx->facts, prog, ctx->blind_start ? BPFU_JIT_REGS : BPFU_MAX_REG);
	if (err)
		goto err_blind;
	if (patches)
		bpfu_facts_patch(&ctx->facts, prog->insns, patches);
	/* Of blinded constants nothing may be concluded. */
	err = ctx->blind_start ? 0 : simplify(ctx);
	if (err)
		goto err_facts;
	bpfu_facts_solve(&ctx->facts, ctx->insns, backend->uses_zext);
	plan_private_stack(ctx, to_run);
	bpfu_layout_init(&ctx->layout, prog->insn_cnt, prog->subprog_cnt,
			 (size_t)prog->insn_cnt * backend->bytes_per_insn + 64,
			 backend->disp_from_end);
	ctx->layout.wants_cfis = to_run && prog->options.gdb;
	if (!ctx->layout.err)
		err = backend->lower(ctx);
	if (!err)
		err = bpfu_layout_run(&ctx->layout);
	if (!err)
		return 0;
	if (to_run)
		bpfu_private_stack_free(&ctx->private_stack, prog->name);
	ctx_release(ctx);
	return err;

err_facts:
	bpfu_facts_release(&ctx->facts);
err_blind:
	release_blind(ctx);
	return err;
}

static void put_func_offsets(const struct bpfu_jit_ctx *ctx, uint32_t *func_off, uint32_t *func_len)
{
	for (uint32_t f = 0; f < ctx->layout.func_cnt; f++) {
		func_off[f] = ctx->layout.funcs[f].off;
		func_len[f] = ctx->layout.funcs[f].len;
	}
}

/* After the code has been written: the layout's labels become the offsets. */
static uint32_t *take_insn_offsets(struct bpfu_jit_ctx *ctx)
{
	uint32_t *off = bpfu_layout_take_labels(&ctx->layout, ctx->insn_cnt);

	/* Of blinded code the offsets of the instructions that it was made of; they only move down. */
	for (uint32_t i = 0; ctx->blind_start && i < ctx->orig_cnt; i++)
		off[i] = off[ctx->blind_start[i]];
	off[ctx->orig_cnt] = ctx->layout.size;
	return off;
}

int bpfu_jit_generate(const struct bpfu_prog *prog, const struct bpfu_jit_backend *backend,
		      const struct bpfu_jit_target *target, uint64_t base,
		      struct bpfu_jit_code *code)
{
	struct bpfu_jit_target host;
	struct bpfu_jit_ctx ctx;
	int err;

	if (!target) {
		bpfu_jit_target_init(&host, backend);
		target = &host;
	}
	err = ctx_init(&ctx, prog, NULL, backend, target, false);
	if (err)
		return err;
	code->size = ctx.layout.size;
	code->bytes = malloc(code->size);
	code->insn_off = NULL;
	code->func_off = malloc(prog->subprog_cnt * sizeof(uint32_t));
	code->func_len = malloc(prog->subprog_cnt * sizeof(uint32_t));
	err = -ENOMEM;
	if (code->bytes && code->func_off && code->func_len) {
		put_func_offsets(&ctx, code->func_off, code->func_len);
		err = bpfu_layout_write(&ctx.layout, code->bytes, base, &backend->writer);
	}
	if (err)
		bpfu_jit_code_release(code);
	else
		code->insn_off = take_insn_offsets(&ctx);
	ctx_release(&ctx);
	return err;
}

void bpfu_jit_code_release(struct bpfu_jit_code *code)
{
	free(code->bytes);
	free(code->insn_off);
	free(code->func_off);
	free(code->func_len);
	memset(code, 0, sizeof(*code));
}

/* The image's description in one block: itself, memory, exception table, functions. */
static struct bpfu_jit_image *image_new(const struct bpfu_jit_ctx *ctx)
{
	size_t ext_size = ctx->layout.ext_cnt * sizeof(struct bpfu_extable_entry);
	size_t offs = 2 * (size_t)ctx->layout.func_cnt;
	struct bpfu_jit_image *jit;

	jit = malloc(sizeof(*jit) + sizeof(struct bpfu_image) + ext_size + offs * sizeof(uint32_t));
	if (!jit)
		return NULL;
	jit->size = ctx->layout.size;
	jit->mem = jit + 1;
	jit->extable = (struct bpfu_extable_entry *)((struct bpfu_image *)jit->mem + 1);
	jit->extable_cnt = ctx->layout.ext_cnt;
	jit->subprog_off = (uint32_t *)(jit->extable + jit->extable_cnt);
	jit->subprog_len = jit->subprog_off + ctx->layout.func_cnt;
	jit->insn_off = NULL;
	jit->debug = NULL;
	put_func_offsets(ctx, jit->subprog_off, jit->subprog_len);
	return jit;
}

static unsigned int image_flags(const struct bpfu_options *options)
{
	return (options->prog_pack ? 0 : BPFU_IMAGE_OWN_PAGES) |
	       (options->perf_map || options->gdb ? BPFU_IMAGE_ANONYMOUS : 0) |
	       (options->harden ? BPFU_IMAGE_RANDOM : 0);
}

static int image_write(struct bpfu_jit_image *jit, const struct bpfu_jit_ctx *ctx,
		       const struct bpfu_jit_backend *backend)
{
	struct bpfu_image *mem = jit->mem;
	int err = bpfu_image_alloc(mem, jit->size, image_flags(&ctx->prog->options),
				   backend->writer.fill);

	if (err)
		return err;
	jit->code = mem->rx;
	err = bpfu_layout_write(&ctx->layout, mem->rw, (uintptr_t)mem->rx, &backend->writer);
	if (!err)
		err = bpfu_image_seal(mem);
	if (err)
		goto err_free;

	for (uint32_t i = 0; i < jit->extable_cnt; i++) {
		const struct bpfu_layout_ext *ext = &ctx->layout.exts[i];

		jit->extable[i].insn = bpfu_u64(jit->code) + bpfu_layout_off(&ctx->layout, ext->pos);
		jit->extable[i].fixup =
			bpfu_u64(jit->code) + bpfu_layout_label_off(&ctx->layout, ext->fixup);
	}
	if (jit->extable_cnt)
		err = bpfu_extable_register(jit->extable, jit->extable_cnt);
	if (!err)
		return 0;

err_free:
	bpfu_image_free(mem, backend->writer.fill);
	return err;
}

/* In one block, too. */
static struct bpfu_jit_debug *debug_new(const struct bpfu_jit_ctx *ctx)
{
	const struct bpfu_layout *l = &ctx->layout;
	struct bpfu_jit_debug *debug;

	if (!l->wants_cfis)
		return NULL;
	debug = calloc(1, sizeof(*debug) + l->cfi_cnt * sizeof(debug->cfis[0]) +
				  l->func_cnt * sizeof(uint32_t));
	if (!debug)
		return NULL;
	debug->cfis = (struct bpfu_cfi *)(debug + 1);
	debug->cfi_cnt = l->cfi_cnt;
	debug->direct_off = (uint32_t *)(debug->cfis + l->cfi_cnt);
	for (uint32_t i = 0; i < l->cfi_cnt; i++) {
		debug->cfis[i] = l->cfis[i].row;
		debug->cfis[i].off = bpfu_layout_off(l, l->cfis[i].pos);
	}
	for (uint32_t f = 0; f < l->func_cnt; f++)
		debug->direct_off[f] = bpfu_layout_label_off(l, bpfu_jit_direct_label(ctx, f));
	return debug;
}

static void *label_addr(const struct bpfu_jit_ctx *ctx, const struct bpfu_jit_image *jit,
			uint32_t label)
{
	return jit->code + bpfu_layout_label_off(&ctx->layout, label);
}

/* Make an image of @prog in @out. */
static int build(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
		 const struct bpfu_jit_backend *backend, const struct bpfu_jit_target *target,
		 struct bpfu_jit_variant *out)
{
	struct bpfu_jit_image *jit;
	struct bpfu_jit_ctx ctx;
	int err = ctx_init(&ctx, prog, patches, backend, target, true);

	if (err)
		return err;
	jit = image_new(&ctx);
	err = jit ? image_write(jit, &ctx, backend) : -ENOMEM;
	if (!err) {
		jit->private_stack = ctx.private_stack;
		/* A variant is not told to debuggers. */
		jit->debug = patches ? NULL : debug_new(&ctx);
		out->image = jit;
		out->func = label_addr(&ctx, jit, bpfu_jit_native_label(&ctx, 0));
		out->direct_entry = label_addr(&ctx, jit, bpfu_jit_direct_label(&ctx, 0));
		out->tail_entry = label_addr(&ctx, jit, bpfu_jit_body_label(&ctx, 0));
		jit->insn_off = take_insn_offsets(&ctx);
	} else {
		bpfu_private_stack_free(&ctx.private_stack, prog->name);
		free(jit);
	}
	ctx_release(&ctx);
	return err;
}

static int build_for_host(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
			  struct bpfu_jit_variant *out)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(NULL);
	struct bpfu_jit_target target;
	int err;

	if (!backend || !bpfu_image_available())
		return -ENOTSUPP;
	bpfu_jit_target_init(&target, backend);
	err = build(prog, patches, backend, &target, out);
	if (err == -ERANGE) {
		target.far_calls = true;
		err = build(prog, patches, backend, &target, out);
	}
	return err;
}

static void adopt(struct bpfu_prog *prog, const struct bpfu_jit_variant *built)
{
	prog->func = prog->own_func = (bpfu_prog_fn)(uintptr_t)built->func;
	prog->tail_entry = built->tail_entry;
	prog->direct_entry = built->direct_entry;
	prog->jit = built->image;
	prog->jited = true;
}

int bpfu_jit_compile_for(struct bpfu_prog *prog, const struct bpfu_jit_target *target)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(NULL);
	struct bpfu_jit_variant built;
	int err;

	if (!backend || !bpfu_image_available())
		return -ENOTSUPP;
	err = build(prog, NULL, backend, target, &built);
	if (!err)
		adopt(prog, &built);
	return err;
}

int bpfu_jit_compile(struct bpfu_prog *prog)
{
	struct bpfu_jit_variant built;
	int err = build_for_host(prog, NULL, &built);

	if (!err)
		adopt(prog, &built);
	return err;
}

int bpfu_jit_compile_variant(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
			     struct bpfu_jit_variant **out)
{
	struct bpfu_jit_variant *built = malloc(sizeof(*built));
	int err = built ? build_for_host(prog, patches, built) : -ENOMEM;

	if (err) {
		free(built);
		return err;
	}
	memcpy(built->name, prog->name, sizeof(built->name));
	*out = built;
	return 0;
}

static void image_free(struct bpfu_jit_image *jit, const char *prog_name)
{
	if (jit->debug)
		bpfu_gdb_del(jit->debug->object);
	free(jit->debug);
	if (jit->extable_cnt)
		bpfu_extable_unregister(jit->extable);
	bpfu_image_free(jit->mem, bpfu_jit_backend_find(NULL)->writer.fill);
	bpfu_private_stack_free(&jit->private_stack, prog_name);
	free(jit->insn_off);
	free(jit);
}

void bpfu_jit_variant_free(struct bpfu_jit_variant *variant)
{
	if (variant)
		image_free(variant->image, variant->name);
	free(variant);
}

void bpfu_jit_release(struct bpfu_prog *prog)
{
	if (!prog->jit)
		return;
	image_free(prog->jit, prog->name);
	prog->jit = NULL;
	prog->jited = false;
	prog->func = prog->own_func = NULL;
	prog->tail_entry = prog->direct_entry = NULL;
}
