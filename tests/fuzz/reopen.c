/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment whose writer was killed, when a later visit goes on with it:
 * one of its files is the fuzzer's, by the first byte. What was appended to
 * can be read.
 */
#include "fuzz-experiment.h"

#define LEFT "left.er"
#define TOKEN 0x123456789abcdefull

static const char *const files[] = {
	"log.xml", "map.xml", "data.frameinfo", "profile", "overview",
};
static struct {
	char *data;
	size_t size;
} sound[ARRAY_LEN(files)];
static char where[4096];
static struct experiment_left left = {
	.pid = 42, .token = TOKEN, .kept = 3 * 40,
};

static void
note(struct experiment *exp, unsigned n)
{
	uint64_t pcs[3] = { 0x400000 + n, 0x400100, 0x400200 };
	const uint64_t t = FUZZ_START + n * 10007000ull;

	experiment_clock(exp, t, 42, 0, MSTATE_USER, 10007000,
			 experiment_stack(exp, pcs, 3, STACK_COMPLETE));
}

static void
make_left(void)
{
	const struct experiment_info info = {
		.path = LEFT, .pid = 42, .cwd = "/", .command = "./prog",
		.interval_ns = 10007000, .engine = "inject",
		.engine_why = "why", .start_ns = FUZZ_START,
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
	const char *const token[] = { "token", "0123456789abcdef", NULL };
	const struct experiment_usage use = { .user_ns = 5 };
	struct experiment *exp = experiment_create(&info);
	char path[64];
	unsigned i;

	if (!exp || experiment_where(exp, where, sizeof where, &left) < 0)
		fuzz_broken(fail_last()->reason);
	experiment_event(exp, FUZZ_START, "sonde_records", token);
	experiment_map(exp, FUZZ_START, 0x400000, 4096, 0, 5, "/prog", "ab");
	experiment_loss(exp, FUZZ_START, "ring", "", 3, 30);
	experiment_sample(exp, FUZZ_START, "one", &use);
	for (i = 0; i < 8; i++)
		note(exp, i);
	if (experiment_leave(exp) < 0)
		fuzz_broken(LEFT);
	for (i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, LEFT "/%s", files[i]);
		sound[i].data = file_read_at(AT_FDCWD, path, &sound[i].size);
		if (!sound[i].data)
			fuzz_broken(path);
	}
}

static void
put_files(size_t which, const uint8_t *data, size_t size)
{
	char path[64];
	size_t i;

	for (i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, LEFT "/%s", files[i]);
		if (i == which)
			fuzz_file(path, data, size);
		else
			fuzz_file(path, sound[i].data, sound[i].size);
	}
}

static void
go_on(struct experiment *exp)
{
	unsigned i;

	for (i = 8; i < 12; i++)
		if (!experiment_has_again(exp, 42))
			note(exp, i);
	experiment_loss_more(exp, FUZZ_START + 1, "ring", 1, 10);
	fuzz_used += experiment_profile_bytes(exp);
	(void)experiment_leave(exp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct experiment_reader *rd;
	struct experiment *exp;

	if (fuzz_enter())
		make_left();
	if (size)
		put_files(*data % ARRAY_LEN(files), data + 1, size - 1);
	exp = experiment_reopen(&left);
	if (exp)
		go_on(exp);
	rd = experiment_open(LEFT);
	if (rd)
		fuzz_read(rd);
	experiment_reader_free(rd);
	fail_clear();
	return 0;
}
