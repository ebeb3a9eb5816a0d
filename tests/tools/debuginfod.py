#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A debuginfod on a loopback port: debuginfod.py DIR LOG

DIR/ok/buildid/ID/debuginfo and .../executable are served; /slow/... sends them
in small pieces; /hang/... accepts and never answers. Each request is a line of
LOG. The port is the first line on standard output.
"""
import http.server
import os
import sys
import threading

root, log_path = sys.argv[1:]
never = threading.Event()
log = open(log_path, "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        how, path = self.path.lstrip("/").split("/", 1)
        log.write(self.path + "\n")
        if how == "hang":
            never.wait()
            return
        try:
            with open(os.path.join(root, "ok", path), "rb") as f:
                data = f.read()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/octet-stream")
        self.end_headers()
        step = len(data) // 4 + 1 if how == "slow" else len(data) + 1
        for i in range(0, len(data), step):
            self.wfile.write(data[i:i + step])
            if how == "slow":
                never.wait(0.4)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
