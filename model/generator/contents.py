"""Contents of files, from one line to a hundred, with what can be asked about them."""

import json
import re
import textwrap

from generator import names as n


def human(key):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key).replace("_", " ").replace("-", " ").lower()


def size(r, most=95):
    """How many lines a file has: most are short, some long."""
    x = r.random()
    if x < 0.4:
        return r.randint(2, 10)
    if x < 0.72:
        return r.randint(10, min(most, 40))
    return r.randint(min(most, 40), most)


# ---------------------------------------------------------------- settings

COMMON = {
    "port": lambda r: str(r.randint(80, 65000)),
    "host": lambda r: f"{n.word(r)}.{r.choice(['example.com', 'internal', 'local', 'example.org'])}",
    "address": lambda r: r.choice(["0.0.0.0", "127.0.0.1", f"10.0.{r.randint(0, 9)}.{r.randint(2, 250)}"]),
    "timeout": lambda r: str(r.randint(1, 9000)),
    "version": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}",
    "name": lambda r: n.joined(r, 2),
    "title": lambda r: n.joined(r, 2).capitalize(),
    "author": lambda r: f"{r.choice(n.PEOPLE)} {r.choice(n.LAST)}",
    "user": lambda r: r.choice(n.PEOPLE).lower(),
    "level": lambda r: r.choice(["info", "debug", "warn", "error", "trace"]),
    "log_level": lambda r: r.choice(["info", "debug", "warn", "error"]),
    "retries": lambda r: str(r.randint(1, 20)),
    "workers": lambda r: str(r.randint(1, 64)),
    "threads": lambda r: str(r.randint(1, 64)),
    "pool_size": lambda r: str(r.randint(1, 99)),
    "database": lambda r: f"{n.word(r)}_db",
    "language": lambda r: r.choice(["en", "de", "fr", "es", "it", "pl"]),
    "timezone": lambda r: f"{r.choice(['Europe', 'Asia', 'America'])}/{r.choice(n.CITIES)}",
    "license": lambda r: r.choice(["MIT", "Apache-2.0", "GPL-3.0", "BSD-3-Clause", "ISC"]),
    "theme": lambda r: r.choice(["dark", "light", "solar", n.word(r)]),
    "max_size": lambda r: str(r.randint(1, 4096)),
    "max_file_mb": lambda r: str(r.randint(1, 512)),
    "debug": lambda r: r.choice(["true", "false"]),
    "enabled": lambda r: r.choice(["true", "false"]),
    "region": lambda r: r.choice(["eu-west-1", "us-east-2", "ap-south-1"]),
    "email": lambda r: f"{n.word(r)}@example.org",
    "edition": lambda r: r.choice(["2018", "2021", "2024"]),
    "description": lambda r: n.phrase(r),
    "url": lambda r: f"https://{n.word(r)}.example.com",
    "password": lambda r: n.word(r) + str(r.randint(10, 99)),
    "interval": lambda r: f"{r.randint(1, 60)}s",
    "color": lambda r: r.choice(["red", "blue", "green", "teal"]),
    "width": lambda r: str(r.randint(10, 2000)),
    "path": lambda r: f"/{r.choice(['var', 'srv', 'opt', 'data'])}/{n.word(r)}/{n.word(r)}",
    "file": lambda r: f"/var/log/{n.word(r)}.log",
    "currency": lambda r: r.choice(["EUR", "USD", "CHF", "NOK", "JPY"]),
    "prefix": lambda r: n.word(r)[:3].upper() + r.choice(["-", "_", ""]),
    "keep_days": lambda r: str(r.randint(1, 400)),
    "expires": lambda r: f"{r.randint(2025, 2031)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
    "schedule": lambda r: f"{r.choice(['monday', 'friday', 'sunday', 'daily'])} {r.randint(0, 23):02}:{r.randint(0, 5)}0",
    "owner": lambda r: r.choice(n.PEOPLE),
    "sender": lambda r: f"{n.word(r)}@{n.word(r)}.example.net",
    "format": lambda r: r.choice(["json", "csv", "plain", "short", "xml"]),
    "limit": lambda r: str(r.randint(2, 9999)),
    "type": lambda r: r.choice(["redis", "postgres", "sqlite", "memory", "s3", "smtp", n.word(r)]),
}
SECTIONS = """server database cache mail logging auth storage queue worker client proxy search billing network session backup
monitoring api web site limits display sync upload export import users security scheduler metrics printer camera sensor""".split()


def pair(r):
    if r.random() < 0.45:
        k = r.choice(list(COMMON))
        return k, COMMON[k](r)
    return "_".join(r.choice(n.CODE) for _ in range(r.choice([1, 2, 2]))), n.value(r)


def pairs(r, count):
    found = {}
    while len(found) < count:
        k, v = pair(r)
        found[k] = v
    return found


def settings(r, ext, lines):
    """(text, [(path of sections, key, value)]). Sections may have the same keys."""
    groups = []
    if lines <= 5 or r.random() < 0.12 or ext in ("env", "conf", "txt", "md"):
        groups.append(((), pairs(r, lines)))
    else:
        if r.random() < 0.35:
            groups.append(((), pairs(r, r.randint(1, 4))))
        titles = list(
            dict.fromkeys(
                r.choice(SECTIONS if r.random() < 0.7 else n.CODE) for _ in range(max(1, lines // 6))
            )
        )
        for title in titles:
            groups.append(((title,), pairs(r, r.randint(2, 8))))
            if ext in ("json", "yaml", "yml", "toml") and r.random() < 0.18:
                groups.append(((title, r.choice(n.CODE)), pairs(r, r.randint(1, 4))))
    taken = {step for where, _ in groups for step in where}
    groups = [(where, {k: v for k, v in kv.items() if k not in taken}) for where, kv in groups]
    groups = [(where, kv or {"limit": "10"}) for where, kv in groups]
    write = {"json": as_json, "yaml": as_yaml, "yml": as_yaml}.get(ext, as_lines)
    return write(r, ext, groups), [(where, k, v) for where, kv in groups for k, v in kv.items()]


def as_json(r, ext, groups):
    tree = {}
    for where, kv in groups:
        node = tree
        for step in where:
            if not isinstance(node.get(step), dict):
                node[step] = {}
            node = node[step]
        for k, v in kv.items():
            node[k] = int(v) if v.isdigit() else {"true": True, "false": False}.get(v, v)
    return json.dumps(tree, indent=r.choice([2, 2, 4]), ensure_ascii=False)


def as_yaml(r, ext, groups):
    lines, gap = [f"# {n.sentence(r)}"] if r.random() < 0.3 else [], r.random() < 0.5
    for where, kv in groups:
        if gap and lines and len(where) < 2:
            lines.append("")
        if where:
            lines.append("  " * (len(where) - 1) + where[-1] + ":")
        for k, v in kv.items():
            lines.append(
                "  " * len(where) + f"{k}: {v}" + (f"  # {n.phrase(r)}" if r.random() < 0.04 else "")
            )
        if where and r.random() < 0.08:
            lines += ["  " * len(where) + f"{n.word(r)}:"] + [
                "  " * (len(where) + 1) + f"- {n.word(r)}" for _ in range(r.randint(1, 4))
            ]
    return "\n".join(lines)


def as_lines(r, ext, groups):
    sep = {
        "toml": " = ",
        "ini": r.choice([" = ", "="]),
        "env": "=",
        "conf": r.choice([" ", " = "]),
        "txt": ": ",
        "md": ": ",
    }.get(ext, " = ")
    lines = []
    for where, kv in groups:
        if where:
            lines += ([""] if lines else []) + [f"[{'.'.join(where)}]"]
        for k, v in kv.items():
            if r.random() < 0.06:
                lines.append(f"# {n.phrase(r)}")
            shown = v if ext != "toml" or v.isdigit() or v in ("true", "false") else f'"{v}"'
            lines.append(f"{'- ' if ext == 'md' else ''}{k.upper() if ext == 'env' else k}{sep}{shown}")
    return "\n".join(lines)


# ---------------------------------------------------------------- tables

COLUMNS = {
    "age": lambda r: str(r.randint(18, 80)),
    "city": lambda r: r.choice(n.CITIES),
    "price": lambda r: f"{r.uniform(1, 99):.2f}",
    "color": lambda r: r.choice(["red", "blue", "green", "black", "white"]),
    "email": lambda r: n.word(r) + "@example.org",
    "team": lambda r: r.choice(["red", "blue", "core", "web", "data"]),
    "country": lambda r: r.choice(["Spain", "Norway", "Peru", "Japan", "Kenya", "Chile", "France"]),
    "role": lambda r: r.choice(["admin", "editor", "guest", "owner"]),
    "status": lambda r: r.choice(["open", "closed", "new", "done"]),
    "year": lambda r: str(r.randint(1950, 2026)),
    "phone": lambda r: f"555-{r.randint(1000, 9999)}",
    "date": lambda r: f"{r.randint(2019, 2026)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
    "room": lambda r: f"{r.choice('ABCD')}{r.randint(1, 40)}",
    "owner": lambda r: r.choice(n.LAST),
    "amount": None,
    "size": None,
    "score": None,
    "stock": None,
    "weight": None,
    "points": None,
    "pages": None,
}


def table(r, rows=None):
    """(text, columns, {name: values})."""
    columns = r.sample(list(COLUMNS), r.randint(2, 5))
    if r.random() < 0.35:
        columns[r.randrange(len(columns))] = f"{r.choice(n.CODE)}_{r.choice(n.CODE)}"
    key = r.choice(["name", "name", "item", "product", "person", "id", "title", "place"])
    people, made = key in ("name", "person") and r.random() < 0.7, {}
    for _ in range(rows or r.randint(2, 7)):
        who = (
            (r.choice(n.PEOPLE) if rows is None or rows < 20 else f"{r.choice(n.PEOPLE)} {r.choice(n.LAST)}")
            if people
            else r.choice([n.word(r), n.word(r).capitalize(), n.joined(r, 2)])
        )
        made[who] = [(COLUMNS.get(c) or (lambda r: str(r.randint(1, 999))))(r) for c in columns]
    sep = r.choice([",", ",", ",", ";", "\t", " | "])
    text = "\n".join(sep.join(line) for line in [[key] + columns] + [[who] + vs for who, vs in made.items()])
    return text, columns, made


# ---------------------------------------------------------------- code


def body(r, indent, end=""):
    say = [
        f"{n.word(r)} = {n.word(r)}({n.word(r)}){end}",
        f"{n.word(r)}.{n.word(r)}({r.randint(0, 99)}){end}",
        f"{n.word(r)} = {n.value(r).split(' ')[0]!r}{end}",
        f"log.info({n.phrase(r)!r}){end}",
    ]
    return "".join(f"{indent}{r.choice(say)}\n" for _ in range(r.choice([0, 0, 1, 2, 3, 5])))


def several(r, lines):
    return list(
        dict.fromkeys(n.identifier(r).lower() for _ in range(max(1, min(13, lines // r.randint(4, 8)))))
    )


def python(r, lines=10):
    functions = several(r, lines)
    blocks = []
    for name in functions:
        args = ", ".join(
            r.sample(
                ["x", "path", "name", "data", "count", "user", "text", "items", "self", "request"],
                r.randint(0, 3),
            )
        )
        doc = f'    """{n.sentence(r)}"""\n' if r.random() < 0.3 else ""
        blocks.append(
            f"def {name}({args}):\n{doc}{body(r, '    ')}    {r.choice(['return x', 'return None', 'return data', 'return 1', 'return True', 'pass', f'print({n.word(r)!r})'])}"
        )
    head = r.choice(
        ["", f"import {r.choice(['os', 'sys', 'json', 're'])}\n\n\n", f'"""{n.sentence(r)}"""\n\n']
    )
    constants = "".join(
        f"{n.word(r).upper()}_{n.word(r).upper()} = {r.randint(0, 900)}\n"
        for _ in range(r.choice([0, 0, 1, 3]))
    )
    return (
        head + constants + ("\n\n" if constants else "") + r.choice(["\n\n\n", "\n\n"]).join(blocks),
        functions,
    )


def rust(r, lines=10):
    functions = several(r, lines)
    blocks = [
        f"{r.choice(['', 'pub ', '    pub '])}fn {name}({r.choice(['', 'x: u32', 'name: &str', 'path: &Path', 'a: f64, b: f64'])}){r.choice(['', ' -> u32', ' -> bool', ' -> String'])} {{\n{body(r, '    ', ';')}    {r.choice(['todo!()', 'x + 1', 'run();', 'true'])}\n}}"
        for name in functions
    ]
    return (
        r.choice(["", "use std::fs;\n\n", f"//! {n.sentence(r)}\n\nuse std::path::Path;\n\n"])
        + "\n\n".join(blocks),
        functions,
    )


def javascript(r, lines=10):
    functions = list(
        dict.fromkeys(
            n.joined(r, 2).replace("-", "_") for _ in range(max(1, min(13, lines // r.randint(4, 8))))
        )
    )
    blocks = [
        f"{r.choice(['', 'export ', 'async '])}function {name}({r.choice(['', 'x', 'req, res', 'items'])}) {{\n{body(r, '  ', ';')}  {r.choice(['return x;', 'console.log(1);', 'return null;'])}\n}}"
        for name in functions
    ]
    return "\n\n".join(blocks), functions


# ---------------------------------------------------------------- prose

HEADS = """Install Usage Build License Contact Setup Features Testing Roadmap FAQ Credits Configuration Security Limits Backups Support
Examples Requirements Development History Overview Glossary Deployment Errors Performance Plugins Privacy Updates""".split()


def markdown(r, lines=10):
    """(text, title, first sentence, {heading: what stands under it})."""
    title = " ".join(n.word(r) for _ in range(r.randint(1, 3))).capitalize()
    heads = list(dict.fromkeys(r.choice(HEADS + [n.word(r).capitalize()]) for _ in range(max(1, lines // 5))))
    first, under = n.sentence(r), {}
    text = (
        f"# {title}\n\n"
        + (
            f"[![{n.word(r)}](https://{n.word(r)}.example.com/badge.svg)](https://{n.word(r)}.example.com)\n\n"
            if r.random() < 0.12
            else ""
        )
        + first
    )
    if r.random() < 0.3:
        text += "\n" + n.sentence(r)
    for h in heads:
        under[h] = " ".join(n.sentence(r) for _ in range(r.choice([1, 1, 1, 2])))
        text += f"\n\n## {h}\n\n{wrapped(r, under[h])}"
        if r.random() < 0.2:
            text += "\n\n" + "\n".join(f"    {n.word(r)} {n.word(r)}" for _ in range(r.randint(1, 4)))
        elif r.random() < 0.15:
            text += "\n\n" + "\n".join(f"- {n.phrase(r)}" for _ in range(r.randint(1, 4)))
    return text, title, first, under


def wrapped(r, text):
    return (
        "\n".join(
            textwrap.wrap(text, r.choice([72, 80, 100]), break_long_words=False, break_on_hyphens=False)
        )
        if r.random() < 0.4
        else text
    )


def log_lines(r, lines, errors):
    """(text, the error lines)."""
    clock, made, bad = r.randint(0, 60000), [], []
    places = set(r.sample(range(lines), min(errors, lines)))
    for at in range(lines):
        clock += r.randint(1, 200)
        stamp = (
            f"2026-0{r.randint(1, 3)}-1{r.randint(0, 1)} {clock // 3600 % 24:02}:{clock // 60 % 60:02}:{clock % 60:02}"
            if r.random() < 0.9
            else f"{clock // 3600 % 24:02}:{clock // 60 % 60:02}:{clock % 60:02}"
        )
        line = f"{stamp} {'ERROR' if at in places else r.choice(['INFO', 'INFO', 'INFO', 'DEBUG', 'WARN'])} {n.word(r)}: {n.phrase(r)}"
        made.append(line)
        bad += [line] if at in places else []
    return "\n".join(made), bad


def code_line(r, what):
    return r.choice(
        [
            f"fn {what}(",
            f"def {what}(self):",
            f"let x = {what};",
            f"// {what}: {n.phrase(r)}",
            f"# {what} {n.word(r)}",
            f"    {what}({n.word(r)})",
            f"import {what}",
            f"{what} = {n.value(r)}",
            f"if {what} {{",
            f"return {what}",
            f"- {what} {n.phrase(r)}",
            f"see {what}",
            f'log("{what}")',
        ]
    )


def prose(r, lines):
    return "\n".join(n.sentence(r) for _ in range(lines))


def some_content(r, f, lines=None):
    """What a file of this name may hold."""
    lines = lines or size(r) if r.random() < 0.35 else r.randint(1, 6)
    ext = f.rsplit(".", 1)[-1] if "." in f else ""
    if ext in ("json", "toml", "yaml", "yml", "ini", "cfg", "env", "conf"):
        return settings(r, ext, lines)[0]
    if ext in ("csv", "tsv"):
        return table(r, lines)[0]
    if ext == "log":
        return log_lines(r, lines, r.randint(0, 3))[0]
    if ext in ("py", "rs", "js") and r.random() < 0.8:
        return {"py": python, "rs": rust, "js": javascript}[ext](r, lines)[0]
    if ext == "md" and r.random() < 0.6:
        return markdown(r, lines)[0]
    if r.random() < 0.6:
        return prose(r, lines)
    return "\n".join(code_line(r, n.identifier(r)) for _ in range(lines))
