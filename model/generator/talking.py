"""Requests that are answered with words alone."""

from generator import names as n
from generator import talk, unknown
from generator.prompt import BEYOND, RESULT, call
from generator.results import entries, full, listing, matches
from generator.contents import some_content
from generator.wording import expand, lower_first, noisy, quoted


def chat_request(w):
    r = w.r
    templates, answer = r.choice(talk.CHAT)
    user = noisy(r, w.pick.of(templates), ())
    return user, [("assistant", expand(r, answer))]


def say_request(w):
    """Looks like a request to a tool, or could be one, but is talk."""
    r = w.r
    what = r.choice(
        [
            "hello",
            "hi",
            "goodbye",
            "good morning",
            "good night",
            "thank you",
            "yes",
            "no",
            "cheese",
            n.word(r),
            n.phrase(r),
            "happy birthday",
            "welcome",
            "thanks",
            "sorry",
            "bye",
        ]
    )
    x = r.random()
    if x < 0.45:
        user = w.pick.of(talk.SAY, t=quoted(r, what, 0.3))
        return noisy(r, user, (what,)), [
            (
                "assistant",
                (
                    what[:1].upper() + what[1:] + r.choice(["!", "."])
                    if what
                    in (
                        "hello",
                        "hi",
                        "goodbye",
                        "good morning",
                        "good night",
                        "happy birthday",
                        "welcome",
                        "bye",
                        "thank you",
                    )
                    else what[:1].upper() + what[1:] + "."
                ),
            )
        ]
    if x < 0.6:
        a, b = r.randint(0, 20), r.randint(0, 12)
        op, v = r.choice(
            [("+", a + b), ("-", a - b), ("*", a * b), ("plus", a + b), ("minus", a - b), ("times", a * b)]
        )
        user = w.pick.of(
            [
                "what is {a} {o} {b}?",
                "[how much is|calculate|compute] {a} {o} {b}",
                "{a} {o} {b}",
                "{a} {o} {b} = ?",
                "what's {a} {o} {b}?",
                "tell me {a} {o} {b}",
                "can you add up {a} {o} {b}?",
                "{a} {o} {b}?",
            ],
            a=str(a),
            o=op,
            b=str(b),
        )
        return noisy(r, user), [("assistant", f"{a} {op} {b} is {v}.")]
    if x < 0.7:
        k = r.randint(3, 10)
        user = w.pick.of(
            [
                "count to {k}",
                "count from 1 to {k}",
                "[can|could] you count to {k}?",
                "please count up to {k}",
                "list the numbers from 1 to {k}",
            ],
            k=str(k),
        )
        return noisy(r, user), [("assistant", ", ".join(map(str, range(1, k + 1))))]
    if x < 0.76:
        language = r.choice(list(talk.WORDS_IN))
        word = r.choice(list(talk.WORDS_IN[language]))
        return noisy(r, w.pick.of(talk.TRANSLATE, t=quoted(r, word, 0.3), l=language), (language,)), [
            ("assistant", talk.WORDS_IN[language][word])
        ]
    if x < 0.82:
        return noisy(r, w.pick.of(talk.STATEMENTS, w=r.choice(n.WORDS))), [
            ("assistant", "I see. Can I help you with something?")
        ]
    question, answer = r.choice(talk.COMPUTING)
    return noisy(r, w.pick.of(question)), [("assistant", answer)]


def unknown_request(w):
    """Facts that a model of this size does not have."""
    r = w.r
    values = {
        "who": r.choice([r.choice(unknown.FAMOUS), f"{r.choice(n.PEOPLE)} {r.choice(n.LAST)}"]),
        "city": r.choice(unknown.CITIES + n.CITIES),
        "other": r.choice(unknown.CITIES),
        "country": r.choice(list(talk.CAPITALS)),
        "year": str(r.randint(1850, 2026)),
        "event": r.choice(unknown.EVENTS),
        "x": r.choice(n.WORDS),
        "thing": r.choice(unknown.THINGS),
        "made": n.word(r) + r.choice(n.SYLLABLES),
        "lib": n.word(r),
        "n": str(r.randint(2, 99)),
    }
    user = w.pick.of(unknown.QUESTIONS, **values)
    return noisy(r, user, tuple(values.values())), [("assistant", unknown.ANSWER)]


def fact_request(w):
    r = w.r
    if r.random() < 0.45 and talk.DISTILLED:
        question, answer = r.choice(talk.DISTILLED)
        return noisy(r, question, (question,)) if r.random() < 0.3 else question, [("assistant", answer)]
    question, answer = talk.fact(r)
    return noisy(r, expand(r, question)), [("assistant", answer)]


def translation_request(w):
    """More than the few words that are known."""
    r = w.r
    t = r.choice(
        [
            n.sentence(r).rstrip("."),
            n.phrase(r),
            n.sentence(r),
            f"the {r.choice(n.WORDS)} is {r.choice(['small', 'red', 'far away', 'on the table'])}",
        ]
    )
    user = w.pick.of(
        unknown.TRANSLATIONS,
        t=quoted(r, t, 0.6),
        f=r.choice([n.file(r, r.choice(["md", "txt", "rst", "tex", "html"])), "README.md"]),
        l=r.choice(unknown.LANGUAGES),
    )
    return noisy(r, user, (t,)), [("assistant", BEYOND)]


def beyond_request(w):
    if w.r.random() < 0.22:
        return translation_request(w)
    user = w.pick.of(
        talk.BEYOND + unknown.PROGRAMS,
        w=w.r.choice(n.CODE),
        p=n.identifier(w.r),
        f=n.file(w.r, w.r.choice(["py", "rs", "js", "go", "java", "c"])),
        k=w.r.choice(
            [
                "Python",
                "Rust",
                "Java",
                "Go",
                "TypeScript",
                "C",
                "Kotlin",
                "Ruby",
                "PHP",
                "Swift",
                "C++",
                "JavaScript",
            ]
        ),
        t=w.r.choice(talk.TOPICS),
    )
    return noisy(w.r, user), [("assistant", BEYOND)]


def foreign_request(w):
    r = w.r
    language = r.choice(list(talk.FOREIGN))
    said = talk.FOREIGN[language]
    kind = r.choice(["list", "here", "read", "grep", "run", "hello", "thanks", "who", "read", "list"])
    f, d, p, c = w.some_file(), w.some_folder(), n.identifier(r), talk.command(r, n)
    user = w.pick.of(said[kind], f=f, d=d, p=p, c=c)
    if r.random() < 0.3:
        user = lower_first(user)
    if kind in ("hello", "thanks", "who"):
        return user, [("assistant", said[kind + "-answer"])]
    if kind == "list":
        return user, [
            ("assistant", call("list_directory", dir_path=d)),
            ("tool", listing(r, full(w.at, d), entries(r))),
            ("assistant", RESULT),
        ]
    if kind == "here":
        return user, [
            ("assistant", call("list_directory", dir_path=".")),
            ("tool", listing(r, w.at, entries(r))),
            ("assistant", RESULT),
        ]
    if kind == "read":
        return user, [
            ("assistant", call("read_file", file_path=f)),
            ("tool", some_content(r, f)),
            ("assistant", RESULT),
        ]
    if kind == "grep":
        return user, [
            ("assistant", call("grep_search", pattern=p)),
            ("tool", matches(r, w.at, p)),
            ("assistant", RESULT),
        ]
    return user, [
        ("assistant", call("run_shell_command", command=c)),
        ("tool", "Output: " + talk.output(r, n, c)),
        ("assistant", RESULT),
    ]
