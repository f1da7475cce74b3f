// SPDX-License-Identifier: BSD-2-Clause
/*
 * The target `vm`: a kernel of the store, booted under emulation. What runs on it runs inside, in a
 * bpflab of its own, so nothing is ever in force here; commands that know how hand over to vm/.
 */
#include <errno.h>
#include <string.h>

#include "opts.h"
#include "target.h"
#include "util/suggest.h"
#include "vm/boot.h"

static int parse_item(struct target *t, char *item, struct errline *e)
{
	static const char *const names[] = { "arch", "smp", "mem", "cmdline" };
	char *eq = strchr(item, '='), hint[96];
	struct vm_spec *vm = &t->vm;
	struct suggest s;
	uint64_t value;

	if (!eq || !eq[1])
		return errline_set(e, -EINVAL, "target '%s': '%s' is not NAME=VALUE, as in vm:6.12,arch=arm64",
				   t->spec, item);
	*eq++ = '\0';
	if (!strcmp(item, "arch")) {
		vm->machine = machine_find(eq);
		if (!vm->machine)
			return errline_set(e, -EINVAL, "target '%s': no machine '%s' (x86_64, arm64)", t->spec,
					   eq);
		return 0;
	}
	if (!strcmp(item, "smp") || !strcmp(item, "mem")) {
		bool smp = item[0] == 's';

		if (opts_parse_u64(eq, smp ? 1 : 64, smp ? VM_MAX_SMP : 65536, &value))
			return errline_set(e, -EINVAL, "target '%s': '%s' is not a whole number from %s", t->spec,
					   eq, smp ? "1 to 64" : "64 to 65536 (MiB)");
		*(smp ? &vm->smp : &vm->mem) = (unsigned int)value;
		return 0;
	}
	if (!strcmp(item, "cmdline")) {
		size_t len = strlen(vm->cmdline);

		if (len + strlen(eq) + 2 > sizeof(vm->cmdline))
			return errline_set(e, -EINVAL, "target '%s': cmdline is longer than %zu", t->spec,
					   sizeof(vm->cmdline) - 1);
		snprintf(vm->cmdline + len, sizeof(vm->cmdline) - len, "%s%s", len ? " " : "", eq);
		return 0;
	}
	suggest_init(&s, item);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		suggest_offer(&s, names[i]);
	return errline_set(e, -EINVAL, "target '%s': no option '%s'%s (arch, smp, mem, cmdline)", t->spec, item,
			   suggest_text(&s, hint, sizeof(hint)));
}

int target_vm_parse(struct target *t, const char *text, struct errline *e)
{
	char copy[sizeof(t->spec)], *save = NULL, *item;
	int err;

	snprintf(copy, sizeof(copy), "%s", text);
	t->vm = (struct vm_spec){ .machine = machine_native(), .smp = 1, .mem = VM_DEFAULT_MEM };
	item = strtok_r(copy, ",", &save);
	if (!item || text[0] == ',')
		return errline_set(e, -EINVAL, "target '%s' names no kernel, as in vm:6.12; bpflab kernel list "
				   "shows which are here", t->spec);
	err = store_check_name(item, e);
	if (err)
		return err;
	snprintf(t->vm.version, sizeof(t->vm.version), "%s", item);
	while (!err && (item = strtok_r(NULL, ",", &save)))
		err = parse_item(t, item, e);
	return err;
}

static int vm_parse(struct target *t, const char *rest, struct errline *e)
{
	return target_vm_parse(t, *rest == ':' ? rest + 1 : rest, e);
}

static int vm_check(struct target *t, struct errline *e)
{
	return 0;
}

static int vm_enter(const struct target *t, struct errline *e)
{
	return errline_set(e, -EOPNOTSUPP, "'%s' is a kernel of its own: run, compare, list, dump and kernel exec "
			   "can have it", t->spec);
}

/* Everything that a boot needs is there; nothing is booted. */
static int vm_probe(const struct target *t, struct errline *e)
{
	char program[4096];
	struct kernel k;
	int err = store_find(&k, t->vm.version, t->vm.machine, e);

	if (!err)
		err = guest_check_qemu(t->vm.machine, e);
	return err ? err : guest_program(t->vm.machine, program, sizeof(program), e);
}

const struct target_kind target_kind_vm = {
	.name = "vm",
	.summary = "a kernel of the store, booted under emulation",
	.parse = vm_parse,
	.check = vm_check,
	.enter = vm_enter,
	.probe = vm_probe,
};
