/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernels that lie outside of the store: images as somebody built them, or a folder of them. Nothing is copied; a
 * guest boots the file where it lies.
 */
#ifndef BPFLAB_FOLDER_H
#define BPFLAB_FOLDER_H

#include "errline.h"
#include "vm/store.h"

/*
 * The kernel in the image @path, called by the name of its file without "vmlinuz-" in front. @modules:
 * the folder below which its modules are, or NULL: where folder_kernels() looks. -EINVAL with a line if it is no image.
 */
int folder_kernel(struct kernel *k, const char *path, const char *modules, struct errline *e);

/*
 * Append those in @dir to @list, which is then no longer in order:
 *
 *	vmlinuz-NAME  bzImage-NAME  Image-NAME    an image; its modules, if it needs some, are below
 *	                                          modules-NAME or lib/modules/NAME
 *	NAME/                                     a folder with a vmlinuz, bzImage or Image and modules/, or a
 *	                                          tree in which a kernel was built
 *
 * Other files are passed over, unless they are images. One that is no image by its contents has machine NULL.
 * 0, or a negative errno with a line.
 */
int folder_kernels(struct kernel_list *list, const char *dir, struct errline *e);

#endif
