# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# stops: how long each thread of a target stands still during a visit, by its
# own account (gaps.c). "Donor" is the thread that stood longest; for sonde it
# should be the only one, for gdb all are alike.

STOP_VARIANTS=(ring inject gdb)
STOP_THREADS=(1 16)

measure_stops()
{
	rounds stops_round
}

stops_round()
{
	local threads variant

	for threads in "${STOP_THREADS[@]}"; do
		for variant in nothing "${STOP_VARIANTS[@]}"; do
			visit "stops $threads" "$variant" \
				stops_run "$threads" "$variant"
		done
	done
}

# stops_run THREADS VARIANT
stops_run()
{
	local case="stops $1"

	fresh "$TMP/exp.er"
	start_gaps "$1"
	visit_gaps stops_visit "$case" "$2" || return 1
	# thread TID GAP LONGEST_STOP ALL_STOPS
	put_threads "$case" "$2" gap 3
	put_threads "$case" "$2" stop 4
	put_threads "$case" "$2" all 5
}

# visit_gaps VISIT ARGUMENT...: its threads' account is of this visit alone
visit_gaps()
{
	local result=0

	tell reset
	wait_line "$VOUT" '^reset$' 60
	"$@" || result=1
	tell print
	wait_line "$VOUT" '^printed$' 60
	tell end
	exec {VIN}>&-
	reap "$VPID" || result=1
	return "$result"
}

# put_threads CASE VARIANT METRIC COLUMN: the worst thread, and the next
put_threads()
{
	local worst

	mapfile -t worst < <(awk -v column="$4" '
		$1 == "thread" { print $column }' "$VOUT" | sort -gr)
	put "$1" "$2" "$3" "${worst[0]}"
	put "$1" "$2" "$3 other" "${worst[1]-}"
}

stops_visit()
{
	case $2 in
	nothing)
		# As long as sonde's visit is
		read -rt 0.6 _ <> <(:) || :
		;;
	ring | inject) stops_sonde "$@" ;;
	gdb) stops_gdb ;;
	esac
}

stops_sonde()
{
	"$SONDE" record -p "$VPID" --engine "$2" -d 500ms -o "$TMP/exp.er" \
		>"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null ||
		{ WHY=$(tail -n 1 "$TMP/tool.err"); return 1; }
	put_receipt "$@"
}

# "target stopped 2 times, for 0.9 ms in all", "stopped once for 0.5 ms" or
# "target never stopped"
put_receipt()
{
	local words

	if grep -q 'target never stopped' "$TMP/tool.err"; then
		words="0 0"
	else
		words=$(sed -nE "s/target stopped once for/target stopped 1 \
times, for/; s/.*target stopped ([0-9]+) times, for ([0-9.]+) ms.*/\1 \2/p" \
			"$TMP/tool.err")
	fi
	[ -n "$words" ] || { WHY="no receipt"; return 1; }
	put "$1" "$2" times "${words% *}"
	put "$1" "$2" told "${words#* }"
}

stops_gdb()
{
	have gdb || return 1
	"${GDB[@]}" -p "$VPID" -ex "$DLOPEN" >"$TMP/tool.out" 2>&1 </dev/null
	called "$TMP/tool.out"
}

write_stops()
{
	local threads

	echo "## How long each thread stands still"
	echo
	echo "\`bench/run --only stops\`. One whole visit: attach, inject," \
		"0.5 s of recording at 10 ms and detach by \`sonde record -p" \
		"PID --engine E -d 500ms\`; attach, call and detach by \`gdb" \
		"-batch -p PID -ex '$DLOPEN'\`; 0.6 s of nothing. Threads of" \
		"\`bench/gaps.c\` spin reading the clock. A stop is a gap" \
		"less the CPU time of the thread and its wait for a CPU; the" \
		"longest gap holds all three, so with 16 threads on" \
		"$(nproc) CPUs it is mostly the scheduler's. Milliseconds." \
		"Aim: 0.7 ms for the donor, nothing for the others."
	for threads in "${STOP_THREADS[@]}"; do
		stops_table "$threads"
	done
}

stops_table()
{
	local case="stops $1" variant

	table "$1 thread(s)" "longest gap of any thread" \
		"longest stop: the donor" "longest stop: any other thread" \
		"all stops of the donor" "ratio of the longest stop to gdb" \
		"sonde's receipt: stops, ms in all"
	for variant in nothing "${STOP_VARIANTS[@]}"; do
		row "$(name_of "$variant")" \
			"$(spread "$case" "$variant" gap 1e6)" \
			"$(spread "$case" "$variant" stop 1e6 %.3f)" \
			"$(stops_other "$case" "$variant" "$1")" \
			"$(spread "$case" "$variant" all 1e6 %.3f)" \
			"$(ratio "$case" "$variant" stop gdb %.4f)" \
			"$(stops_receipt "$case" "$variant")"
	done
}

stops_other()
{
	if [ "$3" -gt 1 ]; then
		spread "$1" "$2" "stop other" 1e6 %.3f
	else
		echo -
	fi
}

stops_receipt()
{
	case $2 in
	ring | inject)
		echo "$(spread "$1" "$2" times 1 %.0f)," \
			"$(spread "$1" "$2" told 1 %.1f)"
		;;
	*) echo - ;;
	esac
}
