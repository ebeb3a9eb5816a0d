/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A data file: packets of any kind, declared by a sound log.xml.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_experiment("profile", data, size);
	return 0;
}
