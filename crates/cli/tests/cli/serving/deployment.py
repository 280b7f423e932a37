"""A browser's way through the proxy of the handbook: PORT CERTIFICATE CODE."""

import http.client
import json
import socket
import ssl
import sys

NAME = "charla.example.org"
# Where the requests come from: not the proxy's own address.
FROM = "127.0.0.9"


class Connection(http.client.HTTPSConnection):
    """Reaches the proxy by its public name, wherever it listens."""

    def __init__(self, port, certificate):
        super().__init__(NAME, context=ssl.create_default_context(cafile=certificate), timeout=60)
        self.at = port

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.at), 60, source_address=(FROM, 0))
        self.sock = self._context.wrap_socket(plain, server_hostname=NAME)


def main(port, certificate, code):
    connection = Connection(int(port), certificate)
    headers = {"Origin": f"https://{NAME}", "Content-Type": "application/json"}

    def ask(method, path, body=None):
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer, answer.read()

    answer, page = ask("GET", "/")
    assert answer.status == 200 and b"<title>Charla</title>" in page, (answer.status, page[:200])
    answer, said = ask("POST", "/api/v1/sign-in", {"code": code})
    assert answer.status == 200, (answer.status, said)
    cookie = answer.getheader("set-cookie")
    assert "Secure" in cookie and "HttpOnly" in cookie, cookie
    headers["Cookie"] = cookie.split(";")[0]
    # One node after the other: who signed in at one is signed in at both.
    for _ in range(6):
        answer, said = ask("GET", "/api/v1/me")
        assert answer.status == 200 and json.loads(said)["name"] == "web", (answer.status, said)
    prompt = {"role": "user", "parts": [{"text": "hello"}]}
    answer, said = ask("POST", "/api/v1/sessions", {"model": "openai/gpt-test", "prompt": prompt})
    assert answer.status == 201, (answer.status, said)
    session = json.loads(said)["session"]
    # The answer never ends: what comes of it was passed on at once, whichever node the events are of.
    for _ in range(2):
        events = Connection(int(port), certificate)
        events.request("GET", f"/api/v1/sessions/{session}/events", headers=headers)
        told = events.getresponse()
        assert told.getheader("content-type") == "text/event-stream", told.headers
        for line in told:
            if b"Half of it" in line:
                break
        else:
            raise AssertionError("the events ended")
        events.sock.close()


main(*sys.argv[1:])
