/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of log.xml: who, where, on which machine, and how the packets are
 * laid out. Written at once, so that a reader finds all of it or nothing.
 *
 * Clock packets count microseconds (ptimer is 1), because their weights are
 * exact CPU time and not ticks; the interval that was asked for travels as
 * an event of our own, which gprofng ignores, and as a comment that it shows.
 */
#include "header.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "xml.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "(no version)"	/* compiled outside of make */
#endif

static void
add_number(struct str *out, const char *name, unsigned long long n)
{
	str_addf(out, " %s=\"%llu\"", name, n);
}

/* Microseconds, whatever the locale thinks of decimal points. */
static void
add_us(struct str *out, uint64_t ns)
{
	str_addf(out, "%llu", (unsigned long long)(ns / 1000));
	if (ns % 1000)
		str_addf(out, ".%03u", (unsigned)(ns % 1000));
}

/* The processors and their clocks, as far as /proc/cpuinfo knows them. */
static void
add_processors(struct str *out)
{
	char *text = file_read("/proc/cpuinfo", NULL);
	long cpu = -1;
	double mhz;

	for (char *line = text; line && *line; ) {
		char *const end = strchr(line, '\n');

		if (end)
			*end = '\0';
		(void)sscanf(line, "processor : %ld", &cpu);
		if (cpu >= 0 && sscanf(line, "cpu MHz : %lf", &mhz) == 1) {
			str_addf(out, "  <cpu id=\"%ld\" clk=\"%.0f\"/>\n",
				 cpu, mhz);
			cpu = -1;
		}
		line = end ? end + 1 : NULL;
	}
	free(text);
}

static void
add_system(struct str *out)
{
	struct utsname name;
	const long pages = sysconf(_SC_PHYS_PAGES);

	if (uname(&name) < 0)
		return;		/* the element is optional */
	str_add(out, "<system");
	xml_attr_add(out, "hostname", name.nodename);
	xml_attr_add(out, "arch", name.machine);
	str_addf(out, " os=\"%s ", name.sysname);
	xml_escape(out, name.release);
	str_add(out, "\"");
	add_number(out, "pagesz", (unsigned long long)sysconf(_SC_PAGESIZE));
	add_number(out, "npages", pages > 0 ? (unsigned long long)pages : 0);
	str_add(out, ">\n");
	add_processors(out);
	str_add(out, "</system>\n");
}

static void
add_process(struct str *out, const struct experiment_info *info)
{
	const struct { const char *name; long value; } ids[] = {
		{ "pid", info->pid }, { "ppid", info->ppid },
		{ "pgrp", info->pgrp }, { "sid", info->sid },
		{ "wsize", 64 },
	};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		str_addf(out, "<process %s=\"%ld\"></process>\n",
			 ids[i].name, ids[i].value);
	str_add(out, "<process");
	xml_attr_add(out, "cwd", info->cwd ? info->cwd : "");
	str_add(out, "></process>\n<process>");
	xml_escape(out, info->command ? info->command : "");
	str_add(out, "</process>\n");
}

static void
add_run(struct str *out, const struct experiment_info *info)
{
	const time_t now = time(NULL);
	const uint64_t ago = (now_ns() - info->start_ns) / 1000000000u;
	const time_t start = now_ns() > info->start_ns ? now - (time_t)ago :
		now;
	struct tm tm = { 0 };

	(void)localtime_r(&start, &tm);	/* else the zone is 0, UTC */
	str_add(out, "<event kind=\"run\"");
	xml_time_add(out, "tstamp", info->start_ns);
	str_addf(out, " time=\"%lld\" tm_zone=\"%ld\"", (long long)start,
		 -tm.tm_gmtoff);
	str_addf(out, " pid=\"%ld\"/>\n", (long)info->pid);
}

void
header_fields(struct str *out, const struct packet_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_addf(out, "    <field name=\"%s\" uname=\"%s\""
			 " offset=\"%zu\" type=\"%s\"/>\n", fields[i].name,
			 fields[i].text, fields[i].offset, fields[i].type);
}

static void
add_clock_packets(struct str *out)
{
	static const struct packet_field fields[] = {
#define FIELD(name, text, type, member) \
		{ name, text, type, offsetof(struct clock_packet, member) }
		FIELD("LWPID", "Lightweight process id", "INT32", thread),
		FIELD("THRID", "Thread number", "INT32", thread),
		FIELD("CPUID", "CPU id", "INT32", cpu),
		FIELD("TSTAMP", "High resolution timestamp", "INT64", time),
		FIELD("FRINFO", "Call stack", "INT64", frinfo),
		FIELD("MSTATE", "Thread state", "INT32", state),
		FIELD("NTICK", "Duration", "INT32", ticks),
#undef FIELD
	};

	str_addf(out, "<profile name=\"profile\" ptimer=\"1\""
		 " numstates=\"%d\">\n  <profdata fname=\"profile\"/>\n"
		 "  <profpckt kind=\"%d\" uname=\"Clock profiling data\">\n",
		 MSTATE_LINUX_CPU, PACKET_CLOCK);
	header_fields(out, fields, ARRAY_LEN(fields));
	str_add(out, "  </profpckt>\n</profile>\n");
}

static void
add_settings(struct str *out, const struct experiment_info *info)
{
	str_add(out, "<event kind=\"sonde_settings\"");
	xml_time_add(out, "tstamp", 0);
	str_add(out, " interval_us=\"");
	add_us(out, info->interval_ns);
	str_add(out, "\"");
	xml_attr_add(out, "engine", info->engine ? info->engine : "");
	xml_attr_add(out, "engine_why",
		     info->engine_why ? info->engine_why : "");
	str_addf(out, " attached=\"%d\"", info->attached);
	add_number(out, "limit_mb", info->limit_mb);
	str_add(out, "/>\n");
}

/* gprofng shows ptimer as the interval; say what it is. */
static void
add_clock_comment(struct str *out, const struct experiment_info *info)
{
	str_add(out, "<event kind=\"comment\"");
	xml_time_add(out, "tstamp", 0);
	str_add(out, " id=\"400\">Clock profiling every ");
	add_us(out, info->interval_ns);
	str_add(out, " microseconds");
	if (info->engine && *info->engine) {
		str_add(out, " by ");
		xml_escape(out, info->engine);
	}
	str_add(out, "; weights are measured, in units of 1 microsecond, "
		"which a reader may show as the interval</event>\n");
}

void
header_text(struct str *out, const struct experiment_info *info)
{
	str_add(out, "<experiment version=\"" FORMAT_VERSION "\">\n"
		"<collector>sonde " PACKAGE_VERSION "</collector>\n"
		"</experiment>\n");
	add_system(out);
	add_process(out, info);
	str_add(out, "<dataptr name=\"frameinfo\" format=\"binary\"/>\n");
	if (info->limit_mb) {
		str_add(out, "<setting");
		add_number(out, "limit", info->limit_mb);
		str_add(out, "/>\n");
	}
	add_run(out, info);
	if (info->interval_ns)
		add_clock_packets(out);
	add_settings(out, info);
	if (info->interval_ns)
		add_clock_comment(out, info);
}
