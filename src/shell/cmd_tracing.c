/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collector heaptrace, synctrace, iotrace, tracewait: which calls are traced,
 * and how long they may be held up.
 */
#include "private.h"

#include <string.h>

static enum result
take(struct shell *sh, size_t n, char **words,
     int (*setting)(struct settings *, const char *))
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2)
		return USAGE;
	return setting(&sh->settings, words[1]) < 0 ? FAILED : DONE;
}

enum result
collector_heaptrace(struct shell *sh, size_t n, char **words)
{
	return take(sh, n, words, settings_heap);
}

enum result
collector_iotrace(struct shell *sh, size_t n, char **words)
{
	return take(sh, n, words, settings_io);
}

enum result
collector_synctrace(struct shell *sh, size_t n, char **words)
{
	if (n == 3 && strcmp(words[1], "threshold") == 0)
		return take(sh, n - 1, words + 1, settings_sync_threshold);
	return take(sh, n, words, settings_sync);
}

enum result
collector_tracewait(struct shell *sh, size_t n, char **words)
{
	return take(sh, n, words, settings_trace_wait);
}
