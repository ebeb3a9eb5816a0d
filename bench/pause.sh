# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# pause: how long a process stands for a dump of all its threads at one
# moment, by the account of its own spinning threads (gaps.c).

PAUSE_DEPTH=50
# threads:of them spin
PAUSE_CASES=(16:2 128:2 512:2 1000:2 16:8 128:64 512:256)
PAUSE_PEERS=(floor gdb eu-stack stock cached)
declare -A PAUSE_TEXT=(
	[sonde]='`sonde dump -p PID -consistent`'
	[gdb]='`gdb -batch -p PID -ex "thread apply all bt"`'
	[eu-stack]='`eu-stack -p PID`, one thread after the other'
	[stock]='libunwind-ptrace as it comes (`bench/peer-dump.c`)'
	[cached]='the same with UNW_CACHE_GLOBAL'
	[floor]='stop and go on, nothing is read (`bench/peer-dump.c`)'
)
declare -A PAUSE_AIM=([16]=0.25 [128]=1.1 [512]=4.5 [1000]=12)

measure_pause()
{
	rounds pause_round
}

pause_round()
{
	local case variant

	for case in "${PAUSE_CASES[@]}"; do
		for variant in $(pause_variants "$case"); do
			visit "pause $case" "$variant" \
				pause_run "${case%:*}" "${case#*:}" "$variant"
		done
	done
}

# Where half of them spin the peers take minutes to stop them all; what comes
# with no cache, as many seconds as there are hundreds of threads.
pause_variants()
{
	echo sonde
	case $1 in
	16:8 | 128:64 | 512:256) echo floor ;;
	16:2 | 128:2) echo "${PAUSE_PEERS[@]}" ;;
	*:2) echo "${PAUSE_PEERS[@]/stock/}" ;;
	esac
}

# pause_run THREADS SPINNERS VARIANT
pause_run()
{
	local case="pause $1:$2"

	start_victim gaps "$1" "$PAUSE_DEPTH" "$2"
	visit_gaps pause_visit "$3" || return 1
	put_threads "$case" "$3" stop 4
	put "$case" "$3" told "$(pause_told "$3")"
	put "$case" "$3" frames "$(pause_frames "$3")"
}

pause_visit()
{
	local words

	case $1 in
	sonde) words=("$SONDE" dump -p "$VPID" -consistent --json) ;;
	gdb) words=("${GDB[@]}" -p "$VPID" -ex 'thread apply all bt') ;;
	eu-stack) words=(eu-stack -p "$VPID") ;;
	stock | cached | floor) words=("$PROGRAMS/peer-dump" "$VPID" "$1") ;;
	esac
	have "${words[0]}" || return 1
	timeout -k 5 60 "${words[@]}" >"$TMP/tool.out" 2>"$TMP/tool.err" \
		</dev/null && return
	WHY=$(tail -n 1 "$TMP/tool.err")
	return 1
}

pause_told()
{
	case $1 in
	sonde) sed -nE 's/.*"ran_stood_ns": *([0-9]+).*/\1/p' "$TMP/tool.out" |
		head -n 1 ;;
	stock | cached | floor) said pause "$TMP/tool.out" ;;
	esac
}

pause_frames()
{
	case $1 in
	stock | cached | floor) said frames "$TMP/tool.out" ;;
	*) grep -o 'descend' "$TMP/tool.out" | wc -l ;;
	esac
}

write_pause()
{
	local case

	echo "## How long a process stands for a dump of one moment"
	echo
	echo "\`bench/run --only pause\`. Threads of \`bench/gaps.c\`," \
		"$PAUSE_DEPTH calls deep; some spin reading the clock, the" \
		"others sleep. The pause is the longest stop of any thread" \
		"that spins, by its own account: what it did not run and did" \
		"not wait for a CPU. What the tool says stands beside it." \
		"Frames are those of the recursion (of libunwind all)." \
		"eu-stack stops one thread at a time, so its dump is of no" \
		"one moment. Milliseconds. sonde stops those that sleep first" \
		"and says of those that run. The aims were set on a machine" \
		"where the kernel alone took 0.11, 0.58, 2.3 and 6.2 to 10.5" \
		"ms for 16 to 1000 threads."
	for case in "${PAUSE_CASES[@]}"; do
		pause_table "$case"
	done
}

pause_table()
{
	local variant told

	table "$((${1%:*})) threads, ${1#*:} of them spin; aim \
${PAUSE_AIM[${1%:*}]} ms" "what was run" "pause" "the tool says" \
		"pause / sonde's" "frames found"
	for variant in $(pause_variants "$1"); do
		told=-
		case $variant in
		sonde | stock | cached | floor)
			told=$(spread "pause $1" "$variant" told 1e6 %.3f)
			;;
		esac
		row "$(pause_name "$variant")" "${PAUSE_TEXT[$variant]}" \
			"$(spread "pause $1" "$variant" stop 1e6 %.3f)" \
			"$told" \
			"$(ratio "pause $1" "$variant" stop sonde %.1f)" \
			"$(spread "pause $1" "$variant" frames 1 %.0f)"
	done
}

pause_name()
{
	case $1 in
	stock | cached) echo "libunwind, $1" ;;
	floor) echo "the kernel alone" ;;
	*) echo "$1" ;;
	esac
}
