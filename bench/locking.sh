# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# locking: what it costs a thread to take a free mutex while waits are
# recorded, and afterwards.

LOCK_VARIANTS=(sync all gprofng)
declare -A LOCK_TEXT=(
	[sync]='`sonde record -p PID --sync`'
	[all]='`sonde record -p PID --sync=all`'
	[gprofng]='`gprofng collect app -p off -s on PROGRAM`'
)
LOCK_DEPTH=10

measure_locking()
{
	rounds locking_round
}

locking_round()
{
	local variant

	for variant in nothing "${LOCK_VARIANTS[@]}" again; do
		visit locking "$variant" lock_run "$variant"
	done
}

# lock_pairs VARIANT: as many as take less than a second
lock_pairs()
{
	case $1 in
	all | gprofng) echo 2000000 ;;
	*) echo 20000000 ;;
	esac
}

# lock_run VARIANT
lock_run()
{
	local n words=()

	n=$(lock_pairs "$1")
	fresh "$TMP/exp.er" "$TMP/gp.er"
	if [ "$1" = gprofng ]; then
		have gprofng || return 1
		words=(gprofng collect app -p off -s on -O "$TMP/gp.er")
	fi
	start_process "${words[@]}" "$PROGRAMS/locking" "$n" "$LOCK_DEPTH"
	if ! until_true 60 grep -q '^ready ' "$VOUT" || ! lock_attach "$1"; then
		[ "$WHY" != failed ] || WHY="it does not start"
		kill_victim
		return 1
	fi
	tell go
	until_true 120 grep -q '^cpu ' "$VOUT" || return 1
	case $1 in
	sync | all)
		kill -INT "$RPID"
		reap "$RPID" || return 1
		;;
	esac
	tell again
	reap "$VPID" || return 1
	exec {VIN}>&-
	put locking "$1" cpu "$(calc "$(said cpu "$VOUT") / $n")"
	put locking "$1" after "$(calc "$(said after "$VOUT") / ($n / 2)")"
}

lock_attach()
{
	local option=--sync

	case $1 in
	all) option=--sync=all ;;
	sync) ;;
	*) return 0 ;;
	esac
	background "$SONDE" record -p "$VPID" "$option" -o "$TMP/exp.er"
	until_true 30 grep -q '^recording ' "$TMP/tool.err" || {
		WHY=$(tail -n 1 "$TMP/tool.err")
		return 1
	}
}

write_locking()
{
	local variant

	echo "## A free mutex, while waits are recorded"
	echo
	echo "\`bench/run --only locking\`. \`bench/locking.c\` locks and" \
		"unlocks a mutex that nobody else wants; its thread's own clock," \
		"for a pair, the profiler's ticks included. sonde attaches to" \
		"the program while it waits; gprofng starts it. \"After\" is the" \
		"same work once sonde has gone. Aim: 6 ns more than nothing;" \
		"nothing afterwards. With =all each call leaves a record."
	table variant "what was run" "ns a pair" "ratio to nothing" "ns after"
	for variant in nothing "${LOCK_VARIANTS[@]}" again; do
		row "$variant" "${LOCK_TEXT[$variant]:-}" \
			"$(spread locking "$variant" cpu 1 %.1f)" \
			"$(ratio locking "$variant" cpu nothing)" \
			"$(spread locking "$variant" after 1 %.1f)"
	done
}
