# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# stacks: what a frame costs to unwind, and what all stacks of a process cost
# to print.

STACK_THREADS=16
STACK_DEPTH=35
STACK_VARIANTS=(sonde gdb eu-stack eu-lines)

measure_stacks()
{
	rounds stacks_round
}

stacks_round()
{
	local variant

	visit frames unwind frames_run
	visit handler frames handler_run
	for variant in "${STACK_VARIANTS[@]}"; do
		visit dump "$variant" dump_run "$variant"
	done
}

# "20 frames of 532 bytes: table 260 ns, 13.0 ns a frame; second engine 824.3 ns
# a frame; with the copy 60.1 ns a frame; the copy alone 50.2 ns a frame"
frames_run()
{
	local depth bytes table second copied alone

	"$PROGRAMS/unwind-frame" >"$TMP/frames" || return 1
	while read -r depth bytes table second copied alone; do
		put "frames $depth" table bytes "$bytes"
		put "frames $depth" table frame "$table"
		put "frames $depth" second frame "$second"
		put "frames $depth" copied frame "$copied"
		put "frames $depth" alone frame "$alone"
	done < <(sed -nE "s/^([0-9]+) frames of ([0-9]+) bytes: .*, ([0-9.]+) ns a frame; \
second engine ([0-9.]+) ns .*the copy ([0-9.]+) ns .*alone ([0-9.]+) ns.*/\
\1 \2 \3 \4 \5 \6/p" "$TMP/frames")
}

# "ours 57 341.0" below "calls 50"
handler_run()
{
	local calls='' name frames ns

	"$PROGRAMS/handler-frame" >"$TMP/frames" || return 1
	while read -r name frames ns; do
		case $name in
		calls) calls=$frames ;;
		*) put "handler $calls" "$name" stack "$(calc "$ns / $frames")" ;;
		esac
	done <"$TMP/frames"
}

# dump_run TOOL
dump_run()
{
	local result=0

	start_victim blocked "$STACK_THREADS" "$STACK_DEPTH"
	dump_by "$1" || result=1
	kill_victim
	[ "$result" -eq 0 ] || return 1
	put dump "$1" wall "$(said wall "$TMP/timed")"
	put dump "$1" cpu "$(said cpu "$TMP/timed")"
	put dump "$1" frames "$(grep -c descend "$TMP/tool.out")"
}

dump_by()
{
	local words

	case $1 in
	sonde) words=("$SONDE" dump -p "$VPID") ;;
	gdb) words=("${GDB[@]}" -p "$VPID" -ex 'thread apply all bt') ;;
	eu-stack) words=(eu-stack -p "$VPID") ;;
	eu-lines) words=(eu-stack -i -s -p "$VPID") ;;
	esac
	have "${words[0]}" || return 1
	"$PROGRAMS/timed" "$TMP/timed" "${words[@]}" >"$TMP/tool.out" \
		2>"$TMP/tool.err" </dev/null && return
	WHY=$(tail -n 1 "$TMP/tool.err")
	return 1
}

write_stacks()
{
	local variant depth

	echo "## Stacks"
	echo
	echo "\`bench/run --only stacks\`. Unwinding by our tables, of a" \
		"copied stack, beside the second engine (libunwind over the" \
		"same copy), by \`bench/unwind-frame.c\`; each number of a" \
		"round is the best of five."
	echo
	echo "With the copy: the stack is first read from another process," \
		"by a call for this one thread, which is the kernel's time." \
		"Frames are as large as those of python3, 390 bytes on" \
		"average; the first has the environment with it, some KB." \
		"Aim: 100 ns a frame with it."
	table "frames" "bytes a frame" "tables, ns a frame" "with the copy" \
		"the copy alone" "second engine, ns a frame" "ratio"
	awk -F '|' '$1 ~ /^frames / { print substr($1, 8) }' "$DATA" |
		sort -nu | while read -r depth; do
		row "$depth" \
			"$(spread "frames $depth" table bytes 1 %.0f)" \
			"$(spread "frames $depth" table frame 1 %.1f)" \
			"$(spread "frames $depth" copied frame 1 %.1f)" \
			"$(spread "frames $depth" alone frame 1 %.1f)" \
			"$(spread "frames $depth" second frame 1 %.1f)" \
			"$(ratio "frames $depth" second frame table %.1f)"
	done
	handler_table
	echo
	echo "Printing every stack of a process: $STACK_THREADS threads" \
		"blocked $STACK_DEPTH calls deep (\`bench/blocked.c\`), the" \
		"whole command, symbols included. Frames found are those of" \
		"the recursion; there are $((STACK_THREADS * \
		(STACK_DEPTH + 1)))."
	table "" "what was run" "wall ms" "CPU ms" "wall ratio" "frames found"
	for variant in "${STACK_VARIANTS[@]}"; do
		row "$variant" "$(dump_text "$variant")" \
			"$(spread dump "$variant" wall 1e6 %.1f)" \
			"$(spread dump "$variant" cpu 1e6 %.1f)" \
			"$(ratio dump "$variant" wall sonde %.1f)" \
			"$(spread dump "$variant" frames 1 %.0f)"
	done
}

handler_table()
{
	local calls name

	echo
	echo "In a signal handler, over the stack of what it interrupted, by" \
		"\`bench/handler-frame.c\`: the guest's own walk, libunwind" \
		"and libc; ns a frame, the best of five. The two" \
		"backtraces begin in the handler itself. Aim: 10 ns a frame" \
		"and 100 ns. sonde remembers where rows were found, and" \
		"checks it; unw_backtrace remembers what it found."
	table "calls deep" "sonde's guest" unw_step "ratio" unw_backtrace \
		"ratio" "libc's backtrace" "ratio"
	for calls in 10 50 200; do
		row "$calls" "$(spread "handler $calls" ours stack 1 %.1f)" \
			"$(handler_peer "$calls" unw_step)" \
			"$(handler_peer "$calls" unw_backtrace)" \
			"$(handler_peer "$calls" backtrace)"
	done
}

# Two cells
handler_peer()
{
	echo "$(spread "handler $1" "$2" stack 1 %.1f) |" \
		"$(ratio "handler $1" "$2" stack ours %.1f)"
}

dump_text()
{
	case $1 in
	sonde) echo '`sonde dump -p PID`' ;;
	gdb) echo '`gdb -batch -p PID -ex "thread apply all bt"`' ;;
	eu-stack) echo '`eu-stack -p PID`: no lines, no inlined calls' ;;
	eu-lines) echo '`eu-stack -i -s -p PID`: with these, as sonde' ;;
	esac
}
