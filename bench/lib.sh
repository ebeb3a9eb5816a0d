# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# lib: what the sections of bench/run share: the machine, the peers, the
# programs, the numbers. A section is a pair of functions: measure_X puts
# numbers, write_X shows them.

QUIET_OTHERS=10		# percent of the CPUs
QUIET_LOOK=3		# seconds
PROGRAMS=$TMP/bin
VICTIMS=$PROGRAMS
PEERS='libgoogle-perftools-dev google-perftools heaptrack linux-perf gdb elfutils
binutils'
LIBPROFILER=libprofiler.so.0
WHY=''			# why the last visit failed

# ---- the machine -----------------------------------------------------------

load()
{
	cut -d ' ' -f 1-3 /proc/loadavg
}

# The load average tells of the last minute too late: look at the CPUs.
refuse_load()
{
	local before busy

	before=$(busy_ticks)
	read -rt "$QUIET_LOOK" _ <> <(:) || :
	busy=$(calc "100 * ($(busy_ticks) - $before) /
		($TICKS * $(nproc) * $QUIET_LOOK)")
	holds "$busy <= $QUIET_OTHERS" || [ -n "$LOADED" ] ||
		broken "the CPUs are ${busy%.*} % busy: above" \
			"$QUIET_OTHERS % numbers mean little; wait, or --loaded"
}

# What the CPUs did, in ticks, and what of it was ours: our children's time
# is known when they were waited for.
busy_ticks()
{
	awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 }' /proc/stat
}

own_ticks()
{
	sed 's/.*) //' "/proc/$$/stat" | awk '{ print $12 + $13 + $14 + $15 }'
}

begin_account()
{
	load_before=$(load)
	account=("$(busy_ticks)" "$(own_ticks)" "$SECONDS")
}

# end_account: sets others, percent of the CPUs that were not ours
end_account()
{
	load_after=$(load)
	others=$(calc "100 * ($(busy_ticks) - ${account[0]} -
		($(own_ticks) - ${account[1]})) /
		($TICKS * $(nproc) * ($SECONDS - ${account[2]} + 0.5))")
	others=$(printf '%.0f' "$others")
}

install_peers()
{
	local package missing=()

	command -v apt-get >/dev/null 2>&1 || return 0
	[ "$(id -u)" -eq 0 ] || return 0
	for package in $PEERS; do
		installed "$package" || missing+=("$package")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	note "installing ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q update >&2 || note "the package lists are old" >&2
	# One by one: a peer that cannot be had must not cost the others.
	for package in "${missing[@]}"; do
		apt-get -q -y --no-install-recommends install "$package" >&2 ||
			note "no $package" >&2
	done
}

installed()
{
	dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null |
		grep -qx installed
}

# ---- our programs ----------------------------------------------------------

build_programs()
{
	local name cc=${CC:-cc}
	local libs=(-ldw -lelf -llzma -liberty -lunwind-ptrace -lunwind-generic
		-lunwind -lpthread)

	mkdir -p "$PROGRAMS"
	for name in burn gaps blocked locking pairs timed; do
		"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -fomit-frame-pointer \
			-o "$PROGRAMS/$name" "$here/$name.c" -lpthread ||
			broken "cannot compile $name.c"
	done
	for name in first events unwind-frame handler-frame look peer-dump; do
		# shellcheck disable=SC2046 # none or one
		"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -I"$TOP/include" \
			-o "$PROGRAMS/$name" "$here/$name.c" $(also "$name") \
			"$BUILD/libsonde.a" "${libs[@]}" ||
			broken "cannot compile $name.c"
	done
}

# also NAME: the guest's code is in no library that is linked
also()
{
	[ "$1" != handler-frame ] || echo "$TOP/src/collector/hot_stack.c"
}

# said KEY FILE: the value of that line
said()
{
	awk -v key="$1" '$1 == key { print $2; found = 1; exit }
		END { exit !found }' "$2"
}

# ---- visits ----------------------------------------------------------------

# have TOOL: else the reason is in WHY
have()
{
	command -v "$1" >/dev/null 2>&1 && return
	WHY="$1 is not installed"
	return 1
}

# visit CASE VARIANT FUNCTION ARGS...: one run of one variant; a failed one is
# told, and the rest goes on
visit()
{
	local case=$1 variant=$2

	shift 2
	WHY="failed"
	if "$@"; then
		return 0
	fi
	echo "$case|$variant|$WHY" >>"$MISSING"
	note "round $ROUND: $case: $variant: not measured: $WHY" >&2
}

# background COMMAND...: a profiler or debugger; sets RPID. Its words are in
# tool.out and tool.err. One that hangs is ended.
background()
{
	# who waits for a line must not see one of the run before
	: >"$TMP/tool.err"
	as_if_typed timeout -k 5 120 "$@" >"$TMP/tool.out" 2>"$TMP/tool.err" </dev/null &
	RPID=$!
	OURS+=("$RPID")
}

# A plain wait: whoever polls takes CPU time from what is measured.
reap()
{
	wait "$1"
	STATUS=$?
	forget "$1"
	return "$STATUS"
}

# kill_victim: of a visit that failed half way
kill_victim()
{
	kill -KILL "$VPID" 2>/dev/null
	exec {VIN}>&-
	reap "$VPID" 2>/dev/null
	return 0
}

# start_gaps THREADS: a few all spin; a crowd mostly sleeps
start_gaps()
{
	if [ "$1" -gt 16 ]; then
		start_victim gaps "$1" 20 "$(nproc)"
	else
		start_victim gaps "$1"
	fi
}

# fresh PATH...: one run's leftovers must not meet the next
fresh()
{
	rm -rf "$@"
}

GDB=(gdb -nx -batch -iex 'set debuginfod enabled off')
# A small library of glibc's that no program of ours has.
DLOPEN='call (void *)dlopen("libBrokenLocale.so.1", 2)'

# called: did gdb's call give a handle?
called()
{
	grep -qE '= \(void \*\) 0x[0-9a-f]*[1-9a-f]' "$1" && return
	WHY="gdb's call failed: $(tail -n 1 "$1")"
	return 1
}

# ---- numbers ---------------------------------------------------------------

# rounds FUNCTION: ROUNDS times
rounds()
{
	for ((ROUND = 1; ROUND <= ROUNDS; ROUND++)); do
		note "$1, round $ROUND of $ROUNDS" >&2
		"$1"
	done
}

# put CASE VARIANT METRIC VALUE
put()
{
	[ -z "$4" ] || echo "$1|$2|$ROUND|$3|$4" >>"$DATA"
}

# spread CASE VARIANT METRIC [DIVISOR [FORMAT]]: median (min..max)
spread()
{
	awk -F '|' -v c="$1" -v v="$2" -v m="$3" -v by="${4:-1}" '
		$1 == c && $2 == v && $4 == m { print $5 / by }' "$DATA" |
		middle "${5:-%.2f}" || missing "$1" "$2"
}

# ratio CASE VARIANT METRIC BASE: of the same round
ratio()
{
	awk -F '|' -v c="$1" -v v="$2" -v m="$3" -v b="$4" '
		$1 != c || $4 != m { next }
		$2 == b { base[$3] = $5 }
		$2 == v { own[$3] = $5 }
		END {
			for (r in own)
				if (base[r] > 0)
					print own[r] / base[r]
		}' "$DATA" | middle "${5:-%.3f}" || missing "$1" "$2"
}

middle()
{
	sort -g | awk -v f="$1" -v rounds="$ROUNDS" '
		{ x[NR] = $1 }
		END {
			if (NR == 0)
				exit 1
			m = (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2
			printf f " (" f ".." f ")", m, x[1], x[NR]
			if (NR < rounds)
				printf " in %d rounds", NR
			print ""
		}'
}

# name_of VARIANT: in a table
name_of()
{
	case $1 in
	ring | inject | ring-often | inject-often)
		echo "sonde, $1" ;;
	states) echo "sonde, ring, states" ;;
	*) echo "$1" ;;
	esac
}

# missing CASE VARIANT: why there is no number
missing()
{
	local why

	why=$(awk -F '|' -v c="$1" -v v="$2" '
		$1 == c && $2 == v { why = $3 } END { print why }' "$MISSING")
	echo "not measured${why:+: $why}"
}

# ---- the head of the results -----------------------------------------------

# row CELLS...: a reason is said once
row()
{
	local cell said=''

	for cell; do
		[[ $cell = 'not measured'* ]] && [ "$cell" = "$said" ] &&
			cell=-
		printf '| %s ' "$cell"
		[ "$cell" = - ] || said=$cell
	done
	echo '|'
}

# table HEADS...: the first lines
table()
{
	local head

	echo
	row "$@"
	for head; do
		printf '|---'
	done
	echo '|'
}

version_of()
{
	case $1 in
	sonde) "$SONDE" --version | head -n 1 ;;
	gperftools) dpkg-query -W -f='${Version}' libgoogle-perftools4 ;;
	*) "$1" --version | head -n 1 ;;
	esac 2>/dev/null | grep . || echo "not there"
}

commit()
{
	git -C "$TOP" describe --always --dirty 2>/dev/null ||
		echo "no repository"
}

write_head()
{
	echo "# What sonde costs, beside its peers"
	echo
	echo "Written by \`bench/run\`, in interleaved rounds. Numbers are" \
		"median (min..max); a ratio is taken within its round. The" \
		"command above a table repeats it; the line below its section" \
		"says when it was measured and how busy the machine was."
	table machine ""
	row CPU "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo |
		head -n 1), $(nproc) of them"
	row kernel "$(uname -sr | sed s,-.*,,), perf_event_paranoid \
$(cat /proc/sys/kernel/perf_event_paranoid), user $(id -u)"
	row sonde "$(version_of sonde)"
	row compiler "$(version_of "${CC:-cc}")"
	row perf "$(version_of perf)"
	row gperftools "$(version_of gperftools)"
	row gprofng "$(version_of gprofng)"
	row gdb "$(version_of gdb)"
	row eu-stack "$(version_of eu-stack)"
}

section_mark()
{
	echo "<!-- $1 -->"
}

# old_section SECTION FILE: as it stands there, if it does
old_section()
{
	[ -e "$2" ] || return 0
	awk -v mark="$(section_mark "$1")" '
		/^<!-- .* -->$/ { on = $0 == mark; if (on) print "" }
		on { lines[++n] = $0 }
		END {
			while (n && lines[n] == "")
				n--
			for (i = 1; i <= n; i++)
				print lines[i]
		}' "$2"
}

write_account()
{
	echo
	echo "Measured on $(date -u +%F) at commit $(commit) by" \
		"\`bench/run${QUICK:+ --quick}${LOADED:+ --loaded}\`, $ROUNDS" \
		"rounds. Load average before and after: $load_before; $load_after." \
		"Other work meanwhile: $others % of the CPUs."
	warn_reader
}

warn_reader()
{
	[ -z "$QUICK" ] || printf '\n**Quick run: few rounds of little work.**\n'
	holds "$others <= $QUIET_OTHERS" ||
		printf '\n**The machine was busy: compare nothing with this.**\n'
}
