"""An MCP server behind OAuth, and its authority: `authority.py`, prints its port.

A token is good for one session: the next start finds it refused and has to renew it.
"""

import base64
import hashlib
import json
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

codes, clients, refreshes, good = {}, {}, {}, set()
count = iter(range(1, 1000))


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def give(self, status, body=None, **headers):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def base(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/about":
            return self.give(200, {"authorization_servers": [self.base() + "/auth"], "scopes_supported": ["read"]})
        if url.path == "/.well-known/oauth-authorization-server/auth":
            place = self.base() + "/auth"
            return self.give(200, {
                "authorization_endpoint": place + "/authorize",
                "token_endpoint": place + "/token",
                "registration_endpoint": place + "/register",
                "code_challenge_methods_supported": ["S256"],
            })
        if url.path == "/auth/authorize":
            assert query["resource"] == self.base() + "/mcp" and query["scope"] == "read", query
            assert query["redirect_uri"] in clients[query["client_id"]], query
            code = f"code-{next(count)}"
            codes[code] = query
            answer = urllib.parse.urlencode({"code": code, "state": query["state"]})
            return self.give(302, Location=query["redirect_uri"] + "/?" + answer)
        if url.path == "/mcp":
            return self.refuse()
        return self.give(404)

    def refuse(self):
        challenge = f'Bearer error="invalid_token", resource_metadata="{self.base()}/about"'
        return self.give(401, {}, WWW_Authenticate=challenge)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/auth/register":
            client = f"client-{next(count)}"
            clients[client] = json.loads(body)["redirect_uris"]
            return self.give(201, {"client_id": client})
        if self.path == "/auth/token":
            return self.token(dict(urllib.parse.parse_qsl(body)))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in good:
            return self.refuse()
        return self.message(json.loads(body), token)

    def token(self, form):
        if form["grant_type"] == "authorization_code":
            asked = codes.pop(form["code"])
            hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
            known = asked["client_id"] == form["client_id"] and asked["redirect_uri"] == form["redirect_uri"]
            if asked["code_challenge"] != challenge or not known:
                return self.give(400, {"error": "invalid_grant"})
        elif refreshes.pop(form.get("refresh_token"), None) != form["client_id"]:
            return self.give(400, {"error": "invalid_grant"})
        number = next(count)
        good.add(f"token-{number}")
        refreshes[f"refresh-{number}"] = form["client_id"]
        tokens = {"access_token": f"token-{number}", "refresh_token": f"refresh-{number}", "expires_in": 3600}
        return self.give(200, tokens)

    def message(self, message, token):
        if "id" not in message:
            return self.give(202)
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
        }
        if message["method"] == "tools/list":
            good.discard(token)
        result = results.get(message["method"], {})
        return self.give(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
