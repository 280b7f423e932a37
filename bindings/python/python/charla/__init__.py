"""A provider-neutral AI agent as a library.

    import asyncio, charla

    async def main() -> None:
        async with charla.Agent(model="gemini/gemini-2.5-flash").session() as session:
            print(await session.ask("What is in this folder?"))

    asyncio.run(main())
"""

from __future__ import annotations

import json
from typing import TypedDict, cast

from . import _native
from ._agent import Agent, Session, SessionInfo
from ._approval import Answer, Approve, Decision, Question
from ._errors import Error
from ._events import (
    Confirmation,
    Event,
    Finished,
    Message,
    OtherEvent,
    Retry,
    StepEnded,
    Stopped,
    Thought,
    ToolAnswer,
    ToolConfirmation,
    ToolOutput,
    ToolResult,
    ToolUse,
    TurnError,
    UserCancelled,
)
from ._tools import Tool, tool

__version__ = _native.__version__


class Wall(TypedDict):
    """What the kernel of this machine holds the processes of tools in with."""

    reading: bool
    """They can be kept from writing, from the network and from files they have no business with."""
    editing: bool
    """They can be let write the workspace and be kept from protected places in it."""
    landlock: int
    """The version of Landlock; 0 where there is none."""
    notes: list[str]
    """What is missing, in words."""


def wall() -> Wall:
    """What holds the processes of tools in on this machine. Where it does not hold, they are asked about."""
    return cast(Wall, json.loads(_native.wall()))


def hide_process() -> None:
    """Keeps other processes of the user from looking into this one, whose variables may hold keys. Also debuggers."""
    _native.hide_process()


__all__ = [
    "Agent",
    "Answer",
    "Approve",
    "Confirmation",
    "Decision",
    "Error",
    "Event",
    "Finished",
    "Message",
    "OtherEvent",
    "Question",
    "Retry",
    "Session",
    "SessionInfo",
    "StepEnded",
    "Stopped",
    "Thought",
    "Tool",
    "ToolAnswer",
    "ToolConfirmation",
    "ToolOutput",
    "ToolResult",
    "ToolUse",
    "TurnError",
    "UserCancelled",
    "Wall",
    "hide_process",
    "tool",
    "wall",
]
