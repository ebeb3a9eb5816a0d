/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of the profile that lies between one resource sample and the next.
 * A packet stands at the end of the time that it tells of, so its weight is
 * laid out backwards from there; what stands for many threads at once
 * (<Unsampled threads>) counts where it stands. What is before the first
 * sample or after the last one belongs to the first or the last period: the
 * periods are the whole.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

void
periods_init(struct source *src)
{
	const size_t n = experiment_sample_count(src->reader);

	src->period_count = n > 1 ? n - 1 : 0;
}

static uint64_t
begin_of(const struct source *src, size_t i)
{
	return experiment_sample_at(src->reader, i)->time_ns;
}

/* The last one that began before then; the first one, if none did. */
static size_t
period_at(const struct source *src, uint64_t time_ns)
{
	size_t low = 0, high = src->period_count;

	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (begin_of(src, mid) < time_ns)
			low = mid;
		else
			high = mid;
	}
	return low;
}

uint64_t
periods_begin(const struct source *src, uint64_t time_ns)
{
	const uint64_t begin = src->period_count ?
		begin_of(src, period_at(src, time_ns)) : 0;

	return begin < time_ns ? begin : 0;
}

void
periods_add(struct source *src, uint64_t time_ns, uint32_t column,
	    uint64_t amount, enum period_kind kind)
{
	uint64_t end = time_ns, left = amount;

	if (!src->period_count)
		return;
	for (size_t i = period_at(src, end); left; i--) {
		const uint64_t begin = begin_of(src, i);
		uint64_t part = left;

		if (kind == PERIOD_BACKWARDS && i > 0 && end - begin < left)
			part = end - begin;
		bank_add(&src->periods, i, column, part);
		left -= part;
		end = begin;
	}
}

size_t
profile_periods(const struct profile *prof, size_t experiment)
{
	return prof->sources[experiment].period_count;
}

void
profile_period(const struct profile *prof, size_t experiment, size_t i,
	       uint64_t *slots)
{
	profile_weigh(prof, &prof->sources[experiment].periods, i, slots);
}
