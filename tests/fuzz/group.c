/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A group file (.erg): names of experiments.
 */
#include "fuzz-experiment.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_enter())
		fuzz_make_experiment();
	fuzz_file("g.erg", data, size);
	fuzz_view("g.erg");
	fail_clear();
	return 0;
}
