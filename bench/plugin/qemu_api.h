/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is used of QEMU's interface for TCG plugins. Debian ships no header of it. Declared here is
 * version 1 (QEMU 4.2 to 8.2); version 2 (QEMU 9.0) took qemu_plugin_register_vcpu_insn_exec_inline()
 * away. QEMU refuses a plugin whose qemu_plugin_version it does not know, so that a mismatch cannot
 * give wrong counts.
 */
#ifndef BPFLAB_QEMU_API_H
#define BPFLAB_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_API_VERSION 1

#define QEMU_API_EXPORT __attribute__((visibility("default")))

struct qemu_info {
	const char *target_name; /* of the guest: x86_64, aarch64 */
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void (*qemu_vcpu_fn)(uint64_t id, unsigned int vcpu);
typedef void (*qemu_exec_fn)(unsigned int vcpu, void *data);
typedef void (*qemu_tb_fn)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_exit_fn)(uint64_t id, void *data);

/* Ours, for QEMU to find. */
extern int qemu_plugin_version;
int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

/* Take back all that was registered, throw away all translations, and then call @fn, which registers anew. */
void qemu_plugin_reset(uint64_t id, void (*fn)(uint64_t id));
void qemu_plugin_register_vcpu_init_cb(uint64_t id, qemu_vcpu_fn fn);
void qemu_plugin_register_vcpu_exit_cb(uint64_t id, qemu_vcpu_fn fn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, qemu_tb_fn fn);
void qemu_plugin_register_atexit_cb(uint64_t id, qemu_exit_fn fn, void *data);

/* Before the instruction is executed: call @fn, or add @imm to *@ptr. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_fn fn,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						enum qemu_plugin_op op, void *ptr, uint64_t imm);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

void qemu_plugin_outs(const char *text);

#endif
