# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# stacks: what a frame costs to unwind, and what all stacks of a process cost
# to print.

STACK_THREADS=16
STACK_DEPTH=35
STACK_VARIANTS=(sonde gdb eu-stack)

measure_stacks()
{
	rounds stacks_round
}

stacks_round()
{
	local variant

	visit frames unwind frames_run
	for variant in "${STACK_VARIANTS[@]}"; do
		visit dump "$variant" dump_run "$variant"
	done
}

# "20 frames: table 260 ns, 13.0 ns a frame; second engine 824.3 ns a frame"
frames_run()
{
	local depth table second

	"$PROGRAMS/unwind-frame" >"$TMP/frames" || return 1
	while read -r depth table second; do
		put "frames $depth" table frame "$table"
		put "frames $depth" second frame "$second"
	done < <(sed -nE "s/^([0-9]+) frames: .*, ([0-9.]+) ns a frame; \
second engine ([0-9.]+) ns.*/\1 \2 \3/p" "$TMP/frames")
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
	table "frames" "tables, ns a frame" "second engine, ns a frame" ratio
	awk -F '|' '$1 ~ /^frames / { print substr($1, 8) }' "$DATA" |
		sort -nu | while read -r depth; do
		row "$depth" \
			"$(spread "frames $depth" table frame 1 %.1f)" \
			"$(spread "frames $depth" second frame 1 %.1f)" \
			"$(ratio "frames $depth" second frame table %.1f)"
	done
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

dump_text()
{
	case $1 in
	sonde) echo '`sonde dump -p PID`' ;;
	gdb) echo '`gdb -batch -p PID -ex "thread apply all bt"`' ;;
	eu-stack) echo '`eu-stack -p PID`' ;;
	esac
}
