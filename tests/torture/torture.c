/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop: for each situation some visits at random moments, a quarter of
 * them killed, and after each of them a look from outside. At the end the
 * victim says what it saw. One line for each situation; with -o a line of
 * words apart by tabs, which `run` makes RESULTS.md of.
 *
 *	torture -b BUILD -t SOURCES [-d VICTIMS] [-v NAME|all|short]
 *		[-n VISITS] [-s SEED] [-k PERCENT] [-o FILE] [-e ENGINE] [-l]
 */
#include "torture.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *sonde, *victims_dir, *source_dir, *work_dir;
static const char *build;

static struct {
	const char *name, *out, *engine;
	unsigned visits, kill_percent;
	bool list;
} opt = { .name = "all", .visits = 20, .kill_percent = 25 };

/* ---- one visit ----------------------------------------------------------- */

/* What a killed visit's moment is drawn from: it follows the whole ones. */
static unsigned usual_us = 60000;

static const char *
draw_engine(bool last)
{
	const unsigned which = (unsigned)random_below(100);

	if (opt.engine)
		return opt.engine;
	return last || which < 88 ? "inject" : which < 94 ? "auto" : "remote";
}

/* The last one is whole, and tidies up after those that were killed. */
static struct visit
draw(const struct situation *s, bool last)
{
	struct visit v = {
		.engine = draw_engine(last),
		.ms = 1 + (unsigned)random_below(25),
		.seed = 1 + (unsigned)random_below(1000000),
		.by_shell = random_below(100) < 25,
		.stands = random_below(100) < 50,
		.states = random_below(100) < 50,
		.creators = random_below(100) < 50,
		.traced = random_below(100) < 40,
	};

	if (!last && random_below(100) < opt.kill_percent &&
	    !(s->traits & RACE)) {
		v.kill = 1 + (enum who)random_below(3);
		v.kill_us = (unsigned)random_below(usual_us);
	}
	return v;
}

static bool
said(const char *reason, const char *patterns)
{
	const char *at = patterns;

	while (at && *at) {
		const size_t n = strcspn(at, "|");
		char word[100];

		snprintf(word, sizeof word, "%.*s", (int)n, at);
		if (strstr(reason, word))
			return true;
		at += n + (at[n] == '|');
	}
	return false;
}

/* Static programs and those that call nothing of it; and where no engine would
 * have needed it those that the collector cannot be loaded into. */
static bool
is_not_traceable(const struct visit *v, const struct outcome *o)
{
	return v->traced &&
		(said(o->reason, "through an import slot that can be traced") ||
		 (strcmp(v->engine, "inject") != 0 &&
		  said(o->reason, "load the collector: ")));
}

/* Where debug registers have no effect, a thread that is in libc all the time
 * and makes no system call may never be seen outside of it. */
static bool
is_not_reached(const struct outcome *o)
{
	static int watches = -1;

	if (watches < 0) {
		char *tool = path_in(build, "tests/tools/watches");

		watches = system(tool) == 0;
		free(tool);
	}
	return !watches && said(o->reason, "does not come out of libc");
}

static void
note_refusal(struct count *c, const struct situation *s,
	     const struct outcome *o, const struct visit *v)
{
	c->refused++;
	if (said(o->reason, s->refusal) || is_not_traceable(v, o) ||
	    is_not_reached(o)) {
		snprintf(c->reason, sizeof c->reason, "%s", o->reason);
		return;
	}
	c->unexpected++;
	snprintf(c->reason, sizeof c->reason, "UNEXPECTED: %s", o->reason);
	printf("    seed %u, engine %s%s%s%s, status %x: %s\n", v->seed,
	       v->engine, v->states ? ", states" : "",
	       v->creators ? ", creators" : "", v->traced ? ", traced" : "",
	       o->status, o->reason);
}

static void
note_outcome(struct count *c, const struct situation *s,
	     const struct outcome *o, const struct visit *v)
{
	c->visits++;
	c->killed += o->killed;
	c->injected += o->injected;
	c->hung += o->hung;
	if (o->hung)
		printf("    seed %u: the visit hung\n", v->seed);
	c->unclean += o->unclean;
	if (o->refused)
		note_refusal(c, s, o, v);
	if (s->traits & NEVER && o->injected) {
		printf("    it was to be refused\n");
		c->unexpected++;
	}
	if (o->killed)
		return;
	usual_us = usual_us / 8 * 7 + o->took_us / 8;
	if (o->injected && o->stops) {
		c->stops = realloc(c->stops,
				   (c->nstops + 1) * sizeof *c->stops);
		c->stops[c->nstops++] = o->stop_ms;
	}
}

/* A victim is lost when it is gone, or does not work any more. */
static bool
look_after(struct victim *v, struct count *c)
{
	c->standing += health_standing(v) > 0;
	if (victim_goes_on(v))
		return true;
	printf("    lost: it %s\n", v->reaped ? "is gone" : "does not go on");
	if (v->reaped && WIFSIGNALED(v->status))
		printf("    by signal %d\n", WTERMSIG(v->status));
	victim_print_words();
	c->lost++;
	return false;
}

static uint64_t
complaints_of(const struct victim *v)
{
	return v->page->eintr + v->page->wrong + v->page->missed;
}

static void
visit_once(struct victim *v, struct count *c, bool last)
{
	const uint64_t complaints = complaints_of(v);
	const struct visit how = draw(v->s, last);
	struct waits *before = NULL;
	struct outcome o;
	unsigned of, grown;

	if (v->s->traits & MEASURE)
		before = waits_take(v->pid);
	if (v->s->traits & RACE)
		visit_race(v->pid, &how, &o);
	else
		visit_run(v->pid, &how, &o);
	if (before) {
		grown = waits_grown(before, v->pid, &of);
		if (o.injected && !o.killed) {
			c->others += grown > o.stops ? grown - o.stops : 0;
			c->of += of > o.stops ? of - o.stops : 0;
			c->measured++;
		}
	}
	reap_strangers(v);
	note_outcome(c, v->s, &o, &how);
	if (complaints_of(v) != complaints)
		visit_print_harm(&how, &o);
}

/* ---- one situation ------------------------------------------------------- */

static bool
finish(struct victim *v, struct count *c)
{
	const bool well = victim_end(v);

	c->eintr += v->eintr;
	c->wrong += v->wrong;
	c->missed += v->missed;
	if (!well)
		c->lost++;
	if (!well || v->eintr + v->wrong + v->missed)
		victim_print_words();
	return well;
}

static bool
begin(struct victim *v, const struct situation *s)
{
	const char *why;

	if (victim_start(v, s, &why) == 0)
		return true;
	printf("%-22s cannot begin: %s\n", s->name, why);
	victim_print_words();
	return false;
}

/* false: it could not begin. */
static bool
visit_short_lives(const struct situation *s, struct count *c, unsigned visits)
{
	struct victim v;
	unsigned i;

	for (i = 0; i < visits; i++) {
		if (!begin(&v, s))
			return false;
		visit_once(&v, c, false);
		if (!finish(&v, c))
			return true;
	}
	return true;
}

/* Threads of ours whose visit was killed stand with a process that a signal
 * has stopped, and end when it is continued: by then it is told to end. */
static bool
ours_stand_with(const struct victim *v, unsigned threads)
{
	return v->s->traits & STOPPED && threads_of(v) > threads;
}

static bool
visit_one_life(const struct situation *s, struct count *c, unsigned visits)
{
	struct health *was;
	struct victim v;
	unsigned i, threads;

	if (!begin(&v, s) || !victim_goes_on(&v))
		return false;
	was = health_take(&v);
	threads = threads_of(&v);
	for (i = 0; i < visits; i++) {
		rest_ms((unsigned)random_below(4));
		visit_once(&v, c, i + 1 == visits);
		if (!look_after(&v, c)) {
			victim_kill(&v);
			health_free(was);
			return true;
		}
	}
	if (!ours_stand_with(&v, threads) && health_compare(was, &v) > 0) {
		c->unclean++;
		victim_print_words();
	}
	health_free(was);
	finish(&v, c);
	return true;
}

/* ---- all of them --------------------------------------------------------- */

/* 0 well, 1 bad. */
static int
torture(const struct situation *s)
{
	const unsigned visits = s->traits & SLOW ? (opt.visits + 2) / 3 :
		s->traits & MEASURE ? 2 * opt.visits : opt.visits;
	const char *missing = words_missing(s);
	struct count c = {0};
	bool begun;

	if (missing) {
		printf("%-22s not available: %s\n", s->name, missing);
		snprintf(c.reason, sizeof c.reason, "%s", missing);
		count_write(s, &c, "missing", opt.out);
		return 0;
	}
	begun = s->traits & ENDS ? visit_short_lives(s, &c, visits) :
		visit_one_life(s, &c, visits);
	if (!begun) {
		snprintf(c.reason, sizeof c.reason, "it did not begin");
		count_write(s, &c, "broken", opt.out);
		return 1;
	}
	count_sort(&c);
	count_print(s, &c);
	count_write(s, &c, count_is_bad(&c) ? "bad" : "well", opt.out);
	free(c.stops);
	return count_is_bad(&c);
}

static bool
is_wanted(const struct situation *s)
{
	const size_t n = strlen(opt.name);

	if (strcmp(opt.name, "all") == 0)
		return true;
	if (strcmp(opt.name, "short") == 0)
		return s->traits & SHORT_FORM;
	/* a name, or the beginning of some: malloc- */
	return strcmp(opt.name, s->name) == 0 ||
		(n && opt.name[n - 1] == '-' &&
		 strncmp(opt.name, s->name, n) == 0);
}

static void
read_options(int argc, char **argv)
{
	uint64_t seed = clock_us();
	int letter;

	while ((letter = getopt(argc, argv, "b:d:t:v:n:s:k:o:e:l")) >= 0)
		switch (letter) {
		case 'b': build = optarg; break;
		case 'd': victims_dir = optarg; break;
		case 't': source_dir = optarg; break;
		case 'v': opt.name = optarg; break;
		case 'n': opt.visits = (unsigned)atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'k': opt.kill_percent = (unsigned)atoi(optarg); break;
		case 'o': opt.out = optarg; break;
		case 'e': opt.engine = optarg; break;
		case 'l': opt.list = true; break;
		default:
			fprintf(stderr, "usage: torture -b BUILD -t SOURCES "
				"[-d VICTIMS] [-v NAME|all|short] "
				"[-n VISITS] [-s SEED] "
				"[-k PERCENT] [-o FILE] [-e ENGINE] [-l]\n");
			exit(99);
		}
	printf("seed %llu\n", (unsigned long long)seed);
	random_begin(seed);
}

static void
set_places(void)
{
	static char work[] = "/tmp/sonde-torture.XXXXXX";

	if (!build || !source_dir || !mkdtemp(work)) {
		fprintf(stderr, "torture: -b BUILD -t SOURCES\n");
		exit(99);
	}
	sonde = path_in(build, "sonde");
	if (!victims_dir)
		victims_dir = path_in(build, "tests/torture/victims");
	work_dir = work;
	/* victims of other users write nothing, but look for their files */
	(void)chmod(work, 0755);
	setenv("XDG_CONFIG_HOME", work, 1);
	setenv("XDG_STATE_HOME", work, 1);
	setenv("LC_ALL", "C", 1);
}

int
main(int argc, char **argv)
{
	const struct situation *s;
	int bad = 0, tried = 0;
	char *tidy;

	read_options(argc, argv);
	if (opt.list) {
		for (s = situations; s->name; s++)
			puts(s->name);
		return 0;
	}
	set_places();
	/* what sonde leaves behind when it is killed comes to us */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	for (s = situations; s->name; s++)
		if (is_wanted(s)) {
			bad += torture(s);
			tried++;
		}
	if (asprintf(&tidy, "rm -rf '%s'", work_dir) > 0 && !bad)
		(void)!system(tidy);
	if (!tried)
		fprintf(stderr, "torture: no situation '%s'\n", opt.name);
	return !tried ? 99 : bad ? 1 : 0;
}
