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

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *sonde, *victims_dir, *source_dir, *work_dir;
static const char *build;

static struct {
	const char *name, *out, *engine;
	unsigned visits, kill_percent;
	uint64_t word;
	bool list;
} opt = { .name = "all", .visits = 20, .kill_percent = 25 };

struct count {
	unsigned visits, injected, killed, refused, unexpected, hung, lost;
	unsigned unclean, standing, others, of, measured;
	uint64_t eintr, wrong, missed;
	double *stops;
	size_t nstops;
	char reason[300];
};

uint64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
random_below(uint64_t n)
{
	opt.word ^= opt.word << 13;
	opt.word ^= opt.word >> 7;
	opt.word ^= opt.word << 17;
	return n ? (opt.word >> 11) % n : 0;
}

void
rest_ms(unsigned ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&ts, NULL);
}

char *
path_in(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

char *
read_text(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, cap = 8192;
	char *text;
	ssize_t r;

	if (fd < 0)
		return NULL;
	text = malloc(cap);
	while ((r = read(fd, text + n, cap - n - 1)) > 0) {
		n += (size_t)r;
		if (cap - n < 4096)
			text = realloc(text, cap *= 2);
	}
	close(fd);
	text[n] = '\0';
	return text;
}

static pid_t
parent_of(const char *pid)
{
	char path[300], *text, *at;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	text = read_text(path);
	at = text ? strrchr(text, ')') : NULL;
	if (at)
		(void)sscanf(at + 1, " %*c %d", &parent);
	free(text);
	return parent;
}

size_t
children_of(pid_t pid, pid_t *out, size_t max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && n < max && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) &&
		    parent_of(e->d_name) == pid)
			out[n++] = (pid_t)atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

/* ---- one visit ------------------------------------------------------------------- */

/* What a killed visit's moment is drawn from: it follows the whole ones. */
static unsigned usual_us = 60000;

/* The last one is whole, and tidies up after those that were killed. */
static struct visit
draw(const struct situation *s, bool last)
{
	struct visit v = {
		.engine = opt.engine ? opt.engine :
			last || random_below(100) < 90 ? "inject" : "auto",
		.ms = 1 + (unsigned)random_below(25),
		.seed = 1 + (unsigned)random_below(1000000),
		.by_shell = random_below(100) < 15,
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

static void
note_refusal(struct count *c, const struct situation *s,
	     const struct outcome *o, const struct visit *v)
{
	c->refused++;
	if (said(o->reason, s->refusal)) {
		snprintf(c->reason, sizeof c->reason, "%s", o->reason);
		return;
	}
	c->unexpected++;
	snprintf(c->reason, sizeof c->reason, "UNEXPECTED: %s", o->reason);
	printf("    seed %u, engine %s, status %x: %s\n", v->seed, v->engine,
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
	if (o->unclean && !o->killed) {
		printf("    its receipt: not clean\n");
		c->unclean++;
	}
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

static void
visit_once(struct victim *v, struct count *c, bool last)
{
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
}

/* ---- one situation ------------------------------------------------------------------ */

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

static bool
visit_one_life(const struct situation *s, struct count *c, unsigned visits)
{
	struct health *was;
	struct victim v;
	unsigned i;

	if (!begin(&v, s) || !victim_goes_on(&v))
		return false;
	was = health_take(&v);
	for (i = 0; i < visits; i++) {
		rest_ms((unsigned)random_below(4));
		visit_once(&v, c, i + 1 == visits);
		if (!look_after(&v, c)) {
			victim_kill(&v);
			health_free(was);
			return true;
		}
	}
	c->unclean += health_compare(was, &v) > 0;
	health_free(was);
	finish(&v, c);
	return true;
}

/* ---- the words about it ---------------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool
is_bad(const struct count *c)
{
	return c->lost || c->eintr || c->wrong || c->missed || c->unclean ||
		c->standing || c->hung || c->unexpected;
}

static void
print_line(const struct situation *s, const struct count *c)
{
	printf("%-22s %3u visits, %3u injected, %3u killed, %3u refused%s; "
	       "lost %u eintr %llu wrong %llu missed %llu%s", s->name,
	       c->visits, c->injected, c->killed, c->refused,
	       c->unexpected ? " (UNEXPECTED)" : "", c->lost,
	       (unsigned long long)c->eintr, (unsigned long long)c->wrong,
	       (unsigned long long)c->missed,
	       c->unclean || c->standing || c->hung ? " NOT AS BEFORE" : "");
	if (c->nstops)
		printf("; stop p50 %.2f max %.2f ms",
		       c->stops[c->nstops / 2], c->stops[c->nstops - 1]);
	if (c->of)
		printf("; others stopped %u of %u", c->others, c->of);
	putchar('\n');
	fflush(stdout);
}

static void
write_line(const struct situation *s, const struct count *c, const char *how)
{
	FILE *f = opt.out ? fopen(opt.out, "a") : NULL;
	size_t i;

	if (!f)
		return;
	fprintf(f, "%s\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%u\t%u\t"
		"%u\t%u\t", s->name, how, c->visits, c->injected, c->killed,
		c->refused, c->unexpected, c->lost,
		(unsigned long long)c->eintr, (unsigned long long)c->wrong,
		(unsigned long long)c->missed, c->unclean + c->standing,
		c->hung, c->others, c->of);
	for (i = 0; i < c->nstops; i++)
		fprintf(f, "%s%.3f", i ? "," : "", c->stops[i]);
	fprintf(f, "\t%s\n", c->reason);
	fclose(f);
}

/* 0 well, 1 bad. */
static int
torture(const struct situation *s)
{
	const unsigned visits = s->traits & SLOW ? (opt.visits + 2) / 3 :
		s->traits & MEASURE ? 2 * opt.visits : opt.visits;
	const char *missing = victim_missing(s);
	struct count c = {0};
	bool begun;

	if (missing) {
		printf("%-22s not available: %s\n", s->name, missing);
		snprintf(c.reason, sizeof c.reason, "%s", missing);
		write_line(s, &c, "missing");
		return 0;
	}
	begun = s->traits & ENDS ? visit_short_lives(s, &c, visits) :
		visit_one_life(s, &c, visits);
	if (!begun) {
		snprintf(c.reason, sizeof c.reason, "it did not begin");
		write_line(s, &c, "broken");
		return 1;
	}
	qsort(c.stops, c.nstops, sizeof *c.stops, by_value);
	print_line(s, &c);
	write_line(s, &c, is_bad(&c) ? "bad" : "well");
	free(c.stops);
	return is_bad(&c);
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
	opt.word = seed * 0x9e3779b97f4a7c15u + 1;
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
