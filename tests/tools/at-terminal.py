#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a shell command at a terminal of so many rows and columns.

	at-terminal.py ROWS COLUMNS COMMAND

Prints what the terminal shows, and exits with the command's status. The size
is set before the command begins.
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main(rows, columns, command):
	begin, go = os.pipe()
	pid, terminal = pty.fork()
	if pid == 0:
		os.close(go)
		os.read(begin, 1)
		os.execv("/bin/bash", ["bash", "-c", command])
	fcntl.ioctl(terminal, termios.TIOCSWINSZ,
		    struct.pack("HHHH", int(rows), int(columns), 0, 0))
	os.write(go, b"x")
	while True:
		try:
			data = os.read(terminal, 65536)
		except OSError:		# the other side is closed
			break
		if not data:
			break
		sys.stdout.buffer.write(data)
	sys.stdout.buffer.flush()
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main(*sys.argv[1:])
