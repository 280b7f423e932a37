#!/usr/bin/env python3
"""One page of what was measured: start-up, one-shot, stream, tool loop, terminal, server, memory, disk, beside the reference programs.

    bench/publish.py [--quick] [--binaries DIR] [--sessions N] [--svg FILE] > page.md

The measuring is `bench/run.py`'s and `bench/server.py`'s; this runs them, prints a page in Markdown and draws a chart. What they say
while they measure goes to standard error. The machine should do nothing else meanwhile; the page says what it was.
"""

import argparse
import contextlib
import datetime
import html
import os
import pathlib
import platform
import subprocess
import sys

import run

HERE = pathlib.Path(__file__).resolve().parent
SERVER = HERE / "server.py"
BAR, LEFT, WIDTH, TOP = 22, 250, 420, 44


def measured(options):
    words = (["--quick"] if options.quick else []) + (["--binaries", str(options.binaries)] if options.binaries else [])
    with contextlib.redirect_stdout(sys.stderr):
        run.main(words)
    return run.FIGURES


def served(options, release):
    """The table that `bench/server.py` prints; a goal that it misses stands there."""
    command = [sys.executable, SERVER, "--binary", release / "charla", "--testkit", release / "charla-testkit"]
    command += ["--sessions", str(options.sessions), "--rounds", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if "|" not in done.stdout:
        sys.exit(f"the server cannot be measured: bench/server.py ended with {done.returncode}")
    return done.stdout


def row(figure):
    """A line of the page: what, ours, the reference, the ratio, memory, whether it is within its limits."""
    milliseconds = lambda seconds: f"{seconds * 1000:.1f} ms"
    ours = reference = ratio = memory = ""
    if "seconds" in figure:
        ours = milliseconds(figure["seconds"]) + ("" if "reference" in figure else " wall")
    if "reference" in figure:
        reference = milliseconds(figure["reference"])
    if "late" in figure:
        ours, reference = (f"{figure[name]:.1f} {figure['unit']}" for name in ["late", "early"])
    if "ratio" in figure:
        ratio = f"{figure['ratio']:.2f}x (budget {figure['budget']}x)"
    elif "most" in figure:
        ratio = f"limit {figure['most'] * 1000:.0f} ms"
    if "memory" in figure:
        memory = f"{figure['memory']:.1f} MB" + (f" (limit {figure['room']})" if figure["room"] else "")
    if "size" in figure:
        ours, ratio = f"{figure['size']:.1f} MB", f"limit {figure['room']} MB"
    verdict = "yes" if figure["good"] else "**no**"
    return f"| {figure['name']} | {ours} | {reference} | {ratio} | {memory} | {verdict} |"


def page(figures, server, options):
    processor = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.machine())
    load = os.getloadavg()[0]
    lines = [
        f"Measured on {datetime.date.today()} on {os.cpu_count()} cores ({processor}), Linux {platform.release()}, with a load of {load:.1f} at the end"
        + (", few repetitions." if options.quick else "."),
        "",
        "CPU seconds of the process tree, the least of several runs, unless it says *wall*; memory is the peak of the resident set.",
        "",
        "| what | Charla | reference | ratio | memory | within |",
        "|---|---|---|---|---|---|",
        *map(row, figures),
        "",
        f"A server with {options.sessions} live sessions:",
        "",
        server.strip(),
    ]
    return "\n".join(lines) + "\n"


def bars(title, rows, unit, top):
    """One panel: a bar for each row, and a mark where its limit is."""
    most = max(max(value, limit or 0) for _, value, limit in rows) * 1.05
    place = lambda value: LEFT + value / most * WIDTH
    parts = [f'<text x="12" y="{top}" class="title">{html.escape(title)}</text>']
    for number, (name, value, limit) in enumerate(rows):
        y = top + 12 + number * BAR
        over = limit is not None and value > limit
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y + 2}" width="{place(value) - LEFT:.1f}" height="14" class="{"over" if over else "bar"}"/>')
        if limit is not None:
            parts.append(f'<line x1="{place(limit):.1f}" x2="{place(limit):.1f}" y1="{y}" y2="{y + 18}" class="limit"/>')
        parts.append(f'<text x="{place(max(value, limit or 0)) + 6:.1f}" y="{y + 13}">{value:.1f}{unit}</text>')
    return parts, top + 12 + len(rows) * BAR + 28


def chart(figures):
    short = lambda name: name.replace(" / minimal client", "").replace(" / minimal steps", "").replace(" / empty program", "")
    ratios = [(short(figure["name"]), figure["ratio"], figure["budget"]) for figure in figures if "reference" in figure]
    memory = [(short(figure["name"]), figure["memory"], figure["room"]) for figure in figures if figure.get("room") and "memory" in figure and figure["memory"] < 50]
    waits = [(figure["name"], figure["seconds"] * 1000, figure["most"] * 1000) for figure in figures if "most" in figure]
    parts, y = bars("CPU, as a multiple of the reference program", ratios, "x", TOP)
    for title, rows, unit in [("Peak memory", memory, " MB"), ("Wall clock", waits, " ms")]:
        more, y = bars(title, rows, unit, y)
        parts += more
    style = (
        "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.bar{fill:#3b82c4}.over{fill:#d0742b}.limit{stroke:#888;stroke-width:2}"
        ".note{fill:#777}@media(prefers-color-scheme:dark){text{fill:#ddd}.note{fill:#999}}"
    )
    height = y + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" height="{height}" role="img" aria-label="Charla\'s benchmarks beside their limits">'
        f"<style>{style}</style>" + "".join(parts) + f'<text x="12" y="{height - 10}" class="note">A grey mark is the limit; orange is over it.</text></svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--binaries", type=pathlib.Path, help="measure what is built there")
    parser.add_argument("--sessions", type=int, default=200, help="live sessions of the server")
    parser.add_argument("--svg", type=pathlib.Path, help="where the chart goes")
    options = parser.parse_args()
    figures = measured(options)
    if options.svg:
        options.svg.write_text(chart(figures))
    release = options.binaries.resolve() if options.binaries else run.TARGET / "release"
    print(page(figures, served(options, release), options), end="")


if __name__ == "__main__":
    main()
