/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds of failure to exit statuses: the one table of this program.
 */
#include "private.h"

#include <stdlib.h>
#include <sys/wait.h>

int
status_of_failure(enum fail_kind kind)
{
	static const int statuses[] = {
		[FAIL_NONE] = 1, [FAIL_GENERAL] = 1, [FAIL_USAGE] = 2,
		[FAIL_MISSING] = 3, [FAIL_DENIED] = 4, [FAIL_UNSUITABLE] = 5,
		[FAIL_ENDED] = 6, [FAIL_PARTIAL] = 7,
		[FAIL_INTERNAL] = EXIT_OWN_FAILURE,
	};

	return (size_t)kind < ARRAY_LEN(statuses) ? statuses[kind] : 1;
}

int
status_of_program(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}
