"""Tools from Python functions: their JSON Schema from type hints and docstring, their work on the event loop."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import inspect
import json
import re
import types
import typing
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from ._bridge import on_loop

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}
_UNIONS = (Union, getattr(types, "UnionType", Union))


@dataclass(frozen=True)
class Tool:
    """Something that the model may call. Every call is asked about, unless a rule or `allow` lets it run."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON Schema of its arguments."""
    function: Callable[..., Any]
    """Takes the arguments by their names. What it gives back is told to the model: a string as it is, everything else as
    JSON. What it raises is the tool's error, and the model is told."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def tool(
    function: Optional[Callable[..., Any]] = None,
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    parameters: Optional[dict[str, Any]] = None,
) -> Any:
    """Makes a function a tool, as a decorator: `@tool`, or `@tool(name="…")`.

    The schema comes from the type hints, descriptions from the docstring: its first paragraph is the tool's, and the
    lines of its section `Args:` are the arguments'.
    """

    def make(function: Callable[..., Any]) -> Tool:
        text, arguments = _docstring(function)
        return Tool(
            name=name or function.__name__,
            description=description or text,
            parameters=parameters or _schema(function, arguments),
            function=function,
        )

    return make if function is None else make(function)


def made(given: Union[Tool, Callable[..., Any]]) -> Tool:
    """The tool that a program gives, as such or as a plain function."""
    return given if isinstance(given, Tool) else typing.cast(Tool, tool(given))


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(function) or ""
    first = " ".join(text.split("\n\n", 1)[0].split())
    section = re.search(r"^(?:Args|Arguments|Parameters):\s*\n((?:[ \t]+.*\n?|\n)+)", text, re.MULTILINE)
    arguments: dict[str, str] = {}
    latest = None
    for line in section.group(1).splitlines() if section else []:
        begun = re.match(r"\s+(\w+)(?:\s*\([^)]*\))?:\s*(.*)", line)
        if begun:
            latest = begun.group(1)
            arguments[latest] = begun.group(2).strip()
        elif latest and line.strip():
            arguments[latest] = f"{arguments[latest]} {line.strip()}"
    return first, arguments


def _schema(function: Callable[..., Any], descriptions: dict[str, str]) -> dict[str, Any]:
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: `{parameter}` cannot be an argument of a tool; give it a name of its own")
        of_type = type_schema(hints.get(parameter.name, Any))
        if parameter.name in descriptions:
            of_type = {**of_type, "description": descriptions[parameter.name]}
        properties[parameter.name] = of_type
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def type_schema(hint: Any, within: tuple[type, ...] = ()) -> dict[str, Any]:
    """The JSON Schema of a type hint. What it cannot tell, it leaves open: so a class in itself, which is in `within`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__metadata__"):
        words = [word for word in hint.__metadata__ if isinstance(word, str)]
        schema = type_schema(hint.__origin__, within)
        return {**schema, "description": words[0]} if words else schema
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in _UNIONS:
        choices = [type_schema(arg, within) for arg in args if arg is not type(None)]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin in (list, set, tuple, frozenset) or hint in (list, set, tuple):
        items = [arg for arg in args if arg is not Ellipsis]
        return {"type": "array", **({"items": type_schema(items[0], within)} if len(set(items)) == 1 else {})}
    if origin is dict or hint is dict:
        return {"type": "object", **({"additionalProperties": type_schema(args[1], within)} if len(args) == 2 else {})}
    if inspect.isclass(hint):
        return _class_schema(hint, within)
    return {}


def _class_schema(hint: type, within: tuple[type, ...]) -> dict[str, Any]:
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if dataclasses.is_dataclass(hint):
        if hint in within:
            return {"type": "object"}
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = dataclasses.fields(hint)
        needed = [
            one.name
            for one in fields
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        ]
        properties = {one.name: type_schema(hints[one.name], (*within, hint)) for one in fields}
        return {"type": "object", "properties": properties, "required": needed}
    return {}


Answer = Callable[[bool, str], None]


def handed(tool: Tool, loop: asyncio.AbstractEventLoop) -> tuple[str, str, str, Callable[[str, Answer], Callable[[], None]]]:
    """The tool as the native half takes it: called from another thread, it works on the loop and can be stopped."""

    def call(arguments: str, answer: Answer) -> Callable[[], None]:
        running: list[asyncio.Task[None]] = []

        def begin() -> None:
            running.append(loop.create_task(_work(tool, json.loads(arguments), answer)))

        def stop() -> None:
            for task in running:
                task.cancel()

        on_loop(loop, begin)
        return lambda: on_loop(loop, stop)

    return tool.name, tool.description, json.dumps(tool.parameters), call


async def _work(tool: Tool, arguments: dict[str, Any], answer: Answer) -> None:
    try:
        if inspect.iscoroutinefunction(tool.function):
            value = await tool.function(**arguments)
        else:
            # The loop goes on meanwhile.
            value = await asyncio.get_running_loop().run_in_executor(None, lambda: tool.function(**arguments))
            if inspect.isawaitable(value):
                value = await value
        answer(True, value if isinstance(value, str) else json.dumps(value, default=str))
    except asyncio.CancelledError:
        answer(False, "cancelled")
        raise
    except Exception as error:
        answer(False, f"{type(error).__name__}: {error}")
