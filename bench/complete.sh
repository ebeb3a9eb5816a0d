# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # Markdown; shared names
# SPDX-License-Identifier: GPL-3.0-or-later
# complete: of how many threads of a real program each tool shows the whole
# stack: one that ends where threads begin.

COMPLETE_PROGRAMS=(python3 node gdb java)
COMPLETE_VARIANTS=(sonde consistent eu-stack gdb)
# as each tool writes its outermost frame
COMPLETE_ENDS='(^|[^A-Za-z0-9_.])(_start|__clone3?|clone3?)($|[^A-Za-z0-9_.])'

measure_complete()
{
	rounds complete_round
}

complete_round()
{
	local program variant

	for program in "${COMPLETE_PROGRAMS[@]}"; do
		for variant in "${COMPLETE_VARIANTS[@]}"; do
			visit "complete $program" "$variant" \
				complete_run "$program" "$variant"
		done
	done
}

# complete_run PROGRAM VARIANT
complete_run()
{
	local result=0

	have "$1" || return 1
	"complete_$1"
	until_true 30 grep -q '^ready' "$VOUT" || result=1
	[ "$result" -ne 0 ] || complete_visit "$2" || result=1
	kill_victim
	[ "$result" -eq 0 ] || return 1
	complete_count "$1" "$2"
}

complete_python3()
{
	start_process python3 -c '
import json, threading, time
data = {str(i): [i, str(i), {"a": i}] for i in range(200)}
def f(n): return f(n - 1) + 1 if n else len(json.loads(json.dumps(data)))
def g():
	while True: sorted(data, key=lambda k: str(f(20)))
def h(n): return h(n - 1) if n else time.sleep(600)
for i in range(7):
	threading.Thread(target=h, args=(10 + i,), daemon=True).start()
time.sleep(0.2)
print("ready", flush=True)
g()'
}

complete_node()
{
	start_process node -e '
const f = n => n ? f(n - 1) + 1 : JSON.stringify(process.memoryUsage()).length;
setInterval(() => { for (let i = 0; i < 100; i++) f(50); }, 2);
setTimeout(() => console.log("ready"), 500);'
}

complete_gdb()
{
	start_process gdb -q -nx -batch -ex 'python
import gdb, sys
def f(n): return f(n - 1) + 1 if n else int(gdb.parse_and_eval("1 + 2 * 3"))
print("ready", flush=True)
while True: f(10)'
}

complete_java()
{
	cat >"$TMP/Turn.java" <<-'END'
		public class Turn {
		static long f(int n) { return n == 0 ? System.nanoTime() :
			f(n - 1) + 1; }
		public static void main(String[] a) throws Exception {
			new Thread(() -> { while (true) f(30); }).start();
			Thread.sleep(1000);
			System.out.println("ready");
			while (true) { new String(new byte[1000]).hashCode();
				Thread.sleep(1); } } }
	END
	start_process java "$TMP/Turn.java"
}

complete_visit()
{
	local words

	case $1 in
	sonde) words=("$SONDE" dump -p "$VPID") ;;
	consistent) words=("$SONDE" dump -p "$VPID" -consistent) ;;
	eu-stack) words=(eu-stack -p "$VPID") ;;
	gdb) words=("${GDB[@]}" -p "$VPID" -ex 'thread apply all bt') ;;
	esac
	have "${words[0]}" || return 1
	timeout -k 5 60 "${words[@]}" >"$TMP/tool.out" 2>"$TMP/tool.err" \
		</dev/null
	# eu-stack's status tells of one frame that it cannot read
	grep -q '^ *#0' "$TMP/tool.out" && return
	WHY=$(tail -n 1 "$TMP/tool.err")
	return 1
}

# A line `#0 ...` begins a thread; its last line with a number counts.
complete_count()
{
	local threads whole frames

	read -r threads whole frames < <(awk -v ends="$COMPLETE_ENDS" '
		/^ *#0 / { threads++; whole += last ~ ends }
		/^ *#[0-9]+ / { last = $0; frames++ }
		END { print threads, whole + (last ~ ends), frames }' \
		"$TMP/tool.out")
	put "complete $1" "$2" threads "$threads"
	put "complete $1" "$2" whole "$whole"
}

write_complete()
{
	local program variant cells

	echo "## Complete stacks of real programs"
	echo
	echo "\`bench/run --only complete\`. Threads whose stack, as the tool" \
		"prints it, ends where threads begin: in \`_start\` or" \
		"\`clone\`. Each program computes in one thread or two; the" \
		"others sleep. Threads of java's own code have no unwind data" \
		"but java's. Aim: no fewer than eu-stack."
	table "complete / shown" "\`sonde dump\`" \
		"\`sonde dump -consistent\`" eu-stack gdb
	for program in "${COMPLETE_PROGRAMS[@]}"; do
		cells=()
		for variant in "${COMPLETE_VARIANTS[@]}"; do
			cells+=("$(complete_cell "$program" "$variant")")
		done
		row "$program" "${cells[@]}"
	done
}

complete_cell()
{
	local whole

	whole=$(spread "complete $1" "$2" whole 1 %.0f)
	case $whole in
	'not measured'*) echo "$whole" ;;
	*) echo "$whole / $(spread "complete $1" "$2" threads 1 %.0f)" ;;
	esac
}
