"""Fetches tide tables from the harbour office."""

import asyncio

import aiohttp

BASE_URL = "https://tides.harbour.example/api/v2"
USER_AGENT = "tidebot (maren@tidebot.example)"
MAX_ATTEMPTS = 7
MAX_REDIRECTS = 2
FIRST_DELAY = 1.5
TIMEOUT = aiohttp.ClientTimeout(total=25)


class StationUnknown(Exception):
    """The harbour office has no such station."""


async def get_json(session, path):
    delay = FIRST_DELAY
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            async with session.get(BASE_URL + path, max_redirects=MAX_REDIRECTS) as response:
                if response.status == 404:
                    raise StationUnknown(path)
                response.raise_for_status()
                return await response.json()
        except aiohttp.ClientConnectionError:
            if attempt == MAX_ATTEMPTS:
                raise
            await asyncio.sleep(delay)
            delay *= 2


async def fetch_tides(station):
    headers = {"User-Agent": USER_AGENT}
    async with aiohttp.ClientSession(timeout=TIMEOUT, headers=headers) as session:
        return await get_json(session, f"/stations/{station}/tides")
