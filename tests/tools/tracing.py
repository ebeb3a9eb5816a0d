#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What views of traced calls have to show, one fact to a line.

    tracing.py packets EXP.er   computed from the packets of one process
    tracing.py ours             from `report --format json` of the views
    tracing.py gprofng          from the text of `gprofng display text`

Stacks are told by what they count, since all three name them differently:
`leak INSTANCES BYTES` for each, and so on. Files have a line each, with
reads, bytes read, writes, bytes written, other calls, failures. Packets are
decoded by the offsets that log.xml declares; the heap is a set of addresses,
mappings are sets of pages.
"""
import json
import os
import re
import struct
import sys

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
RANGES = [(KB, '0KB - 1KB'), (8 * KB, '1KB - 8KB'), (32 * KB, '8KB - 32KB'),
          (128 * KB, '32KB - 128KB'), (256 * KB, '128KB - 256KB'),
          (512 * KB, '256KB - 512KB'), (MB, '512KB - 1000KB'),
          (10 * MB, '1000KB - 10MB'), (100 * MB, '10MB - 100MB'),
          (GB, '100MB - 1GB')]
CODES = {'INT32': 'i', 'UINT32': 'I', 'INT64': 'q', 'UINT64': 'Q'}
FREE, REALLOC, MMAP, MUNMAP = 1, 2, 3, 4
PIPE = '<pipe, socket or the like>'
OTHER = '<other I/O>'
PAGE = 4096
facts = []


def say(*words):
    facts.append(' '.join(str(w) for w in words))


def range_of(size):
    for end, name in RANGES:
        if size <= end:
            return name
    return '1GB - 10GB'


def say_sizes(what, sizes):
    for name in sorted(set(map(range_of, sizes))):
        say('range', what, name, sum(range_of(s) == name for s in sizes))
    if sizes:
        say('sizes', what, len(sizes), sum(sizes), min(sizes), max(sizes))


# ---- from packets -----------------------------------------------------------

class Packets:
    """Those of one kind, as dictionaries, in order of time."""

    def __init__(self, path, kind):
        self.path, self.kind = path, kind
        with open(os.path.join(path, 'log.xml'), errors='replace') as f:
            self.log = f.read()
        start = re.search(r'kind="run" tstamp="(\d+)\.(\d+)"', self.log)
        self.start = int(start.group(1)) * 10**9 + int(start.group(2))
        packet = re.search(r'<profdata fname="(\w+)"/>\s*<profpckt kind="%d"'
                           r'.*?</profpckt>' % kind, self.log, re.S)
        self.items = []
        if packet:
            self.fields = re.findall(r'name="(\w+)"[^>]*offset="(\d+)" '
                                     r'type="(\w+)"', packet.group(0))
            self.read(os.path.join(path, packet.group(1)))

    def read(self, name):
        if not os.path.exists(name):
            return
        with open(name, 'rb') as f:
            data = f.read()
        at = 0
        while at + 4 <= len(data):
            size, kind = struct.unpack_from('<HH', data, at)
            if size == 0:
                at = (at // 16384 + 1) * 16384
                continue
            if kind == self.kind:
                self.items.append(self.decode(data[at:at + size]))
            at += size
        self.items.sort(key=lambda p: p['TSTAMP'])

    def decode(self, packet):
        out = {}
        for name, at, code in self.fields:
            if code == 'STRING':
                out[name] = packet[int(at):].split(b'\0')[0].decode()
            else:
                out[name] = struct.unpack_from('<' + CODES[code], packet,
                                               int(at))[0]
        return out


class Heap:
    def __init__(self):
        self.blocks, self.pages = {}, {}    # address -> block; page -> block
        self.now = self.peak = self.peak_ns = self.older = self.reused = 0
        self.at_peak = []

    def drop(self, address, time):
        block = self.blocks.pop(address, None)
        if block is None:
            self.older += 1
        else:
            self.change(block, 0, time)

    def change(self, block, size, time):
        self.now += size - block['live']
        block['live'] = size
        if self.now > self.peak:
            self.peak, self.peak_ns = self.now, time
            self.at_peak = None
        self.time = time

    def unmap(self, start, size, time):
        for page in range(start // PAGE, (start + size) // PAGE):
            block = self.pages.pop(page, None)
            if block:
                self.change(block, block['live'] - PAGE, time)


def heap_of(path):
    heap, blocks = Heap(), []
    packets = Packets(path, 5)
    if not packets.items:
        return
    best = (0, [])
    for p in packets.items:
        kind, at, size = p['HTYPE'], p['HVADDR'], p['HSIZE']
        time = p['TSTAMP'] - packets.start
        block = {'frinfo': p['FRINFO'], 'size': size, 'live': 0}
        if kind == FREE:
            if at:
                heap.drop(at, time)
        elif kind == MUNMAP:
            heap.unmap(at, size, time)
        elif at:
            blocks.append(block)
            if kind == MMAP:
                heap.unmap(at, size, time)
                for page in range(at // PAGE, (at + size) // PAGE):
                    heap.pages[page] = block
            else:
                if kind == REALLOC and p['HOVADDR']:
                    heap.drop(p['HOVADDR'], time)
                if at in heap.blocks:
                    heap.reused += 1
                    heap.drop(at, time)
                heap.blocks[at] = block
            heap.change(block, size, time)
        if heap.peak > best[0]:
            best = (heap.peak, [(b['frinfo'], b['live'])
                                for b in blocks if b['live']])
    say_heap(heap, blocks, best[1])


def by_stack(pairs):
    out = {}
    for frinfo, size in pairs:
        cell = out.setdefault(frinfo, [0, 0])
        cell[0] += 1
        cell[1] += size
    return out


def say_heap(heap, blocks, at_peak):
    allocs = by_stack((b['frinfo'], b['size']) for b in blocks)
    kept = by_stack((b['frinfo'], b['live']) for b in blocks if b['live'])
    for count, size in allocs.values():
        say('alloc', count, size)
    for count, size in kept.values():
        say('leak', count, size)
    for frinfo, (count, size) in allocs.items():
        say('heap', count, size, *kept.get(frinfo, [0, 0]))
    for count, size in by_stack(at_peak).values():
        say('at-peak', count, size)
    say('peak', heap.peak, len(at_peak), heap.peak_ns)
    say_sizes('allocated', [b['size'] for b in blocks])
    say_sizes('kept', [b['live'] for b in blocks if b['live']])
    if heap.older:
        say('older', heap.older)
    if heap.reused:
        say('reused', heap.reused)


def column_of(kind):
    return 3 if kind >= 5 else min(kind, 2)


def add_call(rows, key, p):
    row = rows.setdefault(key, [0] * 6)
    column = column_of(p['IOTYPE'])
    if column < 2:
        row[2 * column] += 1
        row[2 * column + 1] += max(p['IONBYTE'], 0)
    else:
        row[column + 2] += 1


class Descriptors:
    def __init__(self):
        self.now = {fd: (fd, name) for fd, name in
                    enumerate(['<stdin>', '<stdout>', '<stderr>'])}
        self.count = 2

    def open(self, fd, name):
        self.count += 1
        self.now[fd] = (self.count, name)
        return self.now[fd]

    def get(self, fd):
        if fd not in self.now:
            self.open(fd, '<descriptor %d, not seen to be opened>' % fd)
        return self.now[fd]


def file_of(table, p):
    kind, fd = p['IOTYPE'], p['IOFD']
    if fd < 0:
        return None, p['IOFNAME'] or OTHER
    if kind < 5 and (kind == 2 or p['IOOFD'] > 0):
        old = table.now.get(p['IOOFD'], (0, ''))[1] if p['IOOFD'] > 0 else ''
        return table.open(fd, p['IOFNAME'] or old or PIPE)
    found = table.get(fd)
    if kind == 3:
        del table.now[fd]
    return found


def io_of(path):
    packets = Packets(path, 19)
    table, files, opens, stacks = Descriptors(), {}, {}, {}
    if not packets.items:
        return
    for p in packets.items:
        number, name = file_of(table, p)
        add_call(files, name, p)
        add_call(opens, (number, name, p['IOFD'] if number is not None
                         else -1), p)
        add_call(stacks, p['FRINFO'], p)
    for name, row in files.items():
        say('file', *row, name)
    for (_, name, fd), row in opens.items():
        say('open', fd, *row, name)
    for row in stacks.values():
        say('io', *row)
    say_io(packets.items)


def say_io(items):
    for column, name in enumerate(['read', 'write', 'other', 'error']):
        calls = [p for p in items if column_of(p['IOTYPE']) == column]
        ns = [p['TSTAMP'] - p['IORQST'] for p in calls]
        say('calls', name, len(calls), sum(ns), max(ns, default=0))
        if column < 2:
            say_sizes(name, [max(p['IONBYTE'], 0) for p in calls])


def locks_of(path):
    locks = {}
    for p in Packets(path, 2).items:
        lock = locks.setdefault(p['SOBJ'], [0, 0, 0])
        ns = p['TSTAMP'] - p['SRQST']
        lock[0] += 1
        lock[1] += ns
        lock[2] = max(lock[2], ns)
    for address, row in locks.items():
        say('lock', '0x%08x' % address, *row)


# ---- from our JSON ------------------------------------------------------------

def pairs(panel):
    return {p['key']: p['value'] for p in panel['pairs']}


def cells(table, row):
    return {c['name']: v for c, v in zip(table['columns'], row['values'])}


def our_heap(view, doc):
    words = {'leaks': 'leak', 'allocs': 'alloc', 'heap': 'heap',
             'heapstat': 'at-peak', 'iocallstack': 'io'}
    for panel in doc['panels']:
        p = pairs(panel)
        if 'Heap size bytes' in p:
            say('peak', p['Heap size bytes'], p['Blocks'], p['Time of peak'])
        elif view == 'iocallstack':
            say('io', p['Read Count'], p['Read Bytes'], p['Write Count'],
                p['Write Bytes'], p['Other I/O Count'], p['I/O Error Count'])
        else:
            say(words[view], *[v for k, v in p.items() if k != 'Stack'])
    for line in doc['text'] if view == 'leaks' else []:
        if 'older than' in line:
            say('older', line.split()[0])
        if 'given out again' in line:
            say('reused', line.split(' blocks ')[0].split()[-1])


def our_stat(doc, names):
    totals, ranges = doc['tables']
    for row in totals['rows']:
        c, name = cells(totals, row), row['name'].lower()
        if 'time' in c:
            say('calls', name, c['calls'], c['time'], c['longest'])
        name = names.get(name)
        count = c.get('instances', c.get('calls'))
        if name and count:
            say('sizes', name, count, c['bytes'], c['smallest'], c['largest'])
    for row in ranges['rows']:
        for value, name in zip(row['values'], names.values()):
            if value:
                say('range', name, row['name'], value)


def our_files(view, doc):
    table = doc['tables'][0]
    for row in table['rows'][1:]:
        c = cells(table, row)
        name, fd = row['name'], [-1]
        at = re.search(r' \(IOVFD=\d+, FD=(\d+)\)$', name)
        if at:
            name, fd = name[:at.start()], [at.group(1)]
        say('file' if view == 'ioactivity' else 'open',
            *(fd if view == 'iodetail' else []),
            *[c['e.' + m] for m in
              ['ioreadcnt', 'ioreadbytes', 'iowritecnt', 'iowritebytes',
               'ioothercnt', 'ioerrorcnt']], name)


def ours():
    for line in sys.stdin:
        doc = json.loads(line)
        view = doc['view']
        if view in ('ioactivity', 'iodetail'):
            our_files(view, doc)
        elif view == 'locks':
            table = doc['tables'][0]
            for row in table['rows'][1:]:
                say('lock', re.search(r'at (0x\w+)', row['name']).group(1),
                    row['values'][1], row['values'][0], row['values'][2])
        else:
            our_heap(view, doc)
        if view == 'heapstat':
            our_stat(doc, {'allocations': 'allocated', 'never freed': 'kept'})
        if view == 'iostat':
            our_stat(doc, {'read': 'read', 'write': 'write'})


# ---- from gprofng's text -------------------------------------------------------

def theirs():
    part, sizes = None, {}
    names = {'Memory Allocations': 'allocated', 'Memory Leaks': 'kept',
             'Write': 'write', 'Read': 'read', 'Other I/O': 'other',
             'I/O Error': 'error'}
    for line in sys.stdin:
        line = line.rstrip()
        m = re.match(r'(Leak|Allocation) #\d+, Instances = (\d+), '
                     r'Bytes \w+ = (\d+)', line)
        if m:
            say({'Leak': 'leak', 'Allocation': 'alloc'}[m.group(1)],
                m.group(2), m.group(3))
        m = re.match(r'(.*) Statistics$', line)
        if m:
            part = names[m.group(1)]
            sizes[part] = {}
        m = re.match(r'  (\w+ - \w+) +(\d+)$', line)
        if m and part:
            say('range', part, m.group(1), m.group(2))
        m = re.match(r'Heap size bytes +(\d+)', line)
        if m:
            say('peak', m.group(1))
        m = re.match(r'(Smallest|Largest|Total) (.*?) +([\d.]+)( |$)', line)
        if m and part:
            key = 'count' if m.group(2) in ('allocations', 'leaked',
                                            'calls') and \
                m.group(1) == 'Total' else \
                m.group(1) if m.group(1) != 'Total' else m.group(2)
            sizes[part][key] = m.group(3)
        m = re.match(r' *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(<?[^T].*)$',
                     line)
        if m and m.group(7) != '<Total>':
            name = m.group(7)
            at = re.search(r' \(IOVFD=\d+(, FD=(\d+))?\)$', name)
            fd = [at.group(2) or -1] if at else []
            say('open' if at else 'file', *fd, *m.groups()[:6],
                name[:at.start()] if at else name)
    for part, s in sizes.items():
        if 'Smallest' in s:
            say('sizes', part, s['count'], s['bytes'], s['Smallest'],
                s['Largest'])


if sys.argv[1] == 'packets':
    heap_of(sys.argv[2])
    io_of(sys.argv[2])
    locks_of(sys.argv[2])
elif sys.argv[1] == 'ours':
    ours()
else:
    theirs()
print('\n'.join(sorted(facts)))
