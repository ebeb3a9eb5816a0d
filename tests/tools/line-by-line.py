#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session of sonde at a terminal: each line once its prompt is there.

	line-by-line.py SONDE ARGUMENTS... <LINES

Prints what the terminal shows.
"""
import os
import pty
import sys

PROMPT, PROMPT_END = b"(sonde", b") "


def prompt(terminal):
	"""Show what comes up to the next prompt, or the end."""
	seen = b""
	while PROMPT not in seen or not seen.endswith(PROMPT_END):
		try:
			data = os.read(terminal, 65536)
		except OSError:
			return
		if not data:
			return
		seen += data
		os.write(sys.stdout.fileno(), data)


def main(command):
	pid, terminal = pty.fork()
	if pid == 0:
		os.execv(command[0], command)
	prompt(terminal)
	for line in sys.stdin:
		os.write(terminal, line.encode())
		prompt(terminal)


main(sys.argv[1:])
