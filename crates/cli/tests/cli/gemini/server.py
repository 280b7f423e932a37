"""A small MCP server over its pipes: tools, one with a schema that refers to itself, and a stray message before anything was said."""

import json
import sys

ADD = {
    "name": "add",
    "description": "Adds two numbers",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
}
CYCLIC = {
    "name": "tool_with_cyclic_schema",
    "inputSchema": {
        "type": "object",
        "properties": {"data": {"type": "array", "items": {"$ref": "#/properties/data"}}},
    },
}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(method, params):
    if method == "initialize":
        server = {"name": "addition", "version": "1.0.0"}
        return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [ADD, CYCLIC]}
    if method == "tools/call":
        arguments = params["arguments"]
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}
    return None


send({"method": "initialized", "params": {}})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    found = result(message["method"], message.get("params"))
    if found is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
    else:
        send({"id": message["id"], "result": found})
