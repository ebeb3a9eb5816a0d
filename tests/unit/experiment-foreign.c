/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E8
 * Experiments of others: what gprofng's collector records here and now, with
 * gprofng itself as the judge, and hand-made files with everything that the
 * format allows and we do not write: blocks and fillers, holes, links of all
 * kinds, other layouts, 32-bit stacks, heap, synchronisation and I/O packets.
 */
#include <sys/wait.h>

#include "experiment-help.h"

/* ---- by hand --------------------------------------------------------- */

static struct str file;		/* being made up */

static void
put16(unsigned n)
{
	const uint16_t v = (uint16_t)n;

	str_addn(&file, (const char *)&v, sizeof v);
}

static void
put32(uint32_t v)
{
	str_addn(&file, (const char *)&v, sizeof v);
}

static void
put64(uint64_t v)
{
	str_addn(&file, (const char *)&v, sizeof v);
}

static void
pad_to(size_t size)
{
	while (file.len < size)
		str_addn(&file, "", 1);
}

static void
save(const char *path)
{
	spill(path, file.data ? file.data : "", file.len);
	str_fini(&file);
}

/* The packed layout of the real collector: 28 bytes, then unaligned. */
static void
put_clock(uint64_t time_ns, uint64_t frinfo, int state, int ticks)
{
	put16(52);
	put16(8);
	put32(0);
	put64(100);		/* LWPID */
	put64(200);		/* THRID */
	put32(3);		/* CPUID */
	put64(time_ns);
	put64(frinfo);
	put32((uint32_t)state);
	put32((uint32_t)ticks);
}

static void
put_filler(unsigned size, unsigned kind)
{
	const size_t end = file.len + size;

	put16(size);
	put16(kind);
	while (file.len < end)
		str_addn(&file, "\xa5", 1);
}

enum { CLOSED = 65535, LINKED_BIT = 1u << 31 };

/* One info of a frame packet; words count the link. */
static void
put_info(uint32_t kind, uint64_t uid, const uint64_t *words, size_t n)
{
	put32((uint32_t)(16 + n * 8));
	put32(kind);
	put64(uid);
	for (size_t i = 0; i < n; i++)
		put64(words[i]);
}

static void
put_frame(uint64_t frinfo, uint32_t flags, uint64_t uid,
	  const uint64_t *words, size_t n)
{
	put16((unsigned)(16 + 16 + n * 8));
	put16(11);
	put32(16);
	put64(frinfo);
	put_info(1 | flags, uid, words, n);
}

static void
put_piece(uint32_t flags, uint64_t uid, const uint64_t *words, size_t n)
{
	put16((unsigned)(16 + n * 8));
	put16(17);
	put32(flags);
	put64(uid);
	for (size_t i = 0; i < n; i++)
		put64(words[i]);
}

static const char log_head[] =
	"<?xml version=\"1.0\"?>\n<!-- other -->\n"
	"<experiment version=\"12.4\">\n<collector>2.40.00</collector>\n"
	"</experiment>\n"
	"<system hostname=\"h\" arch=\"x86_64\" os=\"Linux 1\" pagesz=\"4096\""
	" npages=\"9\">\n  <cpu id=\"0\" clk=\"1\"/>\n</system>\n"
	"<process wsize=\"%s\"></process>\n<process>./spin 1</process>\n"
	"<unknown stuff = \"x\" />\n"
	"<event kind=\"run\" tstamp=\"1000.000000000\" time=\"77\""
	" tm_zone=\"0\"/>\n"
	"<profile name=\"profile\" ptimer=\"10000\" numstates=\"1\">\n"
	"  <profdata fname=\"profile\"/>\n"
	"  <profpckt kind=\"8\" uname=\"Clock\">\n"
	"    <field name=\"LWPID\" offset=\"8\" type=\"INT64\"/>\n"
	"    <field name=\"THRID\" offset=\"16\" type=\"INT64\"/>\n"
	"    <field name=\"CPUID\" offset=\"24\" type=\"INT32\"/>\n"
	"    <field name=\"TSTAMP\" offset=\"28\" type=\"INT64\"/>\n"
	"    <field name=\"FRINFO\" offset=\"36\" type=\"INT64\"/>\n"
	"    <field name=\"MSTATE\" offset=\"44\" type=\"INT32\"/>\n"
	"    <field name=\"NTICK\" offset=\"48\" type=\"INT32\"/>\n"
	"  </profpckt>\n</profile>\n";
static const char log_more[] =
	"<profile name=\"heaptrace\">\n<profdata fname=\"heaptrace\"/>\n"
	"<profpckt kind=\"5\">\n"
	"<field name=\"TSTAMP\" offset=\"8\" type=\"INT64\"/>\n"
	"<field name=\"FRINFO\" offset=\"16\" type=\"INT64\"/>\n"
	"<field name=\"HTYPE\" offset=\"24\" type=\"INT32\"/>\n"
	"<field name=\"HSIZE\" offset=\"32\" type=\"UINT64\"/>\n"
	"<field name=\"HVADDR\" offset=\"40\" type=\"UINT64\"/>\n"
	"<field name=\"HOVADDR\" offset=\"48\" type=\"UINT64\"/>\n"
	"</profpckt>\n</profile>\n"
	"<profile name=\"iotrace\">\n<profdata fname=\"iotrace\"/>\n"
	"<profpckt kind=\"19\">\n"
	"<field name=\"TSTAMP\" offset=\"8\" type=\"INT64\"/>\n"
	"<field name=\"IOTYPE\" offset=\"16\" type=\"INT32\"/>\n"
	"<field name=\"IOFD\" offset=\"20\" type=\"INT32\"/>\n"
	"<field name=\"IORQST\" offset=\"24\" type=\"INT64\"/>\n"
	"<field name=\"IOFNAME\" offset=\"32\" type=\"STRING\"/>\n"
	"</profpckt>\n</profile>\n"
	"<profile name=\"evil\">\n<profdata fname=\"../../etc/passwd\"/>\n"
	"<profpckt kind=\"5\">\n"
	"<field name=\"TSTAMP\" offset=\"8\" type=\"INT64\"/>\n"
	"</profpckt>\n</profile>\n"
	"<event kind=\"comment\" id=\"0\" text=\"note %41%&lt;\"/>\n"
	"<event kind=\"exit\" tstamp=\"2.000000005\"/>\n";

static void
make_experiment(const char *path, const char *wsize)
{
	char *name = xasprintf("%s/log.xml", path);

	if (mkdir(path, 0777) < 0)
		exit(99);
	str_addf(&file, log_head, wsize);
	str_add(&file, log_more);
	pad_to(65536);
	save(name);
	free(name);
}

#define AT(ms) (UINT64_C(1000000000000) + (ms) * UINT64_C(1000000))

static struct experiment_packet packets[64];
static char texts[64][32];
static size_t packet_count;

static bool
remember(void *arg, const struct experiment_packet *p)
{
	(void)arg;
	if (packet_count < ARRAY_LEN(packets)) {
		packets[packet_count] = *p;
		snprintf(texts[packet_count], sizeof texts[0], "%s",
			 p->text ? p->text : "(none)");
		packet_count++;
	}
	return true;
}

/* Blocks of 64 KiB, a hole, and one packet alone behind it. */
static void
make_profile(void)
{
	put_clock(AT(10), 1, 10, 1);
	put_clock(AT(20), 2, 10, 3);
	put_filler((unsigned)(65536 - file.len - 4), 0);
	put_filler(4, CLOSED);
	put_clock(AT(5), 3, 10, 1);	/* another thread's block */
	put16(0);
	pad_to(65536 + 32768);		/* untouched pages */
	put_clock(AT(30), 4, 10, 1);
	put_clock(AT(40), 4, 99, 1);	/* no such state */
	put_clock(AT(50), 4, 10, -1);	/* no such weight */
	put_filler(100, 0);
	save("hand.er/profile");
}

static void
make_traces(void)
{
	put16(56), put16(5), put32(0), put64(AT(60)), put64(1);
	put32(2), put32(0), put64(300), put64(0x3000), put64(0x2000);
	save("hand.er/heaptrace");
	put16(48), put16(19), put32(0), put64(AT(70));
	put32(2), put32((uint32_t)-1), put64(AT(69));
	str_addn(&file, "/tmp/x.dat\0\0\0\0\0\0", 16);
	/* a name that does not end within its packet */
	put16(40), put16(19), put32(0), put64(AT(71));
	put32(1), put32(5), put64(0);
	str_addn(&file, "12345678", 8);
	save("hand.er/iotrace");
}

static void
check_packet(size_t i, int kind, uint64_t ms, uint64_t weight_ms)
{
	const struct experiment_packet *p = &packets[i];

	check(p->kind == kind, "packet %zu is of kind %d", i, p->kind);
	check_number("time", p->time_ns, ms * 1000000);
	check_number("weight", p->weight_ns, weight_ms * 1000000);
}

static void
test_packets(const struct experiment_reader *rd)
{
	packet_count = 0;
	experiment_packets(rd, remember, NULL);
	if (!check_number("packets", packet_count, 8))
		return;
	check_packet(0, 8, 10, 10);
	check_packet(1, 8, 20, 30);
	check_packet(2, 8, 5, 10);
	check_packet(3, 8, 30, 10);
	check_packet(4, 8, 50, 0);
	check_number("lwp", packets[0].lwp, 100);
	check_number("thread", packets[0].thread, 200);
	check(packets[0].cpu == 3, "cpu");
	check_number("state", (uint64_t)packets[0].mstate, MSTATE_LINUX_CPU);
	/* whatever the order of the log */
	check_packet(5, 19, 70, 0);
	check_number("IOFD", packets[5].value[1], UINT64_MAX);
	check_number("IORQST", packets[5].value[3], 69000000);
	check_text("IOFNAME", texts[5], "/tmp/x.dat");
	check_packet(6, 19, 71, 0);
	check_text("IOFNAME", texts[6], "(none)");
	check_number("IORQST", packets[6].value[3], 0);
	check_packet(7, 5, 60, 0);
	check_number("HTYPE", packets[7].value[0], 2);
	check_number("HSIZE", packets[7].value[1], 300);
	check_number("HVADDR", packets[7].value[2], 0x3000);
	check_number("HOVADDR", packets[7].value[3], 0x2000);
}

#define TRUNCATED (UINT64_MAX - 1)
#define FAILED (UINT64_MAX - 2)

static void
make_frames(void)
{
	put_frame(1, 0, 11, (uint64_t[]){ 1, 2, 3 }, 3);
	put_frame(2, LINKED_BIT, 12, (uint64_t[]){ 4, 11 }, 2);	/* back */
	put_frame(3, LINKED_BIT, 13, (uint64_t[]){ 5, 14 }, 2);	/* forth */
	put_frame(4, LINKED_BIT, 14, (uint64_t[]){ 6, 12 }, 2);	/* a chain */
	put_frame(5, LINKED_BIT, 15, (uint64_t[]){ 7, 15 }, 2);	/* itself */
	put_frame(6, LINKED_BIT, 16, (uint64_t[]){ 8, 17 }, 2);
	put_frame(7, LINKED_BIT, 17, (uint64_t[]){ 9, 16 }, 2);	/* a circle */
	put_frame(8, LINKED_BIT, 18, (uint64_t[]){ 10, 999 }, 2); /* nowhere */
	put_frame(9, 0, 11, NULL, 0);			/* names another's */
	put_frame(10, 0, 0, (uint64_t[]){ 1 }, 1);	/* no stack */
	put_frame(11, LINKED_BIT, 19, (uint64_t[]){ 11, 20 }, 2);
	put_piece(LINKED_BIT, 20, (uint64_t[]){ 12, 21 }, 2);
	put_piece(0, 21, (uint64_t[]){ 13, TRUNCATED }, 2);
	put_frame(12, 0, 22, (uint64_t[]){ 14, FAILED }, 2);
	put_frame(1, 0, 23, (uint64_t[]){ 99 }, 1);	/* the first wins */
	put_filler(64, CLOSED);
	/* a Java stack, one of no known kind, and then the native one */
	put16(16 + 24 + 24 + 24);
	put16(11);
	put32(16);
	put64(13);
	put_info(2, 30, (uint64_t[]){ 77 }, 1);
	put_info(9, 31, (uint64_t[]){ 78 }, 1);
	put_info(1, 32, (uint64_t[]){ 15 }, 1);
	/* infos that do not fit their packet */
	put16(48), put16(11), put32(16), put64(14);
	put32(1000), put32(1), put64(33), put64(1), put64(2);
	save("hand.er/data.frameinfo");
}

static void
check_stack(const struct experiment_reader *rd, uint64_t frinfo,
	    const char *want, enum stack_end want_end)
{
	uint64_t *pcs = NULL;
	size_t cap = 0;
	enum stack_end end;
	const ssize_t n = experiment_stack_of(rd, frinfo, &pcs, &cap, &end);
	struct str is = { 0 };

	for (ssize_t i = 0; i < n; i++)
		str_addf(&is, "%s%llu", i ? " " : "",
			 (unsigned long long)pcs[i]);
	if (n < 0)
		str_add(&is, "none");
	check(strcmp(str_text(&is), want) == 0,
	      "stack %llu is \"%s\", not \"%s\"", (unsigned long long)frinfo,
	      str_text(&is), want);
	check(end == want_end, "stack %llu ends as %d",
	      (unsigned long long)frinfo, end);
	str_fini(&is);
	free(pcs);
}

static void
test_links(const struct experiment_reader *rd)
{
	check_stack(rd, 1, "1 2 3", STACK_COMPLETE);
	check_stack(rd, 2, "4 1 2 3", STACK_COMPLETE);
	check_stack(rd, 3, "5 6 4 1 2 3", STACK_COMPLETE);
	check_stack(rd, 4, "6 4 1 2 3", STACK_COMPLETE);
	check_stack(rd, 5, "7", STACK_TRUNCATED);
	check_stack(rd, 6, "8 9", STACK_TRUNCATED);
	check_stack(rd, 7, "9", STACK_TRUNCATED);
	check_stack(rd, 8, "10", STACK_TRUNCATED);
	check_stack(rd, 9, "1 2 3", STACK_COMPLETE);
	check_stack(rd, 10, "", STACK_COMPLETE);
	check_stack(rd, 11, "11 12 13", STACK_TRUNCATED);
	check_stack(rd, 12, "14", STACK_FAILED);
	check_stack(rd, 13, "15", STACK_COMPLETE);
	check_stack(rd, 99, "none", STACK_COMPLETE);
}

static void
make_maps(const char *path)
{
	str_add(&file,
		"<event kind=\"map\" object=\"segment\" tstamp=\"0.5\""
		" vaddr=\"0x1000\" size=\"4096\" pagesz=\"4096\""
		" foffset=\"+0x00002000\" modes=\"0x005\""
		" chksum=\"0xFFFFFFFF\" name=\"/bin/%25%61\"/>\n"
		"<event kind=\"map\" object=\"dynfunc\" name=\"[vdso]\""
		" vaddr=\"0x5010\" size=\"16\" funcname=\"inner\" />\n"
		"<event kind=\"map\" object=\"function\" tstamp=\"0\""
		" vaddr=\"0x5000\" size=\"64\" name=\"[vdso]\" />\n"
		"<event kind=\"map\" object=\"segment\" vaddr=\"0x9000\""
		" size=\"4096\" modes=\"0x003\"/>\n");
	pad_to(65536);
	save(path);
}

static void
test_maps(const struct experiment_reader *rd)
{
	struct str is = { 0 };

	for (size_t i = 0; i < experiment_map_count(rd); i++) {
		const struct experiment_map_record *r =
			experiment_map_at(rd, i);

		str_addf(&is, "%llx+%llu@%llx %u %s\n",
			 (unsigned long long)r->start,
			 (unsigned long long)r->size,
			 (unsigned long long)r->offset, r->prot, r->name);
	}
	check_text("mappings", str_text(&is),
		   "1000+4096@2000 5 /bin/%61\n"
		   "5020+32@20 0 [vdso]\n"
		   "5000+16@0 0 [vdso]\n"
		   "5010+16@0 0 inner\n");
	str_fini(&is);
}

static bool
has_warning(const struct experiment_reader *rd, const char *words)
{
	for (size_t i = 0; i < experiment_warning_count(rd); i++)
		if (strstr(experiment_warning(rd, i), words))
			return true;
	return false;
}

static void
test_by_hand(void)
{
	make_experiment("hand.er", "64");
	make_profile();
	make_traces();
	make_frames();
	make_maps("hand.er/map.xml");

	struct experiment_reader *rd = test_open("hand.er");

	test_packets(rd);
	test_links(rd);
	test_maps(rd);
	check_text("command", experiment_property(rd, "command"), "./spin 1");
	check_text("interval", experiment_property(rd, "interval_us"),
		   "10000");
	check_number("duration", experiment_duration_ns(rd), 2000000005);
	check(experiment_wall_start(rd) == 77, "wall-clock start");
	check_text("comment", experiment_log_at(rd, 1)->text, "note A<");
	check(has_warning(rd, "passwd"), "a path of another is read");
	check(has_warning(rd, "1 damaged stacks"), "no word of the damage");
	check(has_warning(rd, "without a name"), "no word of the mapping");
	check(has_warning(rd, "lead to nothing: 1;"), "no word of that link");
	check(has_warning(rd, "lead back to themselves: "),
	      "no word of circles");
	check_number("warnings", experiment_warning_count(rd), 5);
	experiment_reader_free(rd);
}

static void
test_32_bit(void)
{
	make_experiment("narrow.er", "32");
	/* links are of 8 bytes here too */
	put16(16 + 16 + 8), put16(11), put32(16), put64(1);
	put32(24), put32(1), put64(11);
	put32(0xf7000001), put32(UINT32_MAX - 1);
	put16(16 + 16 + 12), put16(11), put32(16), put64(2);
	put32(28), put32(1 | LINKED_BIT), put64(12), put32(5), put64(11);
	save("narrow.er/data.frameinfo");

	struct experiment_reader *rd = test_open("narrow.er");

	check_stack(rd, 1, "4143972353", STACK_TRUNCATED);
	check_stack(rd, 2, "5 4143972353", STACK_TRUNCATED);
	experiment_reader_free(rd);
}

static void
test_old(void)
{
	if (mkdir("old.er", 0777) < 0)
		exit(99);
	str_add(&file, "<experiment version=\"9.2\">\n</experiment>\n");
	save("old.er/log.xml");
	check(!experiment_open("old.er") &&
	      fail_last()->kind == FAIL_UNSUITABLE, "format 9 is read");
}

/* ---- recorded by gprofng --------------------------------------------- */

/* Seconds of <Total>, as gprofng shows them. */
static double
shown_total(const char *exp)
{
	char *command = xasprintf("gprofng display text -metrics "
				  "e.totalcpu:name -functions %s >out.txt "
				  "2>&1", exp);
	double total = -1;

	if (system(command) != 0)
		exit(99);
	free(command);

	char *text = slurp("out.txt", NULL), *at = strstr(text, "<Total>");

	while (at && at > text && at[-1] != '\n')
		at--;
	if (at)
		total = strtod(at, NULL);
	free(text);
	return total;
}

static void
test_recorded(void)
{
	static const char busy[] = "/bin/sh -c 'i=0; while [ $i -lt 600000 ]; "
		"do i=$((i+1)); done'";
	char *command = xasprintf("gprofng collect app -p on -a off -o "
				  "theirs.er %s >collect.txt 2>&1", busy);

	if (system("gprofng --version >/dev/null 2>&1") != 0 ||
	    system(command) != 0) {
		puts("gprofng does not collect here: only files made by hand");
		free(command);
		return;
	}
	free(command);

	const double total = shown_total("theirs.er");
	struct experiment_reader *rd = test_open("theirs.er");
	const struct test_sums sums = test_sum(rd);
	const double ours = (double)sums.weight_ns / 1e9;

	check(sums.packets > 0, "no packets");
	check(ours - total < 0.0006 && total - ours < 0.0006,
	      "gprofng shows %.3f s, we read %.6f", total, ours);
	check_number("unnamed", sums.unnamed, 0);
	check_number("warnings", experiment_warning_count(rd), 0);
	check(experiment_finished(rd), "not finished");
	check(experiment_sample_count(rd) >= 2, "no sample points");
	check_text("interval", experiment_property(rd, "interval_us"),
		   "10007");
	check(str_starts(experiment_property(rd, "command"), "/bin/sh"),
	      "command: %s", experiment_property(rd, "command"));
	experiment_reader_free(rd);
}

/* ---- of another version ------------------------------------------------ */

/* Packets of ours, behind a declaration of others, would mean anything. */
static void
test_other_layout(void)
{
	const struct experiment_info info = test_info("left.er");
	struct experiment *exp = test_create(&info);
	struct experiment_left left = { .pid = info.pid, .token = 1 };
	static char where[4096];

	check(experiment_where(exp, where, sizeof where, &left) == 0, "%s",
	      fail_last()->reason);
	experiment_event(exp, TEST_START, "sonde_records",
			 (const char *const[]){ "token", "0000000000000001",
						NULL });
	check(experiment_leave(exp) == 0, "leave: %s", fail_last()->reason);
	exp = experiment_reopen(&left);
	if (check(exp, "reopen: %s", fail_last()->reason))
		(void)experiment_leave(exp);
	check(system("sed -i '/NTICK/s/offset=\"[0-9]*\"/offset=\"52\"/' "
		     "left.er/log.xml") == 0, "sed");
	check(!experiment_reopen(&left), "it goes on with other packets");
}

int
main(void)
{
	char *dir = scratch_enter();

	test_by_hand();
	test_32_bit();
	test_old();
	test_recorded();
	test_other_layout();
	scratch_leave(dir);
	return failures > 0;
}
