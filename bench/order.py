#!/usr/bin/env python3
"""Makes `crates/cli/start.txt`: the functions that a start of Charla calls, which the linker puts side by side.

    CHARLA_KEEP_SYMBOLS=1 cargo build --release --locked -p charla-cli
    cargo build --release --locked -p charla-testkit
    bench/order.py target/release

The program runs under valgrind's callgrind, which says what was called: for a prompt, for a prompt with a tool and for the
interactive terminal. A list that is older than the program still serves: see `crates/cli/build.rs`.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from run import ROOT, Server
from terminal import talk

LIST = ROOT / "crates" / "cli" / "start.txt"
HELLO = {"otherwise": "repeat", "replies": ["Hello there."]}
TOOL = {"replies": [[{"call": {"name": "read_file", "args": {"file_path": "note.txt"}}}], "All read."]}


def watched(charla, out):
    """A program that runs Charla and writes what it calls to the folder `out`."""
    program = pathlib.Path(out) / "watched"
    options = f"--tool=callgrind --demangle=no --compress-strings=no --callgrind-out-file={out}/calls.%p"
    program.write_text(f'#!/bin/sh\nexec valgrind -q --log-file=/dev/null {options} {charla} "$@"\n')
    program.chmod(0o755)
    return program


def called(out):
    """The names of what was called."""
    names = set()
    for path in pathlib.Path(out).glob("calls.*"):
        found = re.findall(r"^fn=(\S+)", path.read_text(errors="replace"), re.MULTILINE)
        names.update(name.split("'")[0] for name in found)
        path.unlink()
    return names


def known(charla):
    """The names of the program's own functions."""
    listed = subprocess.run(["nm", "--defined-only", charla], check=True, capture_output=True, text=True).stdout
    return {line.split()[2] for line in listed.splitlines() if line.split()[1] in "tTwW"}


def runs(release, home, program):
    """Does what shows what is called, and says what it was."""
    env = {"PATH": os.environ["PATH"], "HOME": home, "OPENAI_API_KEY": "bench", "TERM": "xterm-256color"}
    (pathlib.Path(home) / "note.txt").write_text("a note\n")

    def headless():
        command = [program, "-m", "openai/bench", "-p", "hello"]
        subprocess.run(command, env=env, cwd=home, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    for title, script, work in [
        ("A prompt.", HELLO, headless),
        ("A call of a tool.", TOOL, headless),
        ("The interactive terminal.", HELLO, lambda: talk(program, env, home, 1, "Hello there.")),
    ]:
        with Server(release / "charla-testkit", script) as server:
            env["OPENAI_BASE_URL"] = server.url + "/v1"
            work()
        yield title


def main():
    release = pathlib.Path(sys.argv[1]).resolve()
    own, seen, lines = known(release / "charla"), set(), []
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as out:
        for title in runs(release, home, watched(release / "charla", out)):
            new = sorted((called(out) & own) - seen)
            seen.update(new)
            print(f"{title} {len(new)} functions")
            lines += [f"# {title}", *new]
    LIST.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
