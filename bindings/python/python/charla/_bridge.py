"""From the threads of the native half to an event loop, without blocking either."""

from __future__ import annotations

import asyncio
import atexit
from typing import Callable

from . import _native
from ._errors import from_json

Reply = Callable[[bool, object], None]

# Threads of the native half must not outlive the interpreter.
atexit.register(_native.shut_down)


async def ask(begin: Callable[[Reply], None]) -> object:
    """Begins something that replies from another thread, and waits for the reply."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[object] = loop.create_future()

    def settle(done: bool, value: object) -> None:
        if waiting.cancelled():
            return
        if done:
            waiting.set_result(value)
        else:
            waiting.set_exception(from_json(str(value)))

    begin(lambda done, value: on_loop(loop, settle, done, value))
    return await waiting


def on_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: object) -> None:
    """Has the loop call a function soon. One that is closed has nobody left who waits."""
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise
