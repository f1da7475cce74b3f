/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to syscall/: a map for the time of one command, with the rights that the command needs. */
#ifndef BPFU_SYSCALL_MAP_ACCESS_H
#define BPFU_SYSCALL_MAP_ACCESS_H

struct bpfu_map;

enum bpfu_map_rights {
	BPFU_MAP_READ = 1u << 0,
	BPFU_MAP_WRITE = 1u << 1, /* refused once the map is frozen */
};

struct bpfu_map_access {
	struct bpfu_map *map;
	unsigned int rights;
};

/* 0, -EBADF, -EINVAL (not a map) or -EPERM (the descriptor or the map does not allow it). */
int bpfu_map_access_get(int fd, unsigned int rights, struct bpfu_map_access *access);
void bpfu_map_access_put(struct bpfu_map_access *access);

#endif
