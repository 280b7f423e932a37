#!/usr/bin/env python3
"""Loads `charla serve` with live sessions, each with somebody who follows it, and prints what that takes.

A scripted model server, the server and this client share the machine's cores. Sessions are begun, each gets a subscriber and
says something; an event's latency is from sending a command to its record at the subscriber. Then questions are raised and answered by
three clients each: exactly one answer may count.

    bench/server.py [--binary PATH] [--testkit PATH] [--sessions N] [--questions N] [--rounds N]

It ends by itself; nothing outside the loopback is reached. The exit code is 0 when every goal was met.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
QUICK = HERE.parent / "target/quick"
# How many requests are under way at once.
WIDTH = 16
# Questions that one session raises.
EACH = 20
# One address has three quarters of a server's connections: followers come from several.
ADDRESSES = 4
# No run takes longer, whatever happens.
LIMIT = 540


class Server:
    """`charla serve` as a process, and requests to it."""

    def __init__(self, binary, home, work, model_url):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CHARLA_OFFLINE": "1",
            "OPENAI_API_KEY": "any",
            "OPENAI_BASE_URL": model_url,
        }
        self.process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0"],
            cwd=work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        link = self.process.stdout.readline().decode()
        self.host, port = re.match(r"http://([^:/]+):(\d+)/", link).groups()
        self.port = int(port)
        self.token = (home / ".charla/server/token").read_text().strip()

    def head(self, method, path, length, more=""):
        return (
            f"{method} /api/v1{path} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\nauthorization: Bearer {self.token}\r\n"
            f"content-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n"
        ).encode()

    def status(self, name):
        """A figure of the process, in bytes or in number."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        value = re.search(rf"^{name}:\s+(\d+)( kB)?", text, re.M)
        return int(value[1]) * (1024 if value[2] else 1)

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Connection:
    """One connection, kept: requests one after another."""

    def __init__(self, server):
        self.server, self.streams = server, None

    async def ask(self, method, path, body=None):
        """Status and answer. Asked to wait, it waits and asks again."""
        data = b"" if body is None else json.dumps(body).encode()
        while True:
            if self.streams is None:
                self.streams = await asyncio.open_connection(self.server.host, self.server.port)
            reader, writer = self.streams
            writer.write(self.server.head(method, path, len(data)) + data)
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            length = re.search(rb"content-length: (\d+)", head, re.I)
            text = await reader.readexactly(int(length[1])) if length else b""
            if status != 429:
                return status, json.loads(text) if text else None
            await asyncio.sleep(0.25)

    def close(self):
        if self.streams:
            self.streams[1].close()


async def spread(server, work, items):
    """Does the work for all items over a few connections; the results in their order."""
    items, results = list(enumerate(items)), {}

    async def worker():
        connection = Connection(server)
        while items:
            index, item = items.pop(0)
            results[index] = await work(connection, item)
        connection.close()

    await asyncio.gather(*(worker() for _ in range(WIDTH)))
    return [results[index] for index in sorted(results)]


class Follower:
    """A subscriber of one session, which knows when each record came."""

    def __init__(self, server, session, number):
        self.server, self.session, self.records = server, session, asyncio.Queue()
        self.address = f"127.0.0.{2 + number % ADDRESSES}"

    async def begin(self):
        self.reader, self.writer = await asyncio.open_connection(
            self.server.host, self.server.port, limit=2**24, local_addr=(self.address, 0)
        )
        while True:
            self.writer.write(self.server.head("GET", f"/sessions/{self.session}/events", 0))
            head = await self.reader.readuntil(b"\r\n\r\n")
            if b" 200 " in head.split(b"\r\n", 1)[0]:
                break
            length = re.search(rb"content-length: (\d+)", head, re.I)
            await self.reader.readexactly(int(length[1]))
            await asyncio.sleep(0.25)
        self.task = asyncio.create_task(self.follow())

    async def follow(self):
        while size := int((await self.reader.readuntil(b"\r\n")).strip(), 16):
            chunk = await self.reader.readexactly(size + 2)
            kind = re.search(rb'"kind":"(\w+)"', chunk)
            if kind and chunk.startswith(b"event: record"):
                self.records.put_nowait((kind[1].decode(), time.monotonic()))

    async def wait(self, wanted):
        """When the next record of this kind came."""
        while True:
            kind, when = await asyncio.wait_for(self.records.get(), 120)
            if kind == wanted:
                return when


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def prompt(text):
    return {"role": "user", "parts": [{"text": text}]}


class Table:
    """Rows, printed as they come, and the goals that were missed."""

    def __init__(self):
        self.missed = []

    def row(self, what, figure, goal="", met=True):
        print(f"| {what} | {figure} | {goal}{'' if met else ' (missed)'} |", flush=True)
        if not met:
            self.missed.append(what)

    def memory(self, what, used, most=None):
        goal, met = ("", True) if most is None else (f"< {most} KB", used < most * 1024)
        self.row(what, f"{used / 1024:.0f} KB", goal, met)

    def times(self, what, values, most=None):
        p50, p99 = (percentile(values, part) * 1000 for part in (0.5, 0.99))
        goal, met = ("", True) if most is None else (f"p99 < {most} ms", p99 < most)
        self.row(what, f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", goal, met)


async def load(server, sessions, rounds, table):
    """Sessions that live, each followed and spoken to."""
    before = server.status("VmRSS")
    began, cpu = time.monotonic(), server.cpu()

    async def create(connection, _):
        status, created = await connection.ask("POST", "/sessions", {"model": "openai/gpt-test"})
        assert status == 201, created
        return created["session"]

    ids = await spread(server, create, range(sessions))
    took = time.monotonic() - began
    table.row(f"{sessions} sessions begun", f"{took:.1f} s, {sessions / took:.0f}/s, {server.cpu() - cpu:.1f} s of processor")
    each = lambda: (server.status("VmRSS") - before) / sessions
    table.memory("memory of a session nobody follows", each())
    followers = [Follower(server, session, number) for number, session in enumerate(ids)]
    for some in range(0, sessions, WIDTH):
        await asyncio.gather(*(follower.begin() for follower in followers[some : some + WIDTH]))
    table.memory("memory of a session with a subscriber", each(), 200)
    cpu, began = server.cpu(), time.monotonic()
    await asyncio.sleep(5)
    idle = (server.cpu() - cpu) / (time.monotonic() - began)
    table.row("processor while nothing happens", f"{idle * 100:.0f} % of one core")
    whole, replies = [], []
    for number in range(rounds):
        began, cpu = time.monotonic(), server.cpu()

        async def say(connection, follower):
            sent = time.monotonic()
            await command(connection, follower, {"command": "prompt", "content": prompt(f"hello {number}")})
            replies.append(time.monotonic() - sent)
            whole.append(await follower.wait("turn_ended") - sent)

        await spread(server, say, followers)
        took = time.monotonic() - began
        figure = f"{sessions / took:.0f}/s, {server.cpu() - cpu:.1f} s of processor"
        table.row(f"round {number + 1}: prompts answered", figure)
    table.times(f"prompt to its reply, {WIDTH} at once", replies)
    table.times(f"prompt to the end of its turn at the subscriber, {WIDTH} at once", whole)
    await paced(server, followers, table)
    table.memory("memory of a session after all of it", each(), 200)
    return followers


async def command(connection, follower, body):
    status, reply = await connection.ask("POST", f"/sessions/{follower.session}/commands", body)
    assert status == 200, reply


async def paced(server, followers, table):
    """One command after another: what an event takes while all the others are followed."""
    connection, times = Connection(server), []
    # The prompts before it took what the server allows a user at once: what is measured is no wait for that.
    await asyncio.sleep(2)
    for follower in followers[:200]:
        sent = time.monotonic()
        await command(connection, follower, {"command": "set_mode", "mode": "plan"})
        times.append(await follower.wait("mode_changed") - sent)
    table.times("a command to its record at the subscriber, one at a time", times, 50)
    connection.close()


async def questions(server, followers, count, table):
    """Questions that three clients answer: one of them counts."""
    asked = followers[: count // EACH]
    began = time.monotonic()

    async def raise_them(connection, follower):
        await command(connection, follower, {"command": "set_mode", "mode": "default"})
        await command(connection, follower, {"command": "prompt", "content": prompt("raise questions")})

    await spread(server, raise_them, asked)
    connection = Connection(server)
    while True:
        _, listed = await connection.ask("GET", "/approvals")
        ids = [waiting["asked"]["approval"] for waiting in listed["approvals"]]
        if len(ids) >= len(asked) * EACH:
            break
        await asyncio.sleep(0.05)
    table.row(f"{len(ids)} questions raised", f"{time.monotonic() - began:.1f} s")
    began, statuses, times = time.monotonic(), collections.Counter(), []

    async def client(number):
        connection = Connection(server)
        turned = ids[number * len(ids) // 7 :] + ids[: number * len(ids) // 7]
        wins = 0
        for approval in turned:
            sent = time.monotonic()
            status, _ = await connection.ask("POST", f"/approvals/{approval}", {"outcome": "proceed_once"})
            times.append(time.monotonic() - sent)
            statuses[status] += 1
            wins += status == 200
        return wins

    wins = await asyncio.gather(*(client(number) for number in range(3)))
    took = time.monotonic() - began
    for follower in asked:
        await follower.wait("turn_ended")
    met = sum(wins) == len(ids) and set(statuses) <= {200, 409}
    table.row(f"{len(ids)} questions, three answers each", f"{took:.1f} s; the three won {wins}", "one wins each", met)
    table.times("an answer to its reply", times)


def script():
    """The model server: it greets, and where questions are wanted it calls a tool that asks."""
    call = {"name": "write_file", "args": {"content": "x"}}
    calls = [{"call": {**call, "args": {**call["args"], "file_path": f"file-{number}"}}} for number in range(EACH)]
    when = {"text": "raise questions", "answers_tools": False}
    return {"rules": [{"when": when, "reply": calls}], "otherwise": "repeat", "replies": ["Hello!"], "strict": False}


async def run(arguments, folder):
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    (folder / "script.json").write_text(json.dumps(script()))
    model = subprocess.Popen(
        [arguments.testkit, "--script", folder / "script.json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    server = None
    try:
        lines = iter(lambda: model.stdout.readline().decode(), "")
        url = next(match[1] for line in lines if (match := re.search(r"OPENAI_BASE_URL=(\S+)", line)))
        server = Server(arguments.binary, home, work, url)
        table = Table()
        table.row("what", "figure", "goal")
        table.row("---", "---", "---")
        followers = await load(server, arguments.sessions, arguments.rounds, table)
        await questions(server, followers, arguments.questions, table)
        lost = [follower for follower in followers if follower.task.done()]
        table.row("subscribers that were cut off", len(lost), "0", not lost)
        for follower in followers:
            follower.task.cancel()
        return table.missed
    finally:
        for process in [server and server.process, model]:
            if process:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--binary", default=QUICK / "charla", type=pathlib.Path)
    parser.add_argument("--testkit", default=QUICK / "charla-testkit", type=pathlib.Path)
    parser.add_argument("--sessions", default=1000, type=int)
    parser.add_argument("--questions", default=200, type=int)
    parser.add_argument("--rounds", default=2, type=int)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory() as folder:
        missed = asyncio.run(asyncio.wait_for(run(arguments, pathlib.Path(folder)), LIMIT))
    if missed:
        print(f"missed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
