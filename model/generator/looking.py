"""Requests that look: list, read, search, find."""

from generator import names as n
from generator import talk
from generator.contents import human, some_content, table
from generator.looking_templates import (
    GLOB_EXT,
    GLOB_LIKE,
    GLOB_NAME,
    GREP,
    KINDS_OF,
    KNOWN,
    LIST_DIR,
    LIST_HERE,
    MARKS,
    READ,
    READ_BLANK,
    READ_KNOWN,
    READ_WORDS,
    REVERSE,
)
from generator.prompt import RESULT, call
from generator.results import broken, entries, found_files, full, listing, matches, missing, refused
from generator.wording import noisy, quoted, spoken


def list_request(w):
    r, here = w.r, w.r.random() < 0.35
    d = "." if here else w.some_folder()
    shown = d
    if not here and r.random() < 0.08:
        shown = d + "/"
    said = quoted(r, shown, 0.08)
    user = noisy(r, w.pick.of(LIST_HERE if here else LIST_DIR, d=said), (said, d))
    turns = [("assistant", call("list_directory", dir_path=d))]
    x = r.random()
    if not here and x < 0.1:
        turns += [
            ("tool", r.choice(["", "Error: "]) + f"There is no folder {full(w.at, d)}."),
            ("assistant", f"There is no folder {d}."),
        ]
    elif x < 0.13:
        turns += [
            ("tool", f"The folder {full(w.at, d)} is empty."),
            ("assistant", "It is empty." if not here else "This folder is empty."),
        ]
    else:
        found = entries(r)
        turns += [("tool", listing(r, full(w.at, d), found)), ("assistant", RESULT)]
        w.last = ("list", d, found)
    return user, turns


def after_read(w, f, content=None):
    r, x = w.r, w.r.random()
    if x < 0.1:
        return [("tool", missing(r, w.at, f)), ("assistant", f"There is no file {f}.")]
    if x < 0.13:
        told, answer = refused(r, f"Read {f}")
        return [("tool", told), ("assistant", answer)]
    if x < 0.16:
        return [("tool", broken(r, w.at, f)), ("assistant", f"That did not work:\n{RESULT}")]
    w.last = ("read", f, None)
    return [("tool", content or some_content(r, f)), ("assistant", RESULT)]


NOTES = "notes minutes diary journal agenda schedule plan todo ideas recipes guests members addresses contacts prices invoice inventory report draft letter speech glossary summary results budget calendar menu settings options config rules manual guide tutorial faq outline log changes orders stock wishlist packing".split()


def words_file(r):
    """(a file, its name as it is said)."""
    words = (
        [r.choice(NOTES)]
        if r.random() < 0.45
        else (
            [r.choice(n.WORDS + n.CODE), r.choice(NOTES + ["list", "list", "table", "file"])]
            if r.random() < 0.7
            else [r.choice(n.WORDS), r.choice(n.WORDS)]
        )
    )
    joint = r.choice(["-", "_", ""]) if len(words) > 1 else ""
    stem = joint.join(words)
    stem = r.choice([stem, stem, stem.capitalize(), stem.upper() if len(stem) < 9 else stem])
    said = " ".join(words) + (
        r.choice([" list", " file", " notes", " document"]) if r.random() < 0.15 else ""
    )
    return f"{stem}.{r.choice(['txt', 'md', 'md', 'csv', 'txt', 'yaml', 'json', 'toml', 'rst', 'log'])}", said


def read_in_words(w):
    """A file that is named without its ending: it stands among the names, or it has to be found."""
    r = w.r
    f, said = words_file(r)
    user = noisy(r, w.pick.of(READ_WORDS, s=said), ())
    if r.random() < 0.65:
        w.show(f)
        return user, [("assistant", call("read_file", file_path=f))] + after_read(w, f)
    stem = said.split(" ")[0]
    w.files = [g for g in w.files if stem not in g.lower()]
    pattern = f"**/*{stem}*"
    first = [("assistant", call("glob", pattern=pattern))]
    if r.random() < 0.3:
        return user, first + [
            ("tool", found_files(r, w.at, pattern, [])),
            ("assistant", f"I found no file named like {said}."),
        ]
    if r.random() < 0.3:
        several = sorted(
            {f"{n.folder(r)}/{words_file(r)[0].rsplit('.', 1)[0]}{f}" for _ in range(2)}
            | {f"{n.folder(r)}/{f}"}
        )
        return user, first + [("tool", found_files(r, w.at, pattern, several)), ("assistant", RESULT)]
    at = full(w.at, f"{n.folder(r)}/{f}")
    return user, first + [
        ("tool", found_files(r, w.at, pattern, [at])),
        ("assistant", call("read_file", file_path=at)),
    ] + after_read(w, at)


def read_request(w):
    r, x = w.r, w.r.random()
    if x < 0.17:
        text, which = w.pick.of(READ_KNOWN)
        which, _, about = which.partition("-")
        if which in KNOWN:
            f = KNOWN[which][0]
            if r.random() < 0.4:
                f = r.choice(KNOWN[which])
            w.files = [g for g in w.files if not any(g in other for other in KNOWN.values())]
            if f != KNOWN[which][0] or r.random() < 0.6:
                w.show(f)
        else:
            f = which
        user = noisy(r, text)
        if about:
            title, line = n.joined(r, 2).capitalize(), n.sentence(r)
            content = (
                f"# {title}\n\n{line}"
                + r.choice(["", f"\n{n.sentence(r)}"])
                + r.choice(
                    [
                        "",
                        f"\n\n## {r.choice(['Install', 'Usage', 'Build', 'Setup'])}\n\n    {r.choice(talk.COMMANDS)}",
                    ]
                )
            )
            return user, [
                ("assistant", call("read_file", file_path=f)),
                ("tool", content),
                ("assistant", f"{title}: {line}"),
            ]
        content = talk.LICENSE(r) if which == "LICENSE" else None
        if which == "LICENSE" and ("what is" in text or "which" in text):
            return user, [
                ("assistant", call("read_file", file_path=f)),
                ("tool", content),
                ("assistant", content.split("\n")[0] + "."),
            ]
        return user, [("assistant", call("read_file", file_path=f))] + after_read(w, f, content)
    if x < 0.26:
        f = n.blank_file(r)
        user = noisy(r, w.pick.of(READ_BLANK, f=f), (f,))
    elif x < 0.36:
        return read_in_words(w)
    else:
        f = w.some_file()
        said = quoted(r, f, 0.1) if r.random() < 0.7 else spoken(r, f, 0.7)
        user = noisy(r, w.pick.of(READ, f=said), (f, f.rpartition("/")[2], f.rpartition("/")[0]))
    return user, [("assistant", call("read_file", file_path=f))] + after_read(w, f)


def reverse_request(w):
    """Which rows have a value: a search shows all of them, and exactly."""
    r = w.r
    text, columns, rows = table(r, r.randint(3, 30))
    f, at = n.file(r, r.choice(["csv", "csv", "tsv", "txt"])), r.randrange(len(columns))
    v = r.choice(list(rows.values()))[at]
    user = noisy(
        r,
        w.pick.of(
            REVERSE,
            v=v,
            c=human(columns[at]),
            k=text.split("\n")[0]
            .replace("|", ",")
            .replace(";", ",")
            .replace("\t", ",")
            .split(",")[0]
            .strip(),
            f=spoken(r, f),
        ),
        (f, v),
    )
    lines = [f"L{number}: {line}" for number, line in enumerate(text.split("\n"), 1) if v in line]
    result = f"{len(lines)} match(es) for '{v}' in 1 file(s) in {w.at}:\n---\nFile: {f}\n" + "\n".join(lines)
    w.last = ("grep", v, [f])
    return user, [("assistant", call("grep_search", pattern=v)), ("tool", result), ("assistant", RESULT)]


def marks_request(w):
    r, f = w.r, n.file(w.r, "log")
    text, p = w.pick.of(MARKS, f=f)
    turns = [("assistant", call("grep_search", pattern=p))]
    if r.random() < 0.2:
        return noisy(r, text, (f,)), turns + [
            ("tool", f"No matches for '{p}' in {w.at} ({r.randint(2, 900)} files searched)."),
            ("assistant", f"I found no match for {p}."),
        ]
    return noisy(r, text, (f,)), turns + [("tool", matches(r, w.at, p)), ("assistant", RESULT)]


def grep_request(w):
    r, x = w.r, w.r.random()
    if x < 0.08:
        return marks_request(w)
    if x < 0.22:
        return reverse_request(w)
    x = r.random()
    if x < 0.5:
        p = n.identifier(r)
    elif x < 0.65:
        p = r.choice(
            [
                "TODO",
                "FIXME",
                "XXX",
                "HACK",
                "password",
                "localhost",
                "import os",
                "unsafe",
                "unwrap",
                "console.log",
                "print(",
                "eval(",
                "http://",
                "deprecated",
                "main",
                "test",
                "error",
                "warning",
                "WARN",
                "async",
                "panic!",
                "malloc",
                "SELECT",
                "TODO:",
                "api_key",
                "secret",
                "utf-8",
                "null",
                "except:",
                "println!",
                "assert",
                "lorem",
            ]
        )
    elif x < 0.8:
        p = n.word(r)
    elif x < 0.92:
        p = n.phrase(r)
    else:
        p = r.choice(
            [
                f"{n.word(r)}({n.word(r)})",
                f"{n.identifier(r)}()",
                f"{n.word(r)}.{n.word(r)}",
                f"fn {n.identifier(r)}",
                f"def {n.identifier(r)}",
                f"class {n.word(r).capitalize()}",
                f"{n.word(r)} = {r.randint(0, 99)}",
                f"{r.randint(100, 9999)}",
                f"#{n.word(r)}",
                f"--{n.word(r)}",
                f"{n.word(r)}/{n.word(r)}",
                f"use {n.word(r)}::{n.word(r)}",
            ]
        )
    said = quoted(r, p, 0.8 if " " in p else 0.15)
    d, about = w.some_folder(), n.word(r)
    text = w.pick.of(GREP, p="{p}", d=d, w="{w}")
    if "{w}" in text:
        p = said = about
    user = noisy(r, text.replace("{p}", said).replace("{w}", said), (p, d))
    turns = [("assistant", call("grep_search", pattern=p))]
    if r.random() < 0.17:
        turns += [
            ("tool", f"No matches for '{p}' in {w.at} ({r.randint(2, 900)} files searched)."),
            ("assistant", f"I found no match for {p}."),
        ]
    else:
        files = sorted({n.file(r, r.choice(n.TEXT_EXT)) for _ in range(r.choice([1, 1, 2, 3]))})
        turns += [("tool", matches(r, w.at, p, files)), ("assistant", RESULT)]
        w.last = ("grep", p, files)
    return user, turns


def glob_request(w):
    r, x = w.r, w.r.random()
    e = r.choice(list(KINDS_OF)) if r.random() < 0.7 else r.choice(n.EXT)
    k = r.choice(KINDS_OF.get(e, ["." + e]))
    if x < 0.45:
        user, pattern, keep = w.pick.of(GLOB_EXT, e=e, k=k), f"**/*.{e}", (f".{e}", k)
        files = sorted({n.file(r, e) for _ in range(r.randint(1, 5))})
    elif x < 0.75:
        f = n.base(r)
        user, pattern, keep = w.pick.of(GLOB_NAME, f=quoted(r, f, 0.1)), f"**/{f}", (f,)
        files = [r.choice([f, f"{n.folder(r)}/{f}"])]
    else:
        s, d = n.word(r), w.some_folder()
        user, pattern = w.pick.of(GLOB_LIKE, s=s, d=d, k=k, e=e)
        pattern, keep = pattern.replace("{s}", s).replace("{d}", d).replace("{e}", e), (s, d, k)
        files = sorted(
            {
                pattern.replace("**/", r.choice(["", "src/", "a/"])).replace("*", n.word(r))
                for _ in range(r.randint(1, 3))
            }
        )
    user = noisy(r, user, keep)
    turns = [("assistant", call("glob", pattern=pattern))]
    if r.random() < 0.2:
        return user, turns + [("tool", found_files(r, w.at, pattern, [])), ("assistant", "I found none.")]
    w.last = ("glob", pattern, files)
    return user, turns + [("tool", found_files(r, w.at, pattern, files)), ("assistant", RESULT)]
