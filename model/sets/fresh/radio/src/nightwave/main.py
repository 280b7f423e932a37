"""Entry point of the station."""
import argparse
import asyncio
import json
import logging

from nightwave.mixer import Mixer
from nightwave.schedule import Schedule, load_schedule

MAX_SILENCE_SECONDS = 12
DEFAULT_CONFIG = "station.json"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="nightwave")
    parser.add_argument("command", choices=["serve", "check"])
    parser.add_argument("--config", default=DEFAULT_CONFIG)
    return parser.parse_args()


def read_config(path):
    with open(path) as file:
        return json.load(file)


async def serve(config):
    schedule = load_schedule(config["fallback"]["playlist"])
    mixer = Mixer(config["stream"], MAX_SILENCE_SECONDS)
    # TODO: reconnect when the server drops us
    async for track in schedule.tracks():
        logging.info("playing %s", track.title)
        await mixer.play(track)


def run():
    arguments = parse_arguments()
    config = read_config(arguments.config)
    logging.basicConfig(level=logging.INFO)
    if arguments.command == "serve":
        asyncio.run(serve(config))
