#!/usr/bin/env python3
"""Asks the built-in model whole turns with real files, through the binary.

Each case of a set (`model/sets/whole.jsonl`, `model/sets/dev.jsonl`) has a copy of its folder and a home of its own. Changes
and commands are allowed. A case ends right, safe (an honest no, an error, or what the tool returned instead of an answer) or
wrong.

    bench/whole_turns.py [--binary PATH] [SET.jsonl ...] [--only ID ...]

Needs the built-in model: `charla models pull` installs it.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Where the model is installed: each case has a home of its own.
CACHE = os.environ.get("CHARLA_CACHE") or os.path.expanduser("~/.charla/cache")
SETS = [HERE.parent / "model/sets/whole.jsonl", HERE.parent / "model/sets/dev.jsonl"]
CHANGING = ["run_shell_command", "write_file", "replace"]
HONEST = re.compile(r"beyond me|do not know|does not say|not sure|did not find|I found n|There is no")
LIMIT = 300
# The exit code where there is no model to ask.
NO_MODEL = 41


def ask(binary, said, work, home, resume):
    """The exit code, the answer and the calls of one turn."""
    arguments = [binary, "-m", "local", "-o", "stream-json", "--allowed-tools", ",".join(CHANGING)]
    arguments += ["--resume"] if resume else []
    environment = {**os.environ, "CHARLA_HOME": str(home), "CHARLA_CACHE": CACHE, "CHARLA_OFFLINE": "1"}
    run = subprocess.run(
        [*arguments, "-p", said],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
    )
    if run.returncode == NO_MODEL:
        sys.exit(f"{said!r} was not asked:\n{run.stderr.decode()}")
    answer, calls = "", []
    for event in map(json.loads, run.stdout.splitlines()):
        if event["type"] == "tool_use":
            calls.append(f"{event['tool_name']} {json.dumps(event['parameters'], ensure_ascii=False)}")
            answer = ""
        elif event["type"] == "message" and event["role"] == "assistant":
            answer += event["content"]
    return run.returncode, answer if run.returncode == 0 else run.stderr.decode().strip(), calls


def has(text, wanted, word):
    if word:
        return bool(re.search(rf"(?<![\w.-]){re.escape(wanted)}(?![\w-])", text))
    return wanted.lower() in text.lower()


def files_fit(work, patterns):
    paths = {work / name: pattern for name, pattern in patterns.items()}
    return all(path.is_file() and re.search(pattern, path.read_text()) for path, pattern in paths.items())


def judged(case, work, code, answer, calls):
    honest = code != 0 or bool(HONEST.search(answer))
    kept = files_fit(work, case.get("keep", {}))
    if case.get("beyond"):
        return "right" if honest and not calls else "safe" if honest and kept else "wrong"
    good = code == 0 and kept and files_fit(work, case.get("file", {}))
    good = good and all(has(answer, wanted, case.get("word")) for wanted in case.get("has", []))
    good = good and not any(has(answer, unwanted, False) for unwanted in case.get("no", []))
    good = good and all(any(re.search(call, made) for made in calls) for call in case.get("calls", []))
    good = good and not (case.get("brief") and answer.count("\n") > 6)
    if good or (case.get("honest") and honest):
        return "right"
    reads = not any(call.split()[0] in CHANGING for call in calls)
    return "safe" if kept and (honest or (reads and answer.count("\n") > 3)) else "wrong"


def measure(binary, path, only):
    totals, took = collections.defaultdict(collections.Counter), []
    for case in map(json.loads, path.read_text().splitlines()):
        if only and case["id"] not in only:
            continue
        with tempfile.TemporaryDirectory() as top:
            work, home = pathlib.Path(top) / pathlib.Path(case["folder"]).name, pathlib.Path(top) / "home"
            shutil.copytree(path.with_suffix("") / case["folder"], work)
            for name, text in case.get("setup", {}).items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text)
            lines = []
            for number, said in enumerate(case["say"]):
                began = time.monotonic()
                code, answer, calls = ask(binary, said, work, home, number > 0)
                took.append(time.monotonic() - began)
                lines += [f"> {said}", *calls, f"[{code}] {answer[:400]}"]
            verdict = judged(case, work, code, answer, calls)
        totals[case["kind"]][verdict] += 1
        totals["all"][verdict] += 1
        print(f"== {case['id']} {case['kind']}: {verdict}", *lines, sep="\n", flush=True)
    for kind, found in totals.items():
        print(f"{kind}: {found['right']} right, {found['safe']} safe, {found['wrong']} wrong")
    print(f"{path.name}: {statistics.median(took):.1f} s a turn (median)\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/charla"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=SETS)
    options = parser.parse_args()
    for path in options.files:
        measure(os.path.abspath(options.binary), path, options.only)


if __name__ == "__main__":
    main()
