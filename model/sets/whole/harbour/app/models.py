"""Berths, boats and invoices."""

import dataclasses


@dataclasses.dataclass
class Boat:
    ident: int
    name: str
    length: float
    owner: str


@dataclasses.dataclass
class Berth:
    number: str
    pier: str
    boat: Boat | None = None

    def take(self, boat, until):
        self.boat, self.until = boat, until

    def leave(self):
        self.boat = None
