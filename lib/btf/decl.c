// SPDX-License-Identifier: BSD-2-Clause
/*
 * A parser of function declarations, a few lines of C's grammar:
 *
 *      function   type name ( void | [type [name] {, type [name]}] )
 *      type       {const | volatile} base {const | volatile} {* {const | volatile | restrict}}
 *      base       words of C's integer types | a known typedef | struct, union or enum tag
 */
#include "btf/decl.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "btf/vmlinux.h"

#define WORD_MAX 64 /* with the NUL; longer names are not understood */

struct scan {
	const char *at;
	char word[WORD_MAX]; /* current token: an identifier, or one character */
	bool is_name;
};

static void next_token(struct scan *s)
{
	size_t n = 0;

	while (isspace((unsigned char)*s->at))
		s->at++;
	s->is_name = isalpha((unsigned char)*s->at) || *s->at == '_';
	if (s->is_name) {
		while ((isalnum((unsigned char)*s->at) || *s->at == '_') && n < WORD_MAX - 1)
			s->word[n++] = *s->at++;
	} else if (*s->at) {
		s->word[n++] = *s->at++;
	}
	s->word[n] = '\0';
}

static bool accept(struct scan *s, const char *word)
{
	if (strcmp(s->word, word))
		return false;
	next_token(s);
	return true;
}

/* ---- base types ---- */

static const struct {
	const char *name, *base;
	uint8_t size;
	uint8_t encoding;
} typedefs[] = {
	{ "u8", "unsigned char", 1, 0 },
	{ "u16", "unsigned short", 2, 0 },
	{ "u32", "unsigned int", 4, 0 },
	{ "u64", "unsigned long long", 8, 0 },
	{ "s8", "signed char", 1, BTF_INT_SIGNED },
	{ "s16", "short", 2, BTF_INT_SIGNED },
	{ "s32", "int", 4, BTF_INT_SIGNED },
	{ "s64", "long long", 8, BTF_INT_SIGNED },
	{ "__u8", "unsigned char", 1, 0 },
	{ "__u16", "unsigned short", 2, 0 },
	{ "__u32", "unsigned int", 4, 0 },
	{ "__u64", "unsigned long long", 8, 0 },
	{ "__s8", "signed char", 1, BTF_INT_SIGNED },
	{ "__s16", "short", 2, BTF_INT_SIGNED },
	{ "__s32", "int", 4, BTF_INT_SIGNED },
	{ "__s64", "long long", 8, BTF_INT_SIGNED },
	{ "uint8_t", "unsigned char", 1, 0 },
	{ "uint16_t", "unsigned short", 2, 0 },
	{ "uint32_t", "unsigned int", 4, 0 },
	{ "uint64_t", "unsigned long", 8, 0 },
	{ "int8_t", "signed char", 1, BTF_INT_SIGNED },
	{ "int16_t", "short", 2, BTF_INT_SIGNED },
	{ "int32_t", "int", 4, BTF_INT_SIGNED },
	{ "int64_t", "long", 8, BTF_INT_SIGNED },
	{ "size_t", "unsigned long", 8, 0 },
	{ "ssize_t", "long", 8, BTF_INT_SIGNED },
	{ "uintptr_t", "unsigned long", 8, 0 },
	{ "intptr_t", "long", 8, BTF_INT_SIGNED },
	{ "off_t", "long", 8, BTF_INT_SIGNED },
	{ "pid_t", "int", 4, BTF_INT_SIGNED },
	{ "bool", "_Bool", 1, BTF_INT_BOOL },
};

/* The words of an integer type in any order: "long unsigned int". */
struct int_words {
	unsigned int n_long, n_short, n_char, n_int, n_signed, n_unsigned, n_bool;
};

static bool int_word(struct scan *s, struct int_words *w)
{
	const struct {
		const char *word;
		unsigned int *cnt;
	} words[] = {
		{ "long", &w->n_long },		{ "short", &w->n_short },
		{ "char", &w->n_char },		{ "int", &w->n_int },
		{ "signed", &w->n_signed },	{ "unsigned", &w->n_unsigned },
		{ "_Bool", &w->n_bool },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (accept(s, words[i].word)) {
			++*words[i].cnt;
			return true;
		}
	}
	return false;
}

static int int_type(const struct int_words *w, struct bpfu_value *value)
{
	static const char *const names[2][5] = {
		{ "char", "short", "int", "long", "long long" },
		{ "unsigned char", "unsigned short", "unsigned int", "unsigned long",
		  "unsigned long long" },
	};
	static const uint8_t sizes[] = { 1, 2, 4, 8, 8 };
	unsigned int rank;

	if (w->n_bool) {
		value->size = 1;
		return bpfu_vmlinux_add_int("_Bool", 1, BTF_INT_BOOL);
	}
	if (w->n_long > 2 || w->n_short + w->n_char > 1 || (w->n_long && w->n_short + w->n_char) ||
	    w->n_signed + w->n_unsigned > 1 || w->n_int > 1 || (w->n_char && w->n_int))
		return -EINVAL;
	rank = w->n_char ? 0 : w->n_short ? 1 : 2 + w->n_long;
	value->size = sizes[rank];
	if (w->n_char && w->n_signed)
		return bpfu_vmlinux_add_int("signed char", 1, BTF_INT_SIGNED);
	return bpfu_vmlinux_add_int(names[w->n_unsigned][rank], sizes[rank],
				    w->n_unsigned ? 0 : BTF_INT_SIGNED);
}

static int typedef_type(const char *word, struct bpfu_value *value)
{
	for (size_t i = 0; i < sizeof(typedefs) / sizeof(typedefs[0]); i++) {
		int base;

		if (strcmp(word, typedefs[i].name))
			continue;
		base = bpfu_vmlinux_add_int(typedefs[i].base, typedefs[i].size,
					    typedefs[i].encoding);
		value->size = typedefs[i].size;
		return base < 0 ? base : bpfu_vmlinux_add_typedef(typedefs[i].name, base);
	}
	return -EINVAL;
}

static bool qualifiers(struct scan *s, bool *is_const)
{
	bool any = false;

	for (;;) {
		if (accept(s, "const"))
			*is_const = true;
		else if (!accept(s, "volatile") && !accept(s, "restrict") && !accept(s, "__restrict"))
			return any;
		any = true;
	}
}

/* Type id; *@value tells the size (0: void or a structure). */
static int base_type(struct scan *s, struct bpfu_value *value, bool *is_struct)
{
	struct int_words words = { 0 };
	char tag[WORD_MAX];
	uint32_t kind;
	int id;

	*value = (struct bpfu_value){ 0 };
	*is_struct = false;
	if (accept(s, "void"))
		return 0;
	if (!strcmp(s->word, "float") || !strcmp(s->word, "double"))
		return -EOPNOTSUPP;
	if (!strcmp(s->word, "struct") || !strcmp(s->word, "union") || !strcmp(s->word, "enum")) {
		kind = s->word[0] == 'e' ? BTF_KIND_ENUM : BTF_KIND_FWD;
		*is_struct = kind == BTF_KIND_FWD;
		value->size = *is_struct ? 0 : 4;
		next_token(s);
		if (!s->is_name)
			return -EINVAL;
		memcpy(tag, s->word, sizeof(tag));
		next_token(s);
		return bpfu_vmlinux_add_tag(kind, tag);
	}
	if (int_word(s, &words)) {
		bool ignored;

		while (int_word(s, &words) || qualifiers(s, &ignored))
			;
		return int_type(&words, value);
	}
	if (!s->is_name)
		return -EINVAL;
	id = typedef_type(s->word, value);
	next_token(s);
	return id;
}

static int parse_type(struct scan *s, struct bpfu_value *value)
{
	bool is_const = false, is_struct;
	int id;

	qualifiers(s, &is_const);
	id = base_type(s, value, &is_struct);
	if (id < 0)
		return id;
	qualifiers(s, &is_const);
	if (is_const)
		id = bpfu_vmlinux_add_ref(BTF_KIND_CONST, id);
	while (id >= 0 && accept(s, "*")) {
		bool ignored;

		id = bpfu_vmlinux_add_ref(BTF_KIND_PTR, id);
		*value = (struct bpfu_value){ .size = 8, .is_pointer = true,
					      .pointee = value->is_pointer ? 0 : value->size };
		is_struct = false;
		qualifiers(s, &ignored);
	}
	return is_struct && id >= 0 ? -EOPNOTSUPP : id;
}

/* ---- functions ---- */

static int parse_param(struct scan *s, struct bpfu_decl *decl, struct bpfu_param *params)
{
	struct bpfu_value value;
	int id;

	if (!strcmp(s->word, "."))
		return -EOPNOTSUPP;
	if (decl->arg_cnt == BPFU_FUNC_ARGS_MAX)
		return -E2BIG;
	id = parse_type(s, &value);
	if (id < 0)
		return id;
	if (!value.size)
		return -EINVAL; /* void */
	decl->args[decl->arg_cnt] = value;
	params[decl->arg_cnt].type = id;
	params[decl->arg_cnt].name[0] = '\0';
	if (s->is_name) {
		memcpy(params[decl->arg_cnt].name, s->word, WORD_MAX);
		next_token(s);
	}
	decl->arg_cnt++;
	return 0;
}

static int parse_params(struct scan *s, struct bpfu_decl *decl, struct bpfu_param *params)
{
	const struct scan start = *s;
	int err;

	if (accept(s, ")"))
		return 0;
	if (accept(s, "void") && accept(s, ")"))
		return 0;
	*s = start;
	do {
		err = parse_param(s, decl, params);
		if (err)
			return err;
	} while (accept(s, ","));
	return accept(s, ")") ? 0 : -EINVAL;
}

int bpfu_decl_parse(const char *text, struct bpfu_decl *decl)
{
	struct bpfu_param params[BPFU_FUNC_ARGS_MAX];
	struct scan s = { .at = text };
	int ret, err;

	memset(decl, 0, sizeof(*decl));
	next_token(&s);
	ret = parse_type(&s, &decl->ret);
	if (ret < 0)
		return ret;
	if (!s.is_name)
		return -EINVAL;
	memcpy(decl->name, s.word, WORD_MAX);
	next_token(&s);
	if (!accept(&s, "("))
		return -EINVAL;
	err = parse_params(&s, decl, params);
	if (err)
		return err;
	accept(&s, ";");
	if (s.word[0])
		return -EINVAL;
	ret = bpfu_vmlinux_add_proto(ret, params, decl->arg_cnt);
	if (ret < 0)
		return ret;
	decl->proto_id = ret;
	return 0;
}
