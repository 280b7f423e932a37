#!/usr/bin/env python3
"""Kills Charla with SIGKILL at random points of a tool-using session, resumes it, and checks that nothing is lost.

    bench/kill9.py [--runs 1000] [--seed N] [--workers 2] [--binaries DIR]

A run is one kill and what follows it. A session is killed a few times in a row, resumed each time with a prompt or
without, and at last left alone to answer one more prompt. Half of the kills come at any time of a run, half while a
tool works or a question waits. A run has everything allowed, or nobody to ask, or it asks at a terminal; there
questions are answered by typing and by `charla approvals answer` in another process, which goes on between runs.
Checked from the journal, from what was printed, from what the server was asked and from what the tools did:

    lost             something printed or acknowledged is not in the journal, a line of it changed, a record is missing
    doubled          a tool ran twice, a call was started twice, a call has not exactly one response in a request
    bricked          a session cannot be resumed, or the next prompt is not answered
    questions lost   a question that was open is not listed, or cannot be answered
    unasked          a tool ran that neither a rule nor a person had allowed, or that a person had refused

The exit code is 0 when all of them are zero.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import pty
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MODELS = ["openai/test", "anthropic/test", "gemini/test", "responses/test"]
KILLS_PER_SESSION = 4
# A run may be over before its kill comes: then another one is tried.
TRIES_PER_KILL = 4
CALLS_PER_TURN = 6
LONGEST_RUN = 30
# How a run decides about calls, and how often it is chosen.
MANNERS = {"yolo": 40, "nobody": 15, "terminal": 45}
# What a card ends with, once it can be answered.
ASKS = b"n REASON no, go on? "
TOKEN = re.compile(r"echo (t\d+-\d+b?) >>")
YES, NO, NO_MORE = ["yes"], ["no", "not", "this"], ["no"]
CANCELLED = 130


class Trouble(Exception):
    """Something that must not be: its class and what."""

    def __init__(self, kind, what):
        super().__init__(what)
        self.kind = kind


def shell(token):
    return {"call": {"name": "run_shell_command", "args": {"command": f"echo {token} >> ../tokens; sleep 0.01"}}}


def script():
    """Turns of several calls, each with a token that no other call has; the server gives every reply once."""
    replies = []
    for number in range(KILLS_PER_SESSION * TRIES_PER_KILL + 2):
        for call in range(CALLS_PER_TURN):
            token = f"t{number}-{call}"
            steps = [{"delay": 3}, {"text": "Working. "}, {"delay": 3}, shell(token)]
            if call % 3 == 2:
                # It waits for the one before it, allowed or not.
                steps.append(shell(token + "b"))
            if call % 2:
                read = {"call": {"name": "read_file", "args": {"file_path": "notes.txt", "end_line": number + call + 1}}}
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
        responses = {"wire": "openai-responses", "baseUrl": url + "/v1", "apiKey": {"env": "OPENAI_API_KEY"}}
        (folder / "home/.charla").mkdir()
        (folder / "home/.charla/settings.json").write_text(json.dumps({"providers": {"responses": responses}}))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_API_KEY": "k",
            "GEMINI_API_KEY": "k",
            "OPENAI_BASE_URL": url + "/v1",
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
            "TERM": "dumb",
            "NO_COLOR": "1",
        }
        self.kept = b""
        self.records = []
        self.torn = False
        # Answers from another process that were taken: question and words.
        self.taken = {}
        self.places = collections.Counter()

    def close(self):
        self.server.kill()
        self.server.wait()

    def journal(self):
        found = list((self.folder / "home/.charla/sessions").glob("*.jsonl"))
        return found[0] if found else None

    def start(self, *arguments, **streams):
        command = [str(part) for part in [self.binaries / "charla", *arguments]]
        return subprocess.Popen(command, cwd=self.folder / "work", env=self.env, **streams)

    def arguments(self, prompt):
        """What a run goes on with, and what is said."""
        resume = ["--resume", self.journal().stem] if self.kept else ["-m", self.model]
        return resume + (["-p", "go on"] if prompt else [])

    def run(self, kill, mode="yolo", prompt=True):
        """Runs one prompt; `kill` is (after what, seconds) or None. Returns the lines printed before the end."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        flags = ["-o", "stream-json", "--approval-mode", mode]
        process = self.start(*self.arguments(prompt), *flags, **streams)
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

    def read(self):
        """Reads the journal as it is now; its bytes."""
        content = self.journal().read_bytes()
        self.records = []
        for line in content.split(b"\n"):
            try:
                self.records.append(json.loads(line))
            except ValueError:
                continue
        return content

    def check_journal(self, printed):
        """Every record that was there stays; every record printed is there; no numbers are missing. Returns
        where the journal says that the run ended."""
        path = self.journal()
        if path is None:
            if printed:
                raise Trouble("lost", "something was printed and there is no journal")
            return "before the first record"
        content = self.read()
        if not content.startswith(self.kept):
            raise Trouble("lost", "the journal no longer begins with what it held")
        records = self.records
        numbers = [record["seq"] for record in records]
        if numbers != list(range(1, len(numbers) + 1)):
            raise Trouble("lost", f"the records are numbered {numbers}")
        self.check_printed(printed, records)
        self.check_approvals(records)
        started = collections.Counter(record["call"] for record in records if record["kind"] == "call_started")
        ended = collections.Counter(record["call"] for record in records if record["kind"] == "call_ended")
        for name, counted in [("started", started), ("ended", ended)]:
            twice = [call for call, count in counted.items() if count > 1]
            if twice:
                raise Trouble("doubled", f"{twice} {name} twice")
        self.kept = content
        kinds = [record["kind"] for record in records]
        if any(asked.answer and asked.allows and not asked.begun for asked in self.asked() if asked.open):
            return "with a call approved and not begun"
        if self.questions():
            return "with a question open"
        if sum(started.values()) > sum(call in ended for call in started):
            return "while a tool ran"
        if kinds.count("turn_started") > kinds.count("turn_ended"):
            return "while the model was asked"
        return "between turns"

    def calls(self):
        said = [record["content"]["parts"] for record in self.records if record["kind"] == "model_content"]
        return [part["functionCall"] for parts in said for part in parts if "functionCall" in part]

    def check_printed(self, printed, records):
        called = {call.get("id") for call in self.calls()}
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

    def asked(self):
        return [Asked(record, self.records) for record in self.records if record["kind"] == "call_asked"]

    def questions(self):
        """The ids of the questions that wait, as the journal tells."""
        return [asked.approval for asked in self.asked() if asked.open and not asked.answer]

    def check_approvals(self, records):
        """What was answered stays answered; nothing runs that nobody allowed."""
        asked = self.asked()
        for approval, words in self.taken.items():
            found = next((one for one in asked if one.approval == approval), None)
            if not found or not found.answer or found.allows != (words == YES):
                raise Trouble("lost", f"{approval} was answered with {words} and is recorded as {found and found.answer}")
            if found.allows and not found.begun and found.ended and found.ended["status"] != "cancelled":
                raise Trouble("lost", f"{approval} was allowed, did not run and is told as {found.ended['response']}")
        allowed = {one.call for one in asked if one.allows}
        for record in records:
            if record["kind"] == "call_started" and "rule" not in record and record["call"] not in allowed:
                raise Trouble("unasked", f"{record['call']} ran and nobody had allowed it")

    def check_questions(self):
        """What is open in the journal is listed, and nothing else."""
        listing = self.start("approvals", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = listing.communicate()
        listed = sorted(line.split()[0].decode() for line in out.splitlines())
        if listing.returncode or listed != sorted(self.questions()):
            raise Trouble("questions lost", f"{self.questions()} wait and {listed} are listed: {errors.decode()}")

    def answer(self, approval, words, kill=None):
        """Answers from another process, which may be killed. True when the answer was taken."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start("approvals", "answer", approval, *words, **streams)
        try:
            _, errors = process.communicate(timeout=kill)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, ""
        if process.returncode == 0:
            self.taken[approval] = words
        return process.returncode == 0, errors.decode()

    def answer_between_runs(self):
        """Answers some of the open questions while no process has the session."""
        for approval in self.questions():
            words = self.random.choices([YES, NO, NO_MORE, None], [5, 2, 1, 3])[0]
            if words is None:
                continue
            if self.random.random() < 0.2:
                self.answer(approval, words, kill=self.random.uniform(0, 0.03))
                self.check_journal([])
                self.check_questions()
            taken, errors = self.answer(approval, words)
            if not taken and "has answered already" not in errors:
                raise Trouble("questions lost", f"{approval} cannot be answered: {errors}")
            if taken:
                self.torn = False
            self.check_journal([])
        self.check_questions()

    def run_at_terminal(self, kill, prompt):
        """Runs with somebody at a terminal who answers; `kill` is (after how many cards, seconds)."""
        master, slave = pty.openpty()
        streams = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
        process = self.start(*self.arguments(prompt), **streams)
        os.close(slave)
        person = Person(self, process, master, kill)
        deadline = time.monotonic() + LONGEST_RUN
        try:
            while person.watch():
                if time.monotonic() > deadline:
                    raise Trouble("bricked", f"it does not end: {person.shown.decode(errors='replace')}")
        except Trouble:
            process.kill()
            raise
        finally:
            person.killer.cancel()
            os.close(master)
            code = process.wait()
        return person, code

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
        started = {record["call"] for record in self.records if record["kind"] == "call_started"}
        calls = {token: call["id"] for call in self.calls() for token in TOKEN.findall(json.dumps(call.get("args")))}
        unmarked = [token for token in tokens if calls.get(token) not in started]
        if unmarked:
            raise Trouble("unasked", f"tools ran that were not recorded as begun: {unmarked}")
        twice = [token for token, count in tokens.items() if count > 1]
        if twice:
            raise Trouble("doubled", f"tools ran twice: {twice}")

    def kill_and_check(self, length):
        if self.random.random() < 0.5:
            kill = (None, self.random.uniform(0, length * 1.1))
        else:
            kill = (self.random.randrange(CALLS_PER_TURN), self.random.uniform(0, 0.025))
        prompt = not self.is_open() or self.random.random() < 0.5
        manner = self.random.choices(list(MANNERS), list(MANNERS.values()))[0]
        if manner == "terminal":
            person, code = self.run_at_terminal(kill, prompt)
            printed, errors = [], person.shown.decode(errors="replace")
            # Once a card is shown, so is everything before it.
            self.check_notice(errors, person.cards)
        else:
            printed, code, errors = self.run(kill, {"nobody": "default"}.get(manner, manner), prompt)
            self.check_notice(errors, printed)
        if code not in (0, CANCELLED, -signal.SIGKILL):
            raise Trouble("bricked", f"it ended with {code}: {errors}")
        place = self.check_journal(printed)
        if manner == "terminal":
            person.check()
        if code == -signal.SIGKILL:
            self.places[place] += 1
        self.check_questions()
        self.check_requests()
        self.check_tools()
        if self.random.random() < 0.5:
            self.answer_between_runs()
        if self.random.random() < 0.15:
            self.tear()

    def is_open(self):
        """True when there is a turn, or a prompt, to go on with."""
        kinds = collections.Counter(record["kind"] for record in self.records)
        queued = {record["prompt"] for record in self.records if record["kind"] == "prompt_queued"}
        said = {record.get("prompt") for record in self.records if record["kind"] == "prompt_joined"}
        said |= {record.get("id") for record in self.records if record["kind"] == "turn_started"}
        return kinds["turn_started"] > kinds["turn_ended"] or bool(queued - said)

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
        if self.questions() or self.is_open():
            raise Trouble("bricked", f"after the last prompt {self.questions()} still wait")
        self.check_questions()
        self.check_requests()
        self.check_tools()


class Asked:
    """A question, as a journal tells it."""

    def __init__(self, record, records):
        self.approval, self.call = record["approval"], record["call"]
        self.command = record["confirmation"]["detail"].get("command", "")
        later = [other for other in records if other["seq"] > record["seq"]]
        mine = [other for other in later if other.get("approval") == self.approval]
        self.answer = next((other for other in mine if other["kind"] == "approval_answered"), None)
        self.allows = bool(self.answer) and self.answer["outcome"]["outcome"] != "cancel"
        about = {other["kind"]: other for other in later if other.get("call") == self.call}
        self.begun, self.ended = "call_started" in about, about.get("call_ended")
        self.open = not self.begun and not self.ended


class Person:
    """Somebody at a terminal, who answers there, from another process, or not at all; and whoever kills the program."""

    def __init__(self, session, process, terminal, kill):
        self.session, self.process, self.terminal = session, process, terminal
        self.shown, self.cards = b"", 0
        self.kill_after, seconds = kill
        self.killer = threading.Timer(seconds, process.kill)
        if self.kill_after is None:
            self.killer.start()

    def watch(self):
        """Takes what is shown, and answers a new card. False when the program has ended."""
        if select.select([self.terminal], [], [], 0.05)[0]:
            try:
                self.shown += os.read(self.terminal, 65536)
            except OSError:
                return False
        if self.shown.count(ASKS) > self.cards:
            self.cards += 1
            self.answer()
        return True

    def answer(self):
        random_numbers = self.session.random
        words = random_numbers.choices([YES, NO, NO_MORE, None], [8, 2, 1, 2])[0]
        if self.kill_after is not None and (words is None or self.cards > self.kill_after):
            self.kill_after = None
            self.killer.start()
        if words is None:
            return
        time.sleep(random_numbers.uniform(0, 0.02))
        if random_numbers.random() < 0.6:
            self.type_in(words)
            return
        # The card is the first question that waits.
        self.session.read()
        waiting = self.session.questions()
        taken, errors = self.session.answer(waiting[0], words) if waiting else (None, "")
        if taken is False and "has answered already" not in errors:
            # Whoever is killed closes its socket a moment before it is gone.
            time.sleep(0.2)
            if self.process.poll() is None:
                raise Trouble("questions lost", f"{waiting[0]} cannot be answered while it is asked: {errors}")
        if not taken:
            self.type_in(words)

    def type_in(self, words):
        try:
            os.write(self.terminal, (" ".join([words[0][0], *words[1:]]) + "\n").encode())
        except OSError:
            pass

    def check(self):
        """Every question that was shown is recorded."""
        recorded = {token for asked in self.session.asked() for token in TOKEN.findall(asked.command)}
        cards = self.shown.split(ASKS)[: self.cards]
        shown = {token for card in cards for token in TOKEN.findall(card.decode(errors="replace"))}
        if not shown <= recorded:
            raise Trouble("questions lost", f"{shown - recorded} were asked about and it is not recorded")


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
    counts = ", ".join(f"{wrong[kind]} {kind}" for kind in ["lost", "doubled", "bricked", "questions lost", "unasked"])
    print(f"{places.total()} runs, {counts} ({seconds:.0f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
