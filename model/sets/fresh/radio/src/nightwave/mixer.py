"""Mixes tracks, jingles and live input."""
import asyncio

CROSSFADE_SECONDS = 3.5


class Mixer:
    def __init__(self, stream, max_silence):
        self.stream = stream
        self.max_silence = max_silence
        self.gain = 1.0

    async def play(self, track):
        await asyncio.sleep(track.seconds - CROSSFADE_SECONDS)

    def duck(self, amount):
        # TODO: fade instead of jumping
        self.gain = max(0.0, self.gain - amount)

    def is_silent(self, samples):
        return max(abs(s) for s in samples) < 0.002
