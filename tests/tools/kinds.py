#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write an experiment with every kind of data, and what it adds up to.

    kinds.py OUT.er SEED [--odd | --only FILE] >TRUTH

TRUTH has a line for each function and metric: function, metric, exclusive
and inclusive sum; functions without any are left out. Packets are in runs of
one thread, so their order in the files is not that of time; stacks are linked
in all ways that the format has. --odd adds what only a collector with gaps
writes: reallocs without the old address, allocations where a block lives,
reallocs that failed, transfers of -1 bytes, durations of nanoseconds.
--only has one kind of data, that of FILE: heaptrace, hwcounters ...
"""
import os
import random
import struct
import sys

FUNCTIONS = ['work', 'parse', 'load', 'save', 'leak', 'lock', 'main']
BASE, STEP = 0x700000000000, 0x100
START = 5_000_000_000_000
LINK = 0x80000000
METRICS = ['sync', 'syncn', 'heapallocbytes', 'heapalloccnt',
           'heapleakbytes', 'heapleakcnt', 'ioreadtime', 'ioreadbytes',
           'ioreadcnt', 'iowritetime', 'iowritebytes', 'iowritecnt',
           'ioothertime', 'ioothercnt', 'ioerrortime', 'ioerrorcnt',
           'odd_events', 'even_events', 'totalcpu']
COMMON = [('LWPID', 8, 'INT64'), ('THRID', 16, 'INT64'),
          ('CPUID', 24, 'INT32'), ('TSTAMP', 32, 'INT64'),
          ('FRINFO', 40, 'INT64')]
KINDS = [
    ('synctrace', 2, 'threshold="0" scope="3"',
     [('SRQST', 48, 'INT64'), ('SOBJ', 56, 'INT64')]),
    ('heaptrace', 5, '',
     [('HTYPE', 48, 'INT32'), ('HSIZE', 56, 'UINT64'),
      ('HVADDR', 64, 'UINT64'), ('HOVADDR', 72, 'UINT64')]),
    ('iotrace', 19, '',
     [('IOTYPE', 48, 'INT32'), ('IOFD', 52, 'INT32'),
      ('IONBYTE', 56, 'INT64'), ('IORQST', 64, 'INT64'),
      ('IOOFD', 72, 'INT32'), ('IOFSTYPE', 76, 'INT32'),
      ('IOFNAME', 80, 'STRING')]),
    ('hwcounters', 3, None,
     [('HWCTAG', 48, 'INT32'), ('HWCINT', 56, 'INT64')]),
    ('hwcounters', 7, None,
     [('HWCTAG', 48, 'INT32'), ('HWCINT', 56, 'INT64')]),
    ('profile', 8, 'ptimer="1000" numstates="1"',
     [('MSTATE', 48, 'INT32'), ('NTICK', 52, 'INT32')]),
]
OF_FILE = {'synctrace': METRICS[:2], 'heaptrace': METRICS[2:6],
           'iotrace': METRICS[6:16], 'hwcounters': METRICS[16:18],
           'profile': METRICS[18:]}
MALLOC, FREE, REALLOC, MMAP, MUNMAP = range(5)
IO = ['ioread', 'iowrite', 'ioother', 'ioother', 'ioother'] + ['ioerror'] * 5


class Stacks:
    """data.frameinfo: whole stacks, and such that go on elsewhere."""

    def __init__(self, rng):
        self.rng, self.out, self.uid, self.known = rng, b'', 100, {}

    def new_uid(self):
        self.uid += 1
        return self.uid

    def words(self, functions):
        return b''.join(struct.pack('<Q', BASE + f * STEP + 16)
                        for f in functions)

    def info(self, functions):
        """The infos of a frame packet, and what stands before it."""
        cut = self.rng.randrange(len(functions) + 1)
        how = self.rng.randrange(3)
        data, kind, before = self.words(functions), 1, b''
        if 0 < cut < len(functions) and how:
            tail = self.new_uid()
            data = self.words(functions[:cut]) + struct.pack('<Q', tail)
            kind |= LINK
            rest = self.words(functions[cut:])
            if how == 1:
                before = struct.pack('<HHIQ', 16 + len(rest), 17, 0,
                                     tail) + rest
            else:
                inner = struct.pack('<IIQ', 16 + len(rest), 1, tail) + rest
                before = struct.pack('<HHIQ', 16 + len(inner), 11, 16,
                                     self.new_uid()) + inner
        return struct.pack('<IIQ', 16 + len(data), kind,
                           self.new_uid()) + data, before

    def add(self, functions):
        functions = tuple(functions)
        if functions not in self.known:
            info, before = self.info(functions)
            uid = self.new_uid()
            frame = struct.pack('<HHIQ', 16 + len(info), 11, 16, uid) + info
            # a link may lead forward, too
            self.out += before + frame if self.rng.randrange(2) else \
                frame + before
            self.known[functions] = uid
        return self.known[functions]


class Experiment:
    def __init__(self, path, seed, odd, only):
        self.path, self.odd, self.only = path, odd, only
        self.rng = random.Random(seed)
        self.stacks = Stacks(self.rng)
        self.packets = {}       # file -> {thread: [bytes]}
        self.sums = {}          # (function, metric) -> [excl, incl]
        # nothing lasts longer than that, so nothing began before START
        self.now, self.top = START + 2_000_001_000, 0x10000000
        self.live, self.leaks, self.regions = {}, [], []

    def count(self, stack, metric, amount):
        if self.only and metric not in OF_FILE[self.only]:
            return
        for f in ['<Total>'] + sorted(set(FUNCTIONS[f] for f in stack)):
            cell = self.sums.setdefault((f, metric), [0, 0])
            cell[1] += amount
            if f in ('<Total>', FUNCTIONS[stack[0]]):
                cell[0] += amount

    def put(self, name, kind, stack, body):
        if self.only not in (None, name):
            return
        thread = self.rng.randrange(3)
        head = struct.pack('<HHIqqiIqQ', 48 + len(body), kind, 0,
                           1000 + thread, 1000 + thread, thread, 0, self.now,
                           self.stacks.add(stack))
        self.packets.setdefault(name, {}).setdefault(thread, []).append(
            head + body)

    def any_stack(self):
        last = len(FUNCTIONS) - 1
        return [self.rng.randrange(last) for _ in
                range(self.rng.randrange(1, 6))] + [last]

    def duration(self):
        ns = self.rng.randrange(2_000_000) * 1000
        return ns + self.rng.randrange(1000) if self.odd else ns

    # ---- each kind

    def clock(self, stack):
        ticks = self.rng.randrange(1, 4)
        self.put('profile', 8, stack, struct.pack('<ii', 10, ticks))
        self.count(stack, 'totalcpu', ticks * 1_000_000)

    def sync(self, stack):
        ns = self.duration()
        self.put('synctrace', 2, stack, struct.pack('<qq', self.now - ns, 64))
        self.count(stack, 'sync', ns)
        self.count(stack, 'syncn', 1)

    def io(self, stack):
        kind, ns = self.rng.randrange(10), self.duration()
        size = self.rng.randrange(5000) if kind % 5 < 2 else 0
        if kind >= 5 or (self.odd and not self.rng.randrange(20)):
            size = -1 if kind % 5 < 2 else 0
        name = b'/etc/x\0\0' if kind % 5 == 2 else b'\0' * 8
        self.put('iotrace', 19, stack, struct.pack(
            '<iiqqii', kind, 3, size, self.now - ns, -1, 24) + name)
        self.count(stack, IO[kind] + 'time', ns)
        self.count(stack, IO[kind] + 'cnt', 1)
        if kind < 2:
            self.count(stack, IO[kind] + 'bytes', max(size, 0))

    def counter(self, stack):
        tag, n = self.rng.randrange(2), self.rng.randrange(1, 1 << 33)
        doubted = not self.rng.randrange(10)
        self.put('hwcounters', 3 + 4 * self.rng.randrange(2), stack,
                 struct.pack('<iIQ', tag, 0, n | doubted << 63))
        if doubted:
            return
        self.count(stack, ['even_events', 'odd_events'][tag], n)

    # ---- the heap

    def heap_packet(self, stack, kind, size, at, old=0):
        self.put('heaptrace', 5, stack,
                 struct.pack('<iIQQQ', kind, 0, size, at, old))
        if kind in (FREE, MUNMAP) or not at:
            return
        self.count(stack, 'heapallocbytes', size)
        self.count(stack, 'heapalloccnt', 1)

    def fresh(self, size):
        self.top += size + 4096
        return self.top - size - 4096

    def malloc(self, stack):
        size = self.rng.randrange(0, 3000)
        at = self.fresh(size)
        if self.odd and self.live and not self.rng.randrange(4):
            at = self.rng.choice(sorted(self.live))    # its free was missed
        self.heap_packet(stack, MALLOC, size, at)
        self.live[at] = (stack, size)

    def free(self, stack):
        if not self.live or not self.rng.randrange(10):
            self.heap_packet(stack, FREE, 0, 0x99)     # nobody's
            return
        at = self.rng.choice(sorted(self.live))
        del self.live[at]
        self.heap_packet(stack, FREE, 0, at)

    def realloc(self, stack):
        size = self.rng.randrange(1, 9000)
        if not self.live:
            return
        old = self.rng.choice(sorted(self.live))
        if self.odd and not self.rng.randrange(3):
            self.heap_packet(stack, REALLOC, size, 0, old)     # failed
            return
        del self.live[old]
        at = old if self.rng.randrange(2) else self.fresh(size)
        told = 0 if self.odd and at == old else old
        self.heap_packet(stack, REALLOC, size, at, told)
        self.live[at] = (stack, size)

    def mmap(self, stack):
        size = 4096 * self.rng.randrange(1, 9)
        at = 0x40000000 + 4096 * self.rng.randrange(40)
        self.unmap_region(at, at + size)
        self.heap_packet(stack, MMAP, size, at)
        # one allocation is one leak, in however many pieces it is left
        self.regions.append([stack, {at + i * 4096
                                     for i in range(size // 4096)}])

    def munmap(self, stack):
        size = 4096 * self.rng.randrange(1, 6)
        at = 0x40000000 + 4096 * self.rng.randrange(40)
        self.heap_packet(stack, MUNMAP, size, at)
        self.unmap_region(at, at + size)

    def unmap_region(self, start, end):
        for region in self.regions:
            region[1] -= set(range(start, end, 4096))

    def end_heap(self):
        left = list(self.live.values()) + [
            (stack, 4096 * len(pages)) for stack, pages in self.regions]
        for stack, size in left:
            if size:
                self.count(stack, 'heapleakbytes', size)
                self.count(stack, 'heapleakcnt', 1)

    # ---- the whole

    def fill(self, n):
        doing = [self.clock, self.sync, self.io, self.counter, self.malloc,
                 self.malloc, self.free, self.realloc, self.mmap, self.munmap]
        for _ in range(n):
            self.now += 1_000_000
            self.rng.choice(doing)(self.any_stack())
        self.end_heap()

    def counters(self):
        return ['<profile name="hwcounter" cpuver="2600" hwcname="%s" '
                'int_name="%s" interval="1000" tag="%d" memop="0"/>'
                % (name, name, tag)
                for tag, name in enumerate(['even_events', 'odd_events'])]

    def log(self):
        out = ['<experiment version="12.4">', '<collector>by hand</collector>',
               '</experiment>',
               '<system hostname="h" arch="x86_64" os="Linux 6" '
               'pagesz="4096" npages="1000">',
               '  <cpu id="0" clk="1000"/>', '</system>',
               '<process pid="7"></process>', '<process>kinds</process>',
               '<event kind="run" tstamp="%d.%09d" time="1" tm_zone="0"/>'
               % divmod(START, 10**9)]
        for name, kind, attrs, fields in KINDS:
            if self.only not in (None, name):
                continue
            out += self.counters() if kind == 3 else []
            out += ['<profile name="%s" %s>' % (name, attrs)] \
                if attrs is not None else []
            out += ['<profdata fname="%s"/>' % name,
                    '<profpckt kind="%d">' % kind]
            out += ['<field name="%s" uname="%s" offset="%d" type="%s"/>'
                    % (f, f, at, what) for f, at, what in COMMON + fields]
            out += ['</profpckt>'] + (['</profile>'] if attrs is not None
                                      else [])
        out += ['<event kind="exit" tstamp="%d.%09d"/>'
                % divmod(self.now - START + 1000, 10**9)]
        return out

    def write(self):
        os.makedirs(self.path)
        maps = ['<event kind="map" object="function" tstamp="0.000000000" '
                'vaddr="0x%x" size="%d" name="%s"/>'
                % (BASE + i * STEP, STEP, f) for i, f in enumerate(FUNCTIONS)]
        files = {'log.xml': '\n'.join(self.log() + ['']).encode(),
                 'map.xml': '\n'.join(maps + ['']).encode(),
                 'data.frameinfo': self.stacks.out}
        for name, threads in self.packets.items():
            files[name] = b''.join(b''.join(t) for t in threads.values())
        for name, data in files.items():
            with open(os.path.join(self.path, name), 'wb') as f:
                f.write(data)

    def truth(self):
        for (function, metric), (excl, incl) in sorted(self.sums.items()):
            if incl:
                print(function, metric, excl, incl)


def main():
    only = sys.argv[4] if '--only' in sys.argv else None
    exp = Experiment(sys.argv[1], int(sys.argv[2]), '--odd' in sys.argv, only)
    exp.fill(3000)
    exp.write()
    exp.truth()


main()
