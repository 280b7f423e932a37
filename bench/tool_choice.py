#!/usr/bin/env python3
"""How often the built-in model chooses the right tool.

Each line of a file of prompts is the tool that is expected (- for none), a tab, and what the user says. The binary is
asked each of them once, in a new session, with one step; what counts is the first tool it calls.

    bench/tool_choice.py [--binary PATH] [FILE ...]

Needs the built-in model: `charla models pull` installs it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Where the model is installed: sessions have a home of their own.
CACHE = os.environ.get("CHARLA_CACHE") or os.path.expanduser("~/.charla/cache")
SETS = [HERE.parent / "crates/cli/tests/cli/tool_prompts.tsv", HERE / "tool_prompts_second.tsv"]


def call_of(binary, prompt, folder):
    """The first call as (name, arguments), or None."""
    arguments = [binary, "-m", "local", "-o", "stream-json", "--max-turns", "1", "-p", prompt]
    environment = {**os.environ, "CHARLA_HOME": os.path.join(folder, "home"), "CHARLA_CACHE": CACHE, "CHARLA_OFFLINE": "1"}
    work = os.path.join(folder, "work")
    run = subprocess.run(arguments, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    if not any(event["type"] == "message" and event["role"] == "user" for event in events):
        sys.exit(f"{prompt!r} was not asked:\n{run.stderr.decode()}")
    for event in events:
        if event["type"] == "tool_use":
            return event["tool_name"], event["parameters"]
    return None


def measure(binary, path, folder):
    right = {True: 0, False: 0}
    asked = {True: 0, False: 0}
    for line in path.read_text().splitlines():
        expected, prompt = line.split("\t")
        call = call_of(binary, prompt, folder)
        name = call[0] if call else "-"
        needs_tool = expected != "-"
        asked[needs_tool] += 1
        right[needs_tool] += name == expected
        mark = " " if name == expected else "!"
        print(f"{mark} {prompt}: {name} {json.dumps(call[1]) if call else ''}", flush=True)
    print(f"{path.name}: right tool {right[True]} of {asked[True]}, no tool {right[False]} of {asked[False]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/charla"))
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=SETS)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "work"))
        for path in options.files:
            measure(binary, path, folder)


main()
