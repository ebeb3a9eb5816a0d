# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lib: what every script test shares. Victims are started by the test, so
# they stand before sonde does; each visit ends with health_check. Waits are
# for facts with a deadline. Only processes started here are ever ended.
#
# Exit 0 pass, 1 fail, 77 cannot run here, 99 the harness is broken.
set -u

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${SONDE_BUILDDIR:-$PWD}
SONDE=${SONDE:-$BUILD/sonde}
VICTIMS=${VICTIMS:-$BUILD/tests/victims}
SERVERS=${SONDE_SERVERS:-$BUILD/servers}	# unpacked by scripts/setup
TEST=$(basename "$0" .test)
TMP=$(mktemp -d "${TMPDIR:-/tmp}/sonde-$TEST.XXXXXX") || exit 99
AS=()			# what makes a command an ordinary user's
OURS=()			# process ids that cleanup may end
LC_ALL=C
export LC_ALL TOP BUILD SONDE SERVERS
export SONDE_BUILDDIR=$BUILD PATH=$TOP/tests/oracle:$PATH
# Nobody's settings but the test's.
export XDG_CONFIG_HOME=$TMP/config XDG_STATE_HOME=$TMP/state NO_COLOR=1
unset CLICOLOR_FORCE DEBUGINFOD_URLS
# In a build with sanitizers each process of ours, those without a terminal
# too, leaves its complaint here, and cleanup makes it a failure.
export ASAN_OPTIONS=log_path=$TMP/sanitizer
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$TMP/sanitizer

cleanup()
{
	local status=$? pid

	trap - EXIT
	for pid in "${OURS[@]}"; do
		kill -CONT "$pid" 2>/dev/null
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	if compgen -G "$TMP/sanitizer.*" >/dev/null; then
		head -n 40 "$TMP"/sanitizer.*
		status=1
	fi
	if [ "$status" -ne 0 ] && [ -n "${KEEP_TMP-}" ]; then
		echo "kept: $TMP"
	else
		rm -rf "$TMP"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

fail()
{
	local file

	echo "FAIL: $*"
	for file in "$TMP"/*.err; do
		[ -s "$file" ] || continue
		echo "---- $(basename "$file")"
		tail -n 20 "$file"
	done
	exit 1
}

skip()
{
	echo "SKIP: $*"
	exit 77
}

broken()
{
	echo "BROKEN: $*"
	exit 99
}

note()
{
	echo "$TEST: $*"
}

need()
{
	local tool

	for tool in "$@"; do
		command -v "$tool" >/dev/null 2>&1 ||
			broken "$tool is not installed (scripts/setup does it)"
	done
}

need_sonde()
{
	[ -x "$SONDE" ] || broken "$SONDE is not built"
}

# need_watches: this test is about breakpoints that the processor keeps
need_watches()
{
	"$BUILD/tests/tools/watches" ||
		skip "the debug registers of this machine have no effect"
}

# small_files COMMAND...: writes no file of more than 1 GB. The core of a program
# with sanitizers has the shadow of all memory: it would fill the disk.
small_files()
{
	(ulimit -f 1048576 && exec "$@")
}

# statistics: what this test adds is numbers of the process that is recorded.
# A build with sanitizers, whose front end does the same in other tests, need
# not repeat them.
statistics()
{
	[ -z "${SONDE_NO_STATISTICS-}" ] && return
	echo "no statistics are wanted"
	exit 77
}

# A pipe that never says anything: to wait at it makes no process.
exec {SILENCE}<> <(:)

# nap SECONDS
nap()
{
	read -rt "$1" -u "$SILENCE" _ || :
}

# until_true SECONDS COMMAND...: repeat it until it succeeds
until_true()
{
	local deadline=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		nap 0.02
	done
}

# wait_line FILE PATTERN [SECONDS]
wait_line()
{
	until_true "${3:-20}" grep -qE "$2" "$1" 2>/dev/null ||
		fail "no line '$2' in $(basename "$1") after ${3:-20} s"
}

# ---- numbers ---------------------------------------------------------------

# calc EXPRESSION: by awk, plain decimal; it may go over several lines
calc()
{
	awk "BEGIN { printf \"%.6f\n\", (${*//$'\n'/ }) }"
}

# holds CONDITION: of numbers, by awk
holds()
{
	awk "BEGIN { exit !(${*//$'\n'/ }) }"
}

# expect_within WHAT VALUE WANTED BOUND (absolute, same unit)
expect_within()
{
	note "$1: $2, wanted $3 within $4"
	holds "$2 - $3 <= $4 && $3 - $2 <= $4" ||
		fail "$1 is $2, wanted $3 within $4"
}

# ---- victims ---------------------------------------------------------------

# start_victim NAME ARGS...: sets VPID, VOUT, VERR, VIN (a descriptor)
start_victim()
{
	local name=$1

	shift
	[ -x "$VICTIMS/$name" ] || broken "victim $name is not built"
	start_process "$VICTIMS/$name" "$@"
	wait_line "$VOUT" '^ready [0-9]+$'
	foreign_traces "$VPID" && broken "$name carries traces of us already"
	:
}

# start_process COMMAND...: the same for any program; its words come by VIN
victim_count=0
start_process()
{
	local fifo

	victim_count=$((victim_count + 1))
	fifo=$TMP/victim$victim_count.in
	VOUT=$TMP/victim$victim_count.out
	VERR=$TMP/victim$victim_count.err
	mkfifo "$fifo" || broken "mkfifo"
	: >"$VOUT"
	# A session of its own: the scheduler then shares the CPUs between its
	# many threads and the rest of us, who would starve otherwise.
	"${AS[@]}" setsid "$@" <"$fifo" >"$VOUT" 2>"$VERR" &
	VPID=$!
	OURS+=("$VPID")
	exec {VIN}>"$fifo"
}

# tell WORD: to the victim
tell()
{
	echo "$1" >&"$VIN"
}

# mark: ask for the truth so far, and wait for the whole answer
mark()
{
	local before

	before=$(grep -c '^marked$' "$VOUT")
	tell mark
	until_true 20 marked_more_than "$before" || fail "the victim is mute"
}

marked_more_than()
{
	[ "$(grep -c '^marked$' "$VOUT")" -gt "$1" ]
}

# truth KEY [N]: value of the Nth line of that key (default the last)
truth()
{
	awk -v key="$1" -v n="${2:-0}" '
		$1 == key { value = $2; if (++seen == n) exit }
		END { if (value == "") exit 1; print value }' "$VOUT" ||
		broken "the victim did not print $1"
}

# grown KEY: between the first two marks (a victim marks itself at its end)
grown()
{
	echo $(($(truth "$1" 2) - $(truth "$1" 1)))
}

# end_of PID [SECONDS]: its exit status in STATUS; a child of this shell
end_of()
{
	until_true "${2:-20}" ended "$1" || fail "process $1 does not end"
	wait "$1"
	STATUS=$?
	forget "$1"
}

# By builtins: it is asked often, beside targets that leave no CPU to fork.
ended()
{
	local lines line

	# To the end: what is left over, and cannot be sought back to since the
	# process has gone, bash gives to whoever reads next.
	{ mapfile -t lines <"/proc/$1/status"; } 2>/dev/null
	for line in "${lines[@]}"; do
		[[ $line == State:* ]] || continue
		[[ $line == State:*[ZX]' ('* ]]
		return
	done
	return 0
}

forget()
{
	local pid kept=()

	for pid in "${OURS[@]}"; do
		[ "$pid" = "$1" ] || kept+=("$pid")
	done
	OURS=("${kept[@]}")
}

# finish_victim: end it by word; it must be content
finish_victim()
{
	tell end
	exec {VIN}>&-
	end_of "$VPID"
	[ "$STATUS" -eq 0 ] || fail "the victim ended with status $STATUS"
	grep -qx 'checksum ok' "$VOUT" ||
		fail "the victim's checksum is wrong"
}

# ---- the target gets everything back ---------------------------------------

# foreign_traces PID: mappings of ours that are there (by base name, since
# the checkout itself may be called sonde)
foreign_traces()
{
	awk 'NF > 5 { n = split($6, part, "/"); if (part[n] ~ /sonde/) print }' \
		"/proc/$1/maps" | grep -v "$VICTIMS/" | grep .
}

# signals_of PID: masks of every thread, but for 32 and 33: glibc's own, which
# it handles from the first pthread_create of a process on
signals_of()
{
	local line mask

	grep -E '^(SigBlk|SigIgn|SigCgt|NoNewPrivs|Seccomp):' \
		"/proc/$1/task"/*/status 2>/dev/null |
		while IFS= read -r line; do
			mask=${line##*[[:space:]]}
			[ "${#mask}" -eq 16 ] && printf -v mask '%x' \
				$((16#$mask & ~0x180000000))
			echo "${line%[[:space:]]*} $mask"
		done
}

# look PID: what a visit must leave as it was. The order of threads and the
# sizes of the heap and of the main stack are the target's own business.
look()
{
	find "/proc/$1/fd" -type l -printf 'fd %f %l\n' | sort
	signals_of "$1"
	sed 's/^/timer /' "/proc/$1/timers"
	sed 's/^/limit /' "/proc/$1/limits"
	sed -e '/ \[heap\]$/d; / \[stack\]$/d' -e 's/^/map /' "/proc/$1/maps"
}

# no_moment PID: no thread is just being born, or ending: then glibc blocks all
# signals of it, its own two (32 and 33) as well, and musl all but its own three.
no_moment()
{
	local name mask

	while read -r name mask; do
		(( (16#$mask & 0x180000000) != 0x180000000 )) || return 1
		[ "$mask" != fffffffc7ffbfeff ] || return 1
	done < <(grep -h '^SigBlk:' "/proc/$1/task"/*/status 2>/dev/null)
}

before_visit()
{
	until_true 20 no_moment "$VPID" || fail "$VPID blocks all signals"
	look "$VPID" >"$TMP/look.before"
}

# The same as before, but for what an engine may leave. By inject: the inert
# library (its .bss is the anonymous mapping right behind it), and the address
# space of one malloc arena, which glibc keeps for any thread that ever ran.
same_as_before()
{
	look "$VPID" | case $1 in
	inject) without_guest ;;
	*) cat ;;
	esac >"$TMP/look.after"
	case $1 in
	inject) without_guest <"$TMP/look.before" ;;
	*) cat "$TMP/look.before" ;;
	esac | diff - "$TMP/look.after"
}

without_guest()
{
	awk '
		$1 != "map" { print; next }
		{ split($2, at, "-") }
		$7 ~ /sonde[^\/]*$/ { guest = at[2]; next }
		NF == 6 && at[1] == guest { next }
		NF == 6 && $3 == "rw-p" && $2 ~ /^[0-9a-f]+[048c]000000-/ {
			arena = at[2]; kept = $0; next
		}
		NF == 6 && $3 == "---p" && at[1] == arena {
			arena = ""
			if (arenas++ == 0)
				next
			print kept
		}
		arena != "" { print kept; arena = "" }
		{ print }
		END { if (arena != "") print kept }'
}

# No thread of the target stands, no one traces it.
nobody_stopped()
{
	! grep -E '^(State:[[:space:]]*[Tt]|TracerPid:[[:space:]]*[1-9])' \
		"/proc/$VPID/task"/*/status 2>/dev/null
}

# untouched ENGINE: alive, running, and what it was
untouched()
{
	ended "$VPID" && fail "the target is gone"
	nobody_stopped || fail "a thread of the target is stopped"
	same_as_before "$1" || fail "the target is not what it was"
}

# health_check ENGINE: the full visit's end, for victims that keep their
# threads and mappings
health_check()
{
	untouched "$1"
	finish_victim
}

# health_check_moving: for victims whose threads or mappings change
health_check_moving()
{
	ended "$VPID" && fail "the target is gone"
	nobody_stopped || fail "a thread of the target is stopped"
	finish_victim
}

# ---- sonde -----------------------------------------------------------------

# sonde ARGS...: sets STATUS; output in $TMP/sonde.out and $TMP/sonde.err
sonde()
{
	"${AS[@]}" "$SONDE" "$@" >"$TMP/sonde.out" 2>"$TMP/sonde.err" </dev/null
	STATUS=$?
}

# unsaid: what a command has said before is no news to who waits for a line of
# one in the background, whose files are emptied only when it gets to run
unsaid()
{
	: >"$TMP/sonde.out"
	: >"$TMP/sonde.err"
}

# start_sonde ARGS...: the same in the background; sets RPID
start_sonde()
{
	unsaid
	"${AS[@]}" "$SONDE" "$@" >"$TMP/sonde.out" 2>"$TMP/sonde.err" \
		</dev/null &
	RPID=$!
	OURS+=("$RPID")
}

expect_status()
{
	[ "$STATUS" -eq "$1" ] || fail "status $STATUS, wanted $1"
}

# expect_error PATTERN: a sentence on standard error, nothing on output
expect_error()
{
	grep -qE -- "$1" "$TMP/sonde.err" || fail "no error like '$1'"
}

# start_record ARGS...: in the background; sets RPID
start_record()
{
	: >"$TMP/record.out"
	: >"$TMP/record.err"
	"${AS[@]}" "$SONDE" record "$@" >"$TMP/record.out" 2>"$TMP/record.err" \
		</dev/null &
	RPID=$!
	OURS+=("$RPID")
}

# record_cpu SECONDS ARGS...: record the victim until it has used so much CPU
# time, on however busy a machine; like sonde(), but for `record -p`. What it
# used while it was surely recorded, and at most, is in CPU_LEAST, CPU_MOST.
record_cpu()
{
	local wanted=$1

	shift
	start_cpu "$@"
	until_true 180 cpu_grown "$wanted" || fail "the target does not run"
	stop_cpu
}

start_cpu()
{
	read_cpu
	cpu_before=$CPU
	unsaid
	as_if_typed "$SONDE" record -p "$VPID" "$@" >"$TMP/sonde.out" \
		2>"$TMP/sonde.err" </dev/null &
	RPID=$!
	OURS+=("$RPID")
	until_true 30 grep -q '^recording ' "$TMP/sonde.err" || {
		ended "$RPID" || fail "record does not begin"
		end_of "$RPID"
		fail "record refused, status $STATUS"
	}
	read_cpu
	cpu_begun=$CPU
}

stop_cpu()
{
	read_cpu
	kill -INT "$RPID"
	CPU_LEAST=$(calc "($CPU - $cpu_begun) / $TICKS")
	end_of "$RPID"
	ended "$VPID" && return
	read_cpu
	CPU_MOST=$(calc "($CPU - $cpu_before) / $TICKS")
}

TICKS=$(getconf CLK_TCK)

# The target's CPU time, ended threads too, in ticks: the sum of utime and
# stime is exact but for its unit. By builtins: into CPU.
read_cpu()
{
	local line rest

	read -r line <"/proc/$VPID/stat" || fail "the target is gone"
	read -ra rest <<<"${line##*) }"
	CPU=$((rest[11] + rest[12]))
}

# cpu_grown SECONDS: since the recording began; one decimal at most
cpu_grown()
{
	local whole=${1%.*} tenths=0

	[ "$whole" = "$1" ] || tenths=${1#*.}
	read_cpu
	[ $((CPU - cpu_begun)) -ge $(((10 * whole + tenths) * TICKS / 10)) ]
}

# expect_cpu WHAT SECONDS PERCENT: of what was recorded by record_cpu; utime
# and stime are cut to whole ticks at both ends of what we compare with
expect_cpu()
{
	note "$1: $2 s; its clock: $CPU_LEAST s while recorded," \
		"$CPU_MOST s with what lies around it"
	holds "$2 >= $CPU_LEAST * (1 - $3 / 100) - 2 / $TICKS &&
		$2 <= $CPU_MOST * (1 + $3 / 100) + 2 / $TICKS" ||
		fail "$1 is not within $3 % of the target's clock"
}

# tracer_of PID: the tracer process of a `sonde record` that runs
tracer_of()
{
	pgrep -P "$1" | head -n 1
}

recording()
{
	[ -s "$1/profile" ]
}

# ---- what an experiment says: the only places that know report's layout ----

# facts EXPERIMENT: sets SAMPLES COMPLETE TRUNCATED FAILED LOST DURATION
facts()
{
	"$SONDE" report "$1" -header >"$TMP/header.out" 2>"$TMP/header.err" ||
		fail "report $1 -header: status $?"
	eval "$(tr -d ',' <"$TMP/header.out" | awk '
		/^ *Samples: / { samples = $2 + 0; known = 1 }
		/^ *Stacks: / {
			for (i = 2; i < NF; i += 2)
				stack[$(i + 1)] = $i
		}
		/^Lost by cause:/ { losses = 1; next }
		losses && /^  .*: [0-9]+ samples / {
			sub(/^.*: /, "")
			lost += $1
			next
		}
		/^[^ ]/ { losses = 0 }
		/^Data Collection Duration: / { duration = $4 }
		END {
			if (!known || !("complete" in stack) ||
			    duration == "")
				print "broken \"no facts in the header\""
			printf "COMPLETE=%d TRUNCATED=%d FAILED=%d LOST=%d ",
				stack["complete"], stack["truncated"],
				stack["failed"], lost
			print "SAMPLES=" samples " DURATION=" duration
		}')"
	note "$SAMPLES samples in $DURATION s; stacks: $COMPLETE complete," \
		"$TRUNCATED truncated, $FAILED failed; $LOST lost"
}

# functions EXPERIMENT METRICS: `value... name` lines into $TMP/functions.out
functions()
{
	"$SONDE" report "$1" -metrics "$2:name" -functions \
		>"$TMP/functions.raw" 2>"$TMP/functions.err" ||
		fail "report $1 -functions: status $?"
	awk '$1 ~ /^[0-9]+\.?[0-9]*$/' "$TMP/functions.raw" \
		>"$TMP/functions.out"
	grep -q '<Total>' "$TMP/functions.out" || fail "no <Total> in $1"
}

# value_of NAME [COLUMN]: from the last functions; 0 where there is no row
value_of()
{
	awk -v name="$1" -v column="${2:-1}" '
		{
			row = $0
			while (row ~ /^[ \t]*[0-9.]+%?[ \t]/)
				sub(/^[ \t]*[0-9.]+%?[ \t]+/, "", row)
			sub(/[ \t]+$/, "", row)
		}
		row == name { sum += $column }
		END { printf "%.3f\n", sum }' "$TMP/functions.out"
}

# cpu_seconds EXPERIMENT: <Total>, user and system
cpu_seconds()
{
	functions "$1" e.totalcpu
	value_of '<Total>'
}

# well_ended: share of stacks that end in a start function, in percent
well_ended()
{
	calc "100 * $COMPLETE / ($COMPLETE + $TRUNCATED + $FAILED)"
}

# engines: those that can work here
engines()
{
	echo ring inject
}

# beside PART...: this script once for each word, at the same time
beside()
{
	local part pid running=() failed=

	for part; do
		bash "$0" "$part" >"$TMP/$part.log" 2>&1 &
		running+=($!)
	done
	for pid in "${running[@]}"; do
		wait "$pid" || failed=yes
	done
	for part; do
		note "$part"
		cat "$TMP/$part.log"
	done
	[ -z "$failed" ] || fail "see above"
}

# as_if_typed COMMAND...: with SIGINT and SIGQUIT as a terminal's job has
# them; a shell's background job ignores both. Replaces this (sub)shell.
as_if_typed()
{
	exec "${AS[@]}" env --default-signal=INT,QUIT "$@"
}

# as_nobody [VICTIM...]: from here on these (spin31) and sonde are an ordinary
# user's, who may not look into the checkout of somebody else
as_nobody()
{
	local victims=("${@:-spin31}")

	need setpriv
	mkdir "$TMP/bin"
	cp "$SONDE" "${victims[@]/#/$VICTIMS/}" "$TMP/bin/"
	SONDE=$TMP/bin/sonde
	VICTIMS=$TMP/bin
	chmod 755 "$TMP" "$TMP/bin"/*
	chown 65534:65534 "$TMP"
	AS=(setpriv --reuid 65534 --regid 65534 --clear-groups)
}

# ---- the proof of a profile ----------------------------------------------------

# shares ENGINE INTERVAL CPU_SECONDS THREADS LEAST_SAMPLES: visits spin31; the
# share of three_parts must be what the victim measured by its own clocks,
# within 2 points, or 4 standard deviations of a share of 3/4 by that many
# independent samples where these are too few for 2 points (173 / sqrt(n): 2
# points from 7500 on; samples at a fixed distance are steadier than that).
shares()
{
	local exp=$TMP/$1.$2.$4.er three one share truth bound clocks

	note "engine $1, interval $2, $3 s of CPU, $4 threads"
	start_victim spin31 "$4"
	before_visit
	mark
	record_cpu "$3" -i "$2" --engine "$1" -o "$exp"
	mark
	expect_status 0
	health_check "$1"

	facts "$exp"
	[ "$SAMPLES" -ge "$5" ] || fail "only $SAMPLES samples, wanted $5"
	functions "$exp" e.totalcpu
	three=$(value_of three_parts)
	one=$(value_of one_part)
	share=$(calc "100 * $three / ($three + $one)")
	truth=$(calc "100 * $(grown three_ns) /
		($(grown three_ns) + $(grown one_ns))")
	bound=$(calc "$SAMPLES < 7500 ? 173 / sqrt($SAMPLES) : 2")
	expect_within "share of three_parts, %" "$share" "$truth" "$bound"
	# where the clocks that it reads are system calls, they are seen, too
	clocks=$(awk '$2 ~ /^(__vdso_)?clock_gettime/ ||
		/<Unsampled system time>/ { sum += $1 }
		END { print sum + 0 }' "$TMP/functions.out")
	holds "($three + $one + $clocks) / $(value_of '<Total>') > 0.97 &&
		$three + $one > 10 * $clocks" ||
		fail "less than 97 % of <Total> is in the two functions"
}
