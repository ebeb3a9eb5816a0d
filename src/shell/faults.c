/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a thread gets a signal: codes of signals (sigaction(2)), and the faults of
 * dbx by their names. A fault is what an instruction of the thread itself did;
 * the same signal sent by kill is none.
 */
#include "private.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#define CODE(signal, code) { #code, signal, code }
static const struct {
	const char *name;
	int signal, code;	/* signal 0: of any */
} codes[] = {
	CODE(SIGILL, ILL_ILLOPC),
	CODE(SIGILL, ILL_ILLOPN),
	CODE(SIGILL, ILL_ILLADR),
	CODE(SIGILL, ILL_ILLTRP),
	CODE(SIGILL, ILL_PRVOPC),
	CODE(SIGILL, ILL_PRVREG),
	CODE(SIGILL, ILL_COPROC),
	CODE(SIGILL, ILL_BADSTK),
	CODE(SIGFPE, FPE_INTDIV),
	CODE(SIGFPE, FPE_INTOVF),
	CODE(SIGFPE, FPE_FLTDIV),
	CODE(SIGFPE, FPE_FLTOVF),
	CODE(SIGFPE, FPE_FLTUND),
	CODE(SIGFPE, FPE_FLTRES),
	CODE(SIGFPE, FPE_FLTINV),
	CODE(SIGFPE, FPE_FLTSUB),
	CODE(SIGSEGV, SEGV_MAPERR),
	CODE(SIGSEGV, SEGV_ACCERR),
	CODE(SIGSEGV, SEGV_BNDERR),
	CODE(SIGSEGV, SEGV_PKUERR),
	CODE(SIGBUS, BUS_ADRALN),
	CODE(SIGBUS, BUS_ADRERR),
	CODE(SIGBUS, BUS_OBJERR),
	CODE(SIGBUS, BUS_MCEERR_AR),
	CODE(SIGBUS, BUS_MCEERR_AO),
	CODE(SIGTRAP, TRAP_BRKPT),
	CODE(SIGTRAP, TRAP_TRACE),
	CODE(SIGCHLD, CLD_EXITED),
	CODE(SIGCHLD, CLD_KILLED),
	CODE(SIGCHLD, CLD_DUMPED),
	CODE(SIGCHLD, CLD_TRAPPED),
	CODE(SIGCHLD, CLD_STOPPED),
	CODE(SIGCHLD, CLD_CONTINUED),
	CODE(SIGPOLL, POLL_IN),
	CODE(SIGPOLL, POLL_OUT),
	CODE(SIGPOLL, POLL_MSG),
	CODE(SIGPOLL, POLL_ERR),
	CODE(SIGPOLL, POLL_PRI),
	CODE(SIGPOLL, POLL_HUP),
	CODE(0, SI_USER),
	CODE(0, SI_KERNEL),
	CODE(0, SI_QUEUE),
	CODE(0, SI_TIMER),
	CODE(0, SI_MESGQ),
	CODE(0, SI_ASYNCIO),
	CODE(0, SI_SIGIO),
	CODE(0, SI_TKILL),
};
#undef CODE

enum { ANY_CODE = 0 };		/* SI_USER: no fault has it */

static const struct fault {
	const char *name;
	int signal, code;	/* of one row of several with that name */
} faults[] = {
	{ "FLTILL", SIGILL, ANY_CODE },
	{ "FLTPRIV", SIGILL, ILL_PRVOPC }, { "FLTPRIV", SIGILL, ILL_PRVREG },
	{ "FLTPRIV", SIGSEGV, SI_KERNEL },
	{ "FLTBPT", SIGTRAP, TRAP_BRKPT }, { "FLTBPT", SIGTRAP, SI_KERNEL },
	{ "FLTTRACE", SIGTRAP, TRAP_TRACE },
	{ "FLTACCESS", SIGSEGV, SEGV_ACCERR }, { "FLTACCESS", SIGBUS, ANY_CODE },
	{ "FLTBOUNDS", SIGSEGV, SEGV_MAPERR },
	{ "FLTIOVF", SIGFPE, FPE_INTOVF }, { "FLTIZDIV", SIGFPE, FPE_INTDIV },
	{ "FLTFPE", SIGFPE, FPE_FLTDIV }, { "FLTFPE", SIGFPE, FPE_FLTOVF },
	{ "FLTFPE", SIGFPE, FPE_FLTUND }, { "FLTFPE", SIGFPE, FPE_FLTRES },
	{ "FLTFPE", SIGFPE, FPE_FLTINV }, { "FLTFPE", SIGFPE, FPE_FLTSUB },
	{ "SEGV", SIGSEGV, ANY_CODE }, { "BUS", SIGBUS, ANY_CODE },
	{ "FPE", SIGFPE, ANY_CODE }, { "ILL", SIGILL, ANY_CODE },
	{ "TRAP", SIGTRAP, ANY_CODE },
};

static bool
is_named(const struct fault *f, const char *name)
{
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	return strcasecmp(f->name, name) == 0;
}

void
faults_each(offer_fn *offer, const char *typed)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (!i || strcmp(faults[i].name, faults[i - 1].name) != 0)
			offer(faults[i].name, typed);
}

uint64_t
fault_signals(const char *name)
{
	uint64_t set = 0;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (is_named(&faults[i], name))
			set |= UINT64_C(1) << (faults[i].signal - 1);
	return set;
}

bool
fault_is(const char *name, int signal, int code)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		const struct fault *f = &faults[i];

		if (is_named(f, name) && f->signal == signal && code > 0 &&
		    (f->code == ANY_CODE || f->code == code))
			return true;
	}
	return false;
}

int
fault_check(const char *command, const char *name)
{
	if (fault_signals(name))
		return 0;
	if (strcasecmp(name, "FLTWATCH") == 0 ||
	    strcasecmp(name, "FLTPAGE") == 0 ||
	    strcasecmp(name, "FLTSTACK") == 0 ||
	    strcasecmp(name, "FLTCPCOVF") == 0) {
		fail(FAIL_USAGE, "%s fault %s: Linux tells nobody of that",
		     command, name);
		return fail_remedy("stop change EXPR watches data; fault SEGV "
				   "is a stack that is too deep, too");
	}
	fail(FAIL_USAGE, "%s fault: '%s' is no fault", command, name);
	return fail_remedy("SEGV BUS FPE ILL TRAP, or FLTILL FLTPRIV FLTBPT "
			   "FLTTRACE FLTACCESS FLTBOUNDS FLTIOVF FLTIZDIV "
			   "FLTFPE");
}

bool
signal_code(const char *word, int signal, int *code)
{
	long long number;

	if (str_number(word, -64, 1 << 20, &number)) {
		*code = (int)number;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (strcasecmp(codes[i].name, word) != 0 ||
		    (codes[i].signal && codes[i].signal != signal))
			continue;
		*code = codes[i].code;
		return true;
	}
	return false;
}

int
signal_code_check(const char *command, const char *signal, const char *word)
{
	int code;

	if (signal_code(word, signal_number(signal), &code))
		return 0;
	fail(FAIL_USAGE, "%s sig %s: '%s' is no code of that signal", command,
	     signal, word);
	return fail_remedy("SEGV_MAPERR, FPE_INTDIV, SI_USER ... (man 2 "
			   "sigaction), or a number");
}
