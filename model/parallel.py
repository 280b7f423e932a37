"""Runs an evaluation in several processes and adds up. parallel.py N evaluate.py ADAPTER.gguf | whole.py SET.jsonl ADAPTER.gguf

With LOG set, the logs of all parts are put there, one after the other.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile


def main():
    count, command = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for at in range(count):
            environment = {**os.environ, "LOG": f"{folder}/{at}"}
            part = [sys.executable, *command, "--part", f"{at}/{count}"]
            running.append(
                subprocess.Popen(
                    part, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
            )
        outputs = [process.communicate()[0] for process in running]
        if "LOG" in os.environ:
            with open(os.environ["LOG"], "w") as log:
                for at in range(count):
                    log.write(
                        open(f"{folder}/{at}").read()
                        if os.path.exists(f"{folder}/{at}")
                        else f"part {at} wrote nothing\n"
                    )
    for line in added(outputs):
        print(line)


def added(outputs):
    """Lines of the same words with the numbers added."""
    totals = collections.defaultdict(list)
    for line in "".join(outputs).splitlines():
        group, _, rest = line.rpartition(": ")
        numbers = list(map(int, re.findall(r"\d+", rest)))
        shape = re.sub(r"\d+", "{}", rest)
        was = totals.get((group, shape), [0] * len(numbers))
        totals[group, shape] = [a + b for a, b in zip(was, numbers)]
    for (group, shape), numbers in totals.items():
        yield f"{group}: {shape.format(*numbers)}"


if __name__ == "__main__":
    main()
