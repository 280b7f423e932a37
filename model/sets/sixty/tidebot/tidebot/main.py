"""The entry point of the bot."""

import argparse
import asyncio
import json
import logging

from .fetch import fetch_tides
from .units import knots_to_kmh

log = logging.getLogger("tidebot")


async def loop(settings):
    while True:
        tides = await fetch_tides(settings["station"]["id"])
        for tide in tides:
            log.info("%s %s %.2f m", tide.time, tide.kind, tide.height)
        wind = tides.wind_knots
        if wind >= settings["warnings"]["wind_knots"]:
            log.warning("wind %d km/h", knots_to_kmh(wind))
        await asyncio.sleep(settings["poll"]["interval_seconds"])


def run():
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", default="settings.json")
    options = parser.parse_args()
    with open(options.settings) as file:
        settings = json.load(file)
    asyncio.run(loop(settings))
