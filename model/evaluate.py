"""Asks llama.cpp the sets of single requests, greedy. evaluate.py [ADAPTER.gguf] [EXTERNAL.json] [--part I/N]

Prints the totals; with LOG set, every prompt and answer is written there. Nothing here is used for training.
"""

import collections
import json
import os
import sys

import engine
from generator import prompt
from taken import HERE, TSV
from whole import called, part

FOLDER, FILES = "/home/me/project", ["docs/", "src/", "tests/", "Cargo.toml", "LICENSE", "README.md"]
# Names of tools and arguments that differ in the external set.
KNOWN = {"search_file_content": "grep_search"}
RENAMED = {"list_directory": "dir_path", "read_file": "file_path", "write_file": "file_path"}


def same(value):
    return str(value).strip().strip("'\"`").rstrip("/").removeprefix("./") or "."


def fits(arguments, wanted):
    options = lambda value: value if isinstance(value, list) else [value]
    return all(same(arguments.get(k, "")) in map(same, options(v)) for k, v in wanted.items())


class Evaluation:
    """Asks, and counts what is right."""

    def __init__(self, adapter):
        self.engine = engine.Engine(adapter, context=2048)
        self.system = prompt.system(FOLDER, FILES)
        self.totals = collections.defaultdict(lambda: [0, 0])
        self.log = open(os.environ["LOG"], "w") if "LOG" in os.environ else None

    def ask(self, turns):
        return self.engine.text(prompt.render([("system", self.system)] + turns, last=True))

    def note(self, group, good, *what):
        self.totals[group][0] += bool(good)
        self.totals[group][1] += 1
        if self.log:
            print(" " if good else "!", group, *what, sep=" | ", file=self.log, flush=True)

    def choice(self, name, expected, said):
        text = self.ask([("user", said)])
        tool = called(text)[0]
        if expected == "-":
            self.note(f"{name}: no tool", tool is None, said, repr(text))
        else:
            self.note(f"{name}: right tool", tool == expected, said, expected, repr(text))

    def external(self, case):
        text = self.ask([("user", case["p"])])
        tool, arguments = called(text)
        if case["tool"] is None:
            return self.note("external: no tool", tool is None, case["p"], repr(text))
        expected = KNOWN.get(case["tool"], case["tool"])
        wanted = {
            RENAMED.get(expected, k) if k == "path" else k: v
            for k, v in case["args"].items()
            if not (expected == "grep_search" and k == "path")
        }
        self.note("external: right tool", tool == expected, case["p"], expected, repr(text))
        self.note(
            "external: tool and arguments",
            tool == expected and fits(arguments, wanted),
            case["p"],
            json.dumps(wanted),
            repr(text),
        )

    def frozen(self, case):
        turns = [("user", case["user"])]
        text = self.ask(turns)
        tool, arguments = called(text)
        if case["kind"] == "chat":
            return self.note("frozen: chat, no tool", tool is None, case["user"], repr(text))
        if case["kind"] == "beyond":
            return self.note(
                "frozen: honest no", tool is None and "beyond me" in text, case["user"], repr(text)
            )
        right = tool is not None and tool in (case["tool"], case.get("alt"))
        good = tool == case["tool"] and fits(arguments, case["args"])
        good = good or "altargs" in case and tool == case["alt"] and fits(arguments, case["altargs"])
        self.note("frozen: right tool", right, case["user"], repr(text))
        self.note("frozen: tool and arguments", good, case["user"], repr(text))
        if case["kind"] == "read":
            call = prompt.call(case["tool"], **{k: v[0] for k, v in case["args"].items()})
            text = self.ask(turns + [("assistant", call), ("tool", case["result"])])
            found = all(x in text for x in case["answer"]) and not any(
                x in text for x in case.get("notanswer", [])
            )
            self.note("frozen: answer from file", found and called(text)[0] is None, case["user"], repr(text))


def jobs(evaluation):
    for number, path in enumerate(TSV, 1):
        for line in open(path).read().splitlines():
            yield evaluation.choice, (f"set {number}", *line.split("\t"))
    for path in (x for x in sys.argv[1:] if x.endswith(".json")):
        for case in json.load(open(path)):
            yield evaluation.external, (case,)
    for case in map(json.loads, open(HERE / "sets/frozen.jsonl")):
        yield evaluation.frozen, (case,)


def main():
    adapter = next((x for x in sys.argv[1:] if x.endswith(".gguf")), None)
    evaluation, (which, of) = Evaluation(adapter), part()
    for at, (ask, arguments) in enumerate(jobs(evaluation)):
        if at % of == which:
            ask(*arguments)
    for group, (right, asked) in evaluation.totals.items():
        print(f"{group}: {right}/{asked}")


if __name__ == "__main__":
    main()
