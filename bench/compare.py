#!/usr/bin/env python3
"""Two programs beside each other, by turns in one run: one before a change and one after it.

    bench/compare.py BEFORE AFTER [--runs 20]
    bench/compare.py BEFORE AFTER --instructions

BEFORE and AFTER are folders with a release build's `charla`; the scripted server, `measure` and `minimal-client` are
taken from AFTER. Each row has both programs' CPU seconds (process tree, minimum of the runs), the ratio of the second
to the first, both to the minimal client where it can do the same, and the largest resident set of each.

With --instructions each program runs once under valgrind instead, which counts its own instructions without the kernel's: that
hardly differs between two runs, whatever else the machine does.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from run import Server, cost, refuse_failed_calls, steps_script, write_journal

HELLO = {"otherwise": "repeat", "replies": ["Hello there."]}
CHUNKS = {"otherwise": "repeat", "replies": [[{"chunk": 5}, {"text": "".join(f"{n:04} " for n in range(5000))}]]}
ASK = ["-m", "openai/bench", "-p", "hello"]


class Bench:
    """The programs to compare, and where they run."""

    def __init__(self, before, after, home, runs, counts):
        self.counts = counts
        self.programs, self.tools, self.home, self.runs = [before / "charla", after / "charla"], after, pathlib.Path(home), runs
        self.env = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "bench", "HOME": home}

    def once(self, command, expect, cwd):
        if self.counts:
            return self.counted(command, cwd)
        cpu, memory, output = cost(self.tools / "measure", command, self.env, cwd)
        if expect not in output:
            sys.exit(f"{command} did not print what was expected: {output[:200]!r}")
        return cpu, memory

    def counted(self, command, cwd):
        """Millions of instructions in place of seconds."""
        with tempfile.NamedTemporaryFile() as log:
            watch = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log.name}"]
            done = subprocess.run([*watch, *map(str, command)], env=self.env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True)
            figure = re.search(r"I +refs: +([\d,]+)", log.read().decode())
        if done.returncode != 0 or figure is None:
            sys.exit(f"{command[0]} exited with {done.returncode}: {done.stderr.decode(errors='replace')}")
        refuse_failed_calls(command[0], done.stderr.decode(errors="replace"))
        return int(figure.group(1).replace(",", "")) / 1e6, 0

    def prompt(self, name, script, words, expect, reference=False, fresh=False, cwd=None, prepare=None):
        """A row of runs against one scripted server, or a fresh one each where the script is used up."""
        figures = [[], [], []]
        server = None
        for _ in range(self.runs):
            for which in range(3 if reference and not self.counts else 2):
                if server is None or fresh:
                    if server:
                        server.__exit__()
                    server = Server(self.tools / "charla-testkit", script)
                    self.env["OPENAI_BASE_URL"] = server.url + "/v1"
                if prepare:
                    prepare()
                command = [*self.programs, self.tools / "minimal-client"][which]
                given = words if which < 2 else [server.url.removeprefix("http://"), "hello"]
                figures[which].append(self.once([command, *given], expect, cwd))
        server.__exit__()
        self.row(name, figures)

    def plain(self, name, words, expect):
        figures = [[], [], []]
        for _ in range(self.runs):
            for which, program in enumerate(self.programs):
                figures[which].append(self.once([program, *words], expect, None))
        self.row(name, figures)

    def row(self, name, figures):
        (before, held), (after, holds) = ((min(cpu for cpu, _ in runs), max(peak for _, peak in runs)) for runs in figures[:2])
        beside = ""
        if figures[2]:
            least = min(cpu for cpu, _ in figures[2])
            beside = f"  {before / least:5.2f}x and {after / least:5.2f}x of the minimal client"
        if self.counts:
            print(f"{name:32} {before:8.2f} M   {after:8.2f} M   {after / before:5.2f}x{beside}", flush=True)
            return
        print(f"{name:32} {before * 1000:8.2f} ms  {after * 1000:8.2f} ms  {after / before:5.2f}x  {held / 1024:6.1f} MB  {holds / 1024:6.1f} MB{beside}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(options.before.resolve(), options.after.resolve(), home, 1 if options.instructions else options.runs, options.instructions)
        print(f"{'what':32} {'before':>11}  {'after':>11}")
        bench.plain("--version", ["--version"], b"charla")
        bench.prompt("one-shot hello", HELLO, ASK, b"Hello there.", reference=True)
        bench.prompt("5,000 chunks", CHUNKS, ASK, b"4998 4999", reference=True)
        bench.runs = 1 if options.instructions else max(options.runs // 4, 3)
        work = bench.home / "work"
        work.mkdir()
        for number in range(200):
            (work / f"note-{number}.txt").write_text(f"note {number}: " + "some words of a note. " * 14 + "\n")
        steps = ["-m", "openai/bench", "--max-turns", "1000", "-p", "read all notes"]
        bench.prompt("200 tool steps", steps_script(200), steps, b"All read.", fresh=True, cwd=work)
        folder = bench.home / ".charla" / "sessions"

        def long():
            for path in folder.glob("*.jsonl"):
                path.unlink()
            write_journal(folder, "long", 1000, 200)

        bench.prompt("a prompt after 1,000 turns", HELLO, ["--resume", "long", *ASK], b"Hello there.", prepare=long)
        for number in range(10_000):
            write_journal(folder, f"s{number:05}", 2, 200)
        bench.plain("listing 10,000 sessions", ["--list-sessions"], b"s09999")
    sizes = [program.stat().st_size for program in bench.programs]
    print(f"{'the program on disk':32} {sizes[0] / 1e6:8.2f} MB  {sizes[1] / 1e6:8.2f} MB  {sizes[1] / sizes[0]:5.2f}x")


if __name__ == "__main__":
    main()
