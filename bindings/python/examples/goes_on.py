"""Goes on with the latest session of this folder, or begins one; says which there are.

    GEMINI_API_KEY=… python goes_on.py "And what did I ask before?"
"""

import asyncio
import sys
from pathlib import Path

import charla


async def main(prompt: str) -> None:
    agent = charla.Agent(mode="plan")
    here = [one for one in await agent.sessions() if one.folder == Path.cwd().resolve()]
    for one in here:
        print(f"{one.id}  {one.model}  {one.title}", file=sys.stderr)
    async with agent.session(resume="latest" if here else None) as session:
        print(await session.ask(prompt))


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "And what did I ask before?"))
