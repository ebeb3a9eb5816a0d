/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map.xml: what was mapped when.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_experiment("map.xml", data, size);
	return 0;
}
