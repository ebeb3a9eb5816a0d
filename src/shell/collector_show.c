/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collector show and collector status: the settings, and what is recorded.
 */
#include "private.h"

#include <string.h>

static void
show_profile(const struct shell *sh)
{
	if (sh->settings.profile)
		fprintf(sh->out, "profile  on, interval %.3f ms\n",
			(double)sh->settings.interval_ns / 1e6);
	else
		fputs("profile  off\n", sh->out);
	fprintf(sh->out, "engine   %s\n",
		settings_engine_name(sh->settings.engine));
	fprintf(sh->out, "states   %s\n", sh->settings.states ? "on" : "off");
	fprintf(sh->out, "creators %s\n", sh->settings.creators ? "on" : "off");
}

static void
show_tracing(const struct shell *sh)
{
	const int64_t us = sh->settings.sync_us;

	if (sh->settings.heap && sh->settings.heap_interval)
		fprintf(sh->out, "heap     one byte in %llu\n",
			(unsigned long long)sh->settings.heap_interval);
	else
		fprintf(sh->out, "heap     %s\n",
			sh->settings.heap ? "on" : "off");
	fprintf(sh->out, "sync     %s, threshold ",
		sh->settings.sync ? "on" : "off");
	if (us > 0)
		fprintf(sh->out, "%lld us\n", (long long)us);
	else
		fprintf(sh->out, "%s\n", us ? "calibrate" : "all");
	fprintf(sh->out, "io       %s\n", sh->settings.io ? "on" : "off");
	fprintf(sh->out, "tracewait %u ms\n", sh->settings.trace_wait_ms);
}

static void
show_sample(const struct shell *sh)
{
	if (sh->settings.sample_period_ns)
		fprintf(sh->out, "sample   periodic, every %.0f s\n",
			(double)sh->settings.sample_period_ns / 1e9);
	else
		fputs("sample   manual\n", sh->out);
	fprintf(sh->out, "dbxsample %s\n",
		sh->settings.dbx_sample ? "on" : "off");
}

static void
show_store(const struct shell *sh)
{
	fprintf(sh->out, "store    directory %s, experiment %s\n",
		sh->settings.directory, sh->settings.experiment ?
		sh->settings.experiment : sh->group ? "named after its group" :
		"test.N.er");
	if (sh->group)
		fprintf(sh->out, "         group %s\n", sh->group);
}

static void
show_limit(const struct shell *sh)
{
	if (sh->settings.limit_mb)
		fprintf(sh->out, "limit    %llu MB\n",
			(unsigned long long)sh->settings.limit_mb);
	else
		fputs("limit    unlimited\n", sh->out);
	if (sh->settings.keep_ns)
		fprintf(sh->out, "keep     the last %.1f s\n",
			(double)sh->settings.keep_ns / 1e9);
}

static void
show_depth(const struct shell *sh)
{
	const uint32_t bytes = sh->settings.stack_bytes;

	fprintf(sh->out, "depth    %u frames, ", sh->settings.depth);
	if (bytes)
		fprintf(sh->out, "%u KB copied for engine ring\n",
			(bytes + 1023) / 1024);
	else
		fputs("up to 64 KB copied for engine ring\n", sh->out);
}

static void
show_archive(const struct shell *sh)
{
	static const char *const modes[] = { "off", "on", "copy" };

	fprintf(sh->out, "archive  %s\n", modes[sh->settings.archive]);
}

enum result
collector_show(struct shell *sh, size_t n, char **words)
{
	static const struct {
		const char *topic;
		void (*show)(const struct shell *sh);
	} topics[] = {
		{ "profile", show_profile }, { "tracing", show_tracing },
		{ "sample", show_sample },
		{ "store", show_store }, { "limit", show_limit },
		{ "archive", show_archive }, { "depth", show_depth },
	};
	const bool all = n == 1 || strcmp(words[1], "all") == 0;
	bool shown = false;

	for (size_t i = 0; n <= 2 && i < ARRAY_LEN(topics); i++) {
		if (all || strcmp(words[1], topics[i].topic) == 0) {
			topics[i].show(sh);
			shown = true;
		}
	}
	return shown ? DONE : USAGE;
}

enum result
collector_status(struct shell *sh, size_t n, char **words)
{
	struct session_progress p;

	(void)words;
	if (n != 1)
		return USAGE;
	if (!target_is_recorded(sh)) {
		fprintf(sh->out, "No experiment is being recorded%s.\n",
			!sh->armed ? "" : sh->armed_paused ?
			"; the next run will be, paused at first" :
			"; the next run will be");
		return DONE;
	}
	if (session_progress(sh->session, &p) < 0)
		return FAILED;
	fprintf(sh->out, "Experiment %s is %s\n",
		session_experiment(sh->session),
		session_experiment_state(sh->session) == PAUSED ?
		"paused" : "being recorded");
	fprintf(sh->out, "  engine   %s: %s\n", p.engine, p.why);
	fprintf(sh->out, "  elapsed  %.1f s\n", (double)p.elapsed_ns / 1e9);
	fprintf(sh->out, "  samples  %llu, lost %llu, not unwound to the end "
		"%llu\n", (unsigned long long)p.samples,
		(unsigned long long)p.lost,
		(unsigned long long)p.stacks_failed);
	if (p.cuts[0])
		fprintf(sh->out, "  stacks   %s\n", p.cuts);
	if (p.keep_ns)
		fprintf(sh->out, "  kept     the last %.1f s; %llu older "
			"samples dropped on purpose\n",
			(double)p.keep_ns / 1e9,
			(unsigned long long)p.dropped);
	fprintf(sh->out, "  CPU      %.3f s recorded of %.3f s\n",
		(double)p.recorded_cpu_ns / 1e9,
		(double)p.target_cpu_ns / 1e9);
	return DONE;
}
