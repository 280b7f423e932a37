#!/usr/bin/env python3
"""Kills nodes that share a PostgreSQL database with SIGKILL, and checks that the others go on.

    bench/nodes.py [--rounds 50] [--seed N] [--lease 3] [--binaries DIR]

Each round begins a session on one of three nodes, kills that node at a random moment while the model streams, while a
tool runs, or while a question waits (each for `--rounds` rounds), starts another node in its place, and follows the
session from a node that lives until its turn has ended; a question is answered there. Somebody follows the session's
events at that node from before the kill. Checked from the records, from those events, from what tools did and from what
the model was asked:

    lost             a record is missing, in the journal or among the events; a turn does not end; a call has no response,
                     or the model was asked with a call that has none
    doubled          a tool ran twice, a call was started twice or has several responses, a record was told twice
    questions lost   a question that was open is not listed any more, or cannot be answered

Printed are these, and the time from the kill until another node has gone on with the turn. The exit code is 0 when all
counts are zero.
"""

import argparse
import glob
import http.client
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
NODES = 3
LONGEST_ROUND = 60
MOMENTS = ["streaming", "tool", "question"]


class Trouble(Exception):
    """Something that must not be: its class and what."""

    def __init__(self, kind, what):
        super().__init__(what)
        self.kind = kind


def wait_for(what, look, kind="lost"):
    """What `look` finds, once it finds something."""
    end = time.monotonic() + LONGEST_ROUND
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise Trouble(kind, what)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Postgres:
    """A cluster of its own, reached by a socket in its folder."""

    def __init__(self, folder):
        self.folder = folder
        found = shutil.which("initdb") or sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]
        programs = pathlib.Path(found).resolve().parent
        self.user = "postgres" if os.geteuid() == 0 else None
        folder.mkdir()
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        data = folder / "data"
        make = ["--no-sync", "--auth=trust", "--username=charla", "--encoding=UTF8", "--locale=C", "-D", data]
        subprocess.run(self.command(programs / "initdb", *make), check=True, stdout=subprocess.DEVNULL, cwd=folder)
        settings = ["-c", "listen_addresses=", "-c", "max_connections=200"]
        start = self.command(programs / "postgres", "-D", data, "-k", folder, *settings)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(start, cwd=folder, **quiet)
        ready = [str(programs / "pg_isready"), "-q", "-h", str(folder)]
        wait_for("the database does not start", lambda: subprocess.run(ready).returncode == 0)

    def command(self, *parts):
        other = ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups"] if self.user else []
        return [str(part) for part in [*other, *parts]]

    def address(self):
        return f"host={self.folder} user=charla dbname=postgres"

    def close(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


class Node:
    """One server."""

    def __init__(self, place):
        command = [str(place.binaries / "charla"), "serve", "--listen", "127.0.0.1:0", "--lease", str(place.lease)]
        self.process = subprocess.Popen(
            command, cwd=place.work, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.host = re.search(r"127\.0\.0\.1:\d+", self.process.stdout.readline()).group(0)
        self.token = (place.home / ".charla/server/token").read_text().strip()

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=40)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, "/api/v1" + path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if content else None

    def kill(self):
        self.process.kill()
        self.process.wait()


class Follower(threading.Thread):
    """Somebody who follows a session's events at one node."""

    def __init__(self, node, session):
        super().__init__(daemon=True)
        self.numbers, self.kinds = [], []
        self.connection = http.client.HTTPConnection(node.host, timeout=LONGEST_ROUND)
        headers = {"Authorization": f"Bearer {node.token}"}
        self.connection.request("GET", f"/api/v1/sessions/{session}/events", headers=headers)
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            raise Trouble("lost", f"events: {self.answer.status}")
        self.start()

    def run(self):
        event = {}
        try:
            for line in self.answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                    continue
                if event.get("event") == "record":
                    self.kinds.append(json.loads(event["data"])["kind"])
                    self.numbers.append(int(event["id"]))
                event = {}
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            # Whoever waits for what did not come tells it; the end of a round closes the connection.
            pass

    def check(self, found):
        """Every record was told once and in order, over the death of the node that wrote the first of them."""
        wait_for("the events do not tell the end", lambda: "turn_ended" in self.kinds)
        wanted = [record["seq"] for record in found]
        told = self.numbers[: len(wanted)]
        if len(set(told)) != len(told):
            raise Trouble("doubled", f"the events told {told}")
        if told != wanted[: len(told)] or len(told) < kinds(found).index("turn_ended") + 1:
            raise Trouble("lost", f"the events told {told} of {wanted}")

    def close(self):
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()


class Place:
    """A home, a workspace, a database, a model and the nodes."""

    def __init__(self, folder, binaries, lease):
        self.folder, self.binaries, self.lease = folder, binaries, lease
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.postgres = Postgres(folder / "pg")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{free_port()}/v1",
            "CHARLA_OFFLINE": "1",
            "CHARLA_DATABASE": self.postgres.address(),
        }
        self.nodes = []

    def start(self):
        self.nodes.append(Node(self))

    def close(self):
        for node in self.nodes:
            node.kill()
        self.postgres.close()


class Model:
    """The scripted model of one round."""

    def __init__(self, place, moment, number):
        slow = {"call": {"name": "run_shell_command", "args": {"command": f"echo r{number} >> ran; sleep 1"}}}
        asks = {"call": {"name": "write_file", "args": {"file_path": f"f{number}", "content": "x"}}}
        text = [step for _ in range(40) for step in ({"text": "word "}, {"delay": 30})]
        replies = {"streaming": [text, [slow]], "tool": [[slow]], "question": [[asks]]}[moment]
        script = place.folder / "script.json"
        script.write_text(json.dumps({"replies": [*replies, "Done."], "otherwise": "repeat"}))
        port = re.search(r":(\d+)/", place.env["OPENAI_BASE_URL"]).group(1)
        self.record = place.folder / f"asked-{number}.jsonl"
        command = [str(place.binaries / "charla-testkit"), "--script", str(script), "--port", port]
        command += ["--record", str(self.record)]
        quiet = {"stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **quiet)
        # It listens once it has said where.
        self.process.stdout.readline()

    def check(self):
        """Everything it was asked makes sense: each call has exactly one response, and nothing was refused."""
        for line in self.record.read_text().splitlines():
            asked = json.loads(line)
            if asked["problem"]:
                raise Trouble("lost", f"the model was asked what it refuses: {asked['problem']}")
            messages = asked["body"]["messages"]
            calls = [call["id"] for message in messages for call in message.get("tool_calls") or []]
            responses = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
            one_each("the model was asked with", calls, responses)

    def close(self):
        self.process.kill()
        self.process.wait()


def one_each(where, calls, responses):
    """Each of these calls has exactly one response, and no response is to another."""
    if len(set(calls)) != len(calls) or len(set(responses)) != len(responses):
        raise Trouble("doubled", f"{where} calls {calls} and responses {responses}")
    if set(calls) != set(responses):
        raise Trouble("lost", f"{where} calls {calls} and responses {responses}")


def records(node, session):
    status, found = node.request("GET", f"/sessions/{session}/records")
    return found["records"] if status == 200 else []


def kinds(found):
    return [record["kind"] for record in found]


def check(found):
    numbers = [record["seq"] for record in found]
    if numbers != list(range(1, len(numbers) + 1)):
        raise Trouble("lost", f"the records are numbered {numbers}")
    said = [record["content"]["parts"] for record in found if record["kind"] == "model_content"]
    called = [part["functionCall"]["id"] for parts in said for part in parts if "functionCall" in part]
    started = [record["call"] for record in found if record["kind"] == "call_started"]
    ended = [record["call"] for record in found if record["kind"] == "call_ended"]
    one_each("the records have", called, ended)
    if len(set(started)) != len(started) or not set(started) <= set(called):
        raise Trouble("doubled", f"of the calls {called} were started {started}")


def round_of(place, moment, number, chance):
    """One round; the seconds from the kill until another node has gone on, or nothing when the turn was over before."""
    owner = place.nodes[chance.randrange(NODES)]
    model, follower = Model(place, moment, number), None
    try:
        prompt = {"role": "user", "parts": [{"text": "go"}]}
        mode = "default" if moment == "question" else "yolo"
        wanted = {"model": "openai/gpt-test", "mode": mode, "prompt": prompt}
        status, created = owner.request("POST", "/sessions", wanted)
        if status != 201:
            raise Trouble("lost", f"no session: {status} {created}")
        session = created["session"]
        others = [node for node in place.nodes if node is not owner]
        witness = chance.choice(others)
        follower = Follower(witness, session)
        wait_until = {"streaming": "turn_started", "tool": "call_started", "question": "call_asked"}[moment]
        wait_for(f"no {wait_until}", lambda: wait_until in kinds(records(others[0], session)))
        time.sleep(chance.random() * (0.9 if moment != "question" else 0.2))
        owner.kill()
        killed = time.monotonic()
        place.nodes.remove(owner)
        over = "turn_ended" in kinds(records(witness, session))
        wait_for("nobody goes on", lambda: over or "turn_resumed" in kinds(records(witness, session)))
        took = None if over else time.monotonic() - killed
        if moment == "question":
            answer(witness, session)
        wait_for("the turn does not end", lambda: "turn_ended" in kinds(records(witness, session)))
        found = records(witness, session)
        check(found)
        follower.check(found)
        model.check()
        check_ran(place, number)
        return took
    finally:
        if follower:
            follower.close()
        model.close()
        place.start()


def answer(node, session):
    def waiting():
        _, found = node.request("GET", "/approvals")
        return [asked["asked"]["approval"] for asked in found["approvals"] if asked["session"] == session]

    question = wait_for("the question is gone", waiting, "questions lost")[0]
    status, said = node.request("POST", f"/approvals/{question}", {"outcome": "proceed_once"})
    if status != 200:
        raise Trouble("questions lost", f"{status} {said}")


def check_ran(place, number):
    ran = place.work / "ran"
    times = ran.read_text().split().count(f"r{number}") if ran.exists() else 0
    if times > 1:
        raise Trouble("doubled", f"the tool of round {number} ran {times} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lease", type=int, default=3)
    parser.add_argument("--binaries", type=pathlib.Path, default=TARGET / "release")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    troubles, times = {"lost": 0, "doubled": 0, "questions lost": 0}, {moment: [] for moment in MOMENTS}
    folder = pathlib.Path(tempfile.mkdtemp(prefix="charla-nodes-"))
    folder.chmod(0o755)
    place = None
    try:
        place = Place(folder, options.binaries, options.lease)
        for _ in range(NODES):
            place.start()
        for number in range(options.rounds * len(MOMENTS)):
            moment = MOMENTS[number % len(MOMENTS)]
            try:
                took = round_of(place, moment, number, chance)
                if took is not None:
                    times[moment].append(took)
            except Trouble as trouble:
                troubles[trouble.kind] += 1
                print(f"round {number} ({moment}): {trouble.kind}: {trouble}", flush=True)
    finally:
        if place:
            place.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.rounds} rounds each, lease {options.lease} s, seed {options.seed}")
    for moment, took in times.items():
        took.sort()
        if took:
            median, longest = took[len(took) // 2], took[-1]
            print(f"  {moment:<10} taken over {len(took):>3} times: median {median:.1f} s, longest {longest:.1f} s")
    for kind, count in troubles.items():
        print(f"  {kind:<15} {count}")
    return 1 if any(troubles.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
