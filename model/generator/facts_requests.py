"""Requests about facts in files: questions, changes, and what is asked after them."""

from generator import names as n
from generator.asking_templates import TWO
from generator.cells import Table
from generator.logged import Logged
from generator.lookups import Settings, said_file
from generator.lookups_templates import OPEN, SET_IT, SWITCH_WORDS, WORDS
from generator.noted import Notes
from generator.records import Records
from generator.prompt import RESULT, call
from generator.results import broken, full, missing, refused
from generator.values import another
from generator.wording import noisy, quoted
from generator.contents import human, some_content

TOO_HARD = f"{RESULT}\nComparing and counting is beyond me: I am a very small model."


def read(about):
    return [("assistant", call("read_file", file_path=about.f)), ("tool", about.content)]


def typed(w, text, about, more=()):
    return noisy(w.r, text, (about.f, about.f.rpartition("/")[2], *more))


def lookup_request(w):
    """A question whose answer stands in a file that it names."""
    r = w.r
    about = r.choices([Settings, Table, Notes, Records, Logged], [40, 32, 20, 20, 5])[0](w)
    x = r.random()
    if isinstance(about, Table) and x < 0.14:
        user, answer, it = about.compare().replace("{f}", said_file(w, about.f)), TOO_HARD, None
    elif isinstance(about, Table) and x < 0.2 and len(about.heads) > 1:
        user, answer = about.two()
        user, it = about.framed(user), None
    elif isinstance(about, Settings) and x < 0.08:
        user, answer = two_settings(w, about)
        it = None
    else:
        question, answer, it = about.ask()
        user = about.framed(question)
    user = typed(w, user, about)
    x = r.random()
    if x < 0.03:
        return user, [
            read(about)[0],
            ("tool", missing(r, w.at, about.f)),
            ("assistant", f"There is no file {about.f}."),
        ]
    if x < 0.04:
        return user, [
            read(about)[0],
            ("tool", broken(r, w.at, about.f)),
            ("assistant", f"That did not work:\n{RESULT}"),
        ]
    w.last = ("facts", about, it)
    return user, read(about) + [("assistant", answer)]


def two_settings(w, about):
    r = w.r
    alone = [f for f in about.facts if sum(human(o.key) == human(f.key) for o in about.facts) == 1]
    if len(alone) < 2:
        question, answer, _ = about.ask()
        return about.framed(question), answer
    one, other = r.sample(alone, 2)
    user = w.pick.of(TWO, k=human(one.key), j=human(other.key), f=said_file(w, about.f))
    return user, f"{one.line}\n{other.line}"


def anywhere_request(w):
    """A question about somebody or something, without a file."""
    r = w.r
    about = Table(w)
    question, row = about.bare()
    at = question.lower().find(row.lower())
    if at < 0 or len(row) < 4 or not all(c.isalnum() or c in " -" for c in row):
        return lookup_request(w)
    pattern = question[at : at + len(row)]
    question = question.replace("'s ", r.choice(["'s ", "s ", "'s "]))
    user = noisy(r, w.pick.of(OPEN, q=question), (pattern,))
    it = (row,)
    line = next(x for x in about.content.split("\n") if it[0] in x)
    number = about.content.split("\n").index(line) + 1
    result = f"1 match(es) for '{pattern}' in 1 file(s) in {w.at}:\n---\nFile: {about.f}\nL{number}: {line}"
    if r.random() < 0.1:
        result = f"No matches for '{pattern}' in {w.at} ({r.randint(2, 90)} files searched)."
        return user, [
            ("assistant", call("grep_search", pattern=pattern)),
            ("tool", result),
            ("assistant", f"I found no match for {pattern}."),
        ]
    w.last = ("grep", pattern, [about.f])
    return user, [
        ("assistant", call("grep_search", pattern=pattern)),
        ("tool", result),
        ("assistant", RESULT),
    ]


def changed(w, f, old, new):
    """A change and what comes of it."""
    r = w.r
    turns = [("assistant", call("replace", file_path=f, old_string=old, new_string=new))]
    x = r.random()
    if x < 0.06:
        told, answer = refused(r, f"Edit {f}")
        return turns + [("tool", told), ("assistant", answer)]
    if x < 0.1:
        return turns + [
            ("tool", f"{full(w.at, f)}: old_string was not found in the file."),
            ("assistant", f"I did not find {old} in {f}."),
        ]
    return turns + [("tool", f"Changed 1 place in {full(w.at, f)}."), ("assistant", f"I changed {f}.")]


def set_request(w):
    """A setting gets another value: the file is read first, and the whole line replaced."""
    r = w.r
    if r.random() < 0.2:
        return cell_request(w)
    about = Records(w) if r.random() < 0.15 else Settings(w)
    if r.random() < 0.08:
        gone = n.word(r)
        if gone not in about.content:
            user = w.pick.of(WORDS, o=gone, v=n.word(r), f=said_file(w, about.f))
            return typed(w, user, about), read(about) + [("assistant", f"{about.f} does not say that.")]
    text, fact, new = about.change()
    user = text if r.random() < 0.5 else typed(w, text, about, (fact.key, fact.value, new))
    return user, read(about) + change_of(w, about, fact, new)


def cell_request(w):
    """A cell gets another value: the row is replaced."""
    r, about = w.r, Table(w)
    got = about.change()
    if not got:
        return set_request(w)
    text, old, line, new = got
    user = text if r.random() < 0.5 else typed(w, text, about, (new,))
    return user, read(about) + changed(w, about.f, old, line)


def change_of(w, about, fact, new):
    """The line of a fact with another value; what is asked next, is asked about the file as it is then."""
    old, line = fact.line, fact.with_value(new)
    turns = changed(w, about.f, old, line)
    if turns[-1][1].startswith("I changed"):
        about.content = about.content.replace(old, line, 1)
        fact.line, fact.value = line, new
        w.last = ("facts", about, fact)
    else:
        w.last = ("facts", about, None)
    return turns


def words_request(w):
    """A word or two of a file become others."""
    r = w.r
    f = w.some_file(0.3, r.choice(["md", "txt", "html", "py", "js", "md", "rst", None]))
    content = some_content(r, f, r.randint(3, 40))
    plain = [word.strip("`'\".,:;()#*-") for word in content.split() if word.strip("`'\".,:;()#*-").isalnum()]
    plain = [word for word in plain if len(word) > 3 and content.count(word) == 1] or ["absent"]
    o, v = r.choice(plain), r.choice(
        [
            n.word(r),
            r.choice(n.PEOPLE),
            f"{n.word(r)} {n.word(r)}",
            str(r.randint(1, 999)),
            n.word(r).capitalize(),
        ]
    )
    mark = r.choice(['"{}"', "'{}'", "`{}`"]) if r.random() < 0.2 else "{}"
    user = w.pick.of(WORDS, o=mark.format(o), v=mark.format(v), f=f)
    user = user if r.random() < 0.5 else noisy(r, user, (f, o, v))
    turns = [("assistant", call("read_file", file_path=f)), ("tool", content)]
    if o not in content:
        return user, turns + [("assistant", f"{f} does not say that.")]
    return user, turns + changed(w, f, o, v)


def facts_follow(w, about, it):
    """What is asked after a question about facts: one more, the whole file, or a change."""
    r = w.r
    x = r.random()
    if x < 0.12:
        user = r.choice(
            [
                "show me the [whole |]file",
                "[show|read|open] [it|that file|the whole file]",
                "print all of it",
                "what else is in it?",
            ]
        )
        return noisy(r, w.pick.fill(user, {})), read(about) + [("assistant", RESULT)]
    if isinstance(about, Settings) and it and x < 0.5:
        new = SWITCH_WORDS[it.value][0] if it.value in SWITCH_WORDS else another(r, it.kind, it.value)
        user = w.pick.of(SET_IT, v=new)
        return user if r.random() < 0.6 else noisy(r, user, (new,)), change_of(w, about, it, new)
    if isinstance(about, Settings) and x < 0.6:
        text, fact, new = about.change()
        text = text.replace(f" in {about.f}", r.choice([" in it", "", " there", " in that file"]))
        if about.f not in text:
            return text, read(about) + change_of(w, about, fact, new)
    if x < 0.72 and not isinstance(about, Settings) or x < 0.7:
        got = about.absent() if isinstance(about, Settings) else None
        if got:
            return noisy(r, r.choice(["and {q}?", "{q}?", "and {q}"]).replace("{q}", got)), read(about) + [
                ("assistant", f"{about.f} does not say that.")
            ]
    got = about.also(it)
    if not got:
        return None
    user, answer, it = got
    w.last = ("facts", about, it)
    return noisy(r, user), read(about) + [("assistant", answer)]


def in_it_request(w, f):
    """A question about the one file that a search found."""
    r = w.r
    about = r.choices([Settings, Notes], [50, 50])[0](w)
    about.f = f
    for _ in range(4):
        question, answer, it = about.ask()
        if it and "{f}" not in question:
            break
    else:
        return None
    user = r.choice(
        [
            "{q} in it",
            "{q}?",
            "and {q}?",
            "{q} in that file?",
            "{q} there",
            "in that file, {q}?",
            "what does it say, {q}?",
        ]
    ).replace("{q}", question)
    w.last = ("facts", about, it)
    return noisy(r, user), read(about) + [("assistant", answer)]


LOG_WORDS = {
    "error": ["error", "errors", "ERRORs", "failures"],
    "warn": ["warning", "warnings", "warns"],
    "fail": ["fails", "failed things"],
    "timeout": ["timeouts", "timeout lines"],
    "denied": ["denied", "denied requests"],
}
IN_LOG = [
    "any {p} in {f}?",
    "are there [any |]{p} in {f}?",
    "[show|find|list|print] [me |all |the |]{p} in {f}",
    "[show|give] me the {p} from {f}",
    "which {p} does {f} have?",
    "does {f} have {p}?",
    "[search|grep|check|scan] {f} for {p}",
    "search for {p} in {f}",
    "look for {p} in {f}",
    "what {p} are in {f}",
    "did {f} log {p}?",
]
ALSO_IN_LOG = [
    "and {p}?",
    "what about {p}?",
    "[any |]{p} too?",
    "now {p}",
    "the same for {p}",
    "and the {p}?",
    "ok and {p}",
    "any {p}?",
]


def log_search(w, f, pattern, said, frame):
    """A search in one file."""
    r = w.r
    stems = {"error": ["error", "ERROR", "Error"], "warn": ["warning", "WARN", "warn"]}.get(
        pattern, [pattern]
    )
    word = r.choice(stems)
    lines = [
        f"L{at}: {r.choice(['[' + str(r.randint(0, 23)) + ':' + str(r.randint(10, 59)) + ']', '2026-02-1' + str(r.randint(0, 9))])} {word} {n.phrase(r)}"
        for at in sorted(r.sample(range(1, 400), r.randint(1, 6)))
    ]
    result = (
        f"{len(lines)} match(es) for '{pattern}' in 1 file(s) in {full(w.at, f)}:\n---\nFile: {f}\n"
        + "\n".join(lines)
    )
    user = noisy(r, w.pick.of(frame, p=said, f=f), (f,))
    turns = [("assistant", call("grep_search", pattern=pattern))]
    w.last = ("log", f, pattern)
    if r.random() < 0.15:
        return user, turns + [
            ("tool", f"No matches for '{pattern}' in {full(w.at, f)} (1 files searched)."),
            ("assistant", f"I found no match for {pattern}."),
        ]
    return user, turns + [("tool", result), ("assistant", RESULT)]


def log_request(w):
    r = w.r
    f = n.file(r, r.choice(["log", "log", "txt", "out", "err"]))
    if r.random() < 0.3:
        p = r.choice([n.word(r), r.choice(n.PEOPLE), n.identifier(r), str(r.randint(100, 599))])
        return log_search(w, f, p, quoted(r, p, 0.3), IN_LOG[2:])
    p = r.choice(list(LOG_WORDS))
    return log_search(w, f, p, r.choice(LOG_WORDS[p]), IN_LOG)


def log_follow(w, f):
    p = w.r.choice(list(LOG_WORDS))
    return log_search(w, f, p, w.r.choice(LOG_WORDS[p]), ALSO_IN_LOG)


# What a file is about -> a part of its name.
TOPICS = """installing install|testing test|deploying deploy|building build|pricing pric|cooking cook|billing bill|logging log|training train|
shipping ship|painting paint|parking park|hiring hir|onboarding onboard|releases release|holidays holiday|backups backup|invoices invoice|
contacts contact|passwords password|recipes recipe|users user|errors error|migrations migrat|licenses licen|the license licen|the schema schema|
the budget budget|the wedding wedding|security secur|configuration config|the changelog changelog|contributing contribut|benchmarks bench|
the roadmap roadmap|packing pack|cleaning clean|gardening garden|climbing climb|sailing sail|knitting knit|brewing brew|printing print|
caching cach|scaling scal|monitoring monitor|debugging debug|upgrading upgrad|publishing publish|signing sign|parsing pars|routing rout|
insurance insurance|taxes tax|salaries salar|visitors visitor|routes route|permissions permission|fonts font|shortcuts shortcut|
the wifi wifi|the car car|the printer printer|our budget budget|the network network|the rules rule|the team team|emails email|tokens token|
known bugs bug|the architecture architect|the design design|time zones timezone|the glossary glossary|the faq faq|how to start start|our meetings meeting|the garden garden|the trip trip|payments payment|the database database|styles style|the api api"""
ABOUT = [
    "is there [a|some|any] file about {t}?",
    "do we have [a|some|any] file about {t}?",
    "which file is about {t}?",
    "[find|is there] something about {t}",
    "where do I find something on {t}?",
    "[any|are there] files about {t}?",
    "is there a {t} file",
    "which files deal with {t}?",
    "find the file on {t}",
]


def topic_request(w):
    r = w.r
    said, part = r.choice([t.strip().rsplit(" ", 1) for t in TOPICS.replace("\n", "").split("|")])
    pattern = f"**/*{part}*"
    f = f"{r.choice(['docs/', '', '', n.folder(r) + '/'])}{part}{r.choice(['', 'ing', 's', '_' + n.word(r), '-' + n.word(r)])}.{r.choice(['md', 'txt', 'md', 'rst', 'yaml', 'sql'])}"
    user = noisy(r, w.pick.of(ABOUT, t=said))
    turns = [("assistant", call("glob", pattern=pattern))]
    if r.random() < 0.12:
        return user, turns + [
            ("tool", f"No files match '{pattern}' in {w.at} ({r.randint(3, 900)} entries were looked at)."),
            ("assistant", "I found none."),
        ]
    w.last = ("glob", pattern, [f])
    result = f"1 file(s) match '{pattern}' in {w.at}, recently changed ones first:\n{full(w.at, f)}"
    return user, turns + [("tool", result), ("assistant", RESULT)]
