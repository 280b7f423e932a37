#!/usr/bin/env python3
"""Charla's process benchmarks: the release binary beside reference programs, in one run.

    bench/run.py            build everything in release mode and print the table
    bench/run.py --quick    fewer repetitions
    bench/run.py --binaries target/quick    measure what is built there instead of building

Every row is a ratio of CPU seconds (process tree, minimum of several runs) against the reference named
in it, with the budget of DESIGN. Memory is the peak resident set. Wall clocks are compared only where
waiting is the point: they depend on what else the machine does.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from terminal import at_the_prompt, completion, first_answer, talk

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Every row that was printed, for `bench/publish.py`.
FIGURES = []


def build():
    packages = ["charla-cli", "charla-testkit", "charla-bench"]
    command = ["cargo", "build", "--release", "--locked"]
    for package in packages:
        command += ["-p", package]
    subprocess.run(command, cwd=ROOT, check=True)
    return TARGET / "release"


PROGRAMS = ["charla", "charla-testkit", "confined", "empty", "long-conversation", "measure", "minimal-client", "minimal-steps"]


def built(folder):
    """The folder with everything that is measured: this one, or where it is built now."""
    if folder is None:
        return build()
    missing = [name for name in PROGRAMS if not (folder / name).exists()]
    if missing:
        sys.exit(
            f"error: {folder} has no {', '.join(missing)}\n"
            "hint: cargo build --release -p charla-cli -p charla-testkit -p charla-bench makes them; without --binaries that is done here"
        )
    return folder.resolve()


def cost(measure, command, env, cwd=None):
    """CPU seconds and peak kilobytes of one run, and what it printed."""
    done = subprocess.run(
        [str(part) for part in [measure, *command]], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True
    )
    errors = done.stderr.decode(errors="replace")
    figures = re.search(r"^measured (\d+) (\d+)$", errors, re.MULTILINE)
    if done.returncode != 0 or figures is None:
        sys.exit(f"{command[0]} exited with {done.returncode}: {errors}")
    refuse_failed_calls(command[0], errors)
    return int(figures.group(1)) / 1e6, int(figures.group(2)), done.stdout


def refuse_failed_calls(program, errors):
    """Ends where tools failed: a program that refuses to read a file, such as one below /dev, is quick."""
    if "Error executing tool" in errors:
        sys.exit(f"a tool of {program} failed, so that there is nothing to measure: {errors[:300]}")


def best(measure, command, env, runs, expect=None):
    results = []
    for _ in range(runs):
        cpu, memory, output = cost(measure, command, env)
        if expect is not None and expect not in output:
            sys.exit(f"{command[0]} did not print what was expected: {output[:200]!r}")
        results.append((cpu, memory))
    return min(cpu for cpu, _ in results), max(memory for _, memory in results)


class Server:
    """The scripted model server with one script."""

    def __init__(self, binary, script, options=()):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(script, self.file)
        self.file.flush()
        self.process = subprocess.Popen(
            [str(part) for part in [binary, "--script", self.file.name, *options]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = None
        for line in self.process.stdout:
            match = re.search(r"http://127\.0\.0\.1:\d+", line)
            if match:
                self.url = match.group(0)
                break
        if self.url is None:
            sys.exit("the scripted server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.file.close()


def steps_script(count):
    call = lambda n: [{"call": {"name": "read_file", "args": {"file_path": f"note-{n}.txt"}}}]
    return {"otherwise": "repeat", "replies": [*map(call, range(count)), "All read."]}


def tool_steps(release, measure, env, home, runs):
    """A conversation of 200 steps beside the reference, and what a step costs early and late."""
    work = pathlib.Path(home) / "work"
    work.mkdir()
    for n in range(200):
        (work / f"note-{n}.txt").write_text(f"note {n}: " + "some words of a note. " * 14 + "\n")
    good, costs = True, {}
    for count in [10, 100, 200]:
        ours, sent, reference, memory = [], 0, [], 0
        for _ in range(runs):
            for program in ["charla", "minimal-steps"]:
                record = work / "requests.jsonl"
                record.unlink(missing_ok=True)
                with Server(release / "charla-testkit", steps_script(count), ["--record", record]) as server:
                    env["OPENAI_BASE_URL"] = server.url + "/v1"
                    command = [release / program]
                    command += ["-m", "openai/bench", "--max-turns", "1000", "-p"] if program == "charla" else [server.url.removeprefix("http://")]
                    cpu, peak, output = cost(measure, [*command, "read all notes"], env, cwd=work)
                    if b"All read." not in output:
                        sys.exit(f"{program} did not finish {count} steps: {output[:200]!r}")
                if program == "charla":
                    ours.append(cpu)
                    memory = max(memory, peak)
                    with record.open() as lines:
                        sent = sum(len(json.dumps(json.loads(line)["body"])) for line in lines)
                else:
                    reference.append(cpu)
        costs[count] = (min(ours), sent)
        if count == 200:
            good &= row("200 tool steps / minimal steps", min(ours), min(reference), 4, memory, 20)
    previous = (0, (0.0, 0))
    for count, (cpu, sent) in costs.items():
        steps, cpu_before, sent_before = count - previous[0], *previous[1]
        each, size = (cpu - cpu_before) / steps, (sent - sent_before) / steps
        print(f"  step {previous[0] + 1:3} to {count:3}: {each * 1e6:7.0f} us CPU, {size / 1024:7.1f} KB sent per step")
        previous = (count, (cpu, sent))
    return good


def records(session, count, size):
    """A journal of `count` turns with answers of `size` characters."""
    started = {"version": 1, "session": session, "cwd": "/tmp", "model": "openai/bench"}
    yield {"seq": 1, "at": 1, "kind": "session_started", **started}
    seq = 1
    for turn in range(1, count + 1):
        said = {"role": "model", "parts": [{"text": "word " * (size // 5)}]}
        asked = {"role": "user", "parts": [{"text": f"question {turn}"}]}
        for fact in [
            {"kind": "turn_started", "turn": turn, "prompt": asked},
            {"kind": "model_content", "turn": turn, "content": said, "finish": "STOP"},
            {"kind": "turn_ended", "turn": turn, "end": "finished"},
        ]:
            seq += 1
            yield {"seq": seq, "at": seq, **fact}


def write_journal(folder, session, count, size):
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{session}.jsonl").open("w") as file:
        for record in records(session, count, size):
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def limit(name, seconds, most, memory, room):
    good = seconds <= most and (room is None or memory <= room * 1024)
    FIGURES.append({"name": name.strip(), "seconds": seconds, "most": most, "memory": memory / 1024, "room": room, "good": good})
    limits = f"limit {most * 1000:.0f} ms" + (f", {room} MB" if room else "")
    print(f"{name:34} {seconds * 1000:8.2f} ms  {memory / 1024:6.1f} MB  ({limits})  {'ok' if good else 'OVER'}")
    return good


def sessions(release, measure, env, home):
    """Listing 10,000 sessions, and going on with one of 100 MB."""
    folder = pathlib.Path(home) / ".charla" / "sessions"
    for n in range(10_000):
        write_journal(folder, f"s{n:05}", 2, 200)
    listed = [timed(measure, [release / "charla", "--list-sessions"], env, b"s09999") for _ in range(5)]
    good = limit("listing 10,000 sessions", min(seconds for seconds, _ in listed), 0.3, listed[0][1], None)
    for path in folder.glob("*.jsonl"):
        path.unlink()
    long = "long-session"
    write_journal(folder, long, 1000, 100_000)
    # What resuming does before it asks the model; the request itself would measure the server.
    read = [timed(measure, [release / "charla", "approvals"], env, b"") for _ in range(3)]
    good &= limit("reading and folding 100 MB", min(seconds for seconds, _ in read), 0.5, read[0][1], 150)
    return good


def long_script():
    """Reads a note in every turn, says a little about it, and summarises in the same few words."""
    snapshot = "<overall_goal>Read the note again and again.</overall_goal><task_state>It says the same every time.</task_state>"
    return {
        "otherwise": "repeat",
        "rules": [
            {"when": {"text": "Write the snapshot now."}, "reply": f"<state_snapshot>{snapshot}</state_snapshot>"},
            {"when": {"answers_tools": True}, "reply": "It says the same as before. " * 6},
        ],
        "replies": [[{"call": {"name": "read_file", "args": {"file_path": "note.txt"}}}]],
    }


def flat(name, late, early, unit, most):
    ratio = late / early
    good = ratio <= most
    FIGURES.append({"name": name.strip(), "late": late, "early": early, "unit": unit, "ratio": ratio, "budget": most, "good": good})
    print(f"{name:52} {late:8.1f} {unit} / {early:8.1f} {unit}  {ratio:5.2f}x (limit {most}x)  {'ok' if good else 'OVER'}")
    return good


def long_conversation(release, measure, env, home):
    """2,000 turns in one process, compressed all the way; then going on with such a session, and with a short one."""
    folder = pathlib.Path(home) / ".charla" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.jsonl"):
        path.unlink()
    resident = {}
    with Server(release / "charla-testkit", long_script()) as server:
        _, _, output = cost(measure, [release / "long-conversation", server.url, folder, 2000], env)
        for line in output.decode().splitlines():
            _, turn, _, compressions, _, kilobytes = line.split()
            resident[int(turn)] = (int(kilobytes) / 1024, int(compressions))
    print(f"2,000 turns in one process: {resident[2000][1]} compressions")
    good = flat("  memory at turn 2,000 / at turn 200", resident[2000][0], resident[200][0], "MB", 1.25)
    whole = (folder / "long-conversation.jsonl").read_text().splitlines(keepends=True)
    end = next(n for n, line in enumerate(whole, 1) if '"kind":"turn_ended","turn":200,' in line)
    figures = {}
    for name, lines in [("short", whole[:end]), ("long", whole)]:
        for path in folder.glob("*.jsonl"):
            path.unlink()
        (folder / f"{name}.jsonl").write_text("".join(lines))
        runs = [timed(measure, [release / "charla", "approvals"], env, b"") for _ in range(5)]
        figures[name] = (min(seconds for seconds, _ in runs), max(memory for _, memory in runs) / 1024)
    size = sum(map(len, whole)) / 1_048_576
    good &= flat(f"  memory of resuming 2,000 turns ({size:.0f} MB) / 200", figures["long"][1], figures["short"][1], "MB", 1.25)
    good &= limit("  reading and folding 2,000 turns", figures["long"][0], 0.5, figures["long"][1] * 1024, 30)
    listed = timed(measure, [release / "charla", "--list-sessions"], env, b"long")
    return good & limit("  listing 2,000 turns", listed[0], 0.3, listed[1], None)


def recovery(release, measure, env, runs):
    """How long a refusal, an outage and a cut stream in a row take until the answer is there. Both wait as long."""
    script = {
        "replies": [
            [{"status": {"kind": "rate_limit"}}],
            [{"status": {"kind": "unavailable"}}],
            [{"text": "Hel"}, {"cut": "abort"}],
            "Hello there.",
        ]
    }
    walls = {"charla": [], "minimal-client": []}
    for _ in range(runs):
        for program, seconds in walls.items():
            with Server(release / "charla-testkit", script) as server:
                env["OPENAI_BASE_URL"] = server.url + "/v1"
                ours = program == "charla"
                words = ["-m", "openai/bench", "-p"] if ours else [server.url.removeprefix("http://")]
                seconds.append(timed(measure, [release / program, *words, "hello"], env, b"Hello there.")[0])
    ours, reference = (sum(seconds) / runs for seconds in walls.values())
    good = ours <= 3 * reference
    print(f"{'429, 503, a cut stream, the answer':34} {ours:8.2f} s   {reference:8.2f} s   {ours / reference:5.2f}x (budget 3x)  {'ok' if good else 'OVER'}")
    return good


def confined(release, env, home):
    """200 `true` in each confinement beside 200 without one, in a workspace of 200 files. The budget is that of what runs unasked and reads."""
    workspace = pathlib.Path(home) / "workspace"
    for number in range(200):
        path = workspace / f"folder{number % 10}" / f"file{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    for name in (".env", "AGENTS.md", ".git/HEAD", ".git/config"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("")
    runs = []
    for _ in range(3):
        output = subprocess.run([release / "confined", "200", workspace], env=env, check=True, capture_output=True, text=True).stdout
        words = output.split()
        told = dict(zip(words[::2], map(float, words[1::2])))
        runs.append((told["confined"], told["plain"], told))
    ours, plain, told = min(runs, key=lambda run: run[0])
    good = ours <= 2 * plain and ours <= 2
    print(f"{'a confined `true` / a plain one':34} {ours:8.2f} ms  {plain:8.2f} ms  {ours / plain:5.2f}x (budget 2x, 2 ms)  {'ok' if good else 'OVER'}")
    for name in ("editing", "asked", "broad"):
        print(f"{'… ' + name:34} {told[name]:8.2f} ms  {plain:8.2f} ms  {told[name] / plain:5.2f}x")
    return good


def interactive(release, measure, env, home, quick):
    """The interactive terminal: its first frame, its memory, what it costs beside headless, and idle."""
    charla, good = release / "charla", True
    pieces = {"otherwise": "repeat", "replies": [[{"chunk": 6}, {"text": "".join(f"{n:05} " for n in range(10_000))}]]}
    with Server(release / "charla-testkit", pieces) as server:
        env["OPENAI_BASE_URL"] = server.url + "/v1"
        first, memory, idle = at_the_prompt(charla, {**env, "TERM": "xterm-256color"}, home, 2 if quick else 10)
        good &= limit("terminal, first frame", first, 0.05, memory, 15)
        print(f"  CPU at the idle prompt: {idle} ticks (budget 0) {'ok' if idle == 0 else 'OVER'}")
        headless, _ = best(measure, [charla, "-m", "openai/bench", "-p", "go"], env, 3, b"09998 09999")
        ours = min(talk(charla, {**env, "TERM": "xterm-256color"}, home, 1, "09999")[0] for _ in range(3))
        good &= row("10,000 chunks / headless", ours, headless, 3, memory, 15)
    hello = {"otherwise": "repeat", "replies": ["Hello there."]}
    with Server(release / "charla-testkit", hello) as server:
        env["OPENAI_BASE_URL"] = server.url + "/v1"
        turns = 200 if quick else 2000
        terminal = {**env, "TERM": "xterm-256color"}
        (_, early), (_, late) = (talk(charla, terminal, home, count, "Hello there.") for count in [turns // 10, turns])
        good &= flat(f"terminal, memory after {turns} turns", late / 1024, early / 1024, "MB", 1.5)
        with tempfile.TemporaryDirectory() as folder:
            plant(pathlib.Path(folder), 100_000)
            offered = min(completion(charla, terminal, folder) for _ in range(3))
        good &= limit("terminal, @ in 100,000 files", offered, 0.05, memory, 15)
    return good and idle == 0


def dead_servers(release, measure, env, runs):
    """Twenty MCP servers that are missing, end at once, never answer or do not listen: nobody waits for any of them."""
    charla = release / "charla"
    kinds = [
        {"command": "/no/such/program"},
        {"command": "false"},
        {"command": "sleep", "args": ["1000"]},
        {"url": "http://127.0.0.1:9/mcp"},
    ]
    servers = {f"dead{number}": kinds[number % len(kinds)] for number in range(20)}
    with tempfile.TemporaryDirectory() as home:
        env = {**env, "HOME": home}
        settings = pathlib.Path(home) / ".charla" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"mcpServers": servers}))
        with Server(release / "charla-testkit", {"otherwise": "repeat", "replies": ["Hello there."]}) as server:
            env["OPENAI_BASE_URL"] = server.url + "/v1"
            terminal = {**env, "TERM": "xterm-256color"}
            first, memory = min(first_answer(charla, terminal, home, "Hello there.") for _ in range(runs))
            good = limit("first answer, 20 dead servers", first, 0.2, memory, None)
            answers = [timed(measure, [charla, "-m", "openai/bench", "-p", "hello"], env, b"Hello there.") for _ in range(runs)]
            seconds, memory = min(answers)
            good &= limit("one-shot hello, 20 dead servers", seconds, 0.2, memory, None)
    return good


def plant(folder, files):
    """A tree of so many files, one of them to be found."""
    for number in range(files // 100):
        branch = folder / f"branch{number // 100:02}" / f"twig{number:04}"
        branch.mkdir(parents=True)
        for leaf in range(100):
            (branch / f"leaf{leaf:02}.txt").touch()
    (folder / "branch00" / "needle.txt").touch()


def watched(measure, command, env, expect, cwd=None):
    """CPU seconds, wall clock and peak kilobytes of one run that prints what is expected."""
    start = time.monotonic()
    cpu, memory, output = cost(measure, command, env, cwd)
    seconds = time.monotonic() - start
    if expect not in output:
        sys.exit(f"{command} did not print what was expected: {output[:200]!r}")
    return cpu, seconds, memory


def timed(measure, command, env, expect):
    _, seconds, memory = watched(measure, command, env, expect)
    return seconds, memory


def row(name, ours, reference, budget, memory, limit):
    ratio = ours / reference if reference else float("inf")
    verdict = "ok" if ratio <= budget and (limit is None or memory <= limit * 1024) else "OVER"
    FIGURES.append(
        {"name": name, "seconds": ours, "reference": reference, "ratio": ratio, "budget": budget, "memory": memory / 1024, "room": limit, "good": verdict == "ok"}
    )
    room = f"{memory / 1024:6.1f} MB" + (f" (limit {limit})" if limit else "")
    print(f"{name:34} {ours * 1000:8.2f} ms  {reference * 1000:8.2f} ms  {ratio:5.2f}x (budget {budget}x)  {room}  {verdict}")
    return verdict == "ok"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--binaries", type=pathlib.Path, help="measure what is built there")
    options = parser.parse_args(words)
    runs = 5 if options.quick else 20
    release = built(options.binaries)
    charla, minimal, measure = (release / name for name in ["charla", "minimal-client", "measure"])
    good = True
    print(f"{'what':34} {'charla':>11}  {'reference':>11}")
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "OPENAI_API_KEY": "bench"}
        ours, memory = best(measure, [charla, "--version"], env, runs * 2)
        reference, _ = best(measure, [release / "empty"], env, runs * 2)
        good &= row("--version / empty program", ours, reference, 2, memory, None)
        hello = {"otherwise": "repeat", "replies": ["Hello there."]}
        long = {"otherwise": "repeat", "replies": [[{"chunk": 5}, {"text": "".join(f"{n:04} " for n in range(5000))}]]}
        for name, script, budget, limit, expect in [
            ("one-shot hello / minimal client", hello, 3, 15, b"Hello there."),
            ("5,000 chunks / minimal client", long, 3, 15, b"4998 4999"),
        ]:
            with Server(release / "charla-testkit", script) as server:
                env["OPENAI_BASE_URL"] = server.url + "/v1"
                address = server.url.removeprefix("http://")
                reference, _ = best(measure, [minimal, address, "hello"], env, runs, expect)
                ours, memory = best(measure, [charla, "-m", "openai/bench", "-p", "hello"], env, runs, expect)
                good &= row(name, ours, reference, budget, memory, limit)
        good &= tool_steps(release, measure, env, home, max(runs // 5, 3))
        good &= recovery(release, measure, env, max(runs // 5, 2))
        good &= confined(release, env, home)
        good &= sessions(release, measure, env, home)
        good &= long_conversation(release, measure, env, home)
        good &= interactive(release, measure, env, home, options.quick)
        good &= dead_servers(release, measure, env, max(runs // 5, 3))
    size = charla.stat().st_size / 1_048_576
    FIGURES.append({"name": "the program on disk", "size": size, "room": 25, "good": size < 25})
    print(f"binary: {size:.1f} MB (budget 25 MB) {'ok' if size < 25 else 'OVER'}")
    return 0 if good and size < 25 else 1


if __name__ == "__main__":
    sys.exit(main())
