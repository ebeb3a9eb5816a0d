#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
view-identities FILE: every view of one experiment, one JSON object a line as
`sonde report --format json` prints them, must tell the same story. What each
should say is added up here, from the other views:

  <Total> is the sum of the exclusive costs of functions, lines, pcs, load
  objects and threads, each by itself, and what the root of the tree and the
  centre panel of <Total> say; only what has no stack, of which `header` tells,
  is in <Total> alone, and is the same in all that need stacks; a node of the tree costs no less than its
  children; a function's callers pay for all of it; its lines and its
  instructions add up to it; a filter and its opposite add up to <Total>.

Prints what it has compared. Exit 1: something does not add up.
"""
import json
import sys

bad = []
done = []


def load(path):
    views = []
    with open(path, encoding="utf-8") as text:
        for line in text:
            if line.strip():
                views.append(json.loads(line))
    return views


def same(what, have, want):
    """Exact: all of them are integers."""
    if have != want:
        bad.append(f"{what}: {have}, wanted {want}")
    done.append(what)


def column(table, name):
    for i, col in enumerate(table["columns"]):
        if col["name"] == name:
            return i
    return None


def total_of(table, name):
    at = column(table, name)
    for row in table["rows"]:
        if row["name"] == "<Total>":
            return row["values"][at]
    return None


def sum_of(table, name, skip=("<Total>",)):
    at = column(table, name)
    return sum(row["values"][at] for row in table["rows"]
               if row["name"] not in skip)


def by_words(views, *words):
    return [v for v in views if v["words"][:len(words)] == list(words)]


METRIC = "totalcpu"


def without_stack(views, functions, total):
    """What no function has: none, but of records whose stack is missing."""
    missing = 0
    for view in by_words(views, "header"):
        for panel in view["panels"]:
            missing += sum(p["value"] for p in panel["pairs"]
                           if p["key"] == "Missing stacks")
    alone = total - sum_of(functions, "e." + METRIC)
    if alone < 0 or (alone and not missing):
        bad.append(f"functions: sum: {total - alone}, wanted {total}; "
                   f"{missing} stacks are missing")
    done.append("functions: sum")
    return alone


def flat(views, total, alone):
    """Lists of things, each of which has what no other has."""
    of_stacks = ("functions", "lines", "pcs", "objects")
    for name in ("functions", "lines", "pcs", "objects", "threads", "samples",
                 "seconds", "cpus", "processes"):
        for view in by_words(views, name)[:1]:
            table = view["tables"][0]
            metric = "e." + METRIC
            if column(table, metric) is None:
                continue
            same(f"{name}: <Total>", total_of(table, metric), total)
            same(f"{name}: sum", sum_of(table, metric),
                 total - (alone if name in of_stacks else 0))


def tree(views, total, alone):
    for view in by_words(views, "calltree")[:1]:
        table = view["tables"][0]
        at = column(table, "a." + METRIC)
        below = [0] * len(table["rows"])
        for row in table["rows"]:
            if row["parent"] is not None:
                below[row["parent"]] += row["values"][at]
        for row, inner in zip(table["rows"], below):
            if inner > row["values"][at]:
                bad.append(f"calltree: {row['name']} has children of {inner}")
        same("calltree: root", table["rows"][0]["values"][at], total)
        same("calltree: below the root", below[0], total - alone)
        done.append(f"calltree: {len(table['rows'])} nodes")


def callers(views, functions):
    """Above the centre stands all that the function costs."""
    at = column(functions, "i." + METRIC)
    incl = {row["name"]: row["values"][at] for row in functions["rows"]}
    checked = 0
    for view in by_words(views, "callers-callees")[:1]:
        for table in view["tables"]:
            at = column(table, "a." + METRIC)
            above, centre = 0, None
            for row in table["rows"]:
                if row.get("mark") == "*":
                    centre = row["name"]
                    break
                above += row["values"][at]
            if centre and centre != "<Total>" and centre in incl:
                checked += 1
                if above != incl[centre]:
                    bad.append(f"callers of {centre}: {above}, it costs "
                               f"{incl[centre]}")
    done.append(f"callers-callees: {checked} panels")


def single(views, functions, name):
    """A function, told in six ways."""
    excl, incl = column(functions, "e." + METRIC), \
        column(functions, "i." + METRIC)
    row = [r for r in functions["rows"] if r["name"] == name][0]["values"]
    for view in by_words(views, "fsingle")[:1]:
        pairs = {p["key"]: p.get("value") for p in view["panels"][0]["pairs"]}
        same("fsingle: exclusive", pairs["Exclusive Total CPU Time"],
             row[excl])
        same("fsingle: inclusive", pairs["Inclusive Total CPU Time"],
             row[incl])
    for view in by_words(views, "csingle")[:1]:
        table = view["tables"][0]
        at = column(table, "a." + METRIC)
        part, sums = None, {}
        for r in table["rows"]:
            if r.get("heading"):
                part = r["name"]
            else:
                sums[part] = sums.get(part, 0) + \
                    (r["values"][at] or 0)
        same("csingle: callers", sums.get("Callers", 0), row[incl])
        same("csingle: centre", sums["Stack Fragment"], row[excl])
    for view in by_words(views, "disasm")[:1]:
        table = view["tables"][0]
        at = column(table, "e." + METRIC)
        have = sum(r["values"][at] or 0 for r in table["rows"]
                   if not r["name"].startswith("<"))
        same("disasm: instructions", have, row[excl])


def filtered(views, total):
    parts = [by_words(views, "functions")[i] for i in (1, 2)
             if len(by_words(views, "functions")) > i]
    if len(parts) == 2:
        at = "e." + METRIC
        same("a filter and its opposite",
             sum(total_of(t, at) or 0 for p in parts for t in p["tables"]), total)


def main():
    views = load(sys.argv[1])
    functions = by_words(views, "functions")[0]["tables"][0]
    total = total_of(functions, "e." + METRIC)
    if not total:
        bad.append("nothing was recorded")
    alone = without_stack(views, functions, total) if total else 0
    flat(views, total, alone)
    tree(views, total, alone)
    callers(views, functions)
    single(views, functions, sys.argv[2])
    filtered(views, total)
    for line in bad:
        print("does not add up: " + line)
    print(f"{len(done)} comparisons: " + "; ".join(done))
    return 1 if bad else 0


sys.exit(main())
