"""Questions whose answer stands in a file."""

import json

from generator import names as n
from generator import talk
from generator.contents import (
    human,
    javascript,
    markdown,
    pairs,
    python,
    rust,
    size,
    some_content,
    wrapped,
)
from generator.looking import words_file
from generator.asking_templates import (
    ASK_ABOUT,
    ASK_BODY,
    ASK_DOING,
    ASK_FIRST,
    ASK_FUNCTIONS,
    ASK_HEADS,
    ASK_TITLE,
    DEPENDENCIES,
    DOING,
    EXPLAIN,
    ITS,
    LIBRARY,
    OPEN_QUESTIONS,
)
from generator.prompt import RESULT, call
from generator.results import broken, matches, missing, refused
from generator.statements import FRAMES, STATEMENTS, filled, slots
from generator.wording import noisy, spoken

TOO_HARD = f"{RESULT}\nComparing and counting is beyond me: I am a very small model."
EXPLAINING = f"{RESULT}\nExplaining it well is beyond me: I am a very small model."


def named(w, f):
    """A file as a question names it: by its path, as "a in b", or in words where the prompt tells the file."""
    r, stem = w.r, f.rsplit(".", 1)[0]
    if "/" in f or r.random() > 0.2 or not stem.replace("_", "").replace("-", "").isalpha() or len(f) > 40:
        return spoken(r, f)
    w.files = [g for g in w.files if not g.lower().startswith(stem.lower())]
    w.show(f)
    return r.choice(["the {s}", "the {s}", "the {s} file", "my {s}", "our {s}"]).replace("{s}", human(stem))


def ask_code(w):
    r, of = w.r, w.pick.of
    if r.random() < 0.3:
        return ask_doing(w)
    make, ext, word = r.choice([(python, "py", "def"), (rust, "rs", "fn"), (javascript, "js", "function")])
    content, functions = make(r, size(r))
    f = n.file(r, ext)
    order = sorted(functions, key=lambda name: content.index(f"{word} {name}("))
    return f, content, of(ASK_FUNCTIONS, f=named(w, f)), ", ".join(order), (f,)


def ask_doing(w):
    """Which function does something: told by its body."""
    r, f = w.r, n.file(w.r, "py")
    some = r.sample(list(DOING), r.randint(2, 7))
    blocks, called = [], {}
    for what in some:
        called[what] = r.choice(
            [
                n.identifier(r).lower(),
                what.split(" ")[0].rstrip("s") + r.choice(["", "_" + n.word(r)]),
                n.word(r),
            ]
        )
        code = r.choice(DOING[what])
        blocks.append(
            f"def {called[what]}({', '.join(r.sample(['a', 'b', 'x', 'y', 'path', 'text', 'items'], 2))}):\n    return {code}"
        )
    what = r.choice(some)
    if r.random() < 0.3:
        other = r.choice([x for x in some if x != what])
        user = w.pick.of(ASK_DOING, d=f"{what} and which one {other}", f=named(w, f))
        return f, "\n\n\n".join(blocks), user, f"{called[what]} {what}, {called[other]} {other}.", (f,)
    return (
        f,
        "\n\n\n".join(blocks),
        w.pick.of(ASK_DOING, d=what, f=named(w, f)),
        f"The function {called[what]}.",
        (f,),
    )


def ask_markdown(w):
    r, of = w.r, w.pick.of
    content, title, first, body = markdown(r, size(r))
    f = r.choice([n.file(r, "md"), "README.md", n.base(r, "md"), "README.md"])
    y, said = r.random(), spoken(r, f)
    if y < 0.25:
        return f, content, of(ASK_TITLE, f=said), title, (f,)
    if y < 0.42:
        return f, content, of(ASK_HEADS, f=said), ", ".join(body), (f,)
    if y < 0.68:
        h = r.choice(list(body))
        return f, content, of(ASK_BODY, f=said, h=r.choice([h, h.lower()])), body[h], (f,)
    if y < 0.76:
        h = r.choice(
            [
                x
                for x in [
                    "Pricing",
                    "Refunds",
                    "Weather",
                    "Cooking",
                    "Insurance",
                    "Holidays",
                    "Salaries",
                    "Parking",
                ]
                if x not in content
            ]
        )
        return f, content, of(ASK_BODY, f=said, h=h), f"{f} does not say that.", (f,)
    return f, content, of(ASK_ABOUT, f=said), f"{title}: {first}", (f,)


def ask_statement(w):
    """The answer is one sentence of many; others of the same kind stand around it."""
    r = w.r
    template, questions = r.choice(STATEMENTS)
    values = slots(r)
    sentence = filled(template, values)
    question = filled(w.pick.of(questions), values)
    count, lines = size(r, 70), []
    while len(lines) < count:
        line = filled(r.choice(STATEMENTS)[0], slots(r)) if r.random() < 0.7 else n.sentence(r)
        other = [values[k] for k in ("who", "x", "c", "place", "city", "b") if "{" + k + "}" in template]
        if not any(o in line for o in other):
            lines.append(line)
    gone = r.random() < 0.1
    if not gone:
        lines.insert(r.randint(0, len(lines)), sentence)
    f = r.choice(
        [
            n.file(r, r.choice(["txt", "md", "md", "rst", "log", "txt"])),
            words_file(r)[0],
            "README.md",
            "notes.txt",
        ]
    )
    user = w.pick.of(
        FRAMES,
        q=question[:1].lower() + question[1:] if question.split(" ")[0] not in n.PEOPLE else question,
        f=named(w, f),
    )
    return (
        f,
        laid_out(r, lines),
        user,
        f"{f} does not say that." if gone else sentence,
        (f, *[v for v in values.values() if v[:1].isupper()]),
    )


def laid_out(r, lines):
    """Sentences as a list, as lines, or as paragraphs under headings."""
    x = r.random()
    if x < 0.4:
        return "\n".join(lines)
    if x < 0.55:
        return "\n".join(f"- {line}" for line in lines)
    made, at = [f"# {n.phrase(r).capitalize()}"] if r.random() < 0.6 else [], 0
    while at < len(lines):
        some = r.randint(1, 4)
        if r.random() < 0.5:
            made.append(
                f"## {r.choice([n.word(r).capitalize(), f'{r.randint(1, 28)} March', n.phrase(r).capitalize()])}"
            )
        made.append(wrapped(r, " ".join(lines[at : at + some])))
        at += some
    return "\n\n".join(made)


def ask_line(w):
    r, f = w.r, w.some_file()
    content = "\n".join(n.sentence(r) for _ in range(size(r, 60)))
    text, at = w.pick.of(ASK_FIRST, f=f)
    return f, content, text, content.split("\n")[at], (f,)


def ask_explanation(w):
    r = w.r
    f, p = n.file(r, r.choice(["py", "rs", "js", "go", "c", "java", "rb", "sh"])), n.identifier(r)
    return f, some_content(r, f), w.pick.of(EXPLAIN, f=f, p=p), EXPLAINING, (f, p)


QUESTIONS = [
    (ask_code, 9),
    (ask_markdown, 12),
    (ask_statement, 22),
    (ask_line, 4),
    (ask_explanation, 6),
]


def question_request(w):
    r = w.r
    make = r.choices([q for q, _ in QUESTIONS], [k for _, k in QUESTIONS])[0]
    f, content, user, answer, keep = make(w)
    user = noisy(r, user, (*keep, f.rpartition("/")[2]))
    turns = [("assistant", call("read_file", file_path=f))]
    x = r.random()
    if x < 0.05:
        return user, turns + [("tool", missing(r, w.at, f)), ("assistant", f"There is no file {f}.")]
    if x < 0.065:
        told, said = refused(r, f"Read {f}")
        return user, turns + [("tool", told), ("assistant", said)]
    if x < 0.08:
        return user, turns + [("tool", broken(r, w.at, f)), ("assistant", f"That did not work:\n{RESULT}")]
    w.last = ("asked", f, content)
    return user, turns + [("tool", content), ("assistant", answer)]


def open_request(w):
    """A setting without a file: a search shows where it stands."""
    r = w.r
    k = "_".join(r.choice(n.CODE) for _ in range(2))
    asked = r.choice([k, k, k])
    user = noisy(r, w.pick.of(OPEN_QUESTIONS, k=asked), (k,))
    return user, [
        ("assistant", call("grep_search", pattern=k)),
        ("tool", matches(r, w.at, k)),
        ("assistant", RESULT),
    ]


def dependency(r, name, version):
    return (
        f'{name} = {{ version = "{version}", features = ["{n.word(r)}"] }}'
        if r.random() < 0.2
        else f'{name} = "{version}"'
    )


def line_of(content, key):
    """The line that begins with a key."""
    lines = (line.strip().rstrip(",") for line in content.split("\n"))
    return next(line for line in lines if line.replace('"', "").startswith((key + " =", key + ":")))


def project_request(w):
    """Questions whose file is not named: it is the manifest, which stands among the files."""
    r = w.r
    kind = r.choice(["cargo", "npm", "python"])
    marks = [f for other in talk.BUILDS.values() for f in other["files"]]
    f = {"cargo": "Cargo.toml", "npm": "package.json", "python": "pyproject.toml"}[kind]
    w.files = [g for g in w.files if g not in marks]
    w.show(f)
    kv = {
        "name": n.joined(r, 2),
        "version": f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}",
        **pairs(r, 2),
        "description": n.phrase(r),
        "license": r.choice(["MIT", "Apache-2.0", "GPL-3.0"]),
    }
    kv["version"] = f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 20)}"
    libraries = {
        r.choice([n.word(r), n.joined(r, 2).lower()]): f"{r.randint(0, 9)}.{r.randint(0, 20)}"
        for _ in range(r.choice([r.randint(1, 5), r.randint(5, 30)]))
    }
    if kind == "npm":
        content = json.dumps(
            {**kv, r.choice(["dependencies", "dependencies", "devDependencies", "engines"]): libraries},
            indent=2,
        )
    else:
        content = (
            f"[{'package' if kind == 'cargo' else 'project'}]\n"
            + "\n".join(f'{k} = "{v}"' for k, v in kv.items())
            + "\n\n[dependencies]\n"
            + "\n".join(dependency(r, k, v) for k, v in libraries.items())
        )
    x = r.random()
    if x < 0.3:
        p = r.choice(list(libraries))
        user, answer, keep = w.pick.of(LIBRARY, p=p), line_of(content, p), (p, f)
        if r.random() < 0.4:
            user = w.pick.of(
                ["{q}, see {f}?", "{q} in {f}?", "{q} according to {f}?", "look at {f}: {q}?"],
                q=user.rstrip("?"),
                f=f,
            )
    elif x < 0.6:
        user, answer, keep = w.pick.of(DEPENDENCIES, p=r.choice(list(libraries))), RESULT, ()
    else:
        k = r.choice(["version", "version", "name", "license", "description"])
        user, answer, keep = w.pick.of(ITS, k=k), line_of(content, k), ()
    w.last = ("read", f, None)
    return noisy(r, user, keep), [
        ("assistant", call("read_file", file_path=f)),
        ("tool", content),
        ("assistant", answer),
    ]
