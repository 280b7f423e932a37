"""Whole conversations for the adapter. Deterministic: `conversation(seed)`.

A conversation is a list of (role, text); roles: system, user, tool, assistant. All of the assistant's words are learnt.
`<result/>` in an answer stands for what the tool returned: the program puts it there, the model need not copy it.
"""

import hashlib
import re

from generator.asking import open_request, project_request, question_request
from generator.changing import append_request, edit_request, move_request, run_request, write_request
from generator.following import both_request, follow_request, steps_request, then_request
from generator.looking import glob_request, grep_request, list_request, read_request
from generator.prompt import system
from generator.results import World
from generator.talking import (
    beyond_request,
    chat_request,
    fact_request,
    foreign_request,
    say_request,
    unknown_request,
)
from generator.wording import Pick

REQUESTS = [
    (list_request, 8),
    (read_request, 11),
    (grep_request, 10),
    (glob_request, 7),
    (run_request, 12),
    (write_request, 4),
    (append_request, 5),
    (edit_request, 5),
    (move_request, 6),
    (question_request, 34),
    (project_request, 4),
    (open_request, 1),
    (steps_request, 3),
    (both_request, 1),
    (then_request, 2),
    (chat_request, 6),
    (say_request, 7),
    (fact_request, 9),
    (unknown_request, 5),
    (beyond_request, 8),
    (foreign_request, 4),
]


def conversation(seed, valid=False, taken=frozenset()):
    """(kind, turns), or None where it may not be used (its request is in an evaluation, or no held-out family came)."""
    pick = Pick(("v" if valid else "t") + str(seed), valid)
    r = pick.r
    w = World(pick)
    made, kinds = [], []
    count = r.choices([1, 2, 3], [70, 24, 6])[0]
    for at in range(count):
        got = follow_request(w) if at and r.random() < 0.65 else None
        kind = "follow"
        if not got:
            request = r.choices([f for f, _ in REQUESTS], [k for _, k in REQUESTS])[0]
            kind, got = request.__name__.removesuffix("_request"), request(w)
        user, turns = got
        if plain(user) in taken:
            return None
        kinds.append(kind)
        made += [("user", user)] + turns
    if valid and not pick.used_held:
        return None
    return "+".join(kinds), [("system", system(w.at, w.files))] + made


def plain(text):
    return hashlib.sha256(re.sub(r"\W+", " ", text.lower()).strip().encode()).hexdigest()[:16]
