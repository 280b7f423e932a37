"""Shows what happens as it happens. Nobody is asked, so only what the rules allow runs.

    GEMINI_API_KEY=… python events.py "What is in this folder?"
"""

import asyncio
import sys

import charla


async def main(prompt: str) -> int:
    async with charla.Agent().session() as session:
        for notice in session.notices:
            print(f"[{notice}]", file=sys.stderr)
        try:
            async for event in session.prompt(prompt):
                if event["type"] == "message":
                    print(event["content"], end="", flush=True)
                elif event["type"] == "retry":
                    print("\n[again]", file=sys.stderr)
                elif event["type"] == "tool_use":
                    print(f"[{event['tool_name']} {event['parameters']}]", file=sys.stderr)
                elif event["type"] == "tool_result":
                    print(f"[{event['status']}]", file=sys.stderr)
        except charla.Error as error:
            print(error, file=sys.stderr)
            return 1
    print()
    return 0


sys.exit(asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "What is in this folder?")))
