#!/usr/bin/env python3
"""Charla's process benchmarks: the release binary beside reference programs, in one run.

    bench/run.py            build everything in release mode and print the table
    bench/run.py --quick    fewer repetitions

Every row is a ratio of CPU seconds (process tree, minimum of several runs) against the reference named
in it, with the budget of DESIGN. Memory is the peak resident set. Wall clocks are not compared: they
depend on what else the machine does.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build():
    packages = ["charla", "charla-testkit", "charla-bench"]
    command = ["cargo", "build", "--release", "--locked"]
    for package in packages:
        command += ["-p", package]
    subprocess.run(command, cwd=ROOT, check=True)
    return TARGET / "release"


def cost(measure, command, env):
    """CPU seconds and peak kilobytes of one run, and what it printed."""
    done = subprocess.run(
        [str(part) for part in [measure, *command]], env=env, stdin=subprocess.DEVNULL, capture_output=True
    )
    errors = done.stderr.decode(errors="replace")
    figures = re.search(r"^measured (\d+) (\d+)$", errors, re.MULTILINE)
    if done.returncode != 0 or figures is None:
        sys.exit(f"{command[0]} exited with {done.returncode}: {errors}")
    return int(figures.group(1)) / 1e6, int(figures.group(2)), done.stdout


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

    def __init__(self, binary, script):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(script, self.file)
        self.file.flush()
        self.process = subprocess.Popen(
            [str(binary), "--script", self.file.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
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


def row(name, ours, reference, budget, memory, limit):
    ratio = ours / reference if reference else float("inf")
    verdict = "ok" if ratio <= budget and (limit is None or memory <= limit * 1024) else "OVER"
    room = f"{memory / 1024:6.1f} MB" + (f" (limit {limit})" if limit else "")
    print(f"{name:34} {ours * 1000:8.2f} ms  {reference * 1000:8.2f} ms  {ratio:5.2f}x (budget {budget}x)  {room}  {verdict}")
    return verdict == "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    runs = 5 if parser.parse_args().quick else 20
    release = build()
    charla, minimal, measure = (release / name for name in ["charla", "minimal-client", "measure"])
    good = True
    print(f"{'what':34} {'charla':>11}  {'reference':>11}")
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "OPENAI_API_KEY": "bench"}
        ours, memory = best(measure, [charla, "--version"], env, runs * 2)
        reference, _ = best(measure, [release / "empty"], env, runs * 2)
        good &= row("--version / empty program", ours, reference, 2, memory, None)
        hello = {"otherwise": "repeat", "replies": ["Hello there."]}
        long = {"otherwise": "repeat", "replies": [[{"chunk": 5}, {"text": "word " * 5000}]]}
        for name, script, budget, limit, expect in [
            ("one-shot hello / minimal client", hello, 5, 15, b"Hello there."),
            ("5,000 chunks / minimal client", long, 4, 15, b"word word"),
        ]:
            with Server(release / "charla-testkit", script) as server:
                env["OPENAI_BASE_URL"] = server.url + "/v1"
                address = server.url.removeprefix("http://")
                reference, _ = best(measure, [minimal, address, "hello"], env, runs, expect)
                ours, memory = best(measure, [charla, "-m", "openai/bench", "-p", "hello"], env, runs, expect)
                good &= row(name, ours, reference, budget, memory, limit)
    size = charla.stat().st_size / 1_048_576
    print(f"binary: {size:.1f} MB (budget 25 MB) {'ok' if size < 25 else 'OVER'}")
    return 0 if good and size < 25 else 1


if __name__ == "__main__":
    sys.exit(main())
