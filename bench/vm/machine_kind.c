// SPDX-License-Identifier: BSD-2-Clause
/* The table of machines, and telling their kernel images apart by the magic numbers of the boot protocols. */
#include "vm/machine_kind.h"

#include <elf.h>
#include <string.h>

/* clang-format off */
static const struct machine_kind machines[] = {
	{ "x86_64", { "amd64", "x86" }, "amd64", "qemu-system-x86_64", "qemu-system-x86", "qemu-x86_64",
	  { "-machine", "pc", "-cpu", "max" }, "ttyS0", EM_X86_64,
	  /* the check counts on a timer that ticks while it looks: on a busy machine an emulated one may not */
	  " no_timer_check" },
	/* not the CPU "max": its pointer authentication in software costs three times the time */
	{ "arm64", { "aarch64" }, "arm64", "qemu-system-aarch64", "qemu-system-arm", "qemu-aarch64",
	  { "-machine", "virt", "-cpu", "cortex-a57" }, "ttyAMA0", EM_AARCH64, "" },
};
/* clang-format on */

#define NR_MACHINES (sizeof(machines) / sizeof(machines[0]))

const struct machine_kind *machine_get(size_t idx)
{
	return idx < NR_MACHINES ? &machines[idx] : NULL;
}

const struct machine_kind *machine_find(const char *name)
{
	for (size_t i = 0; i < NR_MACHINES; i++) {
		const struct machine_kind *m = &machines[i];

		if (!strcmp(m->name, name))
			return m;
		for (size_t j = 0; j < sizeof(m->aliases) / sizeof(m->aliases[0]); j++)
			if (m->aliases[j] && !strcmp(m->aliases[j], name))
				return m;
	}
	return NULL;
}

const struct machine_kind *machine_native(void)
{
#ifdef __aarch64__
	return &machines[1];
#else
	return &machines[0];
#endif
}

static bool has_at(const void *image, size_t len, size_t at, const char *magic, size_t magic_len)
{
	return len >= at + magic_len && !memcmp((const char *)image + at, magic, magic_len);
}

const struct machine_kind *machine_of_image(const void *image, size_t len, const char **what)
{
	*what = NULL;
	if (has_at(image, len, 0x202, "HdrS", 4)) /* the setup header of a bzImage */
		return &machines[0];
	if (has_at(image, len, 0x38, "ARM\x64", 4)) /* the header of an arm64 Image */
		return &machines[1];
	if (!len)
		*what = "empty";
	else if (has_at(image, len, 0, "\177ELF", 4))
		*what = "an ELF file (give arch/*/boot/bzImage or Image, not vmlinux)";
	else if (has_at(image, len, 0, "\x1f\x8b", 2))
		*what = "compressed with gzip (unpack it: gzip -d)";
	else if (has_at(image, len, 0, "!<arch>", 7))
		*what = "an archive or Debian package (unpack it: dpkg-deb -x)";
	else if (has_at(image, len, 4, "zimg", 4))
		*what = "a compressed EFI image, which this QEMU cannot load (give arch/arm64/boot/Image)";
	else
		*what = "no kernel image";
	return NULL;
}
