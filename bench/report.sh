# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# report: reading a big experiment, beside gprofng on the same one.

REPORT_STACKS=20000
REPORT_VIEWS='functions callers-callees calltree filter disasm'
REPORT_FUNCTION=experiment_create	# of the program that wrote it

# The words of a view, one a line
report_words()
{
	case $1 in
	filter) printf '%s\n' -filters 'THRID==3' -functions ;;
	disasm | source) printf '%s\n' "-$1" "$REPORT_FUNCTION" ;;
	*) echo "-$1" ;;
	esac
}

# Ten times as many events are for us alone: gprofng takes too long.
measure_report()
{
	REPORT_EVENTS=${QUICK:+200000}
	REPORT_EVENTS=${REPORT_EVENTS:-1000000}
	report_write clock "$REPORT_EVENTS"
	report_write heap "$REPORT_EVENTS" heap
	report_write clock10 $((10 * REPORT_EVENTS))
	report_write heap10 $((10 * REPORT_EVENTS)) heap
	rounds report_round
	fresh "$TMP/clock.er" "$TMP/heap.er" "$TMP/clock10.er" \
		"$TMP/heap10.er"
}

# report_write NAME EVENTS [heap]
report_write()
{
	"$PROGRAMS/events" "$TMP/$1.er" "$2" "$REPORT_STACKS" "${@:3}" ||
		broken "cannot write the experiment"
}

report_round()
{
	local data view

	for data in clock heap; do
		for view in $REPORT_VIEWS; do
			report_view "$data" "$view" sonde
			report_view "$data" "$view" gprofng
		done
		report_view "$data" source sonde
		report_view "${data}10" functions sonde
	done
	visit report-help sonde report_run report-help sonde "$SONDE" help
}

# report_view DATA VIEW TOOL
report_view()
{
	local metrics=e.totalcpu:name case=report-$1-$2
	local options command

	[[ $1 = clock* ]] || metrics=e.heapallocbytes:name
	mapfile -t options < <(report_words "$2")
	options=(-metrics "$metrics" -limit 20 "${options[@]}")
	command=("$SONDE" report "$TMP/$1.er" "${options[@]}")
	[ "$3" = sonde ] ||
		command=(gprofng display text "${options[@]}" "$TMP/$1.er")
	visit "$case" "$3" report_run "$case" "$3" "${command[@]}"
}

# report_run CASE VARIANT COMMAND...
report_run()
{
	local case=$1 variant=$2

	shift 2
	have "$1" || return 1
	"$PROGRAMS/timed" "$TMP/timed" "$@" >"$TMP/tool.out" 2>"$TMP/tool.err" \
		</dev/null || { WHY=$(tail -n 1 "$TMP/tool.err"); return 1; }
	put "$case" "$variant" wall "$(said wall "$TMP/timed")"
	put "$case" "$variant" cpu "$(said cpu "$TMP/timed")"
	put "$case" "$variant" memory "$(said memory "$TMP/timed")"
	put "$case" "$variant" total "$(awk '
		$2 == "<Total>" { print $1; exit }' "$TMP/tool.out")"
}

write_report()
{
	local data view

	echo "## Reading an experiment"
	echo
	echo "\`bench/run --only report\`. $REPORT_EVENTS clock samples, or as" \
		"many events of the heap, with $REPORT_STACKS stacks of 5 to" \
		"40 frames over the libraries of \`bench/events.c\`; the same" \
		"experiment for both, each command with \`-limit 20\`. The" \
		"total that each prints is the same when both have read all" \
		"of it. Sources are ours alone: gprofng 2.40 does not read" \
		"the DWARF of this compiler."
	table "" "what was run" "wall ms" "CPU ms" "memory MB" \
		"wall ratio" "total"
	for data in clock heap; do
		for view in $REPORT_VIEWS; do
			report_row "$data" "$view" sonde
			report_row "$data" "$view" gprofng
		done
		report_row "$data" source sonde
	done
	report_row clock10 functions sonde
	report_row heap10 functions sonde
	row sonde '`sonde help`' "$(spread report-help sonde wall 1e6 %.1f)" \
		"$(spread report-help sonde cpu 1e6 %.1f)" \
		"$(spread report-help sonde memory 1e6 %.0f)" - -
}

# report_row DATA VIEW TOOL
report_row()
{
	local case=report-$1-$2 total=-

	[[ $2 != functions && $2 != filter ]] || total=$(spread "$case" "$3" total 1 %.0f)
	row "$3" "$(report_text "$@")" \
		"$(spread "$case" "$3" wall 1e6 %.0f)" \
		"$(spread "$case" "$3" cpu 1e6 %.0f)" \
		"$(spread "$case" "$3" memory 1e6 %.0f)" \
		"$(ratio "$case" "$3" wall sonde %.1f)" "$total"
}

# report_text DATA VIEW TOOL
report_text()
{
	local events='' words

	mapfile -t words < <(report_words "$2")
	[[ $1 != *10 ]] || events=", $((10 * REPORT_EVENTS)) events"
	case $3 in
	sonde) echo "\`sonde report ${1%10}.er ${words[*]}\`$events" ;;
	gprofng) echo "\`gprofng display text ${words[*]} ${1%10}.er\`" ;;
	esac
}
