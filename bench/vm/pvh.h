/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel in an x86-64 image, unpacked: QEMU starts it at its PVH entry, and the guest need not unpack
 * itself under emulation, which is a third of what booting takes.
 */
#ifndef BPFLAB_PVH_H
#define BPFLAB_PVH_H

/*
 * A file in memory with the kernel of the bzImage @vmlinuz; -1 if it is none, is packed with anything but zstd,
 * or has no such entry: it boots by itself then.
 */
int pvh_kernel(const char *vmlinuz);

#endif
