/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What host and guest agree on. The guest's first file system holds
 *
 *	/init             this program, linked statically
 *	/bpflab/command   the words of the command to run, each with its NUL
 *	/bpflab/modules/  what the kernel needs for the ports, in the order of their names, unpacked
 *	/bpflab/files/    what was packed for the command
 *
 * and there are three virtio-serial ports: the command's standard output, its standard error, and one
 * on which the guest says how it goes, in lines:
 *
 *	ready RELEASE     the command is about to start on this kernel
 *	alive             once a second
 *	failed TEXT       the command could not be run
 *	exit N            it ended with this status; everything it wrote is out
 *	signal N          a signal ended it
 *
 * After that the guest powers itself off. A guest that ends without one of the last three has crashed.
 */
#ifndef BPFLAB_GUEST_H
#define BPFLAB_GUEST_H

#include <stdbool.h>

#define GUEST_DIR "bpflab"
#define GUEST_COMMAND GUEST_DIR "/command"
#define GUEST_MODULES GUEST_DIR "/modules"
#define GUEST_FILES GUEST_DIR "/files"

enum guest_port { GUEST_CONTROL = 1, GUEST_OUT, GUEST_ERR, GUEST_NR_PORTS };

/* Whether this process is the first of a guest. */
bool guest_is_init(void);
/* Be that: mount, load, run, power off. Does not return. */
_Noreturn void guest_init(void);

#endif
