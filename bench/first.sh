# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# first: from the exec of the profiler to the time stamp of its first sample,
# all on the monotonic clock, beside gdb getting one library loaded.

FIRST_VARIANTS=(ring inject perf)

measure_first()
{
	rounds first_round
}

first_round()
{
	local threads ms variant

	for threads in 1 16; do
		for ms in 10 1; do
			for variant in "${FIRST_VARIANTS[@]}"; do
				visit "first $threads $ms" "$variant" \
					first_run "$threads" "$ms" "$variant"
			done
		done
		visit "first $threads 10" gdb first_run "$threads" 10 gdb
	done
}

# first_run THREADS MS VARIANT, on a fresh victim
first_run()
{
	local case="first $1 $2" result=0

	fresh "$TMP/exp.er" "$TMP/perf.data" "$TMP/timed"
	start_gaps "$1"
	case $3 in
	ring | inject) first_sonde "$case" "$2" "$3" ;;
	perf) first_perf "$case" "$2" ;;
	gdb) first_gdb "$case" ;;
	esac || result=1
	kill_victim
	return "$result"
}

# since WORD FILE: nanoseconds from the exec to that moment
since()
{
	local at

	at=$(said "$1" "$2") && echo $((at - $(said start "$TMP/timed")))
}

first_sonde()
{
	"$PROGRAMS/timed" "$TMP/timed" --until "$TMP/exp.er/profile" \
		"$SONDE" record -p "$VPID" --engine "$3" -i "$2ms" -d 500ms \
		--no-states -o "$TMP/exp.er" >"$TMP/tool.out" \
		2>"$TMP/tool.err" </dev/null || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	"$PROGRAMS/first" "$TMP/exp.er" >"$TMP/first" || {
		WHY="no sample"
		return 1
	}
	put "$1" "$3" begun "$(since begun "$TMP/first")"
	put "$1" "$3" first "$(since first "$TMP/first")"
	put "$1" "$3" visible "$(since visible "$TMP/timed")"
}

first_perf()
{
	local first

	have perf || return 1
	"$PROGRAMS/timed" "$TMP/timed" perf record -q -e task-clock \
		-F "$((1000 / $2))" -g -k CLOCK_MONOTONIC -p "$VPID" \
		-o "$TMP/perf.data" -- sleep 0.5 >"$TMP/tool.out" \
		2>"$TMP/tool.err" </dev/null ||
		{ WHY=$(tail -n 1 "$TMP/tool.err"); return 1; }
	# "  1234.567890123: "
	first=$(perf script -i "$TMP/perf.data" --ns -G -F time 2>/dev/null |
		tr -d ' :' | sort -g | head -n 1)
	[ -n "$first" ] || { WHY="no sample"; return 1; }
	echo "first ${first/./}" >"$TMP/first"
	put "$1" perf first "$(since first "$TMP/first")"
}

first_gdb()
{
	have gdb || return 1
	"$PROGRAMS/timed" "$TMP/timed" "${GDB[@]}" -p "$VPID" -ex "$DLOPEN" \
		>"$TMP/tool.out" 2>&1 </dev/null
	called "$TMP/tool.out" || return 1
	put "$1" gdb first "$(said wall "$TMP/timed")"
}

write_first()
{
	local threads ms

	echo "## From the command to the first sample"
	echo
	echo "\`bench/run --only first\`. Milliseconds from the exec of" \
		"\`sonde record -p PID --engine E -i I --no-states\` or" \
		"\`perf record -e task-clock -F N -g -p PID\` to the run" \
		"event (sonde), to the time stamp of the earliest sample," \
		"and to that sample being in the file of the experiment (perf's are readable at its" \
		"end only). For gdb it is all of \`gdb -batch -p PID -ex" \
		"'$DLOPEN'\`, which takes no sample. The ratio is to sonde's" \
		"ring engine. All threads of the target spin; its clock must" \
		"use up one interval first. Aim: 20 ms."
	for threads in 1 16; do
		for ms in 10 1; do
			first_table "$threads" "$ms"
		done
	done
}

first_table()
{
	local case="first $1 $2" variant

	table "$1 thread(s), $2 ms" "run event, ms" "first sample, ms" \
		"visible, ms" ratio
	for variant in ring inject; do
		row "sonde, $variant" \
			"$(spread "$case" "$variant" begun 1e6 %.1f)" \
			"$(spread "$case" "$variant" first 1e6 %.1f)" \
			"$(spread "$case" "$variant" visible 1e6 %.1f)" \
			"$(ratio "$case" "$variant" first ring %.2f)"
	done
	for variant in perf gdb; do
		[ "$variant $2" != "gdb 1" ] || continue
		row "$variant" - "$(spread "$case" "$variant" first 1e6 %.1f)" \
			- "$(ratio "$case" "$variant" first ring %.2f)"
	done
}
