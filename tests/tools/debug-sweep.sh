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

# sweep PROGRAM CORE NAME FRAMES: locals, args, then print, whatis and what
# pointers point to, of each; memory and code of each frame
sweep()
{
	local i frame name last='' frames

	# no more than there are
	echo bt >"$TMP/$3.first"
	frames=$(ask_gdb "$1" "$2" "$TMP/$3.first" | grep -c '^#')
	[ "$frames" -le "$4" ] || frames=$4
	for ((i = 0; i < frames; i++)); do
		printf 'frame %d\nlocals\nargs\nprint $pc\nprint $sp\n' "$i"
	done >"$TMP/$3.first"
	ask_gdb "$1" "$2" "$TMP/$3.first" >"$TMP/$3.names"
	{
		cat "$TMP/$3.first"
		for ((i = 0; i < frames; i++)); do
			printf 'frame %d\nx/8xg $sp\nx/6i $pc\n' "$i"
		done
		names "$TMP/$3.names" | while read -r frame name; do
			[ "$frame" = "$last" ] || echo "frame $frame"
			last=$frame
			printf 'print %s\nwhatis %s\nprint *%s\n' "$name" \
				"$name" "$name"
			printf 'print/x %s\nprint sizeof(%s)\n' "$name" "$name"
		done
	} >"$TMP/$3.cmd"
	compare "$1" "$2" "$TMP/$3.cmd" "$3"
}
