/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions of filters and index objects: the text is parsed, also as a
 * definition that another names, and asked of each record of an experiment.
 */
#include "fuzz-experiment.h"
#include "profile.h"

static struct profile *prof;

static void
open_profile(void)
{
	static const char *const paths[] = { FUZZ_EXPERIMENT };

	if (!fuzz_enter())
		return;
	fuzz_make_experiment();
	prof = profile_open(paths, 1, NULL);
	if (!prof)
		fuzz_broken("the experiment");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const struct profile_index_type own = { "own", text };
	const struct index_cost *costs;

	open_profile();
	if (profile_expression_check(text, profile_index_types,
				     INDEX_TYPES) == 0) {
		(void)profile_index(prof, text, profile_index_types,
				    INDEX_TYPES, &costs);
		(void)profile_index(prof, "own + own, own IN own", &own, 1,
				    &costs);
	}
	(void)fuzz_use(fail_last()->reason);
	free(text);
	fail_clear();
	return 0;
}
