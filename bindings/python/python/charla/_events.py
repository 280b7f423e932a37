"""What a turn tells: dictionaries with a field `type`, as `charla -o stream-json` prints them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union


class Message(TypedDict):
    """Visible text of the model."""

    type: Literal["message"]
    role: Literal["assistant"]
    content: str
    delta: bool
    """True for a piece that follows those before; false for all the text of this step, in place of what was shown."""


class Thought(TypedDict, total=False):
    """What the model thinks, where its provider shows it."""

    type: Literal["thought"]
    content: str
    subject: str
    delta: bool


class ToolUse(TypedDict):
    """The model asks for a tool."""

    type: Literal["tool_use"]
    tool_name: str
    tool_id: str
    parameters: dict[str, Any]


class Confirmation(TypedDict, total=False):
    """What a person is shown when asked. Complete: nothing of what would happen is left out."""

    tool: str
    title: str
    detail: dict[str, Any]
    """What would happen, by its `type`: `exec`, `edit`, `info`, `mcp` or `ask_user`."""
    rule: str
    confinement: str
    isolation: str
    """What really holds the call in while it runs, in words."""
    reasons: list[str]
    always: str


class ToolConfirmation(TypedDict):
    """A call waits for an answer, which the agent's `approve` gives."""

    type: Literal["tool_confirmation"]
    tool_id: str
    approval: str
    confirmation: Confirmation


class ToolAnswer(TypedDict):
    """A question has its answer."""

    type: Literal["tool_answer"]
    approval: str
    answer: dict[str, Any]
    by: str


class ToolOutput(TypedDict):
    """A running tool shows something."""

    type: Literal["tool_output"]
    tool_id: str
    content: str
    delta: bool


class ToolResult(TypedDict, total=False):
    """A call has its response."""

    type: Literal["tool_result"]
    tool_id: str
    tool_name: str
    status: Literal["success", "error", "cancelled"]
    output: str
    error: dict[str, str]
    display: dict[str, Any]


class StepEnded(TypedDict, total=False):
    """The model is asked again: what it said so far was not its last word."""

    type: Literal["step_ended"]
    usage: dict[str, Any]


class Retry(TypedDict, total=False):
    """The attempt failed: its text and thoughts are withdrawn, another follows."""

    type: Literal["retry"]
    attempt: int
    max_attempts: int
    delay_ms: int
    error: dict[str, Any]
    withdraws: bool


class Finished(TypedDict, total=False):
    """The answer is complete."""

    type: Literal["finished"]
    reason: str
    end: str
    usage: dict[str, Any]


class UserCancelled(TypedDict):
    """The turn was cancelled; what was shown stands."""

    type: Literal["user_cancelled"]


class Stopped(TypedDict):
    """The turn ended by itself: a limit, a filter, or a model that went in circles."""

    type: Literal["stopped"]
    end: str
    detail: str


class TurnError(TypedDict):
    """The turn failed."""

    type: Literal["error", "invalid_stream", "context_overflow"]
    error: dict[str, Any]


class OtherEvent(TypedDict):
    """Anything else. Programs pass over what they do not know."""

    type: Literal[
        "prompt_joined", "pre_compress", "chat_compressed", "citation", "model_switched", "hook_ran", "notice"
    ]


Event = Union[
    Message,
    Thought,
    ToolUse,
    ToolConfirmation,
    ToolAnswer,
    ToolOutput,
    ToolResult,
    StepEnded,
    Retry,
    Finished,
    UserCancelled,
    Stopped,
    TurnError,
    OtherEvent,
]
