"""Agents and their sessions."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, AsyncGenerator, Callable, Iterable, Literal, Mapping, Optional, Sequence, Union, cast

from . import _native
from ._approval import Answer, Approve, decide, question
from ._bridge import ask
from ._errors import Error
from ._events import Event, ToolConfirmation
from ._tools import Tool, handed, made

Mode = Literal["plan", "default", "auto_edit", "yolo"]
Place = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class SessionInfo:
    """A session that is kept."""

    id: str
    title: str
    """The beginning of its first prompt."""
    model: str
    """`provider/model` that answered last."""
    folder: Path
    """The workspace in which it began."""
    modified: float
    """When it was written to last, in seconds since 1970."""


class Agent:
    """Opens sessions: with the user's settings, keys and rules, and with what is said here on top.

    Nothing is read but what is handed in; left out, it is this process's: its variables, its working folder, the user's
    home. Whatever neither a rule nor `allow` lets run is put to `approve`; without it the answer is no.
    """

    def __init__(
        self,
        *,
        model: Optional[str] = None,
        workspace: Optional[Place] = None,
        settings: Optional[Mapping[str, Any]] = None,
        mode: Optional[Mode] = None,
        tools: Iterable[Union[Tool, Callable[..., Any]]] = (),
        allow: Sequence[str] = (),
        approve: Optional[Approve] = None,
        rules: Sequence[Place] = (),
        folders: Sequence[Place] = (),
        instructions: Optional[str] = None,
        offer_tools: bool = True,
        env: Optional[Mapping[str, str]] = None,
        home: Optional[Place] = None,
    ) -> None:
        """
        Args:
            model: The model, as `provider/model`.
            workspace: The folder to work in.
            settings: Settings over those of files and variables, in the form of a settings file.
            mode: How much is allowed without asking.
            tools: Functions of your own, or `Tool`s made from them.
            allow: Tools that run without asking, such as `run_shell_command(git status)`.
            approve: Decides about everything else; a function, or an async one.
            rules: Files of rules.
            folders: Further folders of the workspace.
            instructions: A text behind the system prompt.
            offer_tools: False offers the model no tools at all.
            env: The variables to look for keys and settings in.
            home: The user's home, with settings, keys and sessions.
        """
        variables = dict(os.environ if env is None else env)
        self._native = _native.Agent(
            json.dumps(
                {
                    "variables": {name: value for name, value in variables.items() if _is_text(name + value)},
                    "workspace": str(Path(workspace or ".").resolve()),
                    "home": str(Path(home).resolve()) if home is not None else _home(),
                    "temporary": tempfile.gettempdir(),
                }
            )
        )
        self._tools = [made(tool) for tool in tools]
        self._approve = approve
        self._wishes: dict[str, Any] = {
            "settings": _with(settings or {}, model, mode),
            "other_model": model is not None,
            "allow": list(allow),
            "rules": [os.fspath(path) for path in rules],
            "folders": [os.fspath(path) for path in folders],
            "instructions": instructions,
            "asks": approve is not None,
            "offers_tools": offer_tools,
        }

    def session(self, resume: Optional[str] = None) -> Session:
        """A session to be opened by `async with`, or by `await session.open()`.

        Args:
            resume: The session to go on with: its id, the beginning of it, or `latest`.
        """
        return Session(self, resume)

    async def sessions(self) -> list[SessionInfo]:
        """The sessions that are kept, the latest first."""
        kept = json.loads(str(await ask(self._native.sessions)))
        return [
            SessionInfo(
                id=one["session"],
                title=one["title"],
                model=one["model"],
                folder=Path(one["started"]["cwd"]),
                modified=one["modified"] / 1000,
            )
            for one in kept
        ]


class Session:
    """A conversation. It belongs to the event loop on which it was opened."""

    def __init__(self, agent: Agent, resume: Optional[str]) -> None:
        self._agent = agent
        self._resume = resume
        self._native: Optional[_native.Session] = None
        self._id = ""
        self._model = ""
        self._deciding: set[asyncio.Task[None]] = set()

    async def open(self) -> Session:
        """Opens it. `async with` does that, and closes it afterwards."""
        if self._native is not None:
            raise Error("input", "the session is open already")
        loop = asyncio.get_running_loop()
        wishes = json.dumps({**self._agent._wishes, "resume": self._resume})
        tools = [handed(tool, loop) for tool in self._agent._tools]
        opened = await ask(lambda reply: self._agent._native.open(wishes, tools, reply))
        self._native = cast(_native.Session, opened)
        self._id, self._model = self._native.id, self._native.model
        return self

    async def close(self) -> None:
        """Ends the session after its turn, and what its tools left running. It is kept, and can be resumed."""
        native, self._native = self._native, None
        if native is not None:
            await ask(native.close)

    async def __aenter__(self) -> Session:
        return await self.open()

    async def __aexit__(self, problem: Optional[type[BaseException]], *_: object) -> None:
        if problem is not None and self._native is not None:
            # Nobody is left who waits for the turn.
            self._native.send(_CANCEL, _unheard)
        await self.close()

    @property
    def id(self) -> str:
        """By this it can be resumed, once it is closed, too."""
        if not self._id:
            self._open()
        return self._id

    @property
    def model(self) -> str:
        """The model that answers: `provider/model`."""
        return self._model

    @property
    def notices(self) -> list[str]:
        """What a person should know about how it was opened."""
        return self._open().notices

    async def prompt(self, text: str) -> AsyncGenerator[Event, None]:
        """Says something and gives what comes of it, event by event, to the end of the turn.

        A turn that fails, or that a limit ends, gives its last event and then raises `Error`. Whoever leaves the loop
        early cancels the turn.
        """
        native = self._open()
        ended = False
        try:
            # Whoever gives up while it is said gives up what comes of it, too.
            turn = cast(_native.Turn, await ask(lambda reply: native.prompt(text, reply)))
            while True:
                batch = json.loads(str(await ask(turn.next)))
                ended = not batch["events"]
                if ended:
                    return
                for event in batch["events"]:
                    if event["type"] == "tool_confirmation":
                        self._decide(native, event)
                    yield event
                failure = batch["failure"]
                if failure and failure["kind"] != "cancelled":
                    ended = True
                    raise Error(failure["kind"], failure["message"], failure["hint"])
        finally:
            if not ended:
                native.send(_CANCEL, _unheard)

    async def ask(self, text: str) -> str:
        """Says something and waits for the last word."""
        answer = ""
        async for event in self.prompt(text):
            if event["type"] == "message":
                answer = answer + event["content"] if event["delta"] else event["content"]
            elif event["type"] in ("step_ended", "retry"):
                answer = ""
            elif event["type"] == "user_cancelled":
                raise Error("cancelled", "cancelled")
        return answer

    async def cancel(self) -> None:
        """Stops the turn that runs. What was shown stands."""
        await self._send({"command": "cancel", "target": "turn"})

    async def set_model(self, model: str) -> None:
        """Another model goes on, from the next request."""
        await self._send({"command": "set_model", "model": model})
        self._model = model

    async def set_mode(self, mode: Mode) -> None:
        """Changes how much is allowed without asking."""
        await self._send({"command": "set_mode", "mode": mode})

    async def compress(self) -> None:
        """Replaces the older part of the conversation by a summary, between turns."""
        await self._send({"command": "compress"})

    async def _send(self, command: dict[str, Any]) -> None:
        native = self._open()
        await ask(lambda reply: native.send(json.dumps(command), reply))

    def _open(self) -> _native.Session:
        if self._native is None:
            raise Error("input", "the session is not open", "open it: `async with agent.session() as session`")
        return self._native

    def _decide(self, native: _native.Session, event: ToolConfirmation) -> None:
        approve = self._agent._approve
        if approve is None:
            return
        deciding = asyncio.get_running_loop().create_task(self._answer(native, event, approve))
        # The loop holds its tasks weakly.
        self._deciding.add(deciding)
        deciding.add_done_callback(self._deciding.discard)

    async def _answer(self, native: _native.Session, event: ToolConfirmation, approve: Approve) -> None:
        try:
            answer = await decide(approve, question(event))
        except Exception as error:
            answer = Answer.deny("the program could not decide about it")
            context = {"message": "charla: `approve` failed, so the call does not run", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        except BaseException:
            # It is cancelled, or the program ends: the turn still gets its answer, and nobody here waits for what becomes of it.
            native.send(_answer_to(event, Answer.deny("the program gave up deciding about it")), _unheard)
            raise
        try:
            await ask(lambda reply: native.send(_answer_to(event, answer), reply))
        except Error:
            # Somebody else was quicker, or the turn is over: then theirs counts.
            pass


_CANCEL = json.dumps({"command": "cancel", "target": "turn"})


def _answer_to(event: ToolConfirmation, answer: Answer) -> str:
    return json.dumps({"command": "answer", "approval": event["approval"], **answer.outcome})


def _unheard(done: bool, value: object) -> None:
    """A turn that is over has nothing to cancel."""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _home() -> Optional[str]:
    try:
        return str(Path.home())
    except RuntimeError:
        return None


def _with(settings: Mapping[str, Any], model: Optional[str], mode: Optional[Mode]) -> dict[str, Any]:
    put = dict(settings)
    if model is not None:
        put["model"] = {**put.get("model", {}), "name": model}
    if mode is not None:
        put["tools"] = {**put.get("tools", {}), "approvalMode": mode}
    return put
