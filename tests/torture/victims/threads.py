# SPDX-License-Identifier: GPL-3.0-or-later
# threads: python with threads that compute, sleep and talk to each other.
import os
import select
import socket
import sys
import threading
import time

over = threading.Event()
wrong = [0] * 8


def compute(me):
    while not over.is_set():
        table = {i: i * i for i in range(2000)}
        if sum(table.values()) != 2664667000:
            wrong[me] += 1


def sleep(me):
    while not over.is_set():
        since = time.monotonic()
        time.sleep(0.01)
        if time.monotonic() - since < 0.0099:
            wrong[me] += 1


def wait(me):
    poll = select.epoll()
    while not over.is_set():
        since = time.monotonic()
        if poll.poll(0.01) or time.monotonic() - since < 0.0089:
            wrong[me] += 1


def talk(me):
    a, b = socket.socketpair()
    number = 0
    while not over.is_set():
        number += 1
        a.sendall(b"%08d" % number)
        if int(b.recv(8, socket.MSG_WAITALL)) != number:
            wrong[me] += 1


threads = [threading.Thread(target=run, args=(i,))
           for i, run in enumerate((compute, compute, sleep, wait, talk))]
for thread in threads:
    thread.start()
print("ready", os.getpid(), flush=True)
sys.stdin.buffer.read()
over.set()
for thread in threads:
    thread.join()
print("eintr 0 wrong", sum(wrong), "missed 0", flush=True)
sys.exit(sum(wrong) != 0)
