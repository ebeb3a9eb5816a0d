/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collector SUBCOMMAND: what to collect, and when. Settings are legal while
 * nothing is being recorded; during a recording they are ignored with a
 * warning at a terminal, and fail in a file.
 */
#include "config.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum result
collector_refuse(struct shell *sh, size_t n, char **words)
{
	char *line = words_joined(n, words);
	char *what = xasprintf("collector %s", line);
	const enum result r = shell_ignored(sh, what);

	free(what);
	free(line);
	return r;
}

/* ---- control ------------------------------------------------------------- */

static enum result
sub_enable(struct shell *sh, size_t n, char **words)
{
	if (n != 1)
		return USAGE;
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (target_alive(sh) && sh->at_exec) {
		fail(FAIL_USAGE, "collector enable: process %d stands at its "
		     "exec, and its loader has not run",
		     session_pid(sh->session));
		fail_remedy("stop syncrtld, then cont; or enable it before run");
		return FAILED;
	}
	sh->armed = true;
	sh->armed_paused = false;
	if (!target_alive(sh))
		return DONE;
	if (collecting_start(sh) < 0)
		return FAILED;

	struct session_progress p;

	if (session_progress(sh->session, &p) == 0)
		shell_note(sh, "engine %s: %s%s%s", p.engine, p.why,
			   p.untraced[0] ? "; " : "", p.untraced);
	return DONE;
}

static enum result
need_active(const struct shell *sh, const char *what)
{
	if (target_is_recorded(sh))
		return DONE;
	fail(FAIL_USAGE, "collector %s: no experiment is being recorded", what);
	fail_remedy("collector enable starts one");
	return FAILED;
}

static enum result
sub_disable(struct shell *sh, size_t n, char **words)
{
	char *receipt;

	if (n != 1)
		return USAGE;
	sh->armed = sh->armed_paused = false;
	if (!target_is_recorded(sh))
		return target_alive(sh) ? need_active(sh, words[0]) : DONE;
	if (session_disable(sh->session, &receipt) < 0)
		return FAILED;
	shell_note(sh, "%s", receipt);
	free(receipt);
	return DONE;
}

/* What does not run yet is paused as soon as it is recorded. */
static bool
is_to_come(const struct shell *sh)
{
	return sh->armed && !target_alive(sh);
}

static enum result
sub_pause(struct shell *sh, size_t n, char **words)
{
	if (n != 1)
		return USAGE;
	if (is_to_come(sh)) {
		sh->armed_paused = true;
		return DONE;
	}
	if (need_active(sh, words[0]) == FAILED)
		return FAILED;
	return session_pause(sh->session) < 0 ? FAILED : DONE;
}

static enum result
sub_resume(struct shell *sh, size_t n, char **words)
{
	if (n != 1)
		return USAGE;
	if (is_to_come(sh)) {
		sh->armed_paused = false;
		return DONE;
	}
	if (need_active(sh, words[0]) == FAILED)
		return FAILED;
	return session_resume(sh->session) < 0 ? FAILED : DONE;
}

/* ---- settings ------------------------------------------------------------ */

static enum result
sub_sample(struct shell *sh, size_t n, char **words)
{
	long long seconds;

	if (n >= 2 && strcmp(words[1], "record") == 0) {
		if (n > 3)
			return USAGE;
		if (need_active(sh, "sample record") == FAILED)
			return FAILED;
		return session_sample(sh->session, n == 3 ? words[2] : NULL) <
			0 ? FAILED : DONE;
	}
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n == 2 && strcmp(words[1], "manual") == 0)
		sh->settings.sample_period_ns = 0;
	else if (n == 2 && strcmp(words[1], "periodic") == 0)
		sh->settings.sample_period_ns = 1000000000;
	else if (n == 3 && strcmp(words[1], "period") == 0 &&
		 str_number(words[2], 1, 86400, &seconds))
		sh->settings.sample_period_ns =
			(uint64_t)seconds * 1000000000;
	else
		return USAGE;
	return DONE;
}

int
shell_interval(struct shell *sh, const char *word)
{
	const struct settings *s = &sh->settings;

	if (settings_interval(&sh->settings, word) < 0)
		return -1;
	if (s->asked_ns < s->interval_ns)
		shell_note(sh, "interval %s is too short: %llu us is used",
			   word, (unsigned long long)s->interval_ns / 1000);
	return 0;
}

static enum result
sub_profile(struct shell *sh, size_t n, char **words)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n == 2 && strcmp(words[1], "on") == 0)
		sh->settings.profile = true;
	else if (n == 2 && strcmp(words[1], "off") == 0)
		sh->settings.profile = false;
	else if (n == 3 && strcmp(words[1], "timer") == 0)
		return shell_interval(sh, words[2]) < 0 ? FAILED : DONE;
	else
		return USAGE;
	return DONE;
}

static enum result
sub_engine(struct shell *sh, size_t n, char **words)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2)
		return USAGE;
	return settings_engine(&sh->settings, words[1]) < 0 ? FAILED : DONE;
}

static enum result
store_directory(struct shell *sh, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) < 0) {
		fail_errno("directory %s", dir);
		return FAILED;
	}
	if (!S_ISDIR(st.st_mode)) {
		fail(FAIL_USAGE, "%s is not a directory", dir);
		return FAILED;
	}
	free(sh->settings.directory);
	sh->settings.directory = xstrdup(dir);
	return DONE;
}

static enum result
store_group(struct shell *sh, const char *name)
{
	const char *slash = strrchr(name, '/');

	if (!str_ends(name, ".erg") ||
	    strcmp(slash ? slash + 1 : name, ".erg") == 0) {
		fail(FAIL_USAGE, "group name '%s' does not end in .erg", name);
		fail_remedy("collector store group %s.erg", name);
		return FAILED;
	}
	free(sh->group);
	sh->group = xstrdup(name);
	return DONE;
}

static int
check_experiment(const char *name, const char *command)
{
	if (str_ends(name, ".er"))
		return 0;
	fail(FAIL_USAGE, "experiment name '%s' does not end in .er", name);
	return fail_remedy("%s %s.er", command, name);
}

static enum result
sub_store(struct shell *sh, size_t n, char **words)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 3)
		return USAGE;
	if (strcmp(words[1], "directory") == 0)
		return store_directory(sh, words[2]);
	if (strcmp(words[1], "group") == 0)
		return store_group(sh, words[2]);
	if (strcmp(words[1], "experiment") != 0 &&
	    strcmp(words[1], "filename") != 0)
		return USAGE;
	if (check_experiment(words[2], "collector store experiment") < 0)
		return FAILED;
	free(sh->settings.experiment);
	sh->settings.experiment = xstrdup(words[2]);
	return DONE;
}

static enum result
sub_limit(struct shell *sh, size_t n, char **words)
{
	long long mb;

	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2)
		return USAGE;
	if (strcmp(words[1], "unlimited") == 0 || strcmp(words[1], "none") == 0)
		mb = 0;
	else if (!str_number(words[1], 1, 1 << 30, &mb))
		return USAGE;
	sh->settings.limit_mb = (uint64_t)mb;
	return DONE;
}

static enum result
sub_keep(struct shell *sh, size_t n, char **words)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2)
		return USAGE;
	if (strcmp(words[1], "off") == 0) {
		sh->settings.keep_ns = 0;
		return DONE;
	}
	return settings_duration(words[1], &sh->settings.keep_ns) < 0 ?
		FAILED : DONE;
}

static enum result
sub_write(struct shell *sh, size_t n, char **words)
{
	char *path;

	if (n > 2)
		return USAGE;
	if (need_active(sh, words[0]) == FAILED ||
	    (n == 2 && (check_experiment(words[1], "collector write") < 0 ||
			outward_check(sh, words[1]) < 0)) ||
	    session_write_kept(sh->session, n == 2 ? words[1] : NULL, &path) < 0)
		return FAILED;
	shell_note(sh, "What is kept is written: %s", path);
	free(path);
	return DONE;
}

static enum result
sub_depth(struct shell *sh, size_t n, char **words)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2 && n != 3)
		return USAGE;
	return settings_depth(&sh->settings, words[1],
			      n == 3 ? words[2] : NULL) < 0 ? FAILED : DONE;
}

static enum result
sub_archive(struct shell *sh, size_t n, char **words)
{
	static const char *const modes[] = { "off", "on", "copy" };

	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	for (size_t i = 0; n == 2 && i < ARRAY_LEN(modes); i++) {
		if (strcmp(words[1], modes[i]) == 0) {
			sh->settings.archive = (enum session_archive)i;
			return DONE;
		}
	}
	return USAGE;
}

static enum result
set_switch(struct shell *sh, size_t n, char **words, bool *to)
{
	if (target_is_recorded(sh))
		return collector_refuse(sh, n, words);
	if (n != 2 || (strcmp(words[1], "on") && strcmp(words[1], "off")))
		return USAGE;
	*to = strcmp(words[1], "on") == 0;
	return DONE;
}

static enum result
sub_dbxsample(struct shell *sh, size_t n, char **words)
{
	return set_switch(sh, n, words, &sh->settings.dbx_sample);
}

static enum result
sub_states(struct shell *sh, size_t n, char **words)
{
	return set_switch(sh, n, words, &sh->settings.states);
}

static enum result
sub_creators(struct shell *sh, size_t n, char **words)
{
	return set_switch(sh, n, words, &sh->settings.creators);
}

/* ---- looking ------------------------------------------------------------- */

static enum result
sub_version(struct shell *sh, size_t n, char **words)
{
	(void)words;
	if (n != 1)
		return USAGE;
	fprintf(sh->out, "sonde collector %s\n", VERSION);
	return DONE;
}

const struct command collector_subcommands[] = {
	{ "archive", "on|off|copy", "copy load objects into the experiment", 0,
	  sub_archive, "collector archive copy" },
	{ "creators", "on|off", "who created each thread, and where", 0,
	  sub_creators, "collector creators off" },
	{ "dbxsample", "on|off", "a sample whenever the process is stopped", 0,
	  sub_dbxsample, "collector dbxsample off" },
	{ "depth", "FRAMES [KB]", "how many frames of a stack are recorded; KB "
	  "for ring", 0, sub_depth,
	  "collector depth 20000 64" },
	{ "disable", "", "end the experiment; later runs are not recorded", 0,
	  sub_disable, "collector disable" },
	{ "enable", "", "start an experiment; or arm the next run", 0,
	  sub_enable, "collector enable" },
	{ "engine", "auto|ring|inject|remote", "how samples are taken", 0, sub_engine,
	  "collector engine ring" },
	{ "heaptrace", "on|off|BYTES", "calls that give or take memory: all, or of "
	  "samples", 0,
	  collector_heaptrace, "collector heaptrace on" },
	{ "iotrace", "on|off", "each call that reads, writes, opens or closes",
	  0, collector_iotrace, "collector iotrace on" },
	{ "keep", "DURATION|off", "only the last so long, in memory, until it is "
	  "written", 0, sub_keep, "collector keep 10s" },
	{ "limit", "MB|unlimited", "stop sampling at this size", 0, sub_limit,
	  "collector limit 2000" },
	{ "pause", "", "stop recording, keep the experiment open", 0,
	  sub_pause, "collector pause" },
	{ "profile", "on|off|timer INTERVAL", "clock profiling and its "
	  "interval: on, hi, lo, N ms", 0, sub_profile,
	  "collector profile timer hi" },
	{ "resume", "", "go on recording", 0, sub_resume, "collector resume" },
	{ "sample", "periodic|manual|period SECONDS|record [NAME]",
	  "resource samples", 0, sub_sample, "collector sample record start" },
	{ "show", "[all|archive|depth|limit|profile|sample|store|tracing]",
	  "show the settings", 0, collector_show, "collector show tracing" },
	{ "states", "on|off", "time of threads that wait, too: for what, and "
	  "where", 0, sub_states, "collector states on" },
	{ "status", "", "show what is being recorded", 0, collector_status,
	  "collector status" },
	{ "store", "directory DIR|experiment NAME.er|group NAME.erg",
	  "where experiments go, and the group that names them", 0, sub_store,
	  "collector store experiment run.1.er" },
	{ "synctrace", "on|off|threshold calibrate|all|MICROSECONDS",
	  "waits for locks and their like, from so long on", 0,
	  collector_synctrace, "collector synctrace threshold 100" },
	{ "tracewait", "MS", "how long a traced call may wait for room for its "
	  "record", 0, collector_tracewait, "collector tracewait 20" },
	{ "write", "[NAME.er]", "write what is kept (collector keep) as an\n"
	  "  experiment, and go on", 0,
	  sub_write, "collector write slow.er" },
	{ "version", "", "show the collector's version", 0, sub_version,
	  "collector version" },
	{ 0 }
};

const struct command *
collector_find(const char *name)
{
	const struct command *c = shell_find(collector_subcommands, name);

	if (!c)
		fail_in("collector");
	return c;
}

static enum result
cmd_collector(struct shell *sh, size_t n, char **words)
{
	if (n < 2)
		return USAGE;

	const struct command *c = collector_find(words[1]);

	if (!c)
		return FAILED;

	char *typed = words[1];

	words[1] = (char *)c->name;

	const enum result r = c->run(sh, n - 1, words + 1);

	words[1] = typed;
	if (r == USAGE)
		sh->usage_of = c;
	return r;
}

const struct command collector_commands[] = {
	{ "collector", "SUBCOMMAND ...", "record experiments; `help collector` "
	  "lists the subcommands", 0, cmd_collector, "collector enable" },
	{ 0 }
};
