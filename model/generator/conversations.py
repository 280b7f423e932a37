"""Whole conversations for the adapter. Deterministic: `conversation(seed)`.

A conversation is a list of (role, text); roles: system, user, tool, assistant; `earlier` is the assistant in what is not
learnt. All of the assistant's other words are.
`<result/>` in an answer stands for what the tool returned: the program puts it there, the model need not copy it.
"""

import hashlib
import re

from generator.asking import open_request, project_request, question_request
from generator.changing import append_request, edit_request, move_request, run_request, write_request
from generator.facts_requests import (
    anywhere_request,
    log_request,
    lookup_request,
    set_request,
    topic_request,
    words_request,
)
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
    (write_request, 7),
    (append_request, 5),
    (edit_request, 4),
    (set_request, 12),
    (words_request, 4),
    (move_request, 6),
    (lookup_request, 50),
    (anywhere_request, 5),
    (log_request, 4),
    (topic_request, 4),
    (question_request, 18),
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


# Characters of an earlier result that the program tells.
EARLIER = 800


def conversation(seed, valid=False, taken=frozenset()):
    """(kind, turns), or None where it may not be used (its request is in an evaluation, or no held-out family came)."""
    pick = Pick(("v" if valid else "t") + str(seed), valid)
    r = pick.r
    w = World(pick)
    made, kinds = [], []
    count = r.choices([1, 2, 3], [64, 29, 7])[0]
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
        if (
            max((len(said) for role, said in made if role == "tool"), default=0) > EARLIER
            and r.random() < 0.6
        ):
            made = [told_later(turn) for turn in made]
        made += [("user", user)] + turns
    if valid and not pick.used_held:
        return None
    return "+".join(kinds), [("system", system(w.at, w.files))] + made


def told_later(turn):
    """What is left of a turn when the next request comes: results are cut, and nothing of it is learnt."""
    role, said = turn
    return (
        ("earlier", said)
        if role == "assistant"
        else (role, said[:EARLIER].rstrip("\n") if role == "tool" else said)
    )


def plain(text):
    return hashlib.sha256(re.sub(r"\W+", " ", text.lower()).strip().encode()).hexdigest()[:16]
