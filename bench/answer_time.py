#!/usr/bin/env python3
"""From `charla -p` to the built-in model's answer, of two programs by turns in one run, and the memory of their engines.

    bench/answer_time.py BEFORE AFTER [--runs 7]

BEFORE and AFTER are programs, both with everything installed (`charla models pull`; CHARLA_CACHE names where). Each request
is asked in a new session and a folder of its own, and each run starts an engine and ends it. A row has the median and the
least of the seconds from the start to the exit, the largest resident set of the engine's processes together, and how an
answer begins. Only figures of a quiet machine and of release builds say something.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CACHE = pathlib.Path(os.environ.get("CHARLA_CACHE") or os.path.expanduser("~/.charla/cache"))
FILES = {
    "config.toml": '[server]\nhost = "0.0.0.0"\nport = 8420\n\n[cache]\nport = 6379\nttl_days = 9\n',
    "src/main.rs": "// TODO: read the settings\nfn main() {}\n",
    "README.md": "# Kiln\n\nFires pots.\n",
}
REQUESTS = [
    "Say hello in one short sentence.",
    "list the files in src",
    "which port has the server in config.toml?",
    "search for TODO",
]
LOOK_AGAIN = 0.02


def resident(group):
    """Most kilobytes that the processes of a group have had."""
    total = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rsplit(")", 1)[1].split()[2]) == group:
                lines = (process / "status").read_text().splitlines()
                total += next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
        except (OSError, ValueError, IndexError):
            pass  # It ended meanwhile.
    return total


def groups():
    """The process groups of running engines, as their files tell."""
    for path in CACHE.glob("local/running/*/engine.json"):
        try:
            yield json.loads(path.read_text())["pid"]
        except (OSError, ValueError, KeyError):
            pass  # It is being written.


def once(program, request, top):
    """Seconds, the engine's kilobytes and the answer of one run."""
    work = top / "work"
    for name, text in FILES.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    environment = {**os.environ, "CHARLA_HOME": str(top / "home"), "CHARLA_CACHE": str(CACHE), "CHARLA_OFFLINE": "1"}
    most, ended = [0], threading.Event()

    def watch():
        while not ended.wait(LOOK_AGAIN):
            most[0] = max([most[0], *map(resident, filter(None, groups()))])

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.monotonic()
    run = subprocess.run(
        [program, "-m", "local", "-p", request], cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True
    )
    took = time.monotonic() - began
    ended.set()
    watcher.join()
    while any(map(resident, filter(None, groups()))):
        time.sleep(LOOK_AGAIN)  # The next run starts an engine of its own.
    return took, most[0], run.stdout.decode().strip() or f"[{run.returncode}] {run.stderr.decode().strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    programs = {"before": options.before.resolve(), "after": options.after.resolve()}
    for program in programs.values():
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is no program")
    if any(map(resident, filter(None, groups()))):
        sys.exit(f"an engine of {CACHE} is running already: end what uses it")
    for request in REQUESTS:
        figures = {name: [] for name in programs}
        for _ in range(options.runs):
            for name, program in programs.items():
                with tempfile.TemporaryDirectory() as top:
                    figures[name].append(once(program, request, pathlib.Path(top)))
        print(request)
        for name, runs in figures.items():
            seconds, memory, answers = zip(*runs)
            told = " | ".join(answers[-1].splitlines())[:80]
            print(
                f"  {name:6} {statistics.median(seconds):6.2f} s (least {min(seconds):.2f})"
                f"  {max(memory) / 1000:5.0f} MB  {told}",
                flush=True,
            )


if __name__ == "__main__":
    main()
