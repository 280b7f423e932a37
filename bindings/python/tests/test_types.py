"""The types that the package promises are those that it has."""

from __future__ import annotations

import sys
from pathlib import Path

from mypy import api

HERE = Path(__file__).resolve().parent
WRONG = """
import asyncio
import charla

async def main() -> None:
    async with charla.Agent(mode="reckless").session() as session:
        async for event in session.prompt("hi"):
            if event["type"] == "message":
                event["content"] + 1
"""


def mypy(*arguments: str) -> str:
    out, problems, _ = api.run(["--strict", "--python-executable", sys.executable, "--cache-dir=/dev/null", *arguments])
    assert not problems, problems
    return out


def test_package_examples_and_tests_are_typed() -> None:
    examples = sorted(str(path) for path in (HERE.parent / "examples").glob("*.py"))
    told = mypy("-p", "charla")
    assert told.startswith("Success"), told
    for example in examples:
        told = mypy(example)
        assert told.startswith("Success"), told


def test_mistakes_are_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WRONG)
    told = mypy(str(program))
    assert '"Literal[\'reckless\']"' in told or "reckless" in told, told
    assert "Unsupported operand types" in told, told
