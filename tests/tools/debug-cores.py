# SPDX-License-Identifier: GPL-3.0-or-later
# debug-cores: sourced by gdb, which has a program: runs it, and at the first
# entry of each of CORES_AT makes CORES_NAME-FUNCTION.core, and .names: what
# locals and arguments each of the first CORES_FRAMES frames has. CORES_NAME.met
# has the functions, in the order in which they came.
import os
import gdb

base = os.environ["CORES_NAME"]
most = int(os.environ["CORES_FRAMES"])
met = []


def ask(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as e:
        return str(e) + "\n"


def note(event):
    if isinstance(event, gdb.BreakpointEvent):
        met.append(event.breakpoints[0].location)


gdb.events.stop.connect(note)
for command in ("set debuginfod enabled off", "set width 0",
                "set confirm off", "set height 0",
                "set backtrace past-main on", "set print inferior-events off",
                "set breakpoint pending on", "disable pretty-printer",
                "set auto-load python-scripts off"):
    ask(command)
functions = os.environ["CORES_AT"].split()
for function in functions:
    gdb.execute("tbreak " + function, to_string=True)
gdb.execute("run")
done = 0
while len(met) > done:
    name = "%s-%s" % (base, met[done])
    done = len(met)
    gdb.execute("gcore %s.core" % name, to_string=True)
    with open(name + ".names", "w") as out:
        frame, number = gdb.newest_frame(), 0
        while frame is not None and number < most:
            out.write("@@ frame %d\n" % number)
            ask("frame %d" % number)
            for what in ("locals", "args"):
                out.write("@@ %s\n%s" % (what, ask("info " + what)))
            frame, number = frame.older(), number + 1
    if done == len(functions):  # a server would go on for ever
        break
    gdb.execute("continue")
with open(base + ".met", "w") as out:
    out.write("\n".join(met) + "\n")
if gdb.selected_inferior().pid:
    gdb.execute("kill")
