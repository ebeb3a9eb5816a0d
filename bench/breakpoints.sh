# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# breakpoints: what a hit costs the program whose condition is false, by its own
# clock; and a hundred breakpoints that are never hit.

BREAKPOINT_VARIANTS=(sonde gdb)
BREAKPOINT_THREADS=(1 8)
BREAKPOINT_HITS=4000
BREAKPOINT_TURNS=300000000

measure_breakpoints()
{
	cc -std=gnu11 -D_GNU_SOURCE -g -O1 -o "$PROGRAMS/hits" \
		"$here/hits.c" -lpthread || broken "cannot compile hits.c"
	local list

	printf 'stop in idle_%02d\n' {0..99} >"$TMP/hundred.sonde"
	printf 'break idle_%02d\n' {0..99} >"$TMP/hundred.gdb"
	# gdb places them when the program is to run
	for list in hundred.sonde none.sonde hundred.gdb none.gdb; do
		echo stepi >>"$TMP/$list"
	done
	rounds breakpoints_round
}

breakpoints_round()
{
	local threads variant

	for variant in nothing "${BREAKPOINT_VARIANTS[@]}" again; do
		for threads in "${BREAKPOINT_THREADS[@]}"; do
			visit "hits $threads" "$variant" breakpoints_hit \
				"$threads" "$variant"
		done
		visit hundred "$variant" breakpoints_hundred "$variant"
	done
}

# breakpoints_hit THREADS VARIANT
breakpoints_hit()
{
	local words=("$1" "$BREAKPOINT_HITS" "$TMP/hits.out")

	fresh "$TMP/hits.out"

	case $2 in
	sonde)
		"$SONDE" -c "stop in hit -if 'i == -1'; run ${words[*]}" \
			"$PROGRAMS/hits" ;;
	gdb)
		"${GDB[@]}" -ex 'break hit if i == -1' -ex "run ${words[*]}" \
			"$PROGRAMS/hits" ;;
	*) "$PROGRAMS/hits" "${words[@]}" ;;
	esac >"$TMP/tool.out" 2>&1 </dev/null
	breakpoints_put "hits $1" "$2"
}

breakpoints_put()
{
	local ns

	ns=$(said ns "$TMP/hits.out") || {
		WHY=$(tail -n 1 "$TMP/tool.out")
		return 1
	}
	put "$1" "$2" ns "$ns"
}

breakpoints_hundred()
{
	fresh "$TMP/hits.out"
	case $1 in
	sonde | gdb)
		breakpoints_place "$1" || return 1
		breakpoints_tool "$1" hundred run ;;
	*) "$PROGRAMS/hits" 0 "$BREAKPOINT_TURNS" "$TMP/hits.out" ;;
	esac
	breakpoints_put hundred "$1"
}

# breakpoints_tool VARIANT LIST COMMAND: at main the list, then that
breakpoints_tool()
{
	local spun="0 $BREAKPOINT_TURNS $TMP/hits.out"

	case $1 in
	sonde)
		"$SONDE" -c "stop in main -temp; run $spun;
			source $TMP/$2.sonde; ${3/run/cont}" \
			"$PROGRAMS/hits" ;;
	gdb)
		"${GDB[@]}" -ex 'tbreak main' -ex "run $spun" \
			-x "$TMP/$2.gdb" -ex "${3/run/continue}" \
			"$PROGRAMS/hits" ;;
	esac >"$TMP/tool.out" 2>&1 </dev/null
}

# With a hundred less the same without any.
breakpoints_place()
{
	local list since=() i=0

	for list in none hundred; do
		since[i++]=$EPOCHREALTIME
		breakpoints_tool "$1" "$list" kill
	done
	put hundred "$1" place "$(calc "($EPOCHREALTIME - ${since[1]} -
		(${since[1]} - ${since[0]})) * 1000")"
}

write_breakpoints()
{
	local threads

	echo "## Breakpoints"
	echo
	echo "\`bench/run --only breakpoints\`. \`bench/hits.c\` calls a" \
		"function $BREAKPOINT_HITS times, below \`stop in hit -if" \
		"'i == -1'\` and \`break hit if i == -1\`, which is never true;" \
		"it says itself how long a call took."
	for threads in "${BREAKPOINT_THREADS[@]}"; do
		breakpoints_table "$threads"
	done
	echo
	echo "A hundred functions that have a breakpoint and are never" \
		"called: how long one turn of a loop takes that calls nothing;" \
		"and how long it took to place them all, as the whole visit" \
		"that ends by \`kill\`, less the same without them."
	table "100 breakpoints" "ns a turn" "ratio to nothing" \
		"placing them, ms"
	for variant in nothing "${BREAKPOINT_VARIANTS[@]}" again; do
		row "$variant" "$(spread hundred "$variant" ns 1 %.3f)" \
			"$(ratio hundred "$variant" ns nothing)" \
			"$(breakpoints_placed "$variant")"
	done
}

breakpoints_placed()
{
	case $1 in
	sonde | gdb) spread hundred "$1" place 1 %.1f ;;
	*) echo - ;;
	esac
}

breakpoints_table()
{
	local case="hits $1" variant

	table "$1 thread(s)" "us a call" "ratio to gdb"
	for variant in nothing "${BREAKPOINT_VARIANTS[@]}" again; do
		row "$variant" "$(spread "$case" "$variant" ns 1e3 %.2f)" \
			"$(ratio "$case" "$variant" ns gdb %.4f)"
	done
}
