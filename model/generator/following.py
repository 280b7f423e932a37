"""Requests of several steps, and requests that lean on the one before."""

from generator import names as n
from generator.changing import append_command
from generator.contents import human, some_content
from generator.facts_requests import facts_follow, in_it_request, log_follow
from generator.looking import after_read
from generator.prompt import RESULT, call
from generator.results import entries, found_files, full, listing, matches
from generator.wording import noisy, quoted

STEPS_GREP = [
    "find the file [that contains|with|that mentions|which has] {p} and [show|open|read|print] it",
    "[open|read|show me] the file [that contains|that mentions|which defines|with] {p}",
    "search for {p} and [open|read|show me] the file",
    "where is {p}? [open|show me] that file",
    "look for {p} and read the file it is in",
]
STEPS_GLOB = [
    "find {f} and [show|open|read|print] it",
    "[find|locate] the file {f} and [tell me what it says|read it|show me what is in it|open it]",
    "there is a {f} somewhere, [show it to me|read it|open it]",
    "look for {f} and read it",
    "where is {f}, and what does it say?",
]
STEPS_LIST = [
    "[list|look at] the files in {d} and [read|open|show me] the first one",
    "[read|open|show me] the first file in {d}",
    "[open|read|show me] the only file in {d}",
    "list {d} and [read|open] the first file",
]


def steps_request(w):
    r, x = w.r, w.r.random()
    if x < 0.35:
        p, f = n.identifier(r), n.file(r, r.choice(n.TEXT_EXT))
        user = noisy(r, w.pick.of(STEPS_GREP, p=quoted(r, p, 0.15)), (p,))
        first, result = call("grep_search", pattern=p), matches(r, w.at, p, [f])
        none = (
            f"No matches for '{p}' in {w.at} ({r.randint(2, 90)} files searched).",
            f"I found no match for {p}.",
        )
    elif x < 0.7:
        b = n.base(r)
        f = f"{n.folder(r)}/{b}"
        user = noisy(r, w.pick.of(STEPS_GLOB, f=quoted(r, b, 0.1)), (b,))
        first, result = call("glob", pattern=f"**/{b}"), found_files(r, w.at, f"**/{b}", [f])
        none = (found_files(r, w.at, f"**/{b}", []), "I found none.")
        f = full(w.at, f)
    else:
        d = w.some_folder()
        found = sorted({n.base(r, r.choice(n.TEXT_EXT)) for _ in range(r.randint(1, 4))})
        user = noisy(r, w.pick.of(STEPS_LIST, d=d), (d,))
        first, result = call("list_directory", dir_path=d), listing(
            r, full(w.at, d), [(x, False) for x in found]
        )
        none = (f"There is no folder {full(w.at, d)}.", f"There is no folder {d}.")
        f = f"{d}/{found[0]}"
    turns = [("assistant", first)]
    if r.random() < 0.12:
        return user, turns + [("tool", none[0]), ("assistant", none[1])]
    return user, turns + [
        ("tool", result),
        ("assistant", call("read_file", file_path=f)),
        ("tool", some_content(r, f)),
        ("assistant", RESULT),
    ]


BOTH = [
    "[show|read|open|print|cat|show me] {f} and {g}",
    "[show|read|open] both {f} and {g}",
    "what is in {f} and [in |]{g}?",
    "[show me|print] the files {f} and {g}",
    "{f} and {g}, please",
    "cat {f} {g}",
]
THEN = [
    "{a} and then {b}",
    "{a}, then {b}",
    "first {a}, then {b}",
    "{a} and {b}",
    "{a}; after that {b}",
    "{a} and afterwards {b}",
]


def both_request(w):
    """Two files at once: one command shows both."""
    r, f, g = w.r, w.some_file(), n.file(w.r)
    user = noisy(r, w.pick.of(BOTH, f=f, g=g), (f, g))
    result = f"Output: {some_content(r, f)}\n{some_content(r, g)}"
    return user, [
        ("assistant", call("run_shell_command", command=f"cat {f} {g}")),
        ("tool", result),
        ("assistant", RESULT),
    ]


def then_request(w):
    """A change, then a look at what came of it."""
    r = w.r
    f, g, d = n.file(r), n.base(r), n.folder(r)
    change, command = r.choice(
        [
            (f"[delete|remove] {f}", f"rm {f}"),
            (f"rename {f} to {g}", f"mv {f} {g}"),
            (f"[make|create] [a|the] [folder|directory] {d}", f"mkdir -p {d}"),
            (f"copy {f} to {g}", f"cp {f} {g}"),
            (f"add {g} to {f}", append_command(f, g)),
        ]
    )
    if r.random() < 0.5:
        where = r.choice([".", d])
        look = (
            "[list|show] [the files|the files here|this folder|what is left]"
            if where == "."
            else f"[list|show] [the files in |]{d}"
        )
        second, result = call("list_directory", dir_path=where), listing(r, full(w.at, where), entries(r))
    else:
        h = n.file(r)
        look, second, result = (
            f"[show|read|open|print] [me |]{h}",
            call("read_file", file_path=h),
            some_content(r, h),
        )
    user = noisy(r, w.pick.of(THEN, a=w.pick.fill(change, {}), b=w.pick.fill(look, {})), (f, g, d))
    turns = [("assistant", call("run_shell_command", command=command)), ("tool", "Output: (empty)")]
    return user, turns + [("assistant", second), ("tool", result), ("assistant", RESULT)]


FOLLOW = {
    "asked-whole": [
        "show me the [whole |]file",
        "[show|read|open] [it|that file|the whole file]",
        "print all of it",
        "what else is in it?",
        "what else does it say?",
    ],
    "named": [
        "[open|read|show me|now open|now read] the {s}",
        "and the {s}?",
        "what does the {s} say?",
        "what is in the {s}?",
        "the {s}, please",
    ],
    "append": [
        "[now |]add {t} to it",
        "append {t} to it",
        "[now |]put {t} at the end[ of it|]",
        "and add {t}",
        "add {t} too",
        "write {t} below it",
        "also add {t}",
        "add the line {t}",
    ],
    "shown": ["[now |]show it[ to me|]", "show me the file", "what does it say now?", "print it", "[let me|can I] see it", "read it back to me", "what is in it now?"],
    "counted": ["how many lines does it have[ now|]?", "how many lines are in it?", "count its lines", "how long is it now?"],
    "renamed": ["[now |]rename it to {g}", "call it {g} instead", "it should be named {g}", "move it to {g}"],
    "second": ["[open|read|show me] the second [file|one]", "and the second one?", "the second one, please"],
    "other": [
        "and the other one?",
        "[show me|open|read] the other one",
        "the other file, please",
        "now the other one",
    ],
    "thanks": ["thanks", "thank you", "great", "ok", "perfect", "nice, thanks"],
    "list": [
        "[now |]read {f}",
        "[now |]show me {f}",
        "open {f}",
        "and what is in {f}?",
        "what does {f} say?",
        "{f}",
    ],
    "list-first": ["[open|read|show me] the first [file|one]", "what is in the first file?"],
    "list-last": ["[open|read|show me] the last [file|one]", "what is in the last file?"],
    "list-dir": [
        "and [in |]{d}?",
        "what about {d}?",
        "and what is in {d}?",
        "now {d}",
        "list {d} too",
        "the same for {d}",
    ],
    "read": [
        "and {f}?",
        "what about {f}?",
        "now {f}",
        "the same for {f}",
        "{f} too",
        "and what does {f} say?",
    ],
    "again": ["show it again", "read it again", "once more", "print it again"],
    "grep": [
        "[open|read|show me] that file",
        "[open|show me] it",
        "show me the file",
        "what is in that file?",
    ],
    "grep-other": ["and {p}?", "what about {p}?", "now search for {p}", "the same for {p}", "now {p}"],
    "glob": ["[open|read|show me] it", "what does it say?", "[open|read|show me] that file"],
    "delete": ["delete it", "[now |]remove it", "delete that file", "get rid of it"],
}


def asked_follow(w, f, content):
    """The whole of a file that was asked about: it is read again, for old results may be gone."""
    r = w.r
    again = [("assistant", call("read_file", file_path=f)), ("tool", content)]
    if r.random() < 0.5:
        return noisy(r, w.pick.of(FOLLOW["asked-whole"])), again + [("assistant", RESULT)]
    return None


def written_follow(w, f):
    """After a change: a look at the file, its lines counted, another name, or no file any more."""
    r, g = w.r, n.base(w.r)
    words, first, then = r.choice(
        [
            ("shown", call("read_file", file_path=f), [("tool", some_content(r, f)), ("assistant", RESULT)]),
            ("counted", *ran(f"wc -l {f}", f"{r.randint(1, 90)} {f}", RESULT)),
            ("renamed", *ran(f"mv {f} {g}", "(empty)", f"I renamed {f} to {g}.")),
            ("delete", *ran(f"rm {f}", "(empty)", f"I deleted {f}.")),
        ]
    )
    return noisy(r, w.pick.of(FOLLOW[words], g=g), (g,)), [("assistant", first), *then]


def ran(command, output, answer):
    """A command, and what follows it."""
    return call("run_shell_command", command=command), [("tool", f"Output: {output}"), ("assistant", answer)]


def follow_request(w):
    """A second request that leans on the first; None where there is nothing to lean on."""
    r = w.r
    if not w.last:
        return None
    kind, what, files = w.last
    of = w.pick.of
    read = lambda f, user: (
        noisy(r, user, (f,)),
        [("assistant", call("read_file", file_path=f))] + after_read(w, f),
    )
    join = lambda d, f: f if d == "." else f"{d.rstrip('/')}/{f}"
    x = r.random()
    if kind == "facts":
        return facts_follow(w, what, files)
    if kind == "log":
        return log_follow(w, what)
    if kind == "asked":
        return asked_follow(w, what, files)
    if kind in ("grep", "glob") and len(files) == 1 and x < 0.45:
        return in_it_request(w, full(w.at, files[0]) if kind == "glob" else files[0])
    if kind == "append" and x > 0.6:
        return written_follow(w, what)
    if kind in ("read", "append") and x < 0.22 or kind == "append":
        t = r.choice([n.word(r), n.phrase(r), n.sentence(r).rstrip(".")])
        user = of(FOLLOW["append"], t=quoted(r, t, 0.3))
        return user, [
            ("assistant", call("run_shell_command", command=append_command(what, t))),
            ("tool", "Output: (empty)"),
            ("assistant", f"I added it to {what}."),
        ]
    if x > 0.94:
        return noisy(r, of(FOLLOW["thanks"])), [("assistant", "You are welcome!")]
    if kind in ("grep", "glob") and len(files) == 2 and r.random() < 0.6:
        f = full(w.at, files[1]) if kind == "glob" else files[1]
        return read(f, of(FOLLOW["second"]))
    if kind == "list" and r.random() < 0.3:
        plain = [name for name, is_dir in files if not is_dir and name[:1].isalpha()]
        stems = [name.rsplit(".", 1)[0].lower() for name in plain]
        fit = [name for name, stem in zip(plain, stems) if stems.count(stem) == 1]
        if fit:
            f = r.choice(fit)
            return read(join(what, f), of(FOLLOW["named"], s=human(f.rsplit(".", 1)[0])))
    if kind == "list":
        plain = [name for name, is_dir in files if not is_dir]
        x = r.random()
        if plain and x < 0.45:
            f = r.choice(plain)
            return read(join(what, f), of(FOLLOW["list"], f=f))
        if plain and x < 0.6:
            return (
                read(join(what, plain[0]), of(FOLLOW["list-first"]))
                if r.random() < 0.6
                else read(join(what, plain[-1]), of(FOLLOW["list-last"]))
            )
        d = n.folder(r)
        user = noisy(r, of(FOLLOW["list-dir"], d=d), (d,))
        return user, [
            ("assistant", call("list_directory", dir_path=d)),
            ("tool", listing(r, full(w.at, d), entries(r))),
            ("assistant", RESULT),
        ]
    if kind == "read":
        x = r.random()
        if x < 0.6:
            f = w.some_file()
            return read(f, of(FOLLOW["read"], f=f))
        if x < 0.75:
            return read(what, of(FOLLOW["again"]))
        return noisy(r, of(FOLLOW["delete"])), [
            ("assistant", call("run_shell_command", command=f"rm {what}")),
            ("tool", "Output: (empty)"),
            ("assistant", f"I deleted {what}."),
        ]
    if kind == "grep":
        if len(files) == 1 and r.random() < 0.6:
            return read(files[0], of(FOLLOW["grep"]))
        p = n.identifier(r)
        return noisy(r, of(FOLLOW["grep-other"], p=p), (p,)), [
            ("assistant", call("grep_search", pattern=p)),
            ("tool", matches(r, w.at, p)),
            ("assistant", RESULT),
        ]
    if kind == "glob" and len(files) == 1:
        return read(full(w.at, files[0]), of(FOLLOW["glob"]))
    return None
