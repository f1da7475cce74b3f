// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* An object with ten thousand maps. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define MAP(n)                                                                                     \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, __u32);                                                              \
	} map##n SEC(".maps");
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define THOUSAND(n)                                                                                \
	TEN(MAP, n##0) TEN(MAP, n##1) TEN(MAP, n##2) TEN(MAP, n##3) TEN(MAP, n##4)                 \
	TEN(MAP, n##5) TEN(MAP, n##6) TEN(MAP, n##7) TEN(MAP, n##8) TEN(MAP, n##9)
#define ALL(n)                                                                                     \
	THOUSAND(n##0) THOUSAND(n##1) THOUSAND(n##2) THOUSAND(n##3) THOUSAND(n##4)                 \
	THOUSAND(n##5) THOUSAND(n##6) THOUSAND(n##7) THOUSAND(n##8) THOUSAND(n##9)

/* 10 times 10 times 100: ten thousand maps */
ALL(0) ALL(1) ALL(2) ALL(3) ALL(4) ALL(5) ALL(6) ALL(7) ALL(8) ALL(9)

SEC("raw_tp")
int uses_none(void *ctx)
{
	return 0;
}
