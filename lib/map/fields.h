/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values with pointers to objects in them (btf/record.h). Such a pointer belongs to the value: whoever
 * takes it out by an exchange has it alone. Commands never see one, nor put one there: copies leave
 * them out, and an update frees what the value owned. All of it is done with the record NULL, too, which
 * most maps have.
 */
#ifndef BPFU_MAP_FIELDS_H
#define BPFU_MAP_FIELDS_H

#include <stdint.h>

#include "btf/record.h"
#include "map/copy_value.h"
#include "map/map.h"

/* Free the objects that the value at @value owns; its pointers are 0 then. Never blocks. */
void bpfu_fields_drop(const struct bpfu_record *record, void *value);

/* In a private copy of a value: zeros where its pointers are. */
void bpfu_fields_hide(const struct bpfu_record *record, void *copy);

/* New contents for @size bytes of a value with pointers, which others may read; @src NULL: zeros. */
void bpfu_fields_write(const struct bpfu_record *record, void *dst, const void *src, uint32_t size);

/* The same for the values of any map. */
static inline void bpfu_map_write_value(const struct bpfu_map *map, void *dst, const void *src,
					uint32_t size)
{
	if (bpfu_unlikely(map->record != NULL))
		bpfu_fields_write(map->record, dst, src, size);
	else if (src)
		bpfu_value_write(dst, src, size);
	else
		bpfu_value_zero(dst, size);
}

#endif
