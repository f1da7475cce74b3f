// SPDX-License-Identifier: BSD-2-Clause
/*
 * The check of BPF_BTF_LOAD: header, sections, strings, the list of types, chains of type tags; and
 * the phrases of its log. Errno and text are the kernel's (compared by tests/unit/test_btf_oracle.c).
 */
#include "btf/btf_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"

#define INFO_MASK 0x9f00ffffu /* kind_flag, kind, vlen */
#define MAX_NAME_OFFSET 0x00ffffffu
#define TAG_CHAIN_LIMIT 32

static const struct btf_type void_type;

/* ---- log ---- */

static void log_v(struct bpfu_btf_env *env, const char *fmt, va_list ap)
{
	if (bpfu_log_wants(env->log))
		bpfu_log_vprintf(env->log, fmt, ap);
}

void bpfu_btf_log(struct bpfu_btf_env *env, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_v(env, fmt, ap);
	va_end(ap);
}

const char *bpfu_btf_log_name(const struct bpfu_btf_env *env, uint32_t off)
{
	const char *name = bpfu_btf_name(env->btf, off);

	return !off ? "(anon)" : name ? name : "(invalid-name-offset)";
}

/* End of a line: the reason, if there is one. */
static void log_reason(struct bpfu_btf_env *env, const char *fmt, va_list ap)
{
	if (fmt) {
		bpfu_btf_log(env, " ");
		log_v(env, fmt, ap);
	}
	bpfu_btf_log(env, "\n");
}

static void log_head(struct bpfu_btf_env *env, const struct btf_type *t, bool details)
{
	const struct bpfu_btf_kind_ops *ops = bpfu_btf_kind_ops(bpfu_btf_kind(t));

	bpfu_btf_log(env, "[%u] %s %s%s", env->log_id, ops->name,
		     bpfu_btf_log_name(env, t->name_off), details ? " " : "");
	if (details)
		ops->details(env, t);
}

void bpfu_btf_log_type(struct bpfu_btf_env *env, const struct btf_type *t, const char *fmt, ...)
{
	va_list ap;

	if (!bpfu_log_wants(env->log))
		return;
	log_head(env, t, true);
	va_start(ap, fmt);
	log_reason(env, fmt, ap);
	va_end(ap);
}

void bpfu_btf_log_basic(struct bpfu_btf_env *env, const struct btf_type *t, const char *fmt, ...)
{
	va_list ap;

	if (!bpfu_log_wants(env->log))
		return;
	log_head(env, t, false);
	va_start(ap, fmt);
	log_reason(env, fmt, ap);
	va_end(ap);
}

void bpfu_btf_log_member(struct bpfu_btf_env *env, const struct btf_type *st,
			 const struct btf_member *m, const char *fmt, ...)
{
	va_list ap;

	if (!bpfu_log_wants(env->log))
		return;
	/* The meta phase has just printed the struct; later it says which one it is. */
	if (env->resolving)
		bpfu_btf_log_type(env, st, NULL);
	bpfu_btf_log(env, "\t%s type_id=%u", bpfu_btf_log_name(env, m->name_off), m->type);
	if (bpfu_btf_kflag(st))
		bpfu_btf_log(env, " bitfield_size=%u bits_offset=%u",
			     BTF_MEMBER_BITFIELD_SIZE(m->offset), BTF_MEMBER_BIT_OFFSET(m->offset));
	else
		bpfu_btf_log(env, " bits_offset=%u", m->offset);
	va_start(ap, fmt);
	log_reason(env, fmt, ap);
	va_end(ap);
}

void bpfu_btf_log_var(struct bpfu_btf_env *env, const struct btf_type *sec,
		      const struct btf_var_secinfo *var, const char *fmt, ...)
{
	va_list ap;

	if (!bpfu_log_wants(env->log))
		return;
	if (env->resolving)
		bpfu_btf_log_type(env, sec, NULL);
	bpfu_btf_log(env, "\t type_id=%u offset=%u size=%u", var->type, var->offset, var->size);
	va_start(ap, fmt);
	log_reason(env, fmt, ap);
	va_end(ap);
}

static int reject(struct bpfu_btf_env *env, int err, const char *why)
{
	bpfu_btf_log(env, "%s", why);
	return err;
}

/* ---- header and sections ---- */

static void log_header(struct bpfu_btf_env *env)
{
	const struct btf_header *hdr = &env->hdr;

	bpfu_btf_log(env, "magic: 0x%x\n", hdr->magic);
	bpfu_btf_log(env, "version: %u\n", hdr->version);
	bpfu_btf_log(env, "flags: 0x%x\n", hdr->flags);
	bpfu_btf_log(env, "hdr_len: %u\n", hdr->hdr_len);
	bpfu_btf_log(env, "type_off: %u\n", hdr->type_off);
	bpfu_btf_log(env, "type_len: %u\n", hdr->type_len);
	bpfu_btf_log(env, "str_off: %u\n", hdr->str_off);
	bpfu_btf_log(env, "str_len: %u\n", hdr->str_len);
	bpfu_btf_log(env, "btf_total_size: %u\n", env->btf->data_size);
}

struct section {
	uint32_t off, len;
};

static bool comes_before(const struct section *a, const struct section *b)
{
	/* Differences as signed 32-bit numbers: how the kernel sorts decides which error is found. */
	int32_t by_off = (int32_t)(a->off - b->off);

	return by_off ? by_off < 0 : (int32_t)(a->len - b->len) <= 0;
}

/* The two sections fill what is behind the header, without gap or overlap. */
static int check_sections(struct bpfu_btf_env *env)
{
	const struct section types = { env->hdr.type_off, env->hdr.type_len };
	const struct section strings = { env->hdr.str_off, env->hdr.str_len };
	bool types_first = comes_before(&types, &strings);
	const struct section sorted[2] = { types_first ? types : strings,
					   types_first ? strings : types };
	uint32_t total = 0, expected = env->btf->data_size - env->hdr.hdr_len;

	for (int i = 0; i < 2; i++) {
		if (expected < sorted[i].off)
			return reject(env, -EINVAL, "Invalid section offset");
		if (total < sorted[i].off)
			return reject(env, -EINVAL, "Unsupported section found");
		if (total > sorted[i].off)
			return reject(env, -EINVAL, "Section overlap found");
		if (expected - total < sorted[i].len)
			return reject(env, -EINVAL, "Total section length too long");
		total += sorted[i].len;
	}
	if (expected != total)
		return reject(env, -EINVAL, "Unsupported section found");
	return 0;
}

static int parse_header(struct bpfu_btf_env *env)
{
	const struct bpfu_btf *btf = env->btf;
	const uint8_t *data = btf->data;
	uint32_t hdr_len;

	if (btf->data_size < BPFU_BTF_HDR_LEN_END)
		return reject(env, -EINVAL, "hdr_len not found");
	memcpy(&hdr_len, data + offsetof(struct btf_header, hdr_len), sizeof(hdr_len));
	if (btf->data_size < hdr_len)
		return reject(env, -EINVAL, "btf_header not found");
	for (uint32_t i = sizeof(env->hdr); i < hdr_len; i++)
		if (data[i])
			return reject(env, -E2BIG, "Unsupported btf_header");
	memcpy(&env->hdr, data, BPFU_MIN(hdr_len, sizeof(env->hdr)));
	env->sections = data + hdr_len;
	log_header(env);
	if (env->hdr.magic != BTF_MAGIC)
		return reject(env, -EINVAL, "Invalid magic");
	if (env->hdr.version != BTF_VERSION)
		return reject(env, -BPFU_ENOTSUPP, "Unsupported version");
	if (env->hdr.flags)
		return reject(env, -BPFU_ENOTSUPP, "Unsupported flags");
	if (btf->data_size == env->hdr.hdr_len)
		return reject(env, -EINVAL, "No data");
	return check_sections(env);
}

static int parse_strings(struct bpfu_btf_env *env)
{
	struct bpfu_btf *btf = env->btf;
	const char *start = (const char *)env->sections + env->hdr.str_off;
	uint32_t len = env->hdr.str_len;

	if (start + len != (const char *)btf->data + btf->data_size)
		return reject(env, -EINVAL, "String section is not at the end");
	if (!len || len - 1 > MAX_NAME_OFFSET || start[len - 1] || start[0])
		return reject(env, -EINVAL, "Invalid string section");
	btf->strings = start;
	btf->str_len = len;
	return 0;
}

bool bpfu_btf_name_off_valid(const struct bpfu_btf_env *env, uint32_t off)
{
	return off < env->btf->str_len;
}

/* ---- types ---- */

/* Bytes of the type at @t, of which @left remain in the section, or -errno. */
static int check_type(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct bpfu_btf_kind_ops *ops;
	int tail;

	if (left < sizeof(*t)) {
		bpfu_btf_log(env, "[%u] meta_left:%u meta_needed:%zu", env->log_id, left,
			     sizeof(*t));
		return -EINVAL;
	}
	if (t->info & ~INFO_MASK) {
		bpfu_btf_log(env, "[%u] Invalid btf_info:%x", env->log_id, t->info);
		return -EINVAL;
	}
	ops = bpfu_btf_kind_ops(bpfu_btf_kind(t));
	if (!ops) {
		bpfu_btf_log(env, "[%u] Invalid kind:%u", env->log_id, bpfu_btf_kind(t));
		return -EINVAL;
	}
	if (!bpfu_btf_name_off_valid(env, t->name_off)) {
		bpfu_btf_log(env, "[%u] Invalid name_offset:%u", env->log_id, t->name_off);
		return -EINVAL;
	}
	tail = ops->meta(env, t, left - (uint32_t)sizeof(*t));
	return tail < 0 ? tail : (int)sizeof(*t) + tail;
}

static int add_type(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t *cap)
{
	struct bpfu_btf *btf = env->btf;

	if (btf->type_cnt == *cap) {
		const struct btf_type **types;

		if (*cap > BPFU_BTF_MAX_TYPE)
			return reject(env, -E2BIG, "Exceeded max num of types");
		*cap = BPFU_MIN(BPFU_MAX(16u, *cap + *cap / 4), BPFU_BTF_MAX_TYPE + 1u);
		types = reallocarray(btf->types, *cap, sizeof(*types));
		if (!types)
			return -ENOMEM;
		btf->types = types;
	}
	btf->types[btf->type_cnt++] = t;
	return 0;
}

static int parse_types(struct bpfu_btf_env *env)
{
	uint32_t off = 0, len = env->hdr.type_len, cap = 0;
	const uint8_t *start = env->sections + env->hdr.type_off;
	int size, err;

	if (env->hdr.type_off % 4)
		return reject(env, -EINVAL, "Unaligned type_off");
	if (!len)
		return reject(env, -EINVAL, "No type found");
	err = add_type(env, &void_type, &cap);
	for (env->log_id = 1; !err && off < len; off += (uint32_t)size, env->log_id++) {
		const struct btf_type *t = (const struct btf_type *)(start + off);

		size = check_type(env, t, len - off);
		if (size < 0)
			return size;
		err = add_type(env, t, &cap);
	}
	return err;
}

/* Type tags must come before other modifiers, and chains of modifiers must end. */
static int check_tag_chain(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bool in_tags = bpfu_btf_kind(t) == BTF_KIND_TYPE_TAG;

	for (int limit = TAG_CHAIN_LIMIT; bpfu_btf_is_modifier(t); limit--) {
		bool is_tag = bpfu_btf_kind(t) == BTF_KIND_TYPE_TAG;

		if (!limit)
			return reject(env, -ELOOP, "Max chain length or cycle detected");
		if (is_tag && !in_tags)
			return reject(env, -EINVAL, "Type tags don't precede modifiers");
		in_tags = is_tag;
		t = bpfu_btf_type(env->btf, t->type);
		if (!t)
			return -EINVAL;
	}
	return 0;
}

static int check_tags(struct bpfu_btf_env *env)
{
	int err = 0;

	for (uint32_t id = 1; !err && id < env->btf->type_cnt; id++)
		err = check_tag_chain(env, bpfu_btf_type(env->btf, id));
	return err;
}

int bpfu_btf_check(struct bpfu_btf *btf, struct bpfu_log *log)
{
	struct bpfu_btf_env *env = calloc(1, sizeof(*env));
	int err;

	if (!env)
		return -ENOMEM;
	env->btf = btf;
	env->log = log;
	err = parse_header(env);
	if (!err)
		err = parse_strings(env);
	if (!err)
		err = parse_types(env);
	if (!err)
		err = bpfu_btf_resolve_all(env);
	if (!err)
		err = check_tags(env);
	free(env->visit);
	free(env->resolved_id);
	free(env->resolved_size);
	free(env);
	return err;
}
