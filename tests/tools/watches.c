/* SPDX-License-Identifier: GPL-3.0-or-later */
/* watches: status 0 if the processor keeps breakpoints, or nobody knows; 1 if
 * it does not. */
#include "watches.h"

int
main(void)
{
	return !processor_watches();
}
