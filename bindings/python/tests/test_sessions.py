"""Sessions: what is said, what comes of it, and what is kept."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

import pytest

import charla

from conftest import World, call

Start = Callable[..., World]


def test_the_last_word_is_the_answer(world: Start) -> None:
    here = world("Hello.", "Again.")

    async def main() -> None:
        async with here.agent().session() as session:
            assert session.model == "openai/m"
            assert await session.ask("hi") == "Hello."
            assert await session.ask("once more") == "Again."

    asyncio.run(main())
    assert "once more" in here.requests()[1] and "Hello." in here.requests()[1]


def test_events_have_the_types_of_stream_json(world: Start) -> None:
    here = world(call("list_directory", dir_path="."), "Nothing there.")

    async def main() -> list[str]:
        async with here.agent().session() as session:
            return [event["type"] async for event in session.prompt("look")]

    types = asyncio.run(main())
    assert [types.index(one) for one in ("tool_use", "tool_result", "message", "finished")] == sorted(
        types.index(one) for one in ("tool_use", "tool_result", "message", "finished")
    )
    assert types[-1] == "finished"


def test_sessions_are_listed_and_resumed_and_models_change(world: Start) -> None:
    here = world("One.", "Two.", "Three.")

    async def main() -> None:
        agent = here.agent()
        async with agent.session() as session:
            first = session.id
            await session.ask("remember the lamps")
            await session.set_model("openai/other")
            assert session.model == "openai/other"
            await session.ask("and now?")
        assert session.id == first, "it is known when the session is closed, too"
        [kept] = await agent.sessions()
        assert (kept.id, kept.model, kept.folder) == (first, "openai/other", here.workspace.resolve())
        assert kept.title.startswith("remember the lamps") and kept.modified > 1.7e9
        for which in (first, "latest"):
            async with agent.session(resume=which) as session:
                assert session.id == first
        async with here.agent(model=None).session(resume="latest") as session:
            assert session.model == "openai/other"
            assert await session.ask("still there?") == "Three."

    asyncio.run(main())
    assert "remember the lamps" in here.requests()[2]


def test_two_sessions_with_different_modes_live_side_by_side(world: Start) -> None:
    writing = call("write_file", file_path="a.txt", content="Hello.\n")
    here = world(writing, "Written.", writing, "Not allowed.")

    async def main() -> None:
        async with here.agent(mode="auto_edit").session() as free, here.agent().session() as bound:
            assert await free.ask("write") == "Written."
            (here.workspace / "a.txt").unlink()
            assert await bound.ask("write") == "Not allowed."

    asyncio.run(main())
    assert not (here.workspace / "a.txt").exists()


def test_settings_hold_for_the_session_and_are_checked(world: Start) -> None:
    here = world("Hello.")

    async def main() -> None:
        async with here.agent(settings={"model": {"temperature": 0.25}}).session() as session:
            await session.ask("hi")
        with pytest.raises(charla.Error) as caught:
            await here.agent(settings={"modle": {}}).session().open()
        assert caught.value.kind == "config" and "modle" in caught.value.message

    asyncio.run(main())
    assert '"temperature": 0.25' in here.requests()[0]


def test_failures_are_exceptions_with_kind_message_and_hint(world: Start) -> None:
    here = world([{"status": {"kind": "auth"}}])

    async def main() -> None:
        with pytest.raises(charla.Error) as caught:
            await here.agent().session(resume="latest").open()
        assert caught.value.kind == "input" and "Agent.sessions()" in (caught.value.hint or "")

        types = []
        async with here.agent().session() as session:
            with pytest.raises(charla.Error) as caught:
                async for event in session.prompt("hi"):
                    types.append(event["type"])
            assert types[-1] == "error"
            assert caught.value.kind == "auth" and "API key" in (caught.value.hint or "")
            assert str(caught.value).endswith(f"hint: {caught.value.hint}")

        closed = here.agent().session()
        with pytest.raises(charla.Error, match="not open"):
            await closed.ask("hi")

    asyncio.run(main())


def test_whoever_leaves_the_loop_cancels_the_turn(world: Start) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Waits for ever."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    here = world(call("wait"), "Later.")

    async def main() -> None:
        async with here.agent(tools=[wait], allow=["wait"]).session() as session:
            async for event in session.prompt("go"):
                if event["type"] == "tool_use":
                    await begun.wait()
                    break
            await asyncio.wait_for(stopped.wait(), 30)
            assert await asyncio.wait_for(session.ask("are you there?"), 30) == "Later."

    asyncio.run(main())


def test_a_turn_is_cancelled_from_elsewhere(world: Start) -> None:
    here = world(call("wait"), "Unused.")
    begun = asyncio.Event()

    async def wait() -> str:
        """Waits for ever."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        async with here.agent(tools=[wait], allow=["wait"]).session() as session:

            async def cancel() -> None:
                await begun.wait()
                await session.cancel()

            cancelling = asyncio.create_task(cancel())
            types = [event["type"] async for event in session.prompt("go")]
            assert types[-1] == "user_cancelled"
            await cancelling

    asyncio.run(main())


def test_several_sessions_run_at_once_on_one_loop(world: Start) -> None:
    here = world(*["Hello."] * 8)

    async def one() -> str:
        async with here.agent().session() as session:
            return await session.ask("hi")

    async def main() -> list[str]:
        return await asyncio.gather(*(one() for _ in range(8)))

    assert asyncio.run(main()) == ["Hello."] * 8


def test_what_holds_processes_in_holds_in_a_python_program(world: Start) -> None:
    here = world(call("run_shell_command", command="grep Seccomp: /proc/self/status"), "Done.")
    told: list[charla.Question] = []

    def approve(question: charla.Question) -> bool:
        told.append(question)
        return True

    async def main() -> str:
        output = ""
        async with here.agent(approve=approve).session() as session:
            async for event in session.prompt("look"):
                if event["type"] == "tool_result":
                    output = event["output"]
        return output

    output: Any = asyncio.run(main())
    wall = charla.wall()
    assert set(wall) == {"reading", "editing", "landlock", "notes"}
    if wall["reading"]:
        assert "2" in output.split("Seccomp:")[1].split("\n")[0], (output, told)
