"""An MCP server at an address, with one tool of the name that it is given. Its port is its first line."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOL = sys.argv[1]


def result(method):
    if method == "initialize":
        server = {"name": "remote", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}
    return {}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(405, b"")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            return self.answer(202, b"")
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"])}
        self.answer(200, json.dumps(answer).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
