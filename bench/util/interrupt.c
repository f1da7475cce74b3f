// SPDX-License-Identifier: BSD-2-Clause
/* The handler only notes the signal; a second one ends the process at once. */
#include "util/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t signal_seen;

static void note_signal(int sig)
{
	signal_seen = sig;
}

void interrupt_init(void)
{
	/* SA_RESETHAND: if stopping hangs, the second Ctrl-C works as usual. */
	struct sigaction sa = { .sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* A reader that went away is a write error, not a death. */
	sa.sa_handler = SIG_IGN;
	sa.sa_flags = 0;
	sigaction(SIGPIPE, &sa, NULL);
}

int interrupt_signal(void)
{
	return signal_seen;
}
