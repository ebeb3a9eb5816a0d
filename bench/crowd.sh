# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# crowd: the first sample of, and the stops in, a process of many threads, of
# which as many spin as there are CPUs; by the rooms of first.sh and stops.sh.

CROWD_THREADS=(128 1000)

measure_crowd()
{
	rounds crowd_round
}

crowd_round()
{
	local threads variant

	for threads in "${CROWD_THREADS[@]}"; do
		for variant in "${FIRST_VARIANTS[@]}" gdb; do
			visit "first $threads 10" "$variant" \
				first_run "$threads" 10 "$variant"
		done
		for variant in nothing "${STOP_VARIANTS[@]}"; do
			visit "stops $threads" "$variant" \
				stops_run "$threads" "$variant"
		done
	done
}

write_crowd()
{
	local threads

	echo "## Many threads"
	echo
	echo "\`bench/run --only crowd\`. The two tables above with 128 and" \
		"1000 threads of \`bench/gaps.c\`, of which $(nproc) spin and" \
		"tell of their stops. The donor is one that sleeps: of it" \
		"only the receipt tells, which has the time of all stops." \
		"Aim: 20 ms, 0.7 ms."
	for threads in "${CROWD_THREADS[@]}"; do
		first_table "$threads" 10
		stops_table "$threads"
	done
}
