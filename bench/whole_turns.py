#!/usr/bin/env python3
"""Asks the built-in model whole turns with real files, through the binary.

Each case of a set (`model/README.md` has the format) has a copy of its folder and a home of its own, at the same place in each
run: the model reads where it is. Changes and commands are allowed, unless the case wants them refused. A case ends right, safe
(an honest no, an error, or what the tool returned instead of an answer) or wrong.

    bench/whole_turns.py [--binary PATH] [--jobs N] [--log FILE] [SET.jsonl ...] [--only ID ...]
    bench/whole_turns.py --check SET.jsonl ...      looks at the sets and asks nothing

Needs the built-in model: `charla models pull` installs it. With --log every exchange is written there, and only totals are
printed.
"""

import argparse
import collections
import concurrent.futures
import hashlib
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
SETS = [HERE.parent / f"model/sets/{name}.jsonl" for name in ("whole", "dev", "fresh")]
CHANGING = ["run_shell_command", "write_file", "replace"]
HONEST = re.compile(r"beyond me|do not know|does not say|not sure|did not find|I found n|There is no")
LIMIT = 300
# The exit code where there is no model to ask.
NO_MODEL = 41
# What a case has to have, and what it may have.
NEEDED = {"id": str, "kind": str, "folder": str, "say": list}
OPTIONAL = {
    **{"has": list, "no": list, "calls": list, "word": bool, "brief": bool},
    **{"honest": bool, "beyond": bool, "refuse": str, "file": dict, "keep": dict, "setup": dict},
}


def ask(binary, said, work, home, *options):
    """The exit code, the answer and the calls of one turn."""
    arguments = [binary, "-m", "local", "-o", "stream-json", *options, "-p", said]
    environment = {**os.environ, "CHARLA_HOME": str(home), "CHARLA_CACHE": CACHE, "CHARLA_OFFLINE": "1"}
    run = subprocess.run(
        arguments, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT
    )
    if run.returncode == NO_MODEL:
        sys.exit(f"{said!r} was not asked:\n{run.stderr.decode()}")
    answer, calls = "", []
    for event in map(json.loads, run.stdout.splitlines()):
        if event["type"] == "tool_use":
            calls.append((event["tool_name"], event["parameters"]))
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
    if case.get("refuse"):
        return "right" if code != 0 and kept and files_fit(work, case.get("file", {})) else "wrong"
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


def converse(binary, path, case):
    """One case: the verdict, what was said, the seconds of each turn."""
    top = pathlib.Path(tempfile.gettempdir()) / "charla-whole-turns" / path.stem / case["id"]
    shutil.rmtree(top, ignore_errors=True)
    work, home = top / pathlib.Path(case["folder"]).name, top / "home"
    shutil.copytree(path.with_suffix("") / case["folder"], work)
    for name, text in case.get("setup", {}).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    allowed = [] if case.get("refuse") else ["--allowed-tools", ",".join(CHANGING)]
    lines, took = [], []
    for number, said in enumerate(case["say"]):
        began = time.monotonic()
        code, answer, calls = ask(binary, said, work, home, *allowed, *(["--resume"] if number else []))
        took.append(time.monotonic() - began)
        calls = [f"{name} {json.dumps(arguments, ensure_ascii=False)}" for name, arguments in calls]
        lines += [f"> {said}", *calls, f"[{code}] {answer[:400]}"]
    verdict = judged(case, work, code, answer, calls)
    shutil.rmtree(top, ignore_errors=True)
    return verdict, lines, took


def cases_of(path):
    """The cases of a set; ends the run where one could not be asked or judged."""
    cases, seen = [json.loads(line) for line in path.read_text().splitlines()], set()
    for number, case in enumerate(cases, 1):
        known = {**NEEDED, **OPTIONAL}
        wrong = [f"no {name}" for name in NEEDED if name not in case]
        wrong += [f"{name} is not known" for name in case if name not in known]
        wrong += [f"{name} is no {known[name].__name__}" for name in case if name in known and not isinstance(case[name], known[name])]
        wrong += [] if wrong or (path.with_suffix("") / case["folder"]).is_dir() else ["its folder is not there"]
        wrong += ["its id is taken"] if case.get("id") in seen else []
        wrong += [] if set(case) & {"has", "file", "calls", "honest", "beyond", "refuse"} else ["nothing tells what is right"]
        seen.add(case.get("id"))
        for pattern in [*case.get("file", {}).values(), *case.get("keep", {}).values(), *case.get("calls", [])]:
            re.compile(pattern)
        if wrong:
            sys.exit(f"{path}, line {number}: {', '.join(wrong)}")
    return cases


def measure(binary, path, only, jobs, log):
    cases = [case for case in cases_of(path) if not only or case["id"] in only]
    totals, took = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for case, (verdict, lines, seconds) in zip(cases, pool.map(lambda case: converse(binary, path, case), cases)):
            took += seconds
            totals[case["kind"]][verdict] += 1
            totals["all"][verdict] += 1
            print(f"== {case['id']} {case['kind']}: {verdict}", *lines, sep="\n", file=log, flush=True)
    print(f"{path.name} (sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})")
    for kind, found in totals.items():
        print(f"{kind}: {found['right']} right, {found['safe']} safe, {found['wrong']} wrong of {found.total()}")
    print(f"{statistics.median(took):.1f} s a turn (median)\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/charla"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=SETS)
    options = parser.parse_args()
    for path in options.files:
        if options.check:
            print(f"{path}: {len(cases_of(path))} cases that can be asked")
        else:
            measure(os.path.abspath(options.binary), path, options.only, options.jobs, options.log)


if __name__ == "__main__":
    main()
