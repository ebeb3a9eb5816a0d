# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# look: a dump that stops nobody who sleeps, for each thread; and whether any
# thread noticed.

LOOK_THREADS=(128 1000)
LOOK_DEPTH=50

measure_look()
{
	rounds look_round
}

look_round()
{
	local threads

	for threads in "${LOOK_THREADS[@]}"; do
		visit "look $threads" sonde look_run "$threads"
	done
}

look_run()
{
	local case="look $1" result=0 turns

	start_victim blocked "$1" "$LOOK_DEPTH"
	turns=$(look_turns)
	look_visit "$case" "$1" || result=1
	put "$case" sonde turns $(($(look_turns) - turns))
	kill_victim
	return "$result"
}

look_visit()
{
	"$PROGRAMS/look" "$VPID" >"$TMP/look.out" 2>"$TMP/tool.err" || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	put "$1" sonde look "$(said ns "$TMP/look.out")"
	put "$1" sonde kernel "$(said kernel "$TMP/look.out")"
	put "$1" sonde whole "$(said whole "$TMP/look.out")"
	put "$1" sonde swept "$(said swept "$TMP/look.out")"
	put "$1" sonde sweep "$(said sweep "$TMP/look.out")"
	put "$1" sonde first "$(said first "$TMP/look.out")"
	"$PROGRAMS/timed" "$TMP/timed" "$SONDE" dump -p "$VPID" \
		>"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	put "$1" sonde dump "$(calc "$(said wall "$TMP/timed") / ($2 + 1)")"
}

# How often any thread was given a CPU: a stop of one that sleeps would be one
look_turns()
{
	cat "/proc/$VPID/task/"*/schedstat | awk '{ n += $3 } END { print n }'
}

write_look()
{
	local threads case

	echo "## A dump of threads that sleep"
	echo
	echo "\`bench/run --only look\`. Threads of \`bench/blocked.c\` sleep" \
		"$LOOK_DEPTH calls deep. A look is what \`sonde dump\` does to" \
		"each: its stack copied and unwound, by \`bench/look.c\`, the" \
		"best of five. From 128 threads on, as root, it is by the" \
		"kernel's task iterator, for all of them in one reading; the" \
		"first one also sets that up. One by one it is by /proc:" \
		"three files opened and read, the stack copied, one file read" \
		"again; the kernel alone is these calls, and nothing done with" \
		"what they give. The whole command has start, names, waits and" \
		"output in it. A stop would give a thread a turn on a CPU." \
		"Aim: 7 us a thread, no turn."
	table threads "a look, all in one reading, us a thread" \
		"the first such reading, ms" "a look, one by one" \
		"of that the kernel alone" "complete stacks: in one reading" \
		"complete stacks: one by one" "\`sonde dump -p PID\`, us a thread" \
		"turns that threads had"
	for threads in "${LOOK_THREADS[@]}"; do
		case="look $threads"
		row "$((threads + 1))" "$(spread "$case" sonde sweep 1e3 %.1f)" \
			"$(spread "$case" sonde first 1e6 %.1f)" \
			"$(spread "$case" sonde look 1e3 %.1f)" \
			"$(spread "$case" sonde kernel 1e3 %.1f)" \
			"$(spread "$case" sonde swept 1 %.0f)" \
			"$(spread "$case" sonde whole 1 %.0f)" \
			"$(spread "$case" sonde dump 1e3 %.1f)" \
			"$(spread "$case" sonde turns 1 %.0f)"
	done
}
