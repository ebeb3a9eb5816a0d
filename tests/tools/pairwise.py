#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""pairwise [--all] [-x FACTOR=VALUE,FACTOR=VALUE]... FACTOR=VALUE,VALUE...

Print combinations of one value of each factor, a line each, so that every two
values of different factors occur together in some line (--all: every
combination). -x excludes a pair that is impossible. The result depends on
the arguments alone. Greedy: each line is built to hold as many pairs that are
still missing as it can.
"""
import itertools
import sys


def parse(arguments):
    everything, banned, factors = False, set(), []
    rest = iter(arguments)
    for word in rest:
        if word == "--all":
            everything = True
        elif word == "-x":
            banned.add(frozenset(next(rest).split(",")))
        else:
            name, values = word.split("=", 1)
            factors.append([f"{name}={v}" for v in values.split(",")])
    known = {v for values in factors for v in values}
    for pair in banned:
        if not pair <= known:
            sys.exit(f"pairwise: no such pair: {','.join(sorted(pair))}")
    return everything, banned, factors


def allowed(row, banned):
    return not any(frozenset(p) in banned
                   for p in itertools.combinations(row, 2))


def complete(pair, factors, banned, missing):
    """The best line found that contains the pair, or None."""
    rows = [dict((i, v) for i, values in enumerate(factors)
                 for v in values if v in pair)]
    for i, values in enumerate(factors):
        if i in rows[0]:
            continue
        grown = []
        for row in rows:
            for value in values:
                new = {**row, i: value}
                if allowed(new.values(), banned):
                    gain = sum(frozenset(p) in missing for p in
                               itertools.combinations(new.values(), 2))
                    grown.append((gain, new))
        grown.sort(key=lambda g: (-g[0], sorted(g[1].items())))
        rows = [row for _, row in grown[:40]]
        if not rows:
            return None
    return tuple(rows[0][i] for i in range(len(factors)))


def cover(factors, banned):
    missing = {frozenset(p): None for a, b in
               itertools.combinations(factors, 2)
               for p in itertools.product(a, b)}
    for pair in banned:
        missing.pop(pair, None)
    while missing:
        row = complete(next(iter(missing)), factors, banned, missing)
        if row is None:
            sys.exit("pairwise: no line can hold " +
                     ",".join(sorted(next(iter(missing)))))
        for pair in itertools.combinations(row, 2):
            missing.pop(frozenset(pair), None)
        yield row


def main():
    everything, banned, factors = parse(sys.argv[1:])
    rows = cover(factors, banned)
    if everything:
        rows = (r for r in itertools.product(*factors) if allowed(r, banned))
    for row in rows:
        print(*(value.split("=", 1)[1] for value in row))


main()
