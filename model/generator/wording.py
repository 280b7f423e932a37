"""Templates and how people type them.

A template has alternatives in brackets, `[show|open] [me |]{f}`; the template is its family. Every twelfth family is left
out of training and asked in validation only.
"""

import hashlib
import random
import re

from generator import talk


def held_out(family):
    return hashlib.sha256(family.encode()).digest()[0] % 12 == 0


def expand(r, template):
    while True:
        found = re.search(r"\[([^\[\]]*)\]", template)
        if not found:
            return template
        template = template[: found.start()] + r.choice(found.group(1).split("|")) + template[found.end() :]


class Pick:
    """Chooses templates of the training families, or of the ones held out."""

    def __init__(self, seed, valid):
        self.r = random.Random(seed)
        self.valid = valid
        self.used_held = False

    def of(self, templates, **slots):
        fit = [t for t in templates if held_out(t if isinstance(t, str) else t[0]) == self.valid]
        if not fit:
            fit = [t for t in templates if not held_out(t if isinstance(t, str) else t[0])]
        elif self.valid:
            self.used_held = True
        got = self.r.choice(fit or list(templates))
        if isinstance(got, tuple):
            return (self.fill(got[0], slots),) + got[1:]
        return self.fill(got, slots)

    def some(self, titles):
        """Of named subjects those of training; in validation often the ones that training has not."""
        held = [t for t in titles if held_out(t)]
        if self.valid and held and self.r.random() < 0.5:
            self.used_held = True
            return held
        return [t for t in titles if t not in held] or titles

    def fill(self, template, slots):
        text = expand(self.r, template)
        for key, value in slots.items():
            text = text.replace("{" + key + "}", value)
        return text


def noisy(r, text, keep=()):
    """The same request as people type it."""
    x = r.random()
    if x < 0.10:
        text = r.choice(
            [
                "please ",
                "Please ",
                "hey, ",
                "Hi, ",
                "ok ",
                "now ",
                "pls ",
                "Hello! ",
                "quick: ",
                "So, ",
                "I need you to ",
                "go ahead and ",
            ]
        ) + lower_first(text)
    elif x < 0.16:
        text = text.rstrip("?.") + r.choice(
            [
                " please",
                ", please",
                " for me",
                " now",
                " thanks",
                ", thank you",
                " pls",
                ", ok?",
                " real quick",
            ]
        )
    if r.random() < 0.05:
        text = (
            r.choice(talk.BEFORE) + " " + text[:1].upper() + text[1:]
            if r.random() < 0.7
            else text.rstrip(".") + ("" if text.endswith("?") else ".") + " " + r.choice(talk.AFTER)
        )
    x = r.random()
    if x < 0.28:
        text = lower_first(text)
    elif x < 0.34:
        text = keep_case(text, keep, str.lower)
    elif x < 0.355:
        text = keep_case(text, keep, str.upper)
    elif x < 0.8:
        text = text[:1].upper() + text[1:] if not any(text.startswith(k) for k in keep) else text
    x = r.random()
    if x < 0.45:
        text = text.rstrip(".")
    elif x < 0.6 and text[-1:] not in ".?!`'\"" and not any(text.endswith(k) for k in keep):
        text += "."
    if r.random() < 0.12:
        text = text.rstrip("?")
    if r.random() < 0.07:
        text = typo(r, text, keep)
    return text


def lower_first(text):
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def keep_case(text, keep, change):
    parts = (
        re.split("(" + "|".join(re.escape(k) for k in sorted(keep, key=len, reverse=True) if k) + ")", text)
        if any(keep)
        else [text]
    )
    return "".join(part if part in keep else change(part) for part in parts)


def typo(r, text, keep):
    words = text.split(" ")
    fit = [i for i, w in enumerate(words) if len(w) > 3 and w.isalpha() and not any(w in k for k in keep)]
    if fit:
        i = r.choice(fit)
        w = words[i]
        at = r.randint(1, len(w) - 2)
        words[i] = r.choice(
            [w[:at] + w[at + 1] + w[at] + w[at + 2 :], w[:at] + w[at + 1 :], w[:at] + w[at] + w[at:]]
        )
    return " ".join(words)


def quoted(r, text, often=0.2):
    return r.choice(['"{}"', "'{}'", "`{}`"]).format(text) if r.random() < often else text


def spoken(r, path, often=0.16):
    """A path as it is said: `src/a.py` as "a.py in src"."""
    if "/" not in path or path.startswith(("/", ".")) or r.random() >= often:
        return path
    folder, _, name = path.rpartition("/")
    return (
        expand(
            r,
            (
                "[the |]{f} [in|from|under|inside|of] [the |]{d}[ folder| directory| dir|]"
                if r.random() < 0.6
                else "{f} in {d}"
            ),
        )
        .replace("{f}", name)
        .replace("{d}", folder)
    )
