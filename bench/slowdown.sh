# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# slowdown: CPU and wall time of a fixed amount of work under each profiler,
# which attaches before the work begins. How many samples each one took stands
# beside it: a profiler that does not sample is cheap.

SLOW_VARIANTS=(ring states inject perf gperftools gprofng)
declare -A SLOW_TEXT=(
	[ring]='`sonde record -p PID --engine ring -i %s --no-states`'
	[states]='`sonde record -p PID --engine ring -i %s`'
	[inject]='`sonde record -p PID --engine inject -i %s --no-states`'
	[perf]='`perf record -e task-clock -F %s -g -p PID`'
	[gperftools]='`LD_PRELOAD=libprofiler.so.0 CPUPROFILE_FREQUENCY=%s`'
	[gprofng]='`gprofng collect app -p %s`'
)

measure_slowdown()
{
	BURN_ROUNDS=$(burn_rounds)
	rounds slowdown_round
}

# burn_rounds [DEPTH]: as many as take a second of CPU time here, or less when
# quick
burn_rounds()
{
	local probe=200000

	echo go | "$PROGRAMS/burn" 1 "$probe" "${1:-20}" >"$TMP/probe"
	calc "int($probe * ${QUICK:+0.3 *} 1e9 / $(said cpu "$TMP/probe"))" |
		cut -d . -f 1
}

slowdown_round()
{
	local threads ms variant

	for threads in 1 2; do
		slow_visit "$threads" nothing 0
		for ms in 10 1; do
			for variant in "${SLOW_VARIANTS[@]}"; do
				slow_visit "$threads" "$variant" "$ms"
			done
		done
		slow_visit "$threads" again 0
	done
}

slow_visit()
{
	visit "burn $1" "$2 $3" slow_run "$@"
}

# slow_run THREADS VARIANT MS
slow_run()
{
	local case="burn $1" variant="$2 $3" words

	fresh "$TMP/exp.er" "$TMP/perf.data" "$TMP/gperf" "$TMP/gp.er"
	read -ra words <<<"$(slow_prefix "$2" "$3")"
	slow_have "$2" || return 1
	start_process "${words[@]}" "$PROGRAMS/burn" "$1" "$BURN_ROUNDS"
	if ! until_true 30 grep -q '^ready ' "$VOUT" ||
		! slow_attach "$2" "$3"; then
		[ "$WHY" != failed ] || WHY="it does not start"
		kill_victim
		return 1
	fi
	tell go
	reap "$VPID" || return 1
	exec {VIN}>&-
	slow_end "$2" || return 1
	put "$case" "$variant" cpu "$(said cpu "$VOUT")"
	put "$case" "$variant" wall "$(said wall "$VOUT")"
	put "$case" "$variant" samples "$(slow_samples "$2" "$3")"
}

slow_have()
{
	case $1 in
	perf | gprofng) have "$1" ;;
	gperftools) have_libprofiler ;;
	esac
}

have_libprofiler()
{
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q "$LIBPROFILER" && return
	WHY="$LIBPROFILER is not installed"
	return 1
}

# What stands before the program where the profiler must start it
slow_prefix()
{
	case $1 in
	gperftools)
		echo "env LD_PRELOAD=$LIBPROFILER CPUPROFILE=$TMP/gperf" \
			"CPUPROFILE_FREQUENCY=$((1000 / $2))"
		;;
	gprofng)
		echo "gprofng collect app -p $(gprofng_interval "$2")" \
			"-o $TMP/gp.er"
		;;
	esac
}

gprofng_interval()
{
	case $1 in
	10) echo on ;;
	1) echo hi ;;
	esac
}

# Until the profiler is known to sample
slow_attach()
{
	case $1 in
	ring | states | inject)
		slow_record "$@"
		until_true 30 grep -q '^recording ' "$TMP/tool.err" || {
			WHY=$(tail -n 1 "$TMP/tool.err")
			return 1
		}
		;;
	perf)
		attach_perf "$((1000 / $2))"
		;;
	esac
}

# slow_record VARIANT MS: states is ring with all that it records otherwise
slow_record()
{
	local engine=$1 words=(--no-states)

	[ "$1" != states ] || engine=ring words=(--states)
	background "$SONDE" record -p "$VPID" --engine "$engine" -i "$2ms" \
		"${words[@]}" -o "$TMP/exp.er"
}

# attach_perf HERTZ: it says `ack` when its events are on
attach_perf()
{
	local ack

	[ -p "$TMP/perf.ctl" ] || mkfifo "$TMP/perf.ctl" "$TMP/perf.ack"
	exec {PERF_CTL}<>"$TMP/perf.ctl" {PERF_ACK}<>"$TMP/perf.ack"
	background perf record -q -e task-clock -F "$1" -g -p "$VPID" \
		-k CLOCK_MONOTONIC -o "$TMP/perf.data" \
		-D -1 --control "fifo:$TMP/perf.ctl,$TMP/perf.ack"
	echo enable >&"$PERF_CTL"
	if read -rt 30 ack <&"$PERF_ACK" && [[ $ack = ack* ]]; then
		return 0
	fi
	WHY="perf: $(tail -n 1 "$TMP/tool.err")"
	kill -INT "$RPID" 2>/dev/null
	reap "$RPID"
	close_perf
	return 1
}

close_perf()
{
	exec {PERF_CTL}>&- {PERF_ACK}>&-
}

# The target has ended; so does its profiler.
slow_end()
{
	case $1 in
	ring | states | inject | perf)
		reap "$RPID" || WHY="status $STATUS"
		[ "$1" != perf ] || close_perf
		return "$STATUS"
		;;
	esac
}

slow_samples()
{
	case $1 in
	ring | states | inject)
		"$PROGRAMS/first" "$TMP/exp.er" | awk '
			$1 == "samples" { print $2 }'
		;;
	perf)
		perf report -i "$TMP/perf.data" --stats 2>/dev/null | awk '
			/SAMPLE events:/ { print $3; exit }'
		;;
	gperftools)
		sed -n 's/^PROFILE: interrupts.* = \([0-9]*\).*/\1/p' "$VERR"
		;;
	gprofng)
		gprofng display text -metrics e.totalcpu:name -functions \
			"$TMP/gp.er" 2>/dev/null | awk -v ms="$2" '
			$2 == "<Total>" { printf "%d\n", $1 * 1000 / ms }'
		;;
	esac
}

write_slowdown()
{
	local threads

	echo "## Slow-down of a CPU-bound program"
	echo
	echo "\`bench/run --only slowdown\`. \`bench/burn.c\` does a fixed" \
		"amount of work with stacks 20 calls deep; its process clock" \
		"counts everything that happens inside the process. Attached" \
		"profilers are attached before the work begins. \"Nothing" \
		"again\" is the noise. Read a ratio with the samples beside" \
		"it: whoever takes fewer than were asked for is cheap. Aim:" \
		"the noise of the best peer."
	for threads in 1 2; do
		slow_table "$threads"
	done
}

slow_table()
{
	local case="burn $1" ms variant

	table "$1 thread(s)" "what was run" "CPU s" "CPU ratio" "wall ratio" \
		samples
	slow_row "$case" "nothing 0" nothing "" -
	for ms in 10 1; do
		for variant in "${SLOW_VARIANTS[@]}"; do
			slow_row "$case" "$variant $ms" "$(name_of "$variant"), $ms ms" \
				"$(slow_text "$variant" "$ms")" "$(
				spread "$case" "$variant $ms" samples 1 %.0f)"
		done
	done
	slow_row "$case" "again 0" "nothing again" "" -
}

slow_text()
{
	local interval=$((1000 / $2))

	case $1 in
	ring | states | inject) interval=$2ms ;;
	gprofng) interval=$(gprofng_interval "$2") ;;
	esac
	# shellcheck disable=SC2059 # the text is the format
	printf "${SLOW_TEXT[$1]}" "$interval"
}

slow_row()
{
	row "$3" "$4" "$(spread "$1" "$2" cpu 1e9 %.3f)" \
		"$(ratio "$1" "$2" cpu "nothing 0")" \
		"$(ratio "$1" "$2" wall "nothing 0")" "$5"
}
