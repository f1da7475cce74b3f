// SPDX-License-Identifier: BSD-2-Clause
/* Tag and sizes of a loaded program. */
#include "measure/prog_info.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <string.h>

void prog_info_read(const struct bench_inst *inst, struct prog_info *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (!inst->bench->prog_fd || bpf_obj_get_info_by_fd(inst->bench->prog_fd(inst), &info, &len))
		return;
	prog->known = true;
	memcpy(prog->tag, info.tag, sizeof(prog->tag));
	prog->xlated_len = info.xlated_prog_len;
	prog->jited_len = info.jited_prog_len;
}
