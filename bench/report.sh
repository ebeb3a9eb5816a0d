# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# report: reading a big experiment, beside gprofng on the same one.

REPORT_STACKS=20000

measure_report()
{
	REPORT_EVENTS=${QUICK:+200000}
	REPORT_EVENTS=${REPORT_EVENTS:-1000000}
	"$PROGRAMS/events" "$TMP/big.er" "$REPORT_EVENTS" "$REPORT_STACKS" ||
		broken "cannot write the experiment"
	rounds report_round
	fresh "$TMP/big.er"
}

report_round()
{
	visit report sonde report_run sonde "$SONDE" report "$TMP/big.er" \
		-metrics e.totalcpu:name -limit 20 -functions
	visit report gprofng report_run gprofng gprofng display text \
		-metrics e.totalcpu:name -limit 20 -functions "$TMP/big.er"
}

# report_run VARIANT COMMAND...
report_run()
{
	local variant=$1

	shift
	have "$1" || return 1
	"$PROGRAMS/timed" "$TMP/timed" "$@" >"$TMP/tool.out" 2>"$TMP/tool.err" \
		</dev/null || { WHY=$(tail -n 1 "$TMP/tool.err"); return 1; }
	put report "$variant" wall "$(said wall "$TMP/timed")"
	put report "$variant" cpu "$(said cpu "$TMP/timed")"
	put report "$variant" total "$(awk '
		$2 == "<Total>" { print $1 }' "$TMP/tool.out")"
}

write_report()
{
	local variant

	echo "## Reading an experiment"
	echo
	echo "\`bench/run --only report\`. $REPORT_EVENTS clock samples with" \
		"$REPORT_STACKS stacks of 5 to 40 frames over the libraries" \
		"of \`bench/events.c\`; the same experiment for both. The" \
		"total that each prints is the same number of seconds when" \
		"both have read all of it."
	table "" "what was run" "wall ms" "CPU ms" "wall ratio" "total, s"
	for variant in sonde gprofng; do
		row "$variant" "$(report_text "$variant")" \
			"$(spread report "$variant" wall 1e6 %.0f)" \
			"$(spread report "$variant" cpu 1e6 %.0f)" \
			"$(ratio report "$variant" wall sonde %.1f)" \
			"$(spread report "$variant" total 1 %.3f)"
	done
}

report_text()
{
	case $1 in
	sonde) echo '`sonde report EXP.er -limit 20 -functions`' ;;
	gprofng)
		echo '`gprofng display text -limit 20 -functions EXP.er`'
		;;
	esac
}
