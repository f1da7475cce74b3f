// SPDX-License-Identifier: BSD-2-Clause
/* Copies of, and the end of, values that own objects; see fields.h. */
#include "map/fields.h"

#include <string.h>

#include "map/object.h"

void bpfu_fields_drop(const struct bpfu_record *record, void *value)
{
	for (uint32_t i = 0; record && i < record->cnt; i++) {
		const struct bpfu_btf_field *f = &record->field[i];
		void *p = __atomic_exchange_n((void **)((char *)value + f->off), NULL,
					      __ATOMIC_ACQ_REL);

		if (p && f->kind == BPFU_KPTR_REF)
			bpfu_object_drop(p);
	}
}

void bpfu_fields_hide(const struct bpfu_record *record, void *copy)
{
	for (uint32_t i = 0; record && i < record->cnt; i++)
		memset((char *)copy + record->field[i].off, 0, BPFU_KPTR_SIZE);
}

static void write_part(char *dst, const char *src, uint32_t from, uint32_t to)
{
	if (src)
		bpfu_value_write(dst + from, src + from, to - from);
	else
		bpfu_value_zero(dst + from, to - from);
}

void bpfu_fields_write(const struct bpfu_record *record, void *dst, const void *src, uint32_t size)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < record->cnt; i++) {
		write_part(dst, src, at, record->field[i].off);
		at = record->field[i].off + BPFU_KPTR_SIZE;
	}
	write_part(dst, src, at, size);
	bpfu_fields_drop(record, dst);
}
