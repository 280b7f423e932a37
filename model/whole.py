"""Asks whole turns with real files. whole.py SET.jsonl [ADAPTER.gguf] [--part I/N]

Every case has a copy of its folder; calls are run there, at most four a turn. A case ends right, safe (an honest no, or the
file shown instead of an answer) or wrong. Prints the totals by kind; with LOG set, every exchange is written there.
"""

import collections
import json
import os
import re
import shutil
import sys
import tempfile

import engine
import tools
from generator import prompt

HONEST = re.compile(r"beyond me|do not know|does not say|not sure|cannot")
STEPS = 4


def called(text):
    """(name, arguments) of the call in a text; (None, {}) without one."""
    found = re.search(r"<tool_call>\s*(\{.*\})\s*(</tool_call>|$)", text, re.S)
    if not found:
        return None, {}
    try:
        call = json.loads(found.group(1))
        return call["name"], call["arguments"]
    except (ValueError, KeyError, TypeError):
        return "invalid", {}


def turn(model, folder, history, said):
    """One turn: (the answer as the model wrote it, as it is shown, the calls)."""
    history.append(("user", said))
    calls, result = [], ""
    for _ in range(STEPS):
        text = model.text(prompt.render(history, last=True), 160)
        history.append(("assistant", text))
        name, arguments = called(text)
        if name is None:
            return text, text.replace(prompt.RESULT, result), calls
        calls.append(f"{name} {json.dumps(arguments, ensure_ascii=False)}")
        result = folder.call(name, arguments)
        history.append(("tool", result))
    return "", "(too many steps)", calls


def contains(text, wanted, word=False):
    if word:
        return bool(re.search(rf"(?<![\w.-]){re.escape(wanted)}(?![\w-])", text))
    return wanted.lower() in text.lower()


def files_fit(path, patterns):
    for name, pattern in patterns.items():
        at = os.path.join(path, name)
        if not os.path.isfile(at) or not re.search(pattern, open(at).read()):
            return False
    return True


def judged(case, path, raw, shown, calls):
    """right, safe or wrong."""
    honest = bool(HONEST.search(shown)) and not ("file" in case and not files_fit(path, case.get("keep", {})))
    whole = prompt.RESULT in raw
    if case.get("beyond"):
        return "right" if honest and not calls else "safe" if honest else "wrong"
    good = all(contains(shown, x, case.get("word")) for x in case.get("has", []))
    good = good and not any(contains(shown, x) for x in case.get("no", []))
    good = good and all(any(re.search(p, c) for c in calls) for p in case.get("calls", []))
    good = good and files_fit(path, case.get("file", {})) and files_fit(path, case.get("keep", {}))
    good = good and not (case.get("brief") and (whole or shown.count("\n") > 6))
    if good or case.get("honest") and honest:
        return "right"
    read_only = not any(c.split()[0] in tools.CHANGING for c in calls)
    failed = re.match(
        r"There is no (file|folder)|I found n|That did not work|The command failed|I did not|old_string",
        shown,
    )
    return "safe" if honest or failed or (whole and read_only) else "wrong"


def asked(model, case, base):
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, os.path.basename(case["folder"]))
        shutil.copytree(os.path.join(base, case["folder"]), path)
        for name, text in case.get("setup", {}).items():
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            open(os.path.join(path, name), "w").write(text)
        folder = tools.Folder(path, f"/home/me/{case['folder']}", case.get("refuse"))
        history = [("system", prompt.system(folder.home, folder.entries()))]
        log = []
        for said in case["say"]:
            raw, shown, calls = turn(model, folder, history, said)
            log += [f"> {said}", *calls, raw if len(raw) < 400 else raw[:400] + "…"]
        return judged(case, path, raw, shown, calls), log


def part():
    """Which share of the cases to ask: `--part 2/8` is the third of eight."""
    found = re.search(r"--part (\d+)/(\d+)", " ".join(sys.argv))
    return (int(found.group(1)), int(found.group(2))) if found else (0, 1)


def main():
    path, adapter = sys.argv[1], next((x for x in sys.argv[2:] if x.endswith(".gguf")), None)
    which, of = part()
    model = engine.Engine(adapter)
    log = open(os.environ["LOG"], "w") if "LOG" in os.environ else None
    totals = collections.defaultdict(collections.Counter)
    for at, case in enumerate(map(json.loads, open(path))):
        if at % of != which:
            continue
        verdict, lines = asked(model, case, os.path.splitext(path)[0])
        totals[case["kind"]][verdict] += 1
        totals["all"][verdict] += 1
        if log:
            print(f"== {case['id']} {case['kind']}: {verdict}", *lines, sep="\n", file=log, flush=True)
    for kind, found in totals.items():
        print(
            f"{kind}: {found['right']} right, {found['safe']} safe, {found['wrong']} wrong of {sum(found.values())}"
        )


if __name__ == "__main__":
    main()
