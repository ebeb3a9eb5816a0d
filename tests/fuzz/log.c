/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * log.xml: what happened, and how packets are laid out.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_experiment("log.xml", data, size);
	return 0;
}
