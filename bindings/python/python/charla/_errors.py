"""What went wrong, why, and what to do."""

from __future__ import annotations

import json
from typing import Optional


class Error(Exception):
    """Something that was asked for and cannot be done."""

    kind: str
    """A stable word: `input`, `config`, `auth`, `untrusted`, `conflict`, `limit`, `system`, `cancelled`, or what a model's
    server did: `rate_limit`, `network`, `context_overflow`, …"""
    message: str
    """What happened, and why."""
    hint: Optional[str]
    """What to do about it."""

    def __init__(self, kind: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(kind, message, hint)
        self.kind = kind
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


def from_json(text: str) -> Error:
    """The error that the native half tells of."""
    told = json.loads(text)
    return Error(told["kind"], told["message"], told.get("hint"))
