// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_BTF_LOAD against the running kernel: a blob with every kind, and many thousand mutants of it
 * (seeded), are given to both. Errno must agree, and so must the log's text.
 *
 * usage: test_btf_oracle [SEED [MUTANTS]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include <bpf/btf.h>

#include "btf/btf.h"
#include "kern_bpf.h"
#include "util/uaccess.h"

#define MAX_BLOB 8192

struct blob {
	uint8_t bytes[MAX_BLOB];
	uint32_t size;
};

static uint64_t seed = 0x5eed;
static int mutant_cnt = 20000;
static uint64_t rng_state;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % below;
}

/* ---- the blob ---- */

static void add_types(struct btf *btf)
{
	int i32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int u64 = btf__add_int(btf, "long unsigned int", 8, 0);
	int chr = btf__add_int(btf, "char", 1, BTF_INT_CHAR);
	int boolean = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int arr = btf__add_array(btf, i32, chr, 16);
	int arr2 = btf__add_array(btf, i32, arr, 3);
	int dbl = btf__add_float(btf, "double", 8);
	int node, ptr, def, cst, proto, func, var, en, en64, tag;

	node = btf__add_struct(btf, "node", 64);
	btf__add_field(btf, "next", node + 1, 0, 0);
	btf__add_field(btf, "name", arr, 64, 0);
	btf__add_field(btf, "weight", dbl, 192, 0);
	btf__add_field(btf, "", boolean, 256, 0);
	ptr = btf__add_ptr(btf, node);
	def = btf__add_typedef(btf, "node_t", node);
	cst = btf__add_const(btf, def);
	tag = btf__add_type_tag(btf, "user", cst);
	btf__add_ptr(btf, tag);
	btf__add_volatile(btf, u64);
	btf__add_restrict(btf, ptr);
	btf__add_ptr(btf, 0);
	btf__add_fwd(btf, "later", BTF_FWD_STRUCT);
	btf__add_fwd(btf, "later_u", BTF_FWD_UNION);
	btf__add_union(btf, "either", 64);
	btf__add_field(btf, "p", ptr, 0, 0);
	btf__add_field(btf, "a", arr, 0, 0);
	btf__add_field(btf, "d", def, 0, 0);
	en = btf__add_enum(btf, "color", 4);
	btf__add_enum_value(btf, "RED", 0);
	btf__add_enum_value(btf, "GREEN", 7);
	en64 = btf__add_enum64(btf, "big", 8, true);
	btf__add_enum64_value(btf, "HUGE", 1ull << 40);
	btf__add_enum64_value(btf, "NEGATIVE", (uint64_t)-3);
	btf__add_struct(btf, "bits", 32);
	btf__add_field(btf, "a", i32, 0, 3);
	btf__add_field(btf, "b", i32, 3, 29);
	btf__add_field(btf, "c", en, 32, 2);
	btf__add_field(btf, "d", en64, 64, 0);
	btf__add_field(btf, "e", u64, 128, 0);
	proto = btf__add_func_proto(btf, i32);
	btf__add_func_param(btf, "ctx", ptr);
	btf__add_func_param(btf, "n", u64);
	func = btf__add_func(btf, "run", BTF_FUNC_GLOBAL, proto);
	btf__add_func_proto(btf, 0);
	btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "fmt", ptr);
	btf__add_func_param(btf, "", 0);
	btf__add_ptr(btf, proto);
	var = btf__add_var(btf, "counter", BTF_VAR_GLOBAL_ALLOCATED, u64);
	btf__add_var(btf, "table", BTF_VAR_STATIC, arr2);
	btf__add_datasec(btf, ".data", 64);
	btf__add_datasec_var_info(btf, var, 0, 8);
	btf__add_datasec_var_info(btf, var + 1, 8, 48);
	btf__add_decl_tag(btf, "tagged", func, 0);
	btf__add_decl_tag(btf, "tagged", node, 2);
	btf__add_decl_tag(btf, "tagged", var, -1);
}

static int make_blob(struct blob *blob)
{
	struct btf *btf = btf__new_empty();
	const void *data;

	if (!btf)
		return -ENOMEM;
	add_types(btf);
	data = btf__raw_data(btf, &blob->size);
	if (!data || blob->size > MAX_BLOB)
		return -ENOMEM;
	memcpy(blob->bytes, data, blob->size);
	btf__free(btf);
	return 0;
}

/* ---- both sides ---- */

static int theirs(const struct blob *blob, char *log)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	memset(log, 0, KERN_LOG_SIZE);
	attr.btf = bpfu_u64(blob->bytes);
	attr.btf_size = blob->size;
	attr.btf_log_buf = bpfu_u64(log);
	attr.btf_log_size = KERN_LOG_SIZE;
	attr.btf_log_level = 1;
	fd = kern_bpf(BPF_BTF_LOAD, &attr);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int ours(const struct blob *blob, char *text)
{
	struct bpfu_btf *btf = NULL;
	struct bpfu_log log;
	uint32_t true_size;
	int err;

	memset(text, 0, KERN_LOG_SIZE);
	assert_int_equal(bpfu_log_init(&log, 1, bpfu_u64(text), KERN_LOG_SIZE), 0);
	err = bpfu_btf_new(blob->bytes, blob->size, &log, &btf);
	assert_int_equal(bpfu_log_finalize(&log, &true_size), 0);
	if (!err) {
		for (uint32_t id = 0; id < btf->type_cnt; id++) {
			bpfu_btf_skip_modifiers(btf, id, NULL);
			bpfu_btf_size(btf, id);
		}
		bpfu_obj_put(&btf->obj);
	}
	return err;
}

static void dump(const struct blob *blob)
{
	FILE *f = fopen("btf_oracle.failed", "we");

	if (f) {
		fwrite(blob->bytes, 1, blob->size, f);
		fclose(f);
	}
}

static int compare(const struct blob *blob, const char *what)
{
	static char our_log[KERN_LOG_SIZE], their_log[KERN_LOG_SIZE];
	int our_err = ours(blob, our_log), their_err = theirs(blob, their_log);

	if (our_err != their_err || strcmp(our_log, their_log)) {
		dump(blob);
		fprintf(stderr, "--- ours\n%s\n--- kernel\n%s\n", our_log, their_log);
		fail_msg("%s: ours %d, kernel %d (blob in btf_oracle.failed)", what, our_err,
			 their_err);
	}
	return our_err;
}

/* ---- tests ---- */

static struct blob base;

static void test_base(void **state)
{
	static char log[KERN_LOG_SIZE];

	if (theirs(&base, log))
		fail_msg("the kernel refuses the unchanged blob: %s", log + strlen(log) - 200);
	assert_int_equal(compare(&base, "unchanged"), 0);
}

static void test_header(void **state)
{
	static const uint32_t values[] = { 0, 1, 2, 3, 4, 7, 8, 16, 23, 24, 25, 28, 0x7fffffff,
					   0x80000000, 0xffffffff };

	for (uint32_t off = 0; off < sizeof(struct btf_header); off++) {
		struct blob b = base;

		for (uint32_t v = 0; v < 256; v += 5) {
			b.bytes[off] = (uint8_t)v;
			compare(&b, "header byte");
		}
	}
	for (uint32_t off = 4; off < sizeof(struct btf_header); off += 4) {
		for (size_t i = 0; i < BPFU_ARRAY_SIZE(values); i++) {
			struct blob b = base;
			uint32_t old;

			memcpy(b.bytes + off, &values[i], 4);
			compare(&b, "header word");
			memcpy(&old, base.bytes + off, 4);
			old += values[i];
			memcpy(b.bytes + off, &old, 4);
			compare(&b, "header word moved");
		}
	}
}

static void test_sizes(void **state)
{
	for (uint32_t size = 0; size < base.size + 8; size++) {
		struct blob b = base;

		b.size = size;
		compare(&b, "size");
	}
}

/* A longer header, zero or not, and not always a multiple of 4. */
static void test_long_header(void **state)
{
	for (uint32_t extra = 1; extra < 12; extra++) {
		struct blob b = base;
		uint32_t hdr_len = sizeof(struct btf_header) + extra;

		memcpy(b.bytes + 4, &hdr_len, 4);
		memset(b.bytes + sizeof(struct btf_header), 0, extra);
		memcpy(b.bytes + hdr_len, base.bytes + sizeof(struct btf_header),
		       base.size - sizeof(struct btf_header));
		b.size += extra;
		assert_int_equal(compare(&b, "long header"), 0);
		b.bytes[hdr_len - 1] = 1;
		assert_int_not_equal(compare(&b, "long header, not zero"), 0);
	}
}

static void mutate(struct blob *b)
{
	uint32_t type_len;

	memcpy(&type_len, base.bytes + offsetof(struct btf_header, type_len), 4);
	for (uint32_t n = 1 + rng(3); n; n--) {
		uint32_t word = sizeof(struct btf_header) + rng(type_len / 4) * 4, value;

		memcpy(&value, b->bytes + word, 4);
		switch (rng(8)) {
		case 0:
			value ^= 1u << rng(32);
			break;
		case 1:
			value = rng(64); /* a type id, a size, a name offset */
			break;
		case 2:
			value += rng(5) - 2;
			break;
		case 3: /* another kind, other flags */
			value = (value & 0x0000ffff) | rng(22) << 24 | rng(2) << 31;
			break;
		case 4:
			value = rng(4) ? rng(256) : 0xffffffffu - rng(4);
			break;
		case 5:
			memcpy(&value, b->bytes + sizeof(struct btf_header) + rng(type_len / 4) * 4,
			       4);
			break;
		case 6: /* a letter of a name */
			b->bytes[b->size - 1 - rng(b->size - type_len - 25)] = (uint8_t)rng(256);
			continue;
		default:
			value = rng(1 << 12);
			break;
		}
		memcpy(b->bytes + word, &value, 4);
	}
}

static void test_mutants(void **state)
{
	int accepted = 0;

	printf("# seed 0x%llx, %d mutants\n", (unsigned long long)seed, mutant_cnt);
	for (int i = 0; i < mutant_cnt; i++) {
		struct blob b = base;
		char what[64];

		rng_state = seed + (uint64_t)i * 0x9e3779b97f4a7c15ull;
		rng(2);
		mutate(&b);
		snprintf(what, sizeof(what), "mutant %d of seed 0x%llx", i, (unsigned long long)seed);
		accepted += !compare(&b, what);
	}
	printf("# %d accepted\n", accepted);
	assert_in_range(accepted, 1, mutant_cnt - 1);
}

static struct blob chain_of(int depth, int kind)
{
	struct btf *btf = btf__new_empty();
	struct blob blob = { .size = 0 };
	const void *data;

	/* Backwards, so that resolving the first type walks all of them. */
	for (int i = 1; i < depth; i++) {
		switch (kind) {
		case BTF_KIND_PTR:
			btf__add_ptr(btf, i + 1);
			break;
		case BTF_KIND_CONST:
			btf__add_const(btf, i + 1);
			break;
		default:
			btf__add_type_tag(btf, "t", i + 1);
			break;
		}
	}
	btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	data = btf__raw_data(btf, &blob.size);
	memcpy(blob.bytes, data, blob.size);
	btf__free(btf);
	return blob;
}

static void test_chains(void **state)
{
	static const int kinds[] = { BTF_KIND_PTR, BTF_KIND_CONST, BTF_KIND_TYPE_TAG };
	int rejected = 0;

	for (size_t k = 0; k < BPFU_ARRAY_SIZE(kinds); k++) {
		for (int depth = 2; depth < 40; depth++) {
			struct blob blob = chain_of(depth, kinds[k]);

			rejected += compare(&blob, "chain") != 0;
		}
	}
	assert_true(rejected > 0);
}

static int setup(void **state)
{
	bpfu_uaccess_init();
	return make_blob(&base);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base),	    cmocka_unit_test(test_header),
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_long_header),
		cmocka_unit_test(test_chains),	    cmocka_unit_test(test_mutants),
	};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		mutant_cnt = atoi(argv[2]);
	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, setup, NULL);
}
