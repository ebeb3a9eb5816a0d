/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * data.frameinfo: stacks and their links.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_experiment("data.frameinfo", data, size);
	return 0;
}
