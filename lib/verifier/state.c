// SPDX-License-Identifier: BSD-2-Clause
/* Life of states, frames and slots; state.h describes them. */
#include "verifier/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bpfu_state *bpfu_state_new(void)
{
	struct bpfu_state *state = calloc(1, sizeof(*state));

	if (state)
		state->branches = 1;
	return state;
}

static void frame_free(struct bpfu_frame *frame)
{
	if (frame)
		free(frame->slot);
	free(frame);
}

void bpfu_state_free(struct bpfu_state *state)
{
	if (!state)
		return;
	for (uint32_t i = 0; i < BPFU_MAX_CALL_FRAMES; i++)
		frame_free(state->frame[i]);
	free(state->ref);
	free(state);
}

static struct bpfu_frame *frame_copy(const struct bpfu_frame *frame)
{
	struct bpfu_frame *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *frame;
	copy->slot = NULL;
	if (frame->slot_cnt) {
		copy->slot = malloc(frame->slot_cnt * sizeof(*copy->slot));
		if (!copy->slot) {
			free(copy);
			return NULL;
		}
		memcpy(copy->slot, frame->slot, frame->slot_cnt * sizeof(*copy->slot));
	}
	return copy;
}

struct bpfu_state *bpfu_state_copy(const struct bpfu_state *state)
{
	struct bpfu_state *copy = bpfu_state_new();

	if (!copy)
		return NULL;
	copy->depth = state->depth;
	copy->root = state->root;
	copy->speculative = state->speculative;
	copy->spec_len = state->spec_len;
	for (uint32_t i = 0; i <= state->depth && state->frame[i]; i++) {
		copy->frame[i] = frame_copy(state->frame[i]);
		if (!copy->frame[i])
			goto err_free;
	}
	if (state->ref_cnt) {
		copy->ref = malloc(BPFU_MAX_REFS * sizeof(*copy->ref));
		if (!copy->ref)
			goto err_free;
		memcpy(copy->ref, state->ref, state->ref_cnt * sizeof(*copy->ref));
		copy->ref_cnt = state->ref_cnt;
	}
	return copy;

err_free:
	bpfu_state_free(copy);
	return NULL;
}

size_t bpfu_state_bytes(const struct bpfu_state *state)
{
	size_t bytes = sizeof(*state);

	for (uint32_t i = 0; i <= state->depth && state->frame[i]; i++)
		bytes += sizeof(*state->frame[i]) +
			 state->frame[i]->slot_cnt * sizeof(struct bpfu_slot);
	return bytes;
}

int bpfu_state_push_frame(struct bpfu_state *state, uint32_t subprog, int32_t callsite)
{
	uint32_t depth = state->frame[0] ? state->depth + 1 : 0;
	struct bpfu_frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return -ENOMEM;
	frame->subprog = subprog;
	frame->callsite = callsite;
	frame->callback = -1;
	bpfu_reg_init(&frame->reg[BPF_REG_10], BPFU_REG_STACK);
	frame->reg[BPF_REG_10].frame = (uint16_t)depth;
	state->frame[depth] = frame;
	state->depth = depth;
	return 0;
}

void bpfu_state_pop_frame(struct bpfu_state *state)
{
	frame_free(state->frame[state->depth]);
	state->frame[state->depth--] = NULL;
}

int bpfu_frame_grow(struct bpfu_frame *frame, uint32_t bytes)
{
	uint32_t cnt = (bytes + BPFU_SLOT_BYTES - 1) / BPFU_SLOT_BYTES;
	struct bpfu_slot *slot;

	if (cnt <= frame->slot_cnt)
		return 0;
	slot = realloc(frame->slot, cnt * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	memset(slot + frame->slot_cnt, 0, (cnt - frame->slot_cnt) * sizeof(*slot));
	frame->slot = slot;
	frame->slot_cnt = cnt;
	return 0;
}

int bpfu_state_acquire(struct bpfu_state *state, uint32_t id, uint32_t insn_idx)
{
	if (state->ref_cnt == BPFU_MAX_REFS)
		return -ENOSPC;
	if (!state->ref) {
		state->ref = malloc(BPFU_MAX_REFS * sizeof(*state->ref));
		if (!state->ref)
			return -ENOMEM;
	}
	state->ref[state->ref_cnt++] = (struct bpfu_ref){ id, insn_idx };
	return 0;
}

int bpfu_state_release(struct bpfu_state *state, uint32_t id)
{
	for (uint32_t i = 0; i < state->ref_cnt; i++) {
		if (state->ref[i].id != id)
			continue;
		memmove(state->ref + i, state->ref + i + 1,
			(state->ref_cnt - i - 1) * sizeof(*state->ref));
		state->ref_cnt--;
		return 0;
	}
	return -ENOENT;
}

void bpfu_reg_init(struct bpfu_reg *reg, enum bpfu_reg_type type)
{
	memset(reg, 0, sizeof(*reg));
	reg->type = type;
	bpfu_range_set_const(&reg->range, 0);
}

const char *bpfu_reg_type_name(const struct bpfu_reg *reg)
{
	bool null = bpfu_reg_maybe_null(reg);

	switch ((enum bpfu_reg_type)reg->type) {
	case BPFU_REG_NOT_INIT:
		return "?";
	case BPFU_REG_SCALAR:
		return "scalar";
	case BPFU_REG_CTX:
		return "ctx";
	case BPFU_REG_MAP_PTR:
		return "map_ptr";
	case BPFU_REG_MAP_VALUE:
		return null ? "map_value_or_null" : "map_value";
	case BPFU_REG_MAP_KEY:
		return "map_key";
	case BPFU_REG_STACK:
		return "fp";
	case BPFU_REG_PACKET:
		return "pkt";
	case BPFU_REG_PACKET_META:
		return "pkt_meta";
	case BPFU_REG_PACKET_END:
		return "pkt_end";
	case BPFU_REG_MEM:
		if (reg->flags & BPFU_REG_RINGBUF)
			return null ? "ringbuf_mem_or_null" : "ringbuf_mem";
		if (reg->flags & BPFU_REG_RDONLY)
			return null ? "rdonly_mem_or_null" : "rdonly_mem";
		return null ? "mem_or_null" : "mem";
	case BPFU_REG_FUNC:
		return "func";
	case BPFU_REG_PERCPU:
		return "percpu_ptr_";
	case BPFU_REG_BTF: /* the structure's name follows */
		if (reg->flags & BPFU_REG_RCU)
			return null ? "rcu_ptr_or_null_" : "rcu_ptr_";
		if (reg->flags & BPFU_REG_UNTRUSTED)
			return null ? "untrusted_ptr_or_null_" : "untrusted_ptr_";
		return null ? "ptr_or_null_" : "ptr_";
	}
	return "?";
}

unsigned int bpfu_slot_spill_size(const struct bpfu_slot *slot)
{
	unsigned int size = 0;

	while (size < BPFU_SLOT_BYTES && slot->byte[size] == BPFU_BYTE_SPILL)
		size++;
	return size;
}

void bpfu_slot_scrub(struct bpfu_slot *slot)
{
	for (int i = 0; i < BPFU_SLOT_BYTES; i++)
		if (slot->byte[i] == BPFU_BYTE_SPILL)
			slot->byte[i] = BPFU_BYTE_MISC;
	bpfu_reg_init(&slot->reg, BPFU_REG_NOT_INIT);
}

void bpfu_state_each_reg(struct bpfu_state *state, void (*fn)(struct bpfu_reg *reg, void *arg),
			 void *arg)
{
	for (uint32_t i = 0; i <= state->depth; i++) {
		struct bpfu_frame *frame = state->frame[i];

		for (int r = 0; r < BPFU_MAX_REG; r++)
			fn(&frame->reg[r], arg);
		for (uint32_t s = 0; s < frame->slot_cnt; s++)
			if (bpfu_slot_is_spill(&frame->slot[s]))
				fn(&frame->slot[s].reg, arg);
	}
}
