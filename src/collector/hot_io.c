/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the functions that move bytes or files.
 */
#include "hooks.h"

void *
hot_io_hook(enum trace_function function)
{
	(void)function;
	return NULL;
}
