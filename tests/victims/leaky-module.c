/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * leaky-module: a module of redis-server whose command loses memory. `leak N`
 * takes N blocks of 120 bytes that nobody frees and N that are freed, and
 * answers how many it has lost so far. Only the words of the server's module
 * interface (version 1) that are used here stand here.
 */
#include <stdlib.h>

typedef int get_api(const char *name, void *to);
typedef int command(void *ctx, void **words, int n);

static int (*create_command)(void *ctx, const char *name, command *run,
			     const char *flags, int first, int last, int step);
static void (*set_attributes)(void *ctx, const char *name, int version, int api);
static int (*reply)(void *ctx, long long value);
static int (*number)(const void *word, long long *value);

enum { OK, ERROR, API = 1, BYTES = 120 };

static void *volatile last;
static long long lost;

static __attribute__((noinline)) void
lose_block(void)
{
	last = malloc(BYTES);
	lost += last != NULL;
}

static __attribute__((noinline)) void
use_block(void)
{
	last = malloc(BYTES);
	free(last);
}

static __attribute__((noinline)) int
leak(void *ctx, void **words, int n)
{
	long long times = 1;

	if (n > 1)
		(void)number(words[1], &times);
	for (; times > 0; times--) {
		lose_block();
		use_block();
	}
	return reply(ctx, lost);
}

__attribute__((visibility("default"))) int
RedisModule_OnLoad(void *ctx, void **words, int n)
{
	get_api *get = *(get_api **)ctx;

	(void)words;
	(void)n;
	if (get("RedisModule_CreateCommand", &create_command) != OK ||
	    get("RedisModule_SetModuleAttribs", &set_attributes) != OK ||
	    get("RedisModule_ReplyWithLongLong", &reply) != OK ||
	    get("RedisModule_StringToLongLong", &number) != OK)
		return ERROR;
	set_attributes(ctx, "leaky", 1, API);
	return create_command(ctx, "leak", leak, "fast", 0, 0, 0);
}
