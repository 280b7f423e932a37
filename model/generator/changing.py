"""Requests that run commands and change files."""

import re

from generator import names as n
from generator import talk
from generator.changing_templates import APPEND, APPEND_LINES, COUNTED, EDIT, INTO, MOVES, PRINTING, PRINTS, RUN, WRITE, WRITE_LINES
from generator.prompt import RESULT, call
from generator.looking import words_file
from generator.results import full, missing, refused
from generator.wording import lower_first, noisy, quoted, spoken


def run_request(w):
    r = w.r
    explicit = r.random() < 0.45
    if explicit:
        command = talk.command(r, n)
        t = w.pick.of(RUN, c="{c}")
        often = 0.08 if t in ("{c}", "$ {c}") else 0.45
        if (
            t == "{c}"
            and len(command.split()) == 1
            and command not in ("make", "date", "whoami", "pwd", "uptime", "env")
        ):
            t = "run {c}"
        said = (
            quoted(r, command, often)
            if "'" not in command and '"' not in command and "`" not in command
            else command
        )
        user = t.replace("{c}", said)
        user = noisy(r, user, (command,)) if t not in ("{c}", "$ {c}") else user
        if user.endswith(command + ".") and r.random() < 0.5:
            user = user[:-1]
    else:
        x = r.random()
        if x < 0.3:
            # What the project is built with is told by the files that it has.
            kind = r.choice(list(talk.BUILDS))
            marks = [f for other in talk.BUILDS.values() for f in other["files"]]
            mark = r.choice(talk.BUILDS[kind]["files"])
            w.files = [f for f in w.files if f not in marks]
            w.show(mark)
            text, what = w.pick.of(talk.DO)
            command = talk.BUILDS[kind][what]
            user = noisy(r, text)
        else:
            f, g, d = w.some_file(), n.file(r), w.some_folder()
            text, command = w.pick.of(talk.IMPLIED, f=f, g=g, d=d, n=str(r.randint(2, 30)))
            number = re.search(r"\d+", text.replace(f, "").replace(d, "").replace(g, ""))
            command = (
                command.replace("{f}", f)
                .replace("{d}", d)
                .replace("{g}", g)
                .replace("{n}", number.group() if number else "10")
            )
            user = noisy(r, text, (f, g, d))
    turns = [("assistant", call("run_shell_command", command=command))]
    x = r.random()
    if x < 0.1:
        told, answer = refused(r, command)
        return user, turns + [("tool", told), ("assistant", answer)]
    if x < 0.22:
        out = r.choice(
            [
                f"bash: {command.split()[0]}: command not found",
                "error: " + n.phrase(r),
                f"make: *** No rule to make target '{n.word(r)}'.  Stop.",
                "fatal: not a git repository",
                f"{r.randint(1, 9)} failed, {r.randint(1, 90)} passed",
            ]
        )
        return user, turns + [
            ("tool", f"Output: {out}\nExit Code: {r.choice([1, 1, 2, 101, 127, 128])}"),
            ("assistant", f"The command failed:\n{RESULT}"),
        ]
    if x < 0.3:
        return user, turns + [
            ("tool", r.choice(["Output: (empty)", "Output:", "(no output)"])),
            ("assistant", "Done, without any output."),
        ]
    out = talk.output(r, n, command)
    return user, turns + [("tool", f"Output: {out}"), ("assistant", RESULT)]


def append_command(f, t):
    """`>>` never loses what a file has."""
    mark = '"' if "'" in t else "'"
    return f"echo {mark}{t}{mark} >> {f}"


def some_lines(r):
    """A few lines, and how they are said."""
    make = r.choice(
        [
            n.word,
            n.word,
            n.phrase,
            lambda r: r.choice(n.PEOPLE),
            lambda r: f"*.{r.choice(n.EXT)}",
            lambda r: r.choice([n.folder(r) + "/", f"*.{r.choice(n.EXT)}", n.base(r)]),
            lambda r: f"{n.word(r)}={n.value(r)}",
            lambda r: f"{n.word(r)}: {r.randint(1, 99)}",
            lambda r: str(r.randint(1, 999)),
            lambda r: f"{r.choice(n.WORDS)} {r.choice(n.WORDS)}",
            lambda r: f"- {n.phrase(r)}",
        ]
    )
    lines = list(dict.fromkeys(make(r) for _ in range(r.choice([2, 2, 2, 3, 3, 4]))))
    if len(lines) < 2 or any("," in line or " and " in line for line in lines):
        return some_lines(r)
    mark = r.choice(['"{}"', "'{}'", "`{}`"]) if r.random() < 0.25 else "{}"
    said = [mark.format(line) for line in lines]
    joint = r.choice([" and ", " and ", ", ", " and then ", ", then "])
    return lines, (", ".join(said[:-1]) + joint + said[-1])


def lines_request(w):
    """A file of several lines, or several lines for a file."""
    r = w.r
    lines, said = some_lines(r)
    slots = {"t": said, "n": COUNTED[len(lines)]}
    if r.random() < 0.2:
        f = w.some_file(0.5)
        quotes = " ".join(f"'{line}'" for line in lines)
        user = w.pick.of(APPEND_LINES, f=f, **slots)
        if any("'" in line for line in lines):
            return write_request(w)
        w.last = ("append", f, None)
        return user, [
            ("assistant", call("run_shell_command", command=f"printf '%s\\n' {quotes} >> {f}")),
            ("tool", "Output: (empty)"),
            ("assistant", f"I added it to {f}."),
        ]
    f = r.choice([".gitignore", ".dockerignore", "requirements.txt", ".env"]) if r.random() < 0.15 else n.file(r)
    w.files = [g for g in w.files if g != f]
    user = w.pick.of(WRITE_LINES, f=f, **slots)
    user = user[:1].upper() + user[1:] if r.random() < 0.4 and not user.startswith(f) else user
    turns = [("assistant", call("write_file", file_path=f, content="\n".join(lines)))]
    if r.random() < 0.1:
        told, answer = refused(r, f"Write {f}")
        return user, turns + [("tool", told), ("assistant", answer)]
    w.last = ("append", f, None)
    return user, turns + [("tool", f"Created {full(w.at, f)}."), ("assistant", f"I wrote {f}.")]


def append_request(w):
    r = w.r
    x = r.random()
    if x < 0.45:
        f, said = words_file(r)
        w.show(f)
    else:
        f, said = w.some_file(0.5), None
    x = r.random()
    t = (
        n.sentence(r)
        if x < 0.25
        else (
            n.phrase(r)
            if x < 0.45
            else (
                n.word(r)
                if x < 0.65
                else r.choice(
                    [
                        f"{n.word(r)} = {n.value(r)}",
                        f"{n.word(r)}: {n.value(r)}",
                        f"- {n.phrase(r)}",
                        f"* {n.word(r)}",
                        f"{n.word(r)} and {n.word(r)}",
                        "done",
                        f"{r.randint(1, 99)}",
                        f"call {r.choice(n.PEOPLE)}",
                        f"{n.word(r)},{r.randint(1, 99)}",
                        f"{r.choice(n.PEOPLE)}'s {n.word(r)}",
                    ]
                )
            )
        )
    )
    shown = quoted(r, t, 0.35) if "'" not in t else t
    t = t[:-1] if shown == t and t.endswith(".") else t
    shown = t if shown == t + "." else shown
    fit = [
        x
        for x in APPEND + (INTO if f in w.files else [])
        if ("{s}" in x) == bool(said) or said and r.random() < 0.5
    ]
    user = w.pick.of(fit, f=spoken(r, f), s=said or "", t=shown)
    user = noisy(r, user, (f, t)) if not user.endswith(shown) and r.random() < 0.6 else user
    command = append_command(f, t)
    turns = [("assistant", call("run_shell_command", command=command))]
    x = r.random()
    if x < 0.12:
        told, answer = refused(r, command)
        return user, turns + [("tool", told), ("assistant", answer)]
    if x < 0.17:
        return user, turns + [
            (
                "tool",
                f"Output: bash: {f}: {r.choice(['Permission denied', 'No such file or directory', 'Is a directory'])}\nExit Code: 1",
            ),
            ("assistant", f"The command failed:\n{RESULT}"),
        ]
    w.last = ("append", f, None)
    return user, turns + [
        ("tool", r.choice(["Output: (empty)", "Output: (empty)", "(no output)"])),
        ("assistant", f"I added it to {f}."),
    ]


def script_request(w):
    """A script that prints one line: as much of a program as is safe to write."""
    r = w.r
    ext = r.choice(list(PRINTING))
    f, t = n.file(r, ext), r.choice(
        [n.word(r), n.phrase(r), "hello", "Hello, world!", "hello world", f"{n.word(r)} {r.randint(1, 99)}"]
    )
    user = w.pick.of(PRINTS, f=f, t=quoted(r, t, 0.5))
    content = PRINTING[ext].replace("{q}", '"').replace("{t}", t)
    turns = [("assistant", call("write_file", file_path=f, content=content))]
    if r.random() < 0.1:
        told, answer = refused(r, f"Write {f}")
        return user, turns + [("tool", told), ("assistant", answer)]
    return user, turns + [("tool", f"Created {full(w.at, f)}."), ("assistant", f"I wrote {f}.")]


def write_request(w):
    r = w.r
    x = r.random()
    if x < 0.2:
        return script_request(w)
    if x < 0.5:
        return lines_request(w)
    f = n.file(r)
    w.files = [g for g in w.files if g != f]
    x = r.random()
    t = (
        n.sentence(r)
        if x < 0.3
        else (
            n.phrase(r)
            if x < 0.7
            else r.choice(
                [
                    "hello",
                    "hello world",
                    "Hello, world!",
                    "hi",
                    "ok",
                    "test",
                    "1",
                    "42",
                    "done",
                    "yes",
                    f"{n.word(r)} = {n.value(r)}",
                    f"print('{n.word(r)}')",
                    f"# {n.word(r).capitalize()}",
                    f"{n.word(r)}: {n.value(r)}",
                    n.value(r),
                    "good morning",
                    "see you later",
                ]
            )
        )
    )
    said = quoted(r, t, 0.4)
    if said == t and t.endswith("."):
        t = said = t[:-1]
    user = w.pick.of(WRITE, f=f, t=said)
    user = (
        noisy(r, user, (f, t))
        if not user.endswith(t)
        else (
            lower_first(user)
            if r.random() < 0.4
            else user[:1].upper() + user[1:] if not user.startswith(f) else user
        )
    )
    turns = [("assistant", call("write_file", file_path=f, content=t))]
    if r.random() < 0.13:
        told, answer = refused(r, f"Write {f}")
        return user, turns + [("tool", told), ("assistant", answer)]
    w.last = ("append", f, None)
    return user, turns + [
        ("tool", r.choice([f"Created {full(w.at, f)}.", f"Overwrote {full(w.at, f)}.", f"Created {f}."])),
        ("assistant", f"I wrote {f}."),
    ]


def edit_request(w):
    r = w.r
    f = w.some_file(0.2)
    x = r.random()
    key = n.word(r)
    if x < 0.35:
        o, new = f"{key} = {n.value(r)}", f"{key} = {n.value(r)}"
    elif x < 0.5:
        o, new = n.identifier(r), n.identifier(r)
    elif x < 0.65:
        o, new = n.word(r), n.word(r)
    elif x < 0.75:
        o, new = n.value(r), n.value(r)
    elif x < 0.85:
        o, new = f"{key}: {n.value(r)}", f"{key}: {n.value(r)}"
    else:
        o, new = n.phrase(r), n.phrase(r)
    # Words that are not marked may be a key: then the file is read first, see `facts_requests`.
    bare = o.startswith((key + " =", key + ":")) and r.random() < 0.4
    mark = "{}" if bare else r.choice(['"{}"', "'{}'", "`{}`"])
    user = w.pick.of(EDIT, f=spoken(r, f, 0.08), o=mark.format(o), x=mark.format(new))
    user = user if r.random() < 0.5 else noisy(r, user, (f, o, new))
    turns = [("assistant", call("replace", file_path=f, old_string=o, new_string=new))]
    x = r.random()
    if x < 0.12:
        told, answer = refused(r, f"Edit {f}")
        return user, turns + [("tool", told), ("assistant", answer)]
    if x < 0.25:
        return user, turns + [
            ("tool", f"{full(w.at, f)}: old_string was not found."),
            ("assistant", f"I did not find {o} in {f}."),
        ]
    if x < 0.32:
        return user, turns + [("tool", missing(r, w.at, f)), ("assistant", f"There is no file {f}.")]
    return user, turns + [("tool", f"Changed 1 place in {full(w.at, f)}."), ("assistant", f"I changed {f}.")]


def move_request(w):
    r = w.r
    f, g, d = w.some_file(), n.base(r), n.folder(r)
    templates, command, done = r.choice(MOVES)
    if r.random() < 0.3:
        templates, command, done = MOVES[r.choice([0, 2, 5])]
    user = noisy(r, w.pick.of(templates, f=quoted(r, f, 0.08), g=g, d=d), (f, g, d))
    put = lambda t: t.replace("{f}", f).replace("{g}", g).replace("{d}", d)
    turns = [("assistant", call("run_shell_command", command=put(command)))]
    x = r.random()
    if x < 0.14:
        told, answer = refused(r, put(command))
        return user, turns + [("tool", told), ("assistant", answer)]
    if x < 0.24 and "mkdir" not in command and "touch" not in command:
        return user, turns + [
            (
                "tool",
                f"Output: {command.split()[0]}: cannot access '{f}': No such file or directory\nExit Code: 1",
            ),
            ("assistant", f"The command failed:\n{RESULT}"),
        ]
    return user, turns + [
        ("tool", r.choice(["Output: (empty)", "Output:", "(no output)"])),
        ("assistant", put(done)),
    ]
