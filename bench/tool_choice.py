#!/usr/bin/env python3
"""How often the built-in model chooses the right tool, through the binary.

Each request is asked once, in a new session and an empty folder; what counts is the first call. Three kinds of files:

    .tsv     the tool that is expected (- for none), a tab, and what the user says
    .jsonl   `model/sets/frozen.jsonl`: calls with their arguments, talk, what is beyond it, and answers from a file
    .json    a list of {"p": what the user says, "tool": a name or null, "args": {…}}, as of other people's prompts

    bench/tool_choice.py [--binary PATH] [--jobs N] [--log FILE] [FILE ...]

Needs the built-in model: `charla models pull` installs it.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile

from whole_turns import HERE, ask

SETS = [
    HERE.parent / "crates/cli/tests/cli/tool_prompts.tsv",
    HERE / "tool_prompts_second.tsv",
    HERE.parent / "model/sets/frozen.jsonl",
]
# Names of tools and arguments that differ in other people's prompts.
KNOWN = {"search_file_content": "grep_search"}
PATHS = {"list_directory": "dir_path"}


def same(value):
    return str(value).strip().strip("'\"`").rstrip("/").removeprefix("./") or "."


def fits(arguments, wanted):
    options = lambda value: value if isinstance(value, list) else [value]
    return all(same(arguments.get(k, "")) in map(same, options(v)) for k, v in wanted.items())


def cases_of(path):
    """(kind, what is said, {tool: arguments}, files of the folder, what an answer has and has not)."""
    text = path.read_text()
    if path.suffix == ".tsv":
        for line in text.splitlines():
            tool, said = line.split("\t")
            yield ("no tool", said, {}, {}, None) if tool == "-" else ("tool", said, {tool: {}}, {}, None)
    elif path.suffix == ".json":
        for case in json.loads(text):
            tool = KNOWN.get(case["tool"], case["tool"])
            wanted = {PATHS.get(tool, "file_path") if k == "path" else k: v for k, v in case["args"].items()}
            yield ("call", case["p"], {tool: wanted}, {}, None) if tool else ("no tool", case["p"], {}, {}, None)
    else:
        for case in map(json.loads, text.splitlines()):
            wanted = {case["tool"]: case["args"]} if "tool" in case else {}
            wanted |= {case["alt"]: case.get("altargs", {})} if "alt" in case else {}
            is_read = case["kind"] == "read"
            files = {case["args"]["file_path"][0]: case["result"] + "\n"} if is_read else {}
            answer = (case["answer"], case.get("notanswer", [])) if is_read else None
            kind = {"chat": "no tool", "beyond": "honest no"}.get(case["kind"], "call")
            yield kind, case["user"], wanted, files, answer


def verdicts(binary, at, case):
    """[(what was judged, whether it is right)], and what came."""
    kind, said, wanted, files, answer = case
    top = pathlib.Path(tempfile.gettempdir()) / "charla-tool-choice" / str(at)
    shutil.rmtree(top, ignore_errors=True)
    work = top / "work"
    work.mkdir(parents=True)
    for name, text in files.items():
        (work / name).write_text(text)
    code, told, calls = ask(binary, said, work, top / "home", *([] if answer else ["--max-turns", "1"]))
    shutil.rmtree(top, ignore_errors=True)
    tool, arguments = calls[0] if calls else (None, {})
    what = f"{said}: {tool or told[:200]!r} {json.dumps(arguments, ensure_ascii=False) if tool else ''}"
    if kind == "no tool":
        return [("no tool", tool is None)], what
    if kind == "honest no":
        return [("honest no", tool is None and "beyond me" in told)], what
    found = [("right tool", tool in wanted)]
    if kind == "call":
        found.append(("tool and arguments", tool in wanted and fits(arguments, wanted[tool])))
    if answer:
        right = code == 0 and all(x in told for x in answer[0]) and not any(x in told for x in answer[1])
        found.append(("answer from the file", right))
        what += f" -> {told[:200]!r}"
    return found, what


def measure(binary, path, jobs, log):
    totals, cases = collections.defaultdict(list), list(cases_of(path))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found, what in pool.map(lambda job: verdicts(binary, f"{path.stem}-{job[0]}", job[1]), enumerate(cases)):
            print(" " if all(right for _, right in found) else "!", what, file=log, flush=True)
            for name, right in found:
                totals[name].append(right)
    for name, found in totals.items():
        print(f"{path.name}: {name} {sum(found)} of {len(found)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/charla"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("files", nargs="*", type=pathlib.Path, default=SETS)
    options = parser.parse_args()
    for path in options.files:
        measure(os.path.abspath(options.binary), path, options.jobs, options.log)


if __name__ == "__main__":
    main()
