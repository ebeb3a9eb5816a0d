#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what sonde and gprofng write in formats for programs.

	view-formats.py html OURS THEIRS	the same cells
	view-formats.py delimited OURS THEIRS	the same lines and fields
	view-formats.py csv OURS THEIRS	the same cells, but one heading
	view-formats.py schema SCHEMA FILE	each line is an object of it
	view-formats.py json FILE TEXT		the numbers of the text's table
	view-formats.py tree FILE		parents and depths of a tree agree
	view-formats.py facts FILE TEXT		header's, overview's, functions'

Where gprofng's output is not what it must mean we read it so, and no
differently: "%%" in a heading is one percent sign, a quote within a field is
not doubled, and a nameless title has blanks.
"""
import csv
import html.parser
import json
import re
import sys


class Cells(html.parser.HTMLParser):
	"""All rows of all tables, as text."""

	def __init__(self):
		super().__init__()
		self.rows, self.cell, self.title, self.where = [], None, "", ""

	def handle_starttag(self, tag, attrs):
		if tag in ("td", "th"):
			self.cell = ""
		elif tag == "tr":
			self.rows.append([])
		elif tag == "br" and self.cell is not None:
			self.cell += " "
		self.where = tag

	def handle_endtag(self, tag):
		# gprofng closes td before tt in places
		if tag in ("td", "th") and self.cell is not None:
			self.rows[-1].append(" ".join(
				self.cell.replace("\xa0", " ").split()))
			self.cell = None
		self.where = ""

	def handle_data(self, data):
		if self.cell is not None:
			self.cell += data
		elif self.where == "title":
			self.title += data


def html_cells(path):
	parser = Cells()
	with open(path, encoding="utf-8") as file:
		parser.feed(file.read())
	parser.close()
	return [[parser.title]] + parser.rows


def their_fields(line):
	return line.removeprefix('"').removesuffix('"').split('","')


def their_delimited(path):
	with open(path, encoding="utf-8") as file:
		lines = [line for line in file.read().split("\n")
			 if line.startswith('"')]
	return [[field.replace("%%", "%") for field in their_fields(line)]
		for line in lines]


def our_csv(path):
	with open(path, encoding="utf-8", newline="") as file:
		return [row for row in csv.reader(file, strict=True) if row]


def one_heading(rows):
	"""Four lines of gprofng's as one of ours."""
	heads = []
	for column in zip(*rows[1:4]):
		unit = column[2].replace("V", " ").strip()
		unit = "(%)" if unit == "%" else unit
		heads.append(" ".join(w for w in (*column[:2], unit) if w))
	return [heads] + rows[4:]


def same(ours, theirs):
	if len(theirs) < 4:
		sys.exit(f"gprofng wrote only {len(theirs)} rows")
	for i, (our, their) in enumerate(zip(ours, theirs)):
		if our != their:
			sys.exit(f"row {i}: {our} instead of {their}")
	if len(ours) != len(theirs):
		sys.exit(f"{len(ours)} rows instead of {len(theirs)}")
	print(f"{sum(map(len, ours))} cells are the same")


def objects(path):
	with open(path, encoding="utf-8") as file:
		return [json.loads(line) for line in file]


def check_schema(schema, path):
	import jsonschema

	with open(schema, encoding="utf-8") as file:
		validator = jsonschema.Draft7Validator(json.load(file))
	found = objects(path)
	for report in found:
		for error in validator.iter_errors(report):
			sys.exit(f"{report['view']}: {error.message} at "
				 f"{list(error.absolute_path)}")
		for table in report["tables"]:
			for row in table["rows"]:
				if not (len(row["values"]) == len(row["percents"])
					== len(table["columns"])):
					sys.exit(f"{report['view']}: row {row}")
	print(f"{len(found)} objects are valid")


# `12.345  67.89   name`, as the text has it for two columns with percent
ROW = re.compile(r"^ *([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(\S.*)$")


def check_numbers(path, text):
	rows = objects(path)[0]["tables"][0]["rows"]
	with open(text, encoding="utf-8") as file:
		lines = [m.groups() for m in map(ROW.match, file) if m]
	if len(lines) < 5 or len(lines) != len(rows):
		sys.exit(f"{len(rows)} rows beside {len(lines)} of the text")
	for row, line in zip(rows, lines):
		if row["name"] != line[4]:
			sys.exit(f"{row['name']} instead of {line[4]}")
		for i in range(2):
			seconds, percent = float(line[2 * i]), float(line[2 * i + 1])
			if (abs(row["values"][i] / 1e9 - seconds) > 0.00051 or
			    abs(row["percents"][i] - percent) > 0.0051):
				sys.exit(f"{row} beside {line}")
	print(f"{len(rows)} rows are those of the text")


def check_tree(path):
	rows = objects(path)[0]["tables"][0]["rows"]
	below = [0] * len(rows)
	for i, row in enumerate(rows):
		up = row["parent"]
		if up is None:
			if i or row["depth"] or row["name"] != "<Total>":
				sys.exit(f"row {i} has no parent")
			continue
		if up >= i or rows[up]["depth"] + 1 != row["depth"]:
			sys.exit(f"row {i}: {row} below {rows[up]}")
		below[up] += row["values"][0]
	for i, row in enumerate(rows):
		if below[i] > row["values"][0]:
			sys.exit(f"{row}: its children have {below[i]}")
	if max(row["depth"] for row in rows) < 3:
		sys.exit("the tree is flat")
	print(f"{len(rows)} nodes hang together")


def pairs(panel):
	return {pair["key"]: pair["value"] for pair in panel["pairs"]}


def check_facts(path, text):
	"""header, overview and statistics say what functions and header do"""
	header, overview, statistics, functions = objects(path)
	facts = pairs(header["panels"][0])
	with open(text, encoding="utf-8") as file:
		lines = file.read()
	samples = int(re.search(r"^Samples: (\d+)", lines, re.M)[1])
	whole = int(re.search(r"^Stacks: (\d+) complete", lines, re.M)[1])
	ended = re.search(r"^Experiment Ended: ([\d.]+)$", lines, re.M)[1]
	if (facts["Samples"], facts["Complete stacks"]) != (samples, whole):
		sys.exit(f"{facts} beside {samples} samples, {whole} complete")
	if facts["Duration"] != int(ended.replace(".", "")):
		sys.exit(f"it lasted {facts['Duration']} ns, not {ended} s")
	total = functions["tables"][0]["rows"][0]["values"][0]
	metrics = pairs(overview["panels"][-1])
	if not total or not samples or metrics["totalcpu"] != total:
		sys.exit(f"totalcpu is {metrics['totalcpu']} and {total}")
	used = pairs(statistics["panels"][0])
	if used["<Total> User CPU"] != metrics["user"]:
		sys.exit(f"user is {used['<Total> User CPU']}, not "
			 f"{metrics['user']}")
	print(f"{samples} samples, {total} ns")


def main(what, *paths):
	if what == "html":
		same(html_cells(paths[0]), html_cells(paths[1]))
	elif what == "delimited":
		same(our_csv(paths[0]), their_delimited(paths[1]))
	elif what == "csv":
		same(our_csv(paths[0]), one_heading(their_delimited(paths[1])))
	elif what == "schema":
		check_schema(*paths)
	elif what == "json":
		check_numbers(*paths)
	elif what == "tree":
		check_tree(*paths)
	elif what == "facts":
		check_facts(*paths)


main(*sys.argv[1:])
