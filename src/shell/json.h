/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json: one value written as it comes, no tree in memory. Elements of the
 * outer arrays stand on lines of their own, so that people can read it too.
 */
#ifndef SONDE_SHELL_JSON_H
#define SONDE_SHELL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	int depth;
	bool more;		/* something stands before, at this depth */
};

void json_begin(struct json *j, const char *key, char bracket);
void json_end(struct json *j, char bracket);
/* key NULL: an element of an array; text NULL: null. */
void json_text(struct json *j, const char *key, const char *text);
void json_number(struct json *j, const char *key, int64_t number);
void json_unsigned(struct json *j, const char *key, uint64_t number);
/* "0x7f00": numbers of JSON lose the last bits of an address. */
void json_address(struct json *j, const char *key, uint64_t address);
void json_bool(struct json *j, const char *key, bool value);

#endif
