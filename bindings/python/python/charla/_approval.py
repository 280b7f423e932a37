"""Who decides about calls that no rule allows."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Optional, Union

from ._events import ToolConfirmation


@dataclass(frozen=True)
class Question:
    """A call that waits for an answer."""

    tool: str
    """The tool's name."""
    title: str
    """What would happen, in one line."""
    detail: dict[str, Any]
    """What would happen, by its `type`: `exec` with `command` and `cwd`, `edit` with `path` and `diff`, `info`, `mcp`, or
    `ask_user` with `questions`."""
    isolation: str
    """What really holds the call in while it runs, in words."""
    reasons: list[str] = field(default_factory=list)
    """What is asked about, part by part, and why."""


@dataclass(frozen=True)
class Answer:
    """A decision with more to it than yes or no. Make one with the functions below."""

    outcome: dict[str, Any]

    @classmethod
    def allow(cls) -> Answer:
        """This call, and no other."""
        return cls({"outcome": "proceed_once"})

    @classmethod
    def always(cls) -> Answer:
        """This and its like, for this session."""
        return cls({"outcome": "proceed_always"})

    @classmethod
    def deny(cls, reason: Optional[str] = None) -> Answer:
        """It does not run; the model is told why and goes on. Without a reason the turn ends."""
        return cls({"outcome": "cancel", **({} if reason is None else {"reason": reason})})

    @classmethod
    def change(cls, arguments: dict[str, Any]) -> Answer:
        """This once, with other arguments in place of the model's."""
        return cls({"outcome": "modify", "args": arguments})

    @classmethod
    def say(cls, *answers: str) -> Answer:
        """What a person says to the questions of `ask_user`, in their order."""
        return cls({"outcome": "answers", "answers": list(answers)})


Decision = Union[bool, Answer]
Approve = Callable[[Question], Union[Decision, Awaitable[Decision]]]

NOT_ALLOWED = "the program does not allow it"


def question(event: ToolConfirmation) -> Question:
    """What an event asks."""
    asked = event["confirmation"]
    return Question(
        tool=asked["tool"],
        title=asked["title"],
        detail=asked["detail"],
        isolation=asked.get("isolation", ""),
        reasons=asked.get("reasons", []),
    )


async def decide(approve: Approve, asked: Question) -> Answer:
    """What the program says to a question. Anything but a clear yes is a no."""
    decision = approve(asked)
    if inspect.isawaitable(decision):
        decision = await decision
    if isinstance(decision, Answer):
        return decision
    return Answer.allow() if decision is True else Answer.deny(NOT_ALLOWED)
