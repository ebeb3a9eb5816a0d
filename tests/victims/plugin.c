/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plugin: what dlopener loads; built twice, under two names (PLUGIN_NAME), so
 * that the same address belongs first to one and then to the other.
 */
#include "burn.h"

uint64_t PLUGIN_NAME(uint64_t x, uint64_t steps);

uint64_t
PLUGIN_NAME(uint64_t x, uint64_t steps)
{
	return burn(x, steps);
}
