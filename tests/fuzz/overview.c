/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * overview: resource samples.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_experiment("overview", data, size);
	return 0;
}
