/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A state machine: words, numbers and other tokens of a text, by character classes. */
enum fsm_state { FSM_SPACE, FSM_WORD, FSM_NUMBER, FSM_OTHER };

JIT_KERNEL(fsm)
{
	__u32 words = 0, numbers = 0, others = 0;
	enum fsm_state state = FSM_SPACE;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_FSM_BYTES; i++) {
		__u32 c = jit_data.text[i];
		enum fsm_state next = FSM_OTHER;

		if (c == ' ' || c == '\n')
			next = FSM_SPACE;
		else if ((c | 32) - 'a' < 26 || (c == '_' && state == FSM_WORD))
			next = FSM_WORD;
		else if (c - '0' < 10)
			next = state == FSM_WORD ? FSM_WORD : FSM_NUMBER;
		if (next != state) {
			if (next == FSM_WORD)
				words++;
			else if (next == FSM_NUMBER)
				numbers++;
			else if (next == FSM_OTHER)
				others++;
		}
		state = next;
	}
	return words | (__u64)numbers << 16 | (__u64)others << 32;
}

JIT_DRIVER(fsm)
