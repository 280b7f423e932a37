"""What the library is to a whole process: signals, forks, its end; and the examples, run as programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

from conftest import World, call

Start = Callable[..., World]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

WAITING = """
import asyncio, charla

async def wait() -> str:
    "Waits for ever."
    print("waiting", flush=True)
    await asyncio.Event().wait()
    return ""

async def main() -> None:
    async with charla.Agent(model="openai/m", tools=[wait], allow=["wait"]).session() as session:
        await session.ask("go")

asyncio.run(main())
"""

FORKING = """
import asyncio, os, charla

async def main() -> None:
    async with charla.Agent(model="openai/m").session() as session:
        await session.ask("hi")

asyncio.run(main())
child = os.fork()
if child == 0:
    try:
        asyncio.run(main())
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

LEAVING = """
import asyncio, charla

async def main() -> None:
    session = await charla.Agent(model="openai/m").session().open()
    await session.ask("hi")
    print("left")

asyncio.run(main())
"""


def environment(here: World) -> "dict[str, str]":
    return {**here.env, "CHARLA_MODEL": "openai/m"}


def start(here: World, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment(here),
        cwd=here.workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_ends_a_program_that_waits(world: Start) -> None:
    here = world(call("wait"), "Unused.")
    program = start(here, "-c", WAITING)
    assert program.stdout is not None and program.stdout.readline() == "waiting\n"
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=60)
    assert "KeyboardInterrupt" in told and program.returncode != 0, told


@pytest.mark.skipif(sys.version_info < (3, 9), reason="waitstatus_to_exitcode is new")
def test_a_forked_child_is_told_what_to_do_instead(world: Start) -> None:
    program = start(world("Hello."), "-c", FORKING)
    out, told = program.communicate(timeout=60)
    assert (out, program.returncode) == ("7\n", 0), told


def test_a_program_may_end_without_closing_anything(world: Start) -> None:
    program = start(world("Hello."), "-c", LEAVING)
    out, told = program.communicate(timeout=60)
    assert (out, told, program.returncode) == ("left\n", "", 0)


@pytest.mark.parametrize("name", sorted(os.listdir(EXAMPLES)))
def test_the_examples_run(world: Start, name: str) -> None:
    here = world([*call("count_stock", item="lamps"), *call("write_file", file_path="x", content="y")], "There are 17.")
    program = start(here, str(EXAMPLES / name), "How many lamps?")
    out, told = program.communicate(timeout=60)
    assert program.returncode == 0, told
    assert "There are 17." in out
    assert not (here.workspace / "x").exists()
