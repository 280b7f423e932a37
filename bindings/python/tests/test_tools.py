"""Tools written in Python, and who decides about them."""

from __future__ import annotations

import asyncio
import enum
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Union

import pytest
from typing_extensions import Annotated, Literal

import charla

from conftest import World, call

Start = Callable[..., World]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Lamp:
    watts: int
    colour: Colour = Colour.RED


@charla.tool
def order(
    item: str,
    count: int = 1,
    price: Optional[float] = None,
    lamps: List[Lamp] = [],
    size: Literal["small", "large"] = "small",
    notes: Annotated[Dict[str, str], "whatever else there is"] = {},
    either: Union[int, str] = 1,
    anything: Any = None,
) -> str:
    """Orders something.

    More about it.

    Args:
        item: What is ordered,
            by its name.
        count (int): How many.
    """
    return f"{count} {item}"


def test_a_schema_comes_from_hints_and_docstring() -> None:
    lamp = {
        "type": "object",
        "properties": {"watts": {"type": "integer"}, "colour": {"enum": ["red", "blue"]}},
        "required": ["watts"],
    }
    assert (order.name, order.description) == ("order", "Orders something.")
    assert order.parameters == {
        "type": "object",
        "properties": {
            "item": {"type": "string", "description": "What is ordered, by its name."},
            "count": {"type": "integer", "description": "How many."},
            "price": {"type": "number"},
            "lamps": {"type": "array", "items": lamp},
            "size": {"enum": ["small", "large"]},
            "notes": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "whatever else there is",
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "anything": {},
        },
        "required": ["item"],
        "additionalProperties": False,
    }
    assert order("lamp", 2) == "2 lamp"
    with pytest.raises(TypeError, match="rest"):
        charla.tool(lambda *rest: "")


@dataclass
class Shelf:
    label: str
    lamps: List[Lamp]
    above: Optional["Shelf"] = None
    beside: List["Cupboard"] = field(default_factory=list)


@dataclass
class Cupboard:
    shelves: Dict[str, Shelf]


def test_a_type_that_has_itself_as_a_part_is_left_open_there() -> None:
    @charla.tool
    def stack(shelf: Shelf, other: Shelf) -> str:
        """Stacks."""
        return ""

    once = stack.parameters["properties"]["shelf"]
    assert once["properties"]["above"] == {"type": "object"}
    cupboard = once["properties"]["beside"]["items"]
    assert cupboard["properties"]["shelves"] == {"type": "object", "additionalProperties": {"type": "object"}}
    assert once["properties"]["lamps"]["items"]["properties"]["watts"] == {"type": "integer"}
    assert stack.parameters["properties"]["other"] == once, "beside itself it is told in full"


async def results(here: World, **arguments: Any) -> List[Any]:
    """What the calls of one turn come to."""
    async with here.agent(**arguments).session() as session:
        return [event async for event in session.prompt("go") if event["type"] == "tool_result"]


def test_sync_and_async_functions_are_tools(world: Start) -> None:
    loop_thread: List[int] = []

    def sync(item: str) -> Dict[str, int]:
        """Counts."""
        assert threading.get_ident() not in loop_thread, "the event loop must go on"
        return {item: 17}

    async def other(item: str) -> str:
        """Counts, too."""
        await asyncio.sleep(0)
        return f"{item}: 18"

    here = world([*call("sync", item="lamps"), *call("other", item="chairs")], "Done.")

    async def main() -> List[Any]:
        loop_thread.append(threading.get_ident())
        return await results(here, tools=[sync, other], allow=["sync", "other"])

    first, second = asyncio.run(main())
    assert (first["output"], second["output"]) == ('{"lamps": 17}', "chairs: 18")


def test_an_exception_is_the_tools_error_and_the_model_is_told(world: Start) -> None:
    def broken() -> str:
        """Breaks."""
        raise ValueError("no such lamp")

    async def gone() -> str:
        """Gives up."""
        raise asyncio.CancelledError

    here = world([*call("broken"), *call("gone")], "Oh.")
    first, second = asyncio.run(results(here, tools=[broken, gone], allow=["broken", "gone"]))
    assert first["status"] == "error" and "ValueError: no such lamp" in first["output"]
    assert second["status"] == "error"
    assert "no such lamp" in here.requests()[1]


def test_arguments_that_do_not_fit_do_not_reach_the_function(world: Start) -> None:
    calls: List[Any] = []

    def count(item: str) -> str:
        """Counts."""
        calls.append(item)
        return "17"

    here = world([*call("count", item=[3]), *call("count", things="x"), *call("count", item="lamps")], "Oh.")
    told = asyncio.run(results(here, tools=[count], allow=["count"]))
    assert [one["status"] for one in told] == ["error", "error", "success"]
    assert calls == ["lamps"]


@pytest.mark.parametrize("how", ["nobody", "no", "yes", "async", "reason", "junk", "broken", "cancelled", "cancelled later"])
def test_only_a_clear_yes_lets_a_call_run(world: Start, how: str) -> None:
    ran: List[bool] = []
    asked: List[charla.Question] = []

    def act() -> str:
        """Acts."""
        ran.append(True)
        return "acted"

    async def later(question: charla.Question) -> bool:
        await asyncio.sleep(0)
        if how == "cancelled later":
            raise asyncio.CancelledError
        return True

    def decide(question: charla.Question) -> Any:
        asked.append(question)
        if how == "broken":
            raise RuntimeError("the database is away")
        if how == "cancelled":
            raise asyncio.CancelledError
        decisions = {"no": False, "yes": True, "reason": charla.Answer.deny("not on Sundays"), "junk": "yes"}
        return later(question) if how in ("async", "cancelled later") else decisions[how]

    here = world(call("act"), "Done.")
    problems: List[Any] = []

    async def main() -> List[Any]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["exception"]))
        return await results(here, tools=[act], approve=None if how == "nobody" else decide)

    told = asyncio.run(asyncio.wait_for(main(), 30))
    assert ran == ([True] if how in ("yes", "async") else [])
    assert [question.tool for question in asked] == ([] if how == "nobody" else ["act"])
    assert [str(problem) for problem in problems] == (["the database is away"] if how == "broken" else [])
    if how == "reason":
        assert "not on Sundays" in told[0]["output"]
    if how.startswith("cancelled"):
        assert "gave up deciding" in told[0]["output"]


def test_a_decision_may_change_the_arguments(world: Start) -> None:
    here = world(call("echo", text="shout"), "Done.")

    def echo(text: str) -> str:
        """Says back."""
        return text

    told = asyncio.run(results(here, tools=[echo], approve=lambda _: charla.Answer.change({"text": "whisper"})))
    assert told[0]["output"].startswith("whisper\n")
