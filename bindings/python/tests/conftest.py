"""A user with a home and a workspace, whose every model is a scripted server on a real socket."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import charla

ROOT = Path(__file__).resolve().parents[3]
SERVER = Path(os.environ.get("CHARLA_TEST_SERVER", ROOT / "target/debug/charla-testkit"))


class World:
    """The scripted server, and whoever is its user."""

    def __init__(self, folder: Path, url: str, record: Path) -> None:
        self.home = folder / "home"
        self.workspace = folder / "work"
        self.record = record
        self.env = {
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "key-1",
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
        }
        self.home.mkdir()
        self.workspace.mkdir()

    def agent(self, **arguments: Any) -> charla.Agent:
        arguments.setdefault("model", "openai/m")
        return charla.Agent(workspace=self.workspace, home=self.home, env=self.env, **arguments)

    def requests(self) -> list[str]:
        """What the model was sent, request by request."""
        return [json.dumps(json.loads(line)["body"]) for line in self.record.read_text().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    started: list[subprocess.Popen[str]] = []

    def start(*replies: Any) -> World:
        script, record = tmp_path / "script.json", tmp_path / "requests"
        script.write_text(json.dumps({"replies": list(replies)}))
        record.touch()
        command = [str(SERVER), "--script", str(script), "--record", str(record)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(server)
        assert server.stdout is not None
        for line in server.stdout:
            found = re.match(r"export OPENAI_BASE_URL=(\S+)", line)
            if found:
                return World(tmp_path, found.group(1), record)
        raise AssertionError("the server did not start")

    yield start
    for server in started:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def call(name: str, **arguments: Any) -> list[dict[str, Any]]:
    """A reply in which the model calls a tool."""
    return [{"call": {"name": name, "args": arguments}}]
