# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# programs: real programs of which every call of malloc and free is recorded
# with its stack: how much longer they take, and how large the files are.

PROG_VARIANTS=(heap heaptrack gprofng)
declare -A PROG_TEXT=(
	[heap]='`sonde record --heap -- PROGRAM`'
	[heap-attached]='`sonde record -p PID --heap`'
	[heaptrack]='`heaptrack PROGRAM`'
	[gprofng]='`gprofng collect app -p off -H on PROGRAM`'
)
PROG_SERVER=${SONDE_SERVERS:-$SONDE_BUILDDIR/servers}/usr/bin/redis-server
PROG_COMMANDS=300000

measure_programs()
{
	cat >"$TMP/prog.py" <<-'END'
	import json

	kept = {}
	for i in range(40000):
	    row = {'id': i, 'name': 'n%d' % i, 'tags': [i, str(i), None]}
	    text = json.dumps(row)
	    kept[i % 500] = json.loads(text)
	print(sum(r['id'] for r in kept.values()))
	END
	"${CC:-cc}" -D_GNU_SOURCE -I"$TOP/include" -E -o "$TMP/prog.i" \
		"$here/events.c" || broken "cannot preprocess events.c"
	rounds programs_round
}

programs_round()
{
	local variant cc1

	cc1=$("${CC:-cc}" -print-prog-name=cc1)
	for variant in nothing "${PROG_VARIANTS[@]}" again; do
		[ "$variant" = gprofng ] || visit python "$variant" \
			prog_run python "$variant" \
			"$(prog_python)" "$TMP/prog.py"
		visit cc1 "$variant" prog_run cc1 "$variant" "$cc1" -quiet \
			-fpreprocessed -O2 -o "$TMP/prog.s" "$TMP/prog.i"
	done
	for variant in nothing heap-attached heap heaptrack again; do
		visit redis "$variant" redis_run "$variant"
	done
}

# not a shell script that finds one
prog_python()
{
	python3 -c 'import sys; print(sys.executable)'
}

# prog_words VARIANT: PREFIX is what stands before the program
prog_words()
{
	PREFIX=()
	fresh "$TMP/exp.er" "$TMP/gp.er" "$TMP/heap.gz" "$TMP/heap.zst"
	case $1 in
	heap)
		PREFIX=("$SONDE" record --heap -o "$TMP/exp.er" --)
		;;
	heaptrack)
		have heaptrack || return 1
		PREFIX=(heaptrack -o "$TMP/heap")
		;;
	gprofng)
		have gprofng || return 1
		PREFIX=(gprofng collect app -p off -H on -O "$TMP/gp.er")
		;;
	esac
}

# prog_run CASE VARIANT PROGRAM...
prog_run()
{
	local case=$1 variant=$2

	shift 2
	prog_words "$variant" || return 1
	PYTHONMALLOC=malloc "$PROGRAMS/timed" "$TMP/timed" "${PREFIX[@]}" "$@" \
		>"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
	put "$case" "$variant" wall "$(said wall "$TMP/timed")"
	prog_files "$case" "$variant"
}

# prog_files CASE VARIANT: what it wrote, and how many calls that tells of
prog_files()
{
	local path calls

	for path in "$TMP/exp.er" "$TMP/gp.er" "$TMP/heap.gz" "$TMP/heap.zst"; do
		[ ! -e "$path" ] || put "$1" "$2" bytes \
			"$(du -sb "$path" | cut -f 1)"
	done
	[ -e "$TMP/exp.er/log.xml" ] || return 0
	calls=$(sed -n 's/.*"sonde_calls".* calls="\([0-9]*\)".*/\1/p' \
		"$TMP/exp.er/log.xml")
	put "$1" "$2" calls "$calls"
	prog_lost
}

# what is lost makes a number worthless
prog_lost()
{
	grep -q 'lost_full="0" lost_lease="0"' "$TMP/exp.er/log.xml" ||
		note "calls were lost: $(grep sonde_calls "$TMP/exp.er/log.xml")" >&2
}

redis_answers()
{
	redis-cli -s "$TMP/redis.sock" ping 2>/dev/null | grep -q PONG
}

# redis_run VARIANT: the time that its clients take
redis_run()
{
	have redis-benchmark || return 1
	[ -x "$PROG_SERVER" ] || {
		WHY="no redis-server: scripts/setup --servers build/servers"
		return 1
	}
	prog_words "$1" || return 1
	start_process "${PREFIX[@]}" "$PROG_SERVER" --port 0 --save '' \
		--appendonly no --unixsocket "$TMP/redis.sock" --dir "$TMP"
	if ! until_true 60 redis_answers || ! redis_attach "$1"; then
		[ "$WHY" != failed ] || WHY="it does not start"
		kill_victim
		return 1
	fi
	"$PROGRAMS/timed" "$TMP/timed" redis-benchmark -s "$TMP/redis.sock" -q \
		-n "$PROG_COMMANDS" -c 10 -P 16 -t set,get,lpush,lpop \
		>"$TMP/load.out" 2>&1 </dev/null || WHY="redis-benchmark fails"
	[ "$1" != heap-attached ] || {
		kill -INT "$RPID"
		reap "$RPID" || WHY=$(tail -n 1 "$TMP/tool.err")
	}
	redis-cli -s "$TMP/redis.sock" shutdown nosave >/dev/null 2>&1
	reap "$VPID"
	exec {VIN}>&-
	[ "$WHY" = failed ] || return 1
	put redis "$1" wall "$(said wall "$TMP/timed")"
	prog_files redis "$1"
}

redis_attach()
{
	[ "$1" = heap-attached ] || return 0
	background "$SONDE" record -p "$VPID" --heap -o "$TMP/exp.er"
	until_true 30 grep -q '^recording ' "$TMP/tool.err" || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
}

write_programs()
{
	echo "## Real programs, each malloc and free recorded"
	echo
	echo "\`bench/run --only programs\`. python3 makes and reads JSON, each" \
		"object from malloc (PYTHONMALLOC=malloc); cc1, gcc's compiler," \
		"translates \`bench/events.c\` by -O2: the whole command, from" \
		"start to the end of the profiler's files. redis-server serves" \
		"$PROG_COMMANDS each of SET, GET, LPUSH and LPOP from" \
		"redis-benchmark, ten clients, 16 commands at once: what the" \
		"clients wait for. Every call, with its stack. heaptrack's file" \
		"is compressed, by a process of its own. gprofng takes minutes" \
		"for python3, and redis-server aborts under it (2.40)."
	prog_table python "python3, with JSON" heap heaptrack
	prog_table cc1 "cc1 -O2" "${PROG_VARIANTS[@]}"
	prog_table redis "redis-server" heap-attached heap heaptrack
}

# prog_table CASE TITLE VARIANT...
prog_table()
{
	local case=$1 variant

	table "$2" "what was run" "wall ms" "ratio to nothing" "file, MB" \
		"calls recorded"
	shift 2
	for variant in nothing "$@" again; do
		row "$variant" "${PROG_TEXT[$variant]:-}" \
			"$(spread "$case" "$variant" wall 1e6 %.0f)" \
			"$(ratio "$case" "$variant" wall nothing %.2f)" \
			"$(prog_cell "$case" "$variant" bytes 1e6 %.1f)" \
			"$(prog_cell "$case" "$variant" calls 1 %.0f)"
	done
}

# prog_cell CASE VARIANT METRIC BY FORMAT: - where it has none
prog_cell()
{
	case $2-$3 in
	nothing-* | again-* | heaptrack-calls | gprofng-calls) echo - ;;
	*) spread "$1" "$2" "$3" "$4" "$5" ;;
	esac
}
