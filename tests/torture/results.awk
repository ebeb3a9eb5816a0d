# SPDX-License-Identifier: GPL-3.0-or-later
# results: lines of the torture harness into RESULTS.md. Columns: name, how,
# visits, injected, killed, refused, unexpected, lost, eintr, wrong, missed,
# unclean, hung, others stopped, of, stops (with commas), reason.

# The value below which a share of the sorted list lies.
function part(list, n, share,   i)
{
	i = int(n * share) + 1
	return list[i > n ? n : i]
}

function sorted(text, list,   n, i, k, x)
{
	n = split(text, list, ",")
	for (i = 2; i <= n; i++) {
		x = list[i] + 0
		for (k = i - 1; k > 0 && list[k] + 0 > x; k--)
			list[k + 1] = list[k]
		list[k + 1] = x
	}
	return n
}

function stop_row(what, text, others, of,   list, n)
{
	n = sorted(text, list)
	if (!n)
		return
	printf "| %s | %d | %.2f | %.2f | %.2f | %s |\n", what, n,
		part(list, n, 0.5), part(list, n, 0.95), list[n],
		of ? others " of " of : "not counted"
}

{
	gsub("/[^ ]*/sonde-torture[.][A-Za-z0-9]*/", "", $17)
	how[NR] = $2
	if ($2 == "missing") {
		absent = absent "\n- " $1 ": " $17 " is not there"
		nabsent++
		next
	}
	if ($2 == "broken")
		broken = broken "\n- " $1 ": " $17
	situations++
	visits += $3; injected += $4; killed += $5; refused += $6
	unexpected += $7; lost += $8; eintr += $9; wrong += $10
	missed += $11; unclean += $12; hung += $13
	if ($2 == "bad")
		bad = bad sprintf("\n- %s: lost %d, EINTR %d, wrong %d, " \
			"missed %d, not as before %d, hung %d, refusals not " \
			"expected %d%s", $1, $8, $9, $10, $11, $12, $13, $7,
			$7 ? " (" $17 ")" : "")
	if ($6)
		reasons = reasons sprintf("| %s | %d of %d | %s |\n", $1, $6,
			$3, $17)
	if ($15) {
		measured[$1] = $16
		others[$1] = $14
		of[$1] = $15
	} else if ($16 != "")
		all = all (all == "" ? "" : ",") $16
	rows = rows sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n",
		$1, $3, $4, $5, $6, $8, $9, $10, $11)
}

END {
	print "# What the torture suite found"
	print ""
	print "Written by `tests/torture/run` (`make check-torture`)."
	printf "Version %s, seed %s, Linux %s, %d processors, %d s.\n", version,
		seed, kernel, cpus, took
	print ""
	print "## Result"
	print ""
	printf "%d situations, %d visits, of which %d injected; in %d our " \
		"side was killed.\n", situations, visits, injected, killed
	print ""
	printf "- targets lost: %d\n", lost
	printf "- EINTR seen: %d\n", eintr
	printf "- wrong results: %d\n", wrong
	printf "- missed signals: %d\n", missed
	printf "- not as before: %d\n", unclean
	printf "- visits that hung: %d\n", hung
	printf "- refused: %d, not expected: %d\n", refused, unexpected
	if (bad broken != "")
		print "\nWhere:\n" bad broken
	print ""
	print "## Stop times"
	print ""
	print "A visit's borrowed threads, all their stops together, in ms, as"
	print "the receipt says. Others: threads that the kernel counted a"
	print "wait of, beyond the borrowed ones, in whole visits."
	print ""
	print "| situation | visits | p50 | p95 | max | others stopped |"
	print "|---|---|---|---|---|---|"
	for (name in measured)
		stop_row(name, measured[name], others[name], of[name])
	stop_row("all other situations", all, 0, 0)
	print ""
	print "## Refusals, the last reason of each"
	print ""
	print "| situation | refused | reason |"
	print "|---|---|---|"
	printf "%s", reasons
	print ""
	print "## Each situation"
	print ""
	print "| situation | visits | injected | killed | refused | lost |" \
		" EINTR | wrong | missed |"
	print "|---|---|---|---|---|---|---|---|---|"
	printf "%s", rows
	if (nabsent)
		print "\n## Not available here, not counted\n" absent
}
