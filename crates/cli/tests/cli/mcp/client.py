"""A client of `charla mcp serve`, made of the official SDK: `client.py SCENARIO COMMAND...` prints what it saw as JSON."""

import json
import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

SCENARIO, COMMAND = sys.argv[1], sys.argv[2:]
SEEN = {"asked": [], "progress": []}


async def decide(context, params):
    SEEN["asked"].append(params.message)
    if SCENARIO == "declines":
        return types.ElicitResult(action="decline")
    decision = "deny" if SCENARIO == "denies" else "allow"
    return types.ElicitResult(action="accept", content={"decision": decision, "reason": "not today"})


async def hear(progress, total, message):
    SEEN["progress"].append(message)


def told(result):
    words = "\n".join(part.text for part in result.content if part.type == "text")
    return {"text": words, "error": bool(result.is_error), "structured": result.structured_content}


async def prompt(client, text, **more):
    return told(await client.call_tool("prompt", {"text": text, **more}, progress_callback=hear))


async def sessions(session):
    SEEN["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)
    first = await prompt(session, "one")
    SEEN["first"] = first
    SEEN["second"] = await prompt(session, "two", session=first["structured"]["session"])
    SEEN["list"] = told(await session.call_tool("list_sessions", {}))
    SEEN["read"] = told(await session.call_tool("read_session", {"session": first["structured"]["session"]}))
    SEEN["unknown"] = told(await session.call_tool("read_session", {"session": "nowhere"}))
    SEEN["folder"] = told(await session.call_tool("prompt", {"text": "x", "cwd": "relative"}))


async def parallel(session):
    results = {}

    async def one(name):
        results[name] = await prompt(session, name)

    async with anyio.create_task_group() as group:
        group.start_soon(one, "first")
        group.start_soon(one, "second")
    SEEN["results"] = results


async def cancels(session):
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def stop():
                while "calls run_shell_command" not in SEEN["progress"]:
                    await anyio.sleep(0.02)
                scope.cancel()

            group.start_soon(stop)
            SEEN["answer"] = await prompt(session, "wait")
    SEEN["list"] = told(await session.call_tool("list_sessions", {}))


async def main():
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ), cwd=os.getcwd())
    callback = None if SCENARIO == "mute" else decide
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, elicitation_callback=callback) as session:
            SEEN["server"] = (await session.initialize()).server_info.name
            run = {"sessions": sessions, "parallel": parallel, "cancels": cancels}.get(SCENARIO)
            if run:
                await run(session)
            else:
                SEEN["answer"] = await prompt(session, "go")
    print(json.dumps(SEEN))


anyio.run(main)
