#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
odd_names program FILE.s: a program for an assembler, whose source file, and
its directory, have every kind of odd byte in their names.
odd_names check SONDE EXP.er: each view of it in each format is what the format
promises, and holds nothing that a terminal obeys or hides.
"""
import csv
import gzip
import html.parser
import io
import json
import subprocess
import sys
import xml.dom.minidom

ODD = b'a\033]0;X\007\n b\t\r\x7f\x85\x9b1m\xff\xc2\x9b\xe2\x80\xae' \
    b'\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf"\'%41%,;<i>&\\012\xc3\xa4z'
VIEWS = """functions callers-callees calltree lines pcs fsummary lsummary
    psummary objects threads samples cpus processes header overview
    experiment_list dprofile dmap object_list metric_list describe leaks
    allocs heap heapstat ioactivity iocallstack locks filters
    statistics""".split() + \
    ['source evil', 'disasm evil', 'csingle evil']
HIDDEN = {*range(0x20), *range(0x7f, 0xa0), 0xad, *range(0x200b, 0x2010),
          *range(0x2028, 0x202f), *range(0x2060, 0x2070), 0xfeff} - {9, 10}
SOURCE = '''	.text
	.file 1 "/src/d%s/%s.c"
	.globl evil
	.type evil, @function
evil:	.loc 1 10 1
	movl $1000000, %%eax
1:	.loc 1 11 1
	subl $1, %%eax
	jne 1b
	ret
	.size evil, .-evil
	.globl main
	.type main, @function
main:	.loc 1 20 1
	call evil
	jmp main
	.size main, .-main
	.section .note.GNU-stack,"",@progbits
'''
bad = []


def program(path):
    name = ''.join(f'\\{byte:03o}' for byte in ODD if byte != 10)
    with open(path, 'w', encoding='ascii') as out:
        out.write(SOURCE % (name, name))


def plain(what, data):
    """Decoded, if it is text that does nothing but be read."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        bad.append(f'{what}: {error}')
        return data.decode(errors='replace')
    found = {hex(ord(c)) for c in text if ord(c) in HIDDEN}
    if found:
        bad.append(f'{what}: has {sorted(found)}')
    return text


def check_stacks(what, text):
    """A frame is one line below its heading, whatever is named in it."""
    for line in text.splitlines():
        if line.startswith('Stack #1, Leaked Bytes = 999.c'):
            bad.append(f'{what}: a row of others: {line!r}')


def text_rows(text):
    """Rows of a table of functions, by the names at their ends."""
    return sum(line.split()[-1:] in (['evil'], ['main'], ['<Total>'])
               for line in text.splitlines())


def check_json(what, text):
    for line in text.splitlines():
        json.loads(line)


def check_csv(what, text):
    for table in text.split('\n\n'):
        lines = [line for line in table.splitlines() if line[:1] == '"']
        rows = list(csv.reader(io.StringIO('\n'.join(lines)), strict=True))
        if rows and {len(r) for r in rows} != {
                len(rows[0])}:
            bad.append(f'{what}: rows of {sorted({len(r) for r in rows})}')


def check_html(what, text):
    html.parser.HTMLParser().feed(text)
    if '<i>' in text:
        bad.append(f'{what}: markup of others')


def check_folded(what, text):
    for line in text.splitlines():
        if not line.rpartition(' ')[2].isdigit():
            bad.append(f'{what}: {line!r}')


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def check_pprof(what, data):
    data = gzip.decompress(data)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        if key & 7 != 2:
            continue
        if key >> 3 == 6:
            try:
                data[at:at + size].decode()
            except UnicodeDecodeError as error:
                bad.append(f'{what}: {error}')
        at += size


CHECKS = {'text': check_stacks, 'csv': check_csv,
          'json': check_json, 'html': check_html, 'folded': check_folded,
          'speedscope': lambda what, text: json.loads(text)}


def check(sonde, exp):
    for view in VIEWS:
        for form in CHECKS:
            export = form in ('folded', 'speedscope')
            if export and view != 'functions':
                continue
            words = [sonde, 'report', exp, '--no-rc', '--format', form]
            ran = subprocess.run(words + ['-' + view.split()[0]] +
                                 view.split()[1:], capture_output=True,
                                 timeout=60, check=False)
            what = f'-{view} {form}'
            plain(what + ', errors', ran.stderr)
            text = plain(what, ran.stdout)
            try:
                CHECKS[form](what, text)
            except (ValueError, csv.Error) as error:
                bad.append(f'{what}: {error}')
            if view == 'functions' and form == 'text' and \
                    not 2 <= text_rows(text) <= 3:
                bad.append(f'{what}: {text}')
    check_pprof('pprof', subprocess.run(
        [sonde, 'report', exp, '--no-rc', '--format', 'pprof'],
        capture_output=True, timeout=60, check=False).stdout)
    for name in 'log.xml', 'map.xml':
        with open(f'{exp}/{name}', 'rb') as file:
            xml.dom.minidom.parseString(b'<r>' + file.read() + b'</r>')
    for line in bad:
        print(line)
    return 1 if bad else 0


if sys.argv[1] == 'program':
    program(sys.argv[2])
    sys.exit(0)
if sys.argv[1] == 'bytes':
    sys.stdout.buffer.write(ODD)
    sys.exit(0)
sys.exit(check(sys.argv[2], sys.argv[3]))
