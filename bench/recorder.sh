# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# recorder: what a sample costs the profiler itself, and the disk. Start and
# end are in neither: it is the difference of a long and a short recording of
# the same program, divided by the difference of their samples.

RECORDER_VARIANTS=(ring inject perf gprofng ring-often inject-often perf-often)
RECORDER_SHORT=0.5
RECORDER_LONG=${QUICK:+1.5}
RECORDER_LONG=${RECORDER_LONG:-4.5}
RECORDER_DEPTH=48
declare -A RECORDER_TEXT=(
	[ring]='`sonde record -p PID --engine ring -i 1ms --no-states`'
	[inject]='`sonde record -p PID --engine inject -i 1ms --no-states`'
	[perf]='`perf record -e task-clock -F 1000 --call-graph dwarf -p PID`'
	[script]='the same, and `perf script` of it'
	[gprofng]='`gprofng collect app -p hi`'
	[ring-often]='`sonde record -p PID --engine ring -i 100us --no-states`'
	[inject-often]='`sonde record -p PID --engine inject -i 100us --no-states`'
	[perf-often]='`perf record -e task-clock -F 10000 --call-graph dwarf -p PID`'
)

measure_recorder()
{
	RECORDER_RATE=$(burn_rounds "$RECORDER_DEPTH")
	rounds recorder_round
}

recorder_round()
{
	local variant

	for variant in "${RECORDER_VARIANTS[@]}"; do
		visit recorder "$variant" recorder_run "$variant"
	done
}

# recorder_run VARIANT
recorder_run()
{
	local short long

	recorder_numbers "$1" "$RECORDER_SHORT" || return 1
	short=$NUMBERS
	recorder_numbers "$1" "$RECORDER_LONG" || return 1
	long=$NUMBERS
	# shellcheck disable=SC2086 # words
	recorder_put "$1" $short $long
}

# recorder_put VARIANT SAMPLES CPU SCRIPT BYTES SAMPLES CPU SCRIPT BYTES
recorder_put()
{
	local more=$(($6 - $2))

	[ "$more" -gt 0 ] || { WHY="no more samples in more time"; return 1; }
	put recorder "$1" samples "$6"
	[ "$1" = gprofng ] ||
		put recorder "$1" cpu "$(calc "($7 - $3) / $more")"
	[ "$1" != perf ] ||
		put recorder script cpu "$(calc "($7 + $8 - $3 - $4) / $more")"
	put recorder "$1" bytes "$(calc "($9 - $5) / $more")"
}

# recorder_numbers VARIANT SECONDS: sets NUMBERS: samples, CPU, CPU of perf
# script, bytes
recorder_numbers()
{
	local result=0

	fresh "$TMP/exp.er" "$TMP/perf.data" "$TMP/gp.er"
	if [ "$1" = gprofng ]; then
		recorder_gprofng "$2"
		return
	fi
	start_victim burn 2 1000000000 "$RECORDER_DEPTH"
	tell go
	"recorder_$1" "$2" || result=1
	kill_victim
	return "$result"
}

recorder_ring()
{
	recorder_sonde ring 1ms "$1"
}

recorder_inject()
{
	recorder_sonde inject 1ms "$1"
}

recorder_ring-often()
{
	recorder_sonde ring 100us "$1"
}

recorder_inject-often()
{
	recorder_sonde inject 100us "$1"
}

recorder_perf()
{
	recorder_of_perf 1000 "$1"
}

# what perf script takes then is minutes
recorder_perf-often()
{
	recorder_of_perf 10000 "$1" no-script
}

# recorder_sonde ENGINE INTERVAL SECONDS

recorder_sonde()
{
	"$PROGRAMS/timed" "$TMP/timed" "$SONDE" record -p "$VPID" \
		--engine "$1" -i "$2" --no-states -d "${3}s" \
		-o "$TMP/exp.er" \
		>"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	NUMBERS="$("$PROGRAMS/first" "$TMP/exp.er" | awk '
		$1 == "samples" { print $2 }') $(said cpu "$TMP/timed") 0 \
$(du -sb "$TMP/exp.er" | cut -f 1)"
}

# recorder_of_perf HZ SECONDS [no-script]
recorder_of_perf()
{
	local cpu

	have perf || return 1
	"$PROGRAMS/timed" "$TMP/timed" perf record -q -e task-clock -F "$1" \
		--call-graph dwarf -p "$VPID" -o "$TMP/perf.data" \
		-- sleep "$2" >"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	cpu=$(said cpu "$TMP/timed")
	[ "${3-}" = no-script ] ||
		"$PROGRAMS/timed" "$TMP/timed" perf script -i "$TMP/perf.data" \
		-F ip,sym >/dev/null 2>&1
	NUMBERS="$(perf report -i "$TMP/perf.data" --stats 2>/dev/null | awk '
		/SAMPLE events:/ { print $3; exit }') $cpu \
$(said cpu "$TMP/timed") $(du -sb "$TMP/perf.data" | cut -f 1)"
}

# It cannot attach: the program takes that long
recorder_gprofng()
{
	have gprofng || return 1
	start_process gprofng collect app -p hi -o "$TMP/gp.er" \
		"$PROGRAMS/burn" 2 "$(calc "int($1 * $RECORDER_RATE)" |
		cut -d . -f 1)" "$RECORDER_DEPTH"
	tell go
	reap "$VPID"
	exec {VIN}>&-
	NUMBERS="$(gprofng display text -metrics e.totalcpu:name -functions \
		"$TMP/gp.er" 2>/dev/null | awk '
		$2 == "<Total>" { printf "%d\n", $1 * 1000 }') 0 0 \
$(du -sb "$TMP/gp.er" | cut -f 1)"
}

write_recorder()
{
	local variant

	echo "## What a sample costs the profiler and the disk"
	echo
	echo "\`bench/run --only recorder\`. \`bench/burn.c\`, two threads" \
		"computing $RECORDER_DEPTH calls deep (50 frames and more)," \
		"a sample each millisecond of CPU time. The difference of" \
		"$RECORDER_LONG s and $RECORDER_SHORT s of recording, divided" \
		"by the difference of the samples: CPU time of the profiler's" \
		"own processes, and bytes in its files. sonde's stacks are" \
		"unwound then; perf's are copies of 8 KB that \`perf script\`" \
		"unwinds. What a sample costs at 1 kHz is mostly being woken" \
		"and memory that is cold by then. Aim: 1 us, 64 bytes."
	table "" "what was run" "CPU us a sample" "CPU / ring's" \
		"bytes a sample" samples
	for variant in "${RECORDER_VARIANTS[@]}"; do
		recorder_row "$variant"
		[ "$variant" != perf ] || recorder_row script
	done
}

recorder_row()
{
	local cpu ratio

	case $1 in
	gprofng) cpu=-; ratio=- ;;	# it works within the program
	*)
		cpu=$(spread recorder "$1" cpu 1e3 %.2f)
		ratio=$(ratio recorder "$1" cpu ring %.1f)
		;;
	esac
	case $1 in
	script) row "perf and script" "${RECORDER_TEXT[$1]}" "$cpu" "$ratio" \
		- - ;;
	*) row "$(name_of "$1")" "${RECORDER_TEXT[$1]}" "$cpu" "$ratio" \
		"$(spread recorder "$1" bytes 1 %.0f)" \
		"$(spread recorder "$1" samples 1 %.0f)" ;;
	esac
}
