# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# tracing: what each call of malloc and free costs its thread while it is
# recorded with its stack, and afterwards.

TRACE_VARIANTS=(heap sampled heaptrack gprofng)
declare -A TRACE_TEXT=(
	[heap]='`sonde record -p PID --heap`'
	[sampled]='`sonde record -p PID --heap=512K`'
	[heaptrack]='`heaptrack PROGRAM`'
	[gprofng]='`gprofng collect app -p off -H on PROGRAM`'
)
TRACE_DEPTHS=(10 50)

measure_tracing()
{
	rounds tracing_round
}

tracing_round()
{
	local depth variant

	for depth in "${TRACE_DEPTHS[@]}"; do
		for variant in nothing "${TRACE_VARIANTS[@]}" again; do
			visit "pairs $depth" "$variant" trace_run "$depth" \
				"$variant"
		done
	done
}

# trace_pairs VARIANT: as many as take about a second
trace_pairs()
{
	case $1 in
	gprofng) echo 100000 ;;
	*) echo 2000000 ;;
	esac
}

# trace_run DEPTH VARIANT
trace_run()
{
	local case="pairs $1" n words=() bytes=''

	n=$(trace_pairs "$2")
	fresh "$TMP/exp.er" "$TMP/gp.er" "$TMP/heap.gz" "$TMP/heap.zst"
	case $2 in
	heaptrack)
		have heaptrack || return 1
		words=(heaptrack -o "$TMP/heap")
		;;
	gprofng)
		have gprofng || return 1
		words=(gprofng collect app -p off -H on -O "$TMP/gp.er")
		;;
	esac
	start_process "${words[@]}" "$PROGRAMS/pairs" "$n" "$1"
	if ! until_true 60 grep -q '^ready ' "$VOUT" || ! trace_attach "$2"; then
		[ "$WHY" != failed ] || WHY="it does not start"
		kill_victim
		return 1
	fi
	tell go
	until_true 120 grep -q '^cpu ' "$VOUT" || return 1
	if [ "$2" = heap ] || [ "$2" = sampled ]; then
		kill -INT "$RPID"
		reap "$RPID" || return 1
		bytes=$(stat -c %s "$TMP/exp.er/heaptrace")
	fi
	tell again
	reap "$VPID" || return 1
	exec {VIN}>&-
	[ "$2" != gprofng ] || bytes=$(stat -c %s "$TMP/gp.er/heaptrace")
	put "$case" "$2" cpu "$(calc "$(said cpu "$VOUT") / $n")"
	put "$case" "$2" after "$(calc "$(said after "$VOUT") / ($n / 2)")"
	[ -z "$bytes" ] || put "$case" "$2" bytes "$(calc "$bytes / (2 * $n)")"
}

trace_attach()
{
	local option=--heap

	case $1 in
	heap) ;;
	sampled) option=--heap=512K ;;
	*) return 0 ;;
	esac
	background "$SONDE" record -p "$VPID" "$option" -o "$TMP/exp.er"
	until_true 30 grep -q '^recording ' "$TMP/tool.err" || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
}

write_tracing()
{
	local depth variant

	echo "## Each call of malloc and free recorded"
	echo
	echo "\`bench/run --only tracing\`. \`bench/pairs.c\` calls malloc(64)" \
		"and free again and again; its thread's own clock, for a pair." \
		"sonde attaches to the program while it waits; the others start" \
		"it. \"After\" is the same work once sonde has gone. Bytes are" \
		"those of the recording, for a call. Aim: 90 ns more than" \
		"nothing at depth 10, 150 at most; 20 where one byte in 512 KiB" \
		"is chosen; nothing afterwards."
	for depth in "${TRACE_DEPTHS[@]}"; do
		trace_table "$depth"
	done
}

trace_table()
{
	local case="pairs $1" variant

	table "stacks $1 calls deep" "what was run" "ns a pair" \
		"ratio to nothing" "ns after" "bytes a call"
	for variant in nothing "${TRACE_VARIANTS[@]}" again; do
		row "$variant" "${TRACE_TEXT[$variant]:-}" \
			"$(spread "$case" "$variant" cpu 1 %.1f)" \
			"$(ratio "$case" "$variant" cpu nothing)" \
			"$(spread "$case" "$variant" after 1 %.1f)" \
			"$(trace_bytes "$case" "$variant")"
	done
}

trace_bytes()
{
	case $2 in
	heap | sampled | gprofng) spread "$1" "$2" bytes 1 %.0f ;;
	*) echo - ;;
	esac
}
