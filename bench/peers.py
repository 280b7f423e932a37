#!/usr/bin/env python3
"""Measures the agents that are installed here beside Charla, against the scripted model server.

    bench/peers.py [--binaries DIR] [--runs N]

It looks for codex, gemini, claude, goose, opencode and qwen on PATH and measures those that are there: CPU seconds of the process tree,
wall clock and peak memory of `--version` and of one prompt that is answered with two words. Each gets an empty home and a server on
this machine; nothing else is spoken to by the script. An agent that does not answer here is told as such, with the last line it said: its
way of being configured may have changed.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import run

PROMPT = "hello"
ANSWER = b"Hello there."


def codex(url):
    provider = f'model_providers.bench={{name="bench",base_url="{url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
    words = ["exec", "--skip-git-repo-check", "-c", provider, "-c", 'model_provider="bench"', "-m", "gpt-test", PROMPT]
    return words, {"OPENAI_API_KEY": "key"}


def gemini(url):
    return ["-m", "gemini-2.5-flash", "-p", PROMPT], {
        "GEMINI_API_KEY": "key",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def claude(url):
    return ["-p", PROMPT], {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": url}


def goose(url):
    return ["run", "--no-session", "-t", PROMPT], {
        "OPENAI_API_KEY": "key",
        "OPENAI_HOST": url,
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "gpt-test",
        "GOOSE_DISABLE_KEYRING": "1",
    }


def opencode(url):
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url + "/v1", "apiKey": "key"}, "models": {"test": {}}}
    return ["run", "-m", "bench/test", PROMPT], {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"bench": provider}})}


def qwen(url):
    return ["-p", PROMPT], {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url + "/v1", "OPENAI_MODEL": "gpt-test"}


def charla(url):
    return ["-m", "openai/gpt-test", "-p", PROMPT], {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url + "/v1"}


# What an agent wants to find in its home before it answers.
FILES = {"gemini": {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}}}
PEERS = {"codex": codex, "gemini": gemini, "claude": claude, "goose": goose, "opencode": opencode, "qwen": qwen}


def tried(measure, command, env, cwd, runs, expect):
    """The least CPU and wall clock and the most memory of so many runs, or why there are none."""
    figures = []
    for _ in range(runs):
        try:
            figures.append(run.watched(measure, ["timeout", "120", *command], env, expect, cwd))
        except SystemExit as failure:
            said = [line for line in str(failure).splitlines() if line.strip() and not line.startswith("measured ")]
            return None, "no answer: " + said[-1].strip()[:120].replace("|", "/")
    cpu, wall, memory = zip(*figures)
    return (min(cpu), min(wall), max(memory)), None


def told(name, what, figures, why):
    if figures is None:
        print(f"| {name} | {what} | {why} | | |")
        return
    cpu, wall, memory = figures
    print(f"| {name} | {what} | {cpu * 1000:.0f} ms | {wall * 1000:.0f} ms | {memory / 1024:.0f} MB |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=pathlib.Path, help="Charla, its model server and its references, as built there")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    release = run.built(options.binaries)
    programs = [("charla", release / "charla", charla)]
    programs += [(name, pathlib.Path(found), ask) for name, ask in PEERS.items() if (found := shutil.which(name))]
    missing = [name for name in PEERS if not shutil.which(name)]
    print("| program | what | CPU | wall | memory |\n|---|---|---|---|---|", flush=True)
    for name, program, ask in programs:
        script = {"otherwise": "repeat", "replies": [ANSWER.decode()], "strict": False}
        with tempfile.TemporaryDirectory() as home, run.Server(release / "charla-testkit", script) as server:
            work = pathlib.Path(home) / "work"
            work.mkdir()
            for path, content in FILES.get(name, {}).items():
                (pathlib.Path(home) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(home) / path).write_text(json.dumps(content))
            words, variables = ask(server.url)
            env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "CI": "1", **variables}
            for what, command, expect in [("`--version`", ["--version"], b""), ("one prompt", words, ANSWER)]:
                told(name, what, *tried(release / "measure", [program, *command], env, work, options.runs, expect))
    if missing:
        print(f"\nNot on PATH: {', '.join(missing)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
