"""Adds to taken.txt: hashes of all evaluation prompts. No generated request may be one of them.

taken.py [EXTERNAL.json]: prompts of other people, kept elsewhere. Hashes that are there stay.
"""

import json
import pathlib
import sys

from generator.conversations import plain

HERE = pathlib.Path(__file__).parent
TSV = [HERE.parent / "crates/cli/tests/cli/tool_prompts.tsv", HERE.parent / "bench/tool_prompts_second.tsv"]


def lines(path):
    return path.read_text().splitlines()


def prompts():
    texts = [json.loads(line)["user"] for line in lines(HERE / "sets/frozen.jsonl")]
    for name in ("whole", "fresh", "sixty"):
        texts += [said for line in lines(HERE / f"sets/{name}.jsonl") for said in json.loads(line)["say"]]
    for path in sys.argv[1:]:
        texts += [case["p"] for case in json.loads(pathlib.Path(path).read_text())]
    for path in TSV:
        texts += [line.split("\t")[1] for line in lines(path)]
    return texts


if __name__ == "__main__":
    file = HERE / "taken.txt"
    hashes = sorted({plain(text) for text in prompts()} | set(file.read_text().split()))
    file.write_text("\n".join(hashes) + "\n")
    print(f"{len(hashes)} hashes")
