"""Playlists and what is played when."""
from dataclasses import dataclass


@dataclass
class Track:
    title: str
    artist: str
    seconds: int


class Schedule:
    def __init__(self, entries):
        self.entries = entries

    async def tracks(self):
        for entry in self.entries:
            yield entry


def load_schedule(name):
    with open(f"playlists/{name}.csv") as file:
        return Schedule([Track(*line.strip().split(";")) for line in file])
