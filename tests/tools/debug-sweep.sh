# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2016 # $pc is a register of gdb
# debug-sweep: everything that frames have, asked of gdb and of us; sourced
# behind debug-compare.sh.

# names FILE: of variables, from answers to locals and args
names()
{
	awk '
	/^@@ frame / { frame = $3 }
	/^@@ (locals|args)/ { listing = 1; next }
	/^@@ / { listing = 0 }
	listing && /^[A-Za-z_][A-Za-z_0-9]* = / && !seen[frame, $1]++ {
		print frame, $1
	}' "$1"
}

# questions NAME FRAMES: to NAME.cmd, from NAME.names: locals, args, then print,
# whatis and what pointers point to, of each; memory and code of each frame
questions()
{
	local i frame name last='' frames=$2

	{
		for ((i = 0; i < frames; i++)); do
			printf 'frame %d\nlocals\nargs\nprint $pc\nprint $sp\n' "$i"
		done
		for ((i = 0; i < frames; i++)); do
			printf 'frame %d\nx/8xg $sp\nx/6i $pc\n' "$i"
		done
		names "$TMP/$1.names" | while read -r frame name; do
			[ "$frame" = "$last" ] || echo "frame $frame"
			last=$frame
			printf 'print %s\nwhatis %s\nprint *%s\n' "$name" \
				"$name" "$name"
			printf 'print/x %s\nprint sizeof(%s)\n' "$name" "$name"
		done
	} >"$TMP/$1.cmd"
}

# sweep PROGRAM CORE NAME FRAMES
sweep()
{
	local i frames

	# no more than there are
	echo bt >"$TMP/$3.first"
	frames=$(ask_gdb "$1" "$2" "$TMP/$3.first" | grep -c '^#')
	[ "$frames" -le "$4" ] || frames=$4
	for ((i = 0; i < frames; i++)); do
		printf 'frame %d\nlocals\nargs\n' "$i"
	done >"$TMP/$3.first"
	ask_gdb "$1" "$2" "$TMP/$3.first" >"$TMP/$3.names"
	questions "$3" "$frames"
	compare "$1" "$2" "$TMP/$3.cmd" "$3"
}

# sweep_all NAME FRAMES "FUNCTION..." PROGRAM ARGUMENT...: the same at the first
# entry of each function that the program comes to, which is in MET; by two runs
# of gdb: one makes the cores and asks what there is, one has all the questions.
# NAME-FUNCTION is then ready for compare_answers.
sweep_all()
{
	local name=$1 frames=$2 functions=$3 function program args=()

	# a program may go by the name that it is called by
	program=$(readlink -f "$4")
	shift 3
	CORES_NAME=$TMP/$name CORES_FRAMES=$frames CORES_AT=$functions \
		small_files timeout 60 gdb -nx -batch -x "$TOP/tests/tools/debug-cores.py" \
		--args "$@" >"$TMP/$name.log" 2>&1 </dev/null
	mapfile -t MET < <(grep . "$TMP/$name.met")
	[ "${#MET[@]}" -gt 0 ] ||
		broken "$name came to no stop: $(tail -n 3 "$TMP/$name.log")"
	for function in "${MET[@]}"; do
		questions "$name-$function" \
			"$(grep -c '^@@ frame' "$TMP/$name-$function.names")"
		args+=(-ex "echo @@@ $function\\n"
			-ex "core-file $TMP/$name-$function.core")
		gdb_words "$TMP/$name-$function.cmd"
		args+=("${WORDS[@]}")
	done
	run_gdb "$program" "${args[@]}" |
		awk -v base="$TMP/$name-" '/^@@@ / {
			file = base $2 ".gdb.raw"; on = 0; printf "" >file; next }
		/^@@ / { on = 1 }
		file != "" && on { print >file }'
	for function in "${MET[@]}"; do
		ask_us "$program" "$TMP/$name-$function.core" \
			"$TMP/$name-$function.cmd" >"$TMP/$name-$function.our.raw"
	done
}
