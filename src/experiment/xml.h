/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tag text of log.xml and map.xml: a flat list of elements that only
 * looks like XML. Other tools write it too, and a killed writer leaves half a
 * line, so the scanner says what is whole, what is damaged and what is cut.
 */
#ifndef SONDE_EXPERIMENT_XML_H
#define SONDE_EXPERIMENT_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

/* Add text so that every reader gives it back unchanged. */
void xml_escape(struct str *out, const char *text);
/* Add ` name="value"`. */
void xml_attr_add(struct str *out, const char *name, const char *value);
/* Seconds with the nine digits of fraction that readers insist on. */
void xml_time_add(struct str *out, const char *name, uint64_t ns);

struct xml_attr {
	const char *name, *value;
};

enum { XML_ATTRS = 48 };	/* more are dropped */

enum xml_form { XML_OPEN, XML_CLOSE, XML_EMPTY };

struct xml_tag {
	enum xml_form form;
	const char *name;
	struct xml_attr attrs[XML_ATTRS];
	size_t count;
	const char *text;	/* of XML_OPEN up to the next tag; else "" */
};

enum xml_result {
	XML_TAG,		/* *tag is filled */
	XML_DAMAGED,		/* something was skipped; go on */
	XML_CUT,		/* the text ends within an element; the end */
	XML_END,
};

/* text is changed in place, and tags point into it. */
struct xml_scan {
	char *at, *end;
	bool in_tag;		/* the '<' at at[-1] is eaten already */
	bool whole;		/* values are not made tame */
};

void xml_scan_init(struct xml_scan *scan, char *text, size_t size);
enum xml_result xml_next(struct xml_scan *scan, struct xml_tag *tag);
/* NULL when absent. */
const char *xml_attr(const struct xml_tag *tag, const char *name);

/* The values that tags carry. All accept NULL and nonsense as 0. */
uint64_t xml_time(const char *value);
uint64_t xml_number(const char *value);	/* 12, 0x12, +0x12 */

#endif
