/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the functions that wait for another thread.
 */
#include "hooks.h"

void *
hot_sync_hook(enum trace_function function)
{
	(void)function;
	return NULL;
}
