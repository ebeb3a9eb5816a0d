# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# debug-compare: the same questions about a core to gdb, the oracle, and to the
# debug room; sourced by the tests behind lib.sh.

PRINT=$BUILD/tests/tools/debug-print

# make_core CORE BREAKPOINT PROGRAM ARG...: the program stopped there, by gdb
make_core()
{
	local core=$1 at=$2

	shift 2
	small_files gdb -nx -batch -ex 'set debuginfod enabled off' \
		-ex 'set breakpoint pending on' -ex "break $at" \
		-ex run -ex "gcore $core" --args "$@" >"$core.log" 2>&1 \
		</dev/null
	[ -s "$core" ] || broken "gdb made no core: $(tail -n 3 "$core.log")"
}

# gdb_words COMMANDS: as arguments of gdb, into WORDS
gdb_words()
{
	local line

	WORDS=()
	while read -r line; do
		[ -n "$line" ] || continue
		WORDS+=(-ex "echo @@ $line\\n")
		case $line in
		locals) WORDS+=(-ex 'info locals') ;;
		args) WORDS+=(-ex 'info args') ;;
		regs) WORDS+=(-ex 'info registers') ;;
		echo*) ;;
		*) WORDS+=(-ex "$line") ;;
		esac
	done <"$1"
}

# run_gdb WORD...
run_gdb()
{
	gdb -nx -batch -iex 'set debuginfod enabled off' \
		-iex 'set auto-load python-scripts off' -ex 'set width 0' \
		-ex 'set backtrace past-main on' \
		-ex 'set confirm off' -ex 'disable pretty-printer' -ex 'disable type-printer' "$@" 2>&1 </dev/null |
		sed -n '/^@@/,$p' |
		sed -E 's/^\$[0-9]+ = //; s/^\$[0-9]+ = //'
}

# ask_gdb PROGRAM CORE COMMANDS: answers, each behind a line "@@ COMMAND"
ask_gdb()
{
	gdb_words "$3"
	run_gdb "$1" "$2" "${WORDS[@]}"
}

ask_us()
{
	local line

	while read -r line; do
		[ -n "$line" ] || continue
		printf 'echo @@ %s\n%s\n' "$line" "$line"
	done <"$3" | "$PRINT" "$2" "$1" 2>&1
}

# answers FILE: one line for each command, its answer's lines joined; those of
# locals in order of names: gdb shows a block's in no order of their own
answers()
{
	awk '
	function flush(   i, j, t) {
		if (head == "")
			return
		if (head ~ /^@@ locals/)
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && line[j - 1] > line[j];
				     j--) {
					t = line[j]
					line[j] = line[j - 1]
					line[j - 1] = t
				}
		if (head !~ /^@@ (frame|thread|up|down)/)
			for (i = 1; i <= n; i++)
				print substr(head, 4) " => " line[i]
	}
	/^@@ / { flush(); head = $0; n = 0; next }
	{ line[++n] = $0 }
	END { flush() }' "$1"
}

# compare PROGRAM CORE COMMANDS NAME: differences go to NAME.diff; counts in
# EQUAL and DIFFERENT
compare()
{
	ask_gdb "$1" "$2" "$3" >"$TMP/$4.gdb.raw"
	ask_us "$1" "$2" "$3" >"$TMP/$4.our.raw"
	compare_answers "$4"
}

# compare_answers NAME: that both gave
compare_answers()
{
	answers "$TMP/$1.gdb.raw" >"$TMP/$1.gdb"
	answers "$TMP/$1.our.raw" >"$TMP/$1.our"
	diff -U0 "$TMP/$1.gdb" "$TMP/$1.our" | grep '^[-+][^-+]' \
		>"$TMP/$1.diff"
	EQUAL=$(grep -cxFf "$TMP/$1.our" "$TMP/$1.gdb")
	DIFFERENT=$(grep -c '^-' "$TMP/$1.diff")
}

# differ PATTERN REASON: lines of a comparison that may be other than gdb's
ALLOWED=()
differ()
{
	ALLOWED+=("$1")
}

# expect_equal NAME LEAST: what compare found is allowed, each permission is
# used, and at least so many lines are equal
expect_equal()
{
	local left=$TMP/$1.left pattern

	cp "$TMP/$1.diff" "$left"
	for pattern in "${ALLOWED[@]}"; do
		grep -qE -- "$pattern" "$TMP/$1.diff" ||
			fail "$1: no difference is like '$pattern' any more"
		grep -vE -- "$pattern" "$left" >"$left.new"
		mv "$left.new" "$left"
	done
	if [ -s "$left" ]; then
		head -n 40 "$left"
		fail "$1: other answers than gdb's"
	fi
	[ "$EQUAL" -ge "$2" ] ||
		fail "$1: only $EQUAL lines are equal to gdb's, not $2"
	note "$1: $EQUAL lines equal, $DIFFERENT allowed differences"
	ALLOWED=()
}
