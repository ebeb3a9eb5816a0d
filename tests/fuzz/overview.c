/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * overview: resource samples, of an experiment and of its descendant; beside
 * them stands what is no descendant.
 */
#include "fuzz-experiment.h"

#define CHILD FUZZ_EXPERIMENT "/_f1.er"

static void
make_family(void)
{
	fuzz_make_experiment();
	fuzz_make_at(CHILD);
	if (mkdir(FUZZ_EXPERIMENT "/M_r0.er", 0700) < 0)
		fuzz_broken("M_r0.er");
	fuzz_file(FUZZ_EXPERIMENT "/_f2.er", "", 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_enter())
		make_family();
	fuzz_file(CHILD "/overview", data, size);
	fuzz_experiment("overview", data, size);
	(void)experiment_open("missing.er");
	(void)experiment_open(FUZZ_EXPERIMENT "/M_r0.er/");
	fail_clear();
	return 0;
}
