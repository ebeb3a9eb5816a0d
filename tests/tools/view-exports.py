#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads exported stacks, and compares them with gprofng's table.

	view-exports.py speedscope|pprof|folded FILE TABLE

TABLE is what gprofng wrote after `-printmode ,` and `-metrics
e.totalcpu:i.totalcpu:name` as its functions. From the stacks of FILE follows
the same: a function's own cost is that of the stacks it ends, its inclusive
cost that of the stacks it is in.
"""
import collections
import gzip
import json
import sys

PROFILE_FIELDS = {"$schema", "shared", "profiles", "name", "exporter",
		  "activeProfileIndex"}
SAMPLED_FIELDS = {"type", "name", "unit", "startValue", "endValue", "samples",
		  "weights"}


def speedscope(path):
	"""After https://www.speedscope.app/file-format-schema.json"""
	with open(path, encoding="utf-8") as file:
		data = json.load(file)
	assert data["$schema"].endswith("/file-format-schema.json")
	assert set(data) <= PROFILE_FIELDS, set(data)
	frames = data["shared"]["frames"]
	assert all(isinstance(f["name"], str) for f in frames)
	assert set().union(*frames) <= {"name", "file", "line", "col"}
	for profile in data["profiles"]:
		assert set(profile) == SAMPLED_FIELDS, set(profile)
		assert profile["type"] == "sampled"
		assert profile["unit"] in ("nanoseconds", "bytes", "none")
		assert len(profile["samples"]) == len(profile["weights"])
		assert all(0 <= i < len(frames)
			   for sample in profile["samples"] for i in sample)
		assert (profile["endValue"] - profile["startValue"] ==
			sum(profile["weights"]))
	shown = data["profiles"][data["activeProfileIndex"]]
	assert shown["name"] == "Total CPU Time", shown["name"]
	for sample, weight in zip(shown["samples"], shown["weights"]):
		yield [frames[i]["name"] for i in sample], weight


def varint(data, at):
	value = shift = 0
	while True:
		byte = data[at]
		at += 1
		value |= (byte & 0x7f) << shift
		shift += 7
		if byte < 0x80:
			return value, at


def message(data):
	"""field -> values, numbers or bytes"""
	fields, at = collections.defaultdict(list), 0
	while at < len(data):
		key, at = varint(data, at)
		if key & 7 == 0:
			value, at = varint(data, at)
		else:
			assert key & 7 == 2, key
			size, at = varint(data, at)
			value, at = data[at:at + size], at + size
			assert len(value) == size
		fields[key >> 3].append(value)
	return fields


def packed(data):
	values, at = [], 0
	while at < len(data):
		value, at = varint(data, at)
		values.append(value)
	return values


def pprof(path):
	"""After profile.proto of perftools.profiles"""
	with gzip.open(path) as file:
		profile = message(file.read())
	strings = [s.decode() for s in profile[6]]
	assert strings[0] == ""
	types = [message(t) for t in profile[1]]
	kinds = [(strings[t[1][0]], strings[t[2][0]]) for t in types]
	assert strings[profile[14][0]] == "totalcpu"
	cpu = kinds.index(("totalcpu", "nanoseconds"))
	functions = {}
	for data in profile[5]:
		function = message(data)
		functions[function[1][0]] = strings[function[2][0]]
	mappings = {message(data)[1][0] for data in profile[3]}
	locations = {}
	for data in profile[4]:
		location = message(data)
		assert location[2][0] in mappings
		line = message(location[4][0])
		locations[location[1][0]] = functions[line[1][0]]
	for data in profile[2]:
		sample = message(data)
		values = packed(sample[2][0])
		assert len(values) == len(kinds)
		names = [locations[i] for i in packed(sample[1][0])]
		yield names[::-1], values[cpu]


def folded(path):
	with open(path, encoding="utf-8") as file:
		for line in file:
			stack, weight = line.rsplit(" ", 1)
			yield stack.split(";"), int(weight) * 1000


def theirs(path):
	table = {}
	with open(path, encoding="utf-8") as file:
		for line in file:
			if line.startswith('"') and line[1:2].isdigit():
				own, all_, name = line.rstrip()[1:-1].split('","')
				table[name] = float(own), float(all_)
	return table


def main(kind, path, table):
	own, whole = collections.Counter(), collections.Counter()
	stacks = list({"speedscope": speedscope, "pprof": pprof,
		       "folded": folded}[kind](path))
	for names, weight in stacks:
		own[names[-1]] += weight
		whole["<Total>"] += weight
		own["<Total>"] += weight
		for name in set(names):
			whole[name] += weight
	want = theirs(table)
	if len(want) < 4 or set(want) - set(whole):
		sys.exit(f"not there: {set(want) - set(whole)} of {len(want)}")
	for name, (excl, incl) in want.items():
		# folded has microseconds, the table milliseconds
		bound = 0.000502 + len(stacks) * 0.5e-6 * (kind == "folded")
		if (abs(own[name] / 1e9 - excl) > bound or
		    abs(whole[name] / 1e9 - incl) > bound):
			sys.exit(f"{name}: {own[name] / 1e9} and "
				 f"{whole[name] / 1e9}, not {excl} and {incl}")
	print(f"{len(stacks)} stacks give gprofng's {len(want)} rows")


main(*sys.argv[1:])
