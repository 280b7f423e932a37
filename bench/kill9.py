#!/usr/bin/env python3
"""Kills Charla with SIGKILL at random points of a tool-using session, resumes it, and checks that nothing is lost.

    bench/kill9.py [--runs 1000] [--seed N] [--workers 2] [--binaries DIR]

A run is one kill and what follows it. A session is killed a few times in a row, resumed each time, and at last
left alone to answer one more prompt. Half of the kills come at any time of a run, half while a tool works.
Checked from the journal, from what was printed, from what the server was asked and from what the tools did:

    lost      something printed is not in the journal, a line of the journal changed, a record is missing
    doubled   a tool ran twice, a call was started twice, a call has not exactly one response in a request
    bricked   a session cannot be resumed, or the next prompt is not answered

The exit code is 0 when all three are zero.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MODELS = ["openai/test", "anthropic/test", "gemini/test"]
KILLS_PER_SESSION = 4
# A run may be over before its kill comes: then another one is tried.
TRIES_PER_KILL = 4
CALLS_PER_TURN = 6
LONGEST_RUN = 30


class Trouble(Exception):
    """Something that must not be: its class and what."""

    def __init__(self, kind, what):
        super().__init__(what)
        self.kind = kind


def script():
    """Turns of several calls, each with a token that no other call has; the server gives every reply once."""
    replies = []
    for number in range(KILLS_PER_SESSION * TRIES_PER_KILL + 2):
        for call in range(CALLS_PER_TURN):
            token = f"t{number}-{call}"
            command = f"echo {token} >> ../tokens; sleep 0.01"
            steps = [{"delay": 3}, {"text": "Working. "}, {"delay": 3}, {"call": {"name": "run_shell_command", "args": {"command": command}}}]
            if call % 2:
                read = {"call": {"name": "read_file", "args": {"file_path": "notes.txt", "limit": number + call + 1}}}
                steps.append(read)
            replies.append(steps)
        replies.append("All done.")
    return {"replies": replies, "otherwise": "repeat"}


class Session:
    """One session with a server, a home and a workspace of its own."""

    def __init__(self, folder, binaries, model, random_numbers):
        self.folder, self.binaries, self.model, self.random = folder, binaries, model, random_numbers
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        (folder / "work" / "notes.txt").write_text("".join(f"note {n}\n" for n in range(40)))
        (folder / "script.json").write_text(json.dumps(script()))
        arguments = ["--script", folder / "script.json", "--record", folder / "requests.jsonl"]
        self.server = subprocess.Popen(
            [str(part) for part in [binaries / "charla-testkit", *arguments]],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        url = re.search(r"http://127\.0\.0\.1:\d+", self.server.stdout.readline()).group(0)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_API_KEY": "k",
            "GEMINI_API_KEY": "k",
            "OPENAI_BASE_URL": url + "/v1",
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
        }
        self.kept = b""
        self.torn = False
        self.places = collections.Counter()

    def close(self):
        self.server.kill()
        self.server.wait()

    def journal(self):
        found = list((self.folder / "home/.charla/sessions").glob("*.jsonl"))
        return found[0] if found else None

    def run(self, kill):
        """Runs one prompt; `kill` is (after what, seconds) or None. Returns the lines printed before the end."""
        command = [self.binaries / "charla", "-m", self.model, "-o", "stream-json", "--approval-mode", "yolo"]
        if self.kept:
            command += ["--resume", self.journal().stem]
        command += ["-p", "go on"]
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=self.folder / "work",
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        trigger = threading.Event()
        after, seconds = kill or (None, LONGEST_RUN)
        if after is None:
            trigger.set()

        def killer():
            trigger.wait(LONGEST_RUN)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)

        thread = threading.Thread(target=killer)
        thread.start()
        lines = []
        seen = 0
        for line in process.stdout:
            # A line without its end was not printed yet.
            if line.endswith(b"\n"):
                lines.append(json.loads(line))
                seen += lines[-1]["type"] == "tool_use"
            if after is not None and seen > after:
                trigger.set()
        trigger.set()
        thread.join()
        errors = process.stderr.read().decode()
        process.wait()
        return lines, process.returncode, errors

    def check_journal(self, printed):
        """Every record that was there stays; every record printed is there; no numbers are missing. Returns
        where the journal says that the run ended."""
        path = self.journal()
        if path is None:
            if printed:
                raise Trouble("lost", "something was printed and there is no journal")
            return "before the first record"
        content = path.read_bytes()
        if not content.startswith(self.kept):
            raise Trouble("lost", "the journal no longer begins with what it held")
        records = []
        for line in content.split(b"\n"):
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
        numbers = [record["seq"] for record in records]
        if numbers != list(range(1, len(numbers) + 1)):
            raise Trouble("lost", f"the records are numbered {numbers}")
        self.check_printed(printed, records)
        started = collections.Counter(record["call"] for record in records if record["kind"] == "call_started")
        ended = collections.Counter(record["call"] for record in records if record["kind"] == "call_ended")
        for name, counted in [("started", started), ("ended", ended)]:
            twice = [call for call, count in counted.items() if count > 1]
            if twice:
                raise Trouble("doubled", f"{twice} {name} twice")
        self.kept = content
        kinds = [record["kind"] for record in records]
        if sum(started.values()) > sum(call in ended for call in started):
            return "while a tool ran"
        if kinds.count("turn_started") > kinds.count("turn_ended"):
            return "while the model was asked"
        return "between turns"

    def check_printed(self, printed, records):
        called = {
            part["functionCall"].get("id")
            for record in records
            if record["kind"] == "model_content"
            for part in record["content"]["parts"]
            if "functionCall" in part
        }
        ended = {record["call"] for record in records if record["kind"] == "call_ended"}
        last = records[-1]["kind"] if records else None
        turns = sum(record["kind"] == "turn_started" for record in records)
        for line in printed:
            kind = line["type"]
            if kind == "tool_use" and line["tool_id"] not in called:
                raise Trouble("lost", f"the call {line['tool_id']} was printed and is not recorded")
            if kind == "tool_result" and line["tool_id"] not in ended:
                raise Trouble("lost", f"the result of {line['tool_id']} was printed and is not recorded")
            if kind == "message" and line["role"] != "user" and turns == 0:
                raise Trouble("lost", "the model was heard in a turn that is not recorded")
            if kind == "result" and last != "turn_ended":
                raise Trouble("lost", f"the result was printed and the last record is {last}")

    def tear(self):
        """Leaves the beginning of a record at the end, as a machine that lost power in a write would."""
        path = self.journal()
        if path is None or not self.kept.endswith(b"\n"):
            return
        beginning = b'{"seq":%d,"at":1,"kind":"call_st' % (self.kept.count(b"\n") + 1)
        with path.open("ab") as file:
            file.write(beginning)
        self.kept += beginning
        self.torn = True

    def check_requests(self):
        path = self.folder / "requests.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        for line in lines[:-1]:
            request = json.loads(line)
            if request["problem"]:
                raise Trouble("doubled", f"the server refuses a request: {request['problem']}")
            if request["wire"] == "openai-chat":
                messages = request["body"]["messages"]
                calls = [call["id"] for message in messages for call in message.get("tool_calls") or []]
                answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
                if sorted(calls) != sorted(answers):
                    raise Trouble("doubled", f"calls {calls} and answers {answers} do not pair up")

    def check_tools(self):
        path = self.folder / "tokens"
        tokens = collections.Counter(path.read_text().split() if path.exists() else [])
        twice = [token for token, count in tokens.items() if count > 1]
        if twice:
            raise Trouble("doubled", f"tools ran twice: {twice}")

    def kill_and_check(self, length):
        if self.random.random() < 0.5:
            kill = (None, self.random.uniform(0, length * 1.1))
        else:
            kill = (self.random.randrange(CALLS_PER_TURN), self.random.uniform(0, 0.025))
        printed, code, errors = self.run(kill)
        if code not in (0, -signal.SIGKILL):
            raise Trouble("bricked", f"it ended with {code}: {errors}")
        self.check_notice(errors, printed)
        place = self.check_journal(printed)
        if code:
            self.places[place] += 1
        self.check_requests()
        self.check_tools()
        if self.random.random() < 0.15:
            self.tear()

    def check_notice(self, errors, printed):
        # The notice comes before the first line; a process killed earlier could not tell.
        if self.torn and printed and "was skipped" not in errors:
            raise Trouble("lost", f"a torn line was skipped without a notice: {errors!r}")
        self.torn = self.torn and not printed

    def finish(self):
        printed, code, errors = self.run(None)
        result = printed[-1] if printed else {}
        if code != 0 or result.get("status") != "success":
            raise Trouble("bricked", f"the next prompt is not answered ({code}): {errors} {result}")
        self.check_notice(errors, printed)
        self.check_journal(printed)
        self.check_requests()
        self.check_tools()


def one_session(binaries, seed, kills, length, keep):
    """Kills one session some times. Returns where the kills hit, and what went wrong."""
    numbers = random.Random(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kill9-"))
    session = Session(folder, binaries, MODELS[seed % len(MODELS)], numbers)
    try:
        for _ in range(kills * TRIES_PER_KILL):
            if session.places.total() < kills:
                session.kill_and_check(length)
        session.finish()
        return session.places, None
    except Trouble as trouble:
        return session.places, (trouble.kind, f"seed {seed}: {trouble} ({folder})" if keep else f"seed {seed}: {trouble}")
    finally:
        session.close()
        if not keep:
            subprocess.run(["rm", "-rf", str(folder)], check=False)


def usual_length(binaries):
    """How long a run takes that nobody kills."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(pathlib.Path(folder), binaries, MODELS[0], random.Random(0))
        start = time.monotonic()
        try:
            session.finish()
        finally:
            session.close()
        return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="how many kills")
    parser.add_argument("--seed", type=int, default=1, help="the same seed kills at the same times")
    parser.add_argument("--workers", type=int, default=2, help="sessions at the same time")
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default=TARGET / "debug", help="where charla and charla-testkit are")
    parser.add_argument("--keep", action="store_true", help="keep the folders")
    options = parser.parse_args()
    length = usual_length(options.binaries)
    print(f"a run takes {length * 1000:.0f} ms")
    plan = []
    while sum(kills for _, kills in plan) < options.runs:
        left = options.runs - sum(kills for _, kills in plan)
        plan.append((options.seed * 1_000_000 + len(plan), min(KILLS_PER_SESSION, left)))
    start = time.monotonic()
    places, wrong = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        jobs = [pool.submit(one_session, options.binaries, seed, kills, length, options.keep) for seed, kills in plan]
        for job in concurrent.futures.as_completed(jobs):
            hit, trouble = job.result()
            places.update(hit)
            if trouble:
                wrong[trouble[0]] += 1
                print(f"{trouble[0]}: {trouble[1]}", file=sys.stderr)
    seconds = time.monotonic() - start
    print("killed " + ", ".join(f"{count} {place}" for place, count in places.most_common()))
    print(f"{places.total()} runs, {wrong['lost']} lost, {wrong['doubled']} doubled, {wrong['bricked']} bricked ({seconds:.0f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
