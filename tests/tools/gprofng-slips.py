#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the functions that gprofng itself misplaces in one experiment.

	gprofng-slips.py EXP OURS THEIRS

OURS and THEIRS are what both readers say to -pcs. Two of gprofng's habits
make a row of theirs that cannot be ours, and both are seen in THEIRS alone,
by arithmetic with the symbols of the object:

gap	A PC inside a function that gprofng knows by name is given to the
	nameless gap before that function, under <static>@START + OFFSET with
	an offset that reaches into the function.
stub	A PC in .plt.got is a nameless function to gprofng; in .plt it is
	@plt, and a leaf there is charged to the caller, as we do for both.

Printed: one function a line. Exit 1 for more than LIMIT of them.
"""
import functools
import os
import re
import subprocess
import sys

LIMIT = 4
STATIC = re.compile(r"<static>@0x([0-9a-f]+) \(<([^>]*)>\).* \+ 0x([0-9A-F]+)")
NAMED = re.compile(r"^((?:[0-9.]+\s+)+)(\S.*) \+ 0x([0-9A-F]+)")


def objects(exp):
	"""name -> path, from the experiment's map"""
	with open(os.path.join(exp, "map.xml"), errors="replace") as file:
		names = re.findall(r'name="(/[^"]*)"', file.read())
	return {os.path.basename(name): name for name in names}


def output(*command):
	return subprocess.run(command, capture_output=True, text=True,
			      check=False).stdout


@functools.cache
def functions_of(path):
	"""start, end and name of all that an object exports, read once"""
	found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [TtWwVi] (.*)$",
			   output("nm", "-DCS", "--defined-only", path), re.M)
	return [(int(start, 16), int(start, 16) + int(size, 16),
		 re.sub(r"@+[A-Z_0-9.a-z]+$", "", name))
		for start, size, name in found]


def functions_at(path, address):
	return [name for start, end, name in functions_of(path)
		if start <= address < end]


@functools.cache
def stubs_of(path):
	"""start and end of an object's .plt.got"""
	found = re.search(r" \.plt\.got +\w+ +([0-9a-f]+) \w+ (\w+)",
			  output("readelf", "-SW", path))
	start, size = (int(word, 16) for word in found.groups()) \
		if found else (0, 0)
	return start, start + size


def in_stubs(path, address):
	start, end = stubs_of(path)
	return start <= address < end


def exclusive(path):
	"""(function, offset) -> exclusive time"""
	rows = {}
	with open(path) as file:
		for line in file:
			found = NAMED.match(line)
			if found:
				name = re.sub(r" \(<[^>]*>\).*$", "", found[2])
				rows[name, found[3]] = float(found[1].split()[0])
	return rows


def slips(exp, ours, theirs):
	paths = objects(exp)
	stubs = 0.0
	names = set()
	with open(theirs) as file:
		for line in file:
			found = STATIC.search(line)
			path = found and paths.get(found[2])
			if not path:
				continue
			address = int(found[1], 16) + int(found[3], 16)
			names.update(functions_at(path, address))
			if in_stubs(path, address):
				stubs += float(line.split()[0])
	if stubs:
		before = exclusive(theirs)
		for key, time in exclusive(ours).items():
			if time > before.get(key, time):
				names.add(key[0])
	return names


def main():
	names = slips(*sys.argv[1:4])
	for name in sorted(names):
		print(name)
	return len(names) > LIMIT


sys.exit(main())
