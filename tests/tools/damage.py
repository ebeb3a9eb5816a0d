#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
damage SONDE EXP.er SEED FLIPS STRIDE: every view of an experiment that is
damaged.

EXP.er is one of tests/tools/kinds.py. Each of its files is cut at every
STRIDEth byte of its last record: one warning says so, the costs of its own records are
those of all the others, and no other cost changes. Then bytes are changed at
random, and the views still come back, add up, and show no time that cannot
have passed. EXP.er is as it was in the end.
"""
import json
import os
import random
import struct
import subprocess
import sys

SONDE, EXP = sys.argv[1:3]
VIEWS = """functions fsummary callers-callees calltree lines pcs objects threads
    samples seconds cpus processes experiment_ids datasize duration header
    overview statistics sample_detail experiment_list dprofile dheap dsync
    diotrace dhwc dmap object_list metric_list describe leaks allocs heap
    heapstat ioactivity iodetail iocallstack iostat locks""".split()
OF_FILE = {'synctrace': ('sync',), 'heaptrace': ('heap',), 'iotrace': ('io',),
           'hwcounters': ('odd_', 'even_'), 'profile': ('totalcpu',)}
ALL = 'e.sync:e+syncn:e+heapallocbytes:e+heapalloccnt:e+heapleakcnt:' \
    'e.ioreadtime:e+ioreadcnt:e.iowritetime:e.ioothertime:e.ioerrortime:' \
    'e+odd_events:e+even_events:e.totalcpu:name'
bad = []


def report(views, exact):
    """Costs of <Total> by metric, and what was warned of."""
    words = ['-metrics', ALL] + ['-' + view for view in views]
    try:
        ran = subprocess.run([SONDE, 'report', EXP, '--format', 'json'] +
                             words, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None, 'it hangs', []
    if ran.returncode < 0 or ran.returncode > 10:
        return None, f'status {ran.returncode}', []
    notes = [line for line in ran.stderr.decode(errors='replace').splitlines()
             if line.startswith('note: ') and 'full symbols' not in line]
    totals = {}
    for line in ran.stdout.splitlines():
        view = json.loads(line)
        name = view['words'][0]
        if name not in ('functions', 'lines', 'pcs', 'threads', 'samples',
                        'seconds', 'cpus', 'objects'):
            continue
        for table in view.get('tables', []):
            names = [col['name'] for col in table['columns']]
            for i, metric in enumerate(names):
                if not metric.startswith('e.'):
                    continue
                rows = {True: 0, False: 0}
                for row in table['rows']:
                    rows[row['name'] == '<Total>'] += row['values'][i]
                if name == 'functions':
                    totals[metric] = rows[True]
                # what has no stack is in <Total> alone
                if rows[True] < rows[False] or \
                        (exact and rows[True] != rows[False]):
                    bad.append(f'{name}: {metric}: {rows[True]} in all, but '
                               f'the rows are {rows[False]}')
    return totals, None, notes


def last_record(name, data):
    if name.endswith('.xml'):
        return data.rindex(b'\n', 0, -1) + 1
    at = last = 0
    while at < len(data):
        last = at
        at += struct.unpack_from('<H', data, at)[0]
    return last


def judge_cut(what, name, whole, have, notes, half):
    missing = [note for note in notes if 'have no stack' in note]
    if len(missing) > (name == 'data.frameinfo'):
        bad.append(f'{what}: of missing stacks: {missing}')
    # what the last stack was linked to
    lost = [note for note in notes if 'that lead to nothing' in note]
    if len(lost) > (name == 'data.frameinfo'):
        bad.append(f'{what}: of links: {lost}')
    notes = [note for note in notes if note not in missing + lost]
    if len(notes) != half + (name == 'log.xml'):
        bad.append(f'{what}: {len(notes)} warnings: {notes}')
    for metric, value in whole.items():
        own = metric[2:].startswith(OF_FILE.get(name, ('nothing',)))
        # a heap's last free is gone: its block may be a leak
        more = own and 'leak' in metric and have[metric] > value
        if have[metric] != value and (not own or have[metric] > value) and \
                not more:
            bad.append(f'{what}: {metric} {have[metric]}, whole {value}')


def cut(name, data, whole, stride):
    first = last_record(name, data)
    end = len(data) - name.endswith('.xml')    # its newline matters not
    for number, size in enumerate(range(first, end, stride)):
        with open(os.path.join(EXP, name), 'wb') as out:
            out.write(data[:size])
        have, why, notes = report(
            VIEWS if number % 8 == 0 else ['functions', 'header'],
            name != 'data.frameinfo')
        what = f'{name} cut at {size} ({first}..{len(data)})'
        if have is None:
            bad.append(f'{what}: {why}')
            continue
        judge_cut(what, name, whole, have, notes, size > first)
    return len(range(first, end, stride))


def flip(name, data, rng, bound):
    spoiled = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        spoiled[rng.randrange(len(data))] = rng.choice([0, 255,
                                                        rng.randrange(256)])
    with open(os.path.join(EXP, name), 'wb') as out:
        out.write(spoiled)
    have, why, notes = report(VIEWS, False)
    if have is None:
        bad.append(f'{name} spoiled: {why}')
        with open(f'spoiled.{name}', 'wb') as out:
            out.write(spoiled)
        return
    for metric, value in have.items():
        if name in ('synctrace', 'iotrace') and value > bound and \
                metric[2:] in ('sync', 'ioreadtime', 'iowritetime',
                               'ioothertime', 'ioerrortime'):
            bad.append(f'{name} spoiled: {metric} is {value}: {notes}')


def main():
    rng = random.Random(int(sys.argv[3]))
    files = sorted(os.listdir(EXP))
    original = {}
    for name in files:
        with open(os.path.join(EXP, name), 'rb') as whole:
            original[name] = whole.read()
    whole, why, notes = report(VIEWS, True)
    if why or notes or len(whole) < 12:
        sys.exit(f'before any damage: {why}: {notes}: {whole}')
    # one record more that lasted as long as the whole of them all
    bound = 2 * max(whole['e.sync'], whole['e.ioothertime']) + 600 * 10 ** 9
    cuts = 0
    for name in files:
        cuts += cut(name, original[name], whole, int(sys.argv[5]))
        for _ in range(int(sys.argv[4])):
            flip(name, original[name], rng, bound)
        with open(os.path.join(EXP, name), 'wb') as out:
            out.write(original[name])
    for line in bad[:20]:
        print(line)
    print(f'{len(files)} files, {cuts} cuts, {len(bad)} wrong')
    return 1 if bad else 0


sys.exit(main())
