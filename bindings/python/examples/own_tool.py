"""An agent with a tool of its own, which decides about every call.

    GEMINI_API_KEY=… python own_tool.py "How many lamps are in stock?"
"""

import asyncio
import sys

import charla


def count_stock(item: str) -> int:
    """Counts an item in stock.

    Args:
        item: The item's name, in the plural.
    """
    if item != "lamps":
        raise ValueError("there is no such item")
    return 17


async def approve(question: charla.Question) -> charla.Decision:
    if question.tool == "count_stock":
        return True
    return charla.Answer.deny(f"{question.tool} is not allowed here")


async def main(prompt: str) -> None:
    async with charla.Agent(tools=[count_stock], approve=approve).session() as session:
        print(await session.ask(prompt))


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "How many lamps are in stock?"))
