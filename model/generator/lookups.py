"""Files with facts, and what is asked about them. The answer is the line where a fact stands; of a table, a cell."""

from generator import names as n
from generator.asking_templates import ASK, DOTTED, NESTED
from generator.contents import human
from generator.facts import SECTIONS
from generator.layouts import CODE, FORMATS, OF_A_KIND, coded, settings_file
from generator.lookups_templates import ALSO, CELL_ALSO, FRAMES, OTHER, PLAIN, SET, SWITCH, SWITCH_WORDS
from generator.values import another
from generator.wording import quoted, spoken

KNOWN = {
    "ini": ["settings.ini", "php.ini", "setup.ini"],
    "toml": ["pyproject.toml", "Cargo.toml", "netlify.toml", "config.toml"],
    "yaml": ["config.yaml", "values.yaml", "deployment.yaml", "mkdocs.yaml"],
    "yml": ["docker-compose.yml", "compose.yml", "playbook.yml", ".travis.yml", "prometheus.yml"],
    "json": ["package.json", "tsconfig.json", "config.json", "settings.json", "composer.json"],
    "properties": ["application.properties", "gradle.properties", "log4j.properties"],
    "env": [".env", ".env.example", "prod.env"],
    "conf": ["nginx.conf", "redis.conf", "httpd.conf", "haproxy.conf", "logrotate.conf"],
    "cfg": ["setup.cfg", "haproxy.cfg", "ansible.cfg"],
    "txt": ["notes.txt", "settings.txt", "info.txt"],
    "md": ["README.md", "setup.md", "config.md", "runbook.md"],
    "xml": ["pom.xml", "config.xml", "web.xml"],
    "py": ["config.py", "settings.py", "constants.py", "app.py"],
    "h": ["config.h", "limits.h", "defs.h"],
    "java": ["Config.java", "Limits.java", "Settings.java"],
}


def file_of(w, ext, stems=()):
    """A path with this ending; where it lies in the top folder, the prompt may tell it."""
    r = w.r
    x = r.random()
    name = r.choice(KNOWN[ext]) if ext in KNOWN and x < 0.45 else n.base(r, ext)
    if stems and x < 0.75:
        name = (
            f"{r.choice(stems)}{r.choice(['', '', '-' + str(r.randint(2019, 2027)), '_' + n.word(r)])}.{ext}"
        )
    f = name if r.random() < 0.65 else f"{n.folder(r)}/{name}"
    if "/" not in f and r.random() < 0.7:
        w.files = [g for g in w.files if g != f]
        w.show(f)
    return f


def said_file(w, f):
    """The file as the request names it: mostly by its path."""
    r = w.r
    stem = f.rsplit("/")[-1].rsplit(".", 1)[0]
    if "/" in f or r.random() > 0.12 or not stem.replace("_", "").replace("-", "").isalpha() or len(f) > 40:
        return quoted(r, spoken(r, f), 0.06)
    w.files = [g for g in w.files if not g.lower().startswith(stem.lower())]
    w.show(f)
    return r.choice(["the {s}", "the {s} file", "my {s}", "{s}"]).replace("{s}", human(stem))


class Asked:
    """A file with facts that can be asked for."""

    def __init__(self, w, f, content):
        self.w, self.f, self.content = w, f, content

    def framed(self, question):
        w = self.w
        if "{f}" in question:
            return question.replace("{f}", said_file(w, self.f))
        question = question.replace("'s ", w.r.choice(["'s ", "'s ", "s "]))
        frame = w.pick.of(
            PLAIN if question.split(" ")[0] in WORDS_OF_ASKING else FRAMES + PLAIN,
            q="{q}",
            f=said_file(w, self.f),
        )
        return frame.replace("{q}", question)


WORDS_OF_ASKING = "what which who when where how why whose on from at to in until after is are does do may can under whom".split()


class Settings(Asked):
    """Keys and values."""

    def __init__(self, w):
        r = w.r
        ext = r.choice(list(CODE)) if r.random() < 0.22 else r.choice(FORMATS)
        content, self.facts = coded(w, ext) if ext in CODE else settings_file(w, ext)
        super().__init__(w, file_of(w, ext), content)

    def question_of(self, fact):
        """A question for the fact that no other one answers; None where there is none."""
        r = self.w.r
        alone = (
            sum(human(other.key.rsplit(".")[-1]) == human(fact.key.rsplit(".")[-1]) for other in self.facts)
            == 1
        )
        several = len({other.section for other in self.facts}) > 1
        with_place = [q for q in fact.asked if "{s}" in q]
        plain = [q for q in fact.asked if "{s}" not in q]
        s = r.choice(fact.names)
        k = human(fact.key.rsplit(".")[-1])
        k = k.removeprefix(human(fact.section) + " ")
        x = r.random()
        if x < 0.2 and (alone or not several):
            return self.w.pick.of(
                ASK if r.random() < 0.7 else DOTTED, k=r.choice([k, k, fact.key]), p=fact.key
            )
        if x < 0.36:
            return self.w.pick.of(NESTED, k=k, s=s.removeprefix("the "))
        if with_place and (several or not plain or r.random() < 0.5):
            return self.w.pick.of(with_place, s=s)
        return self.w.pick.of(plain) if plain and (alone or not several) else None

    def ask(self):
        """(question, answer, what "it" is then)."""
        r = self.w.r
        if r.random() < 0.16:
            got = self.absent()
            if got:
                return got, f"{self.f} does not say that.", None
        for _ in range(6):
            fact = r.choice(self.facts)
            question = self.question_of(fact)
            if question:
                return question, fact.line, fact
        fact = self.facts[0]
        return f"what is {human(fact.key)} of {fact.names[0]}", fact.line, fact

    def absent(self):
        """A question that the section's other keys do not answer."""
        r = self.w.r
        here = r.choice(self.facts)
        title = (
            here.section
            if here.section in SECTIONS
            else next((t for t, some in OF_A_KIND.items() if here.section in some), None)
        )
        if r.random() < 0.25:
            title = r.choice(list(SECTIONS))
        keys = {human(f.key) for f in self.facts if f.section == here.section or title not in (here.section,)}
        lacking = [fact for fact in SECTIONS[title][1] if not any(fact[0] in k or k in fact[0] for k in keys)]
        lacking = [fact for fact in lacking if not any(set(fact[0].split()) & set(k.split()) for k in keys)]
        if not lacking:
            return None
        key, _, asked = r.choice(lacking)
        fit = [q for q in asked if "{s}" in q] or asked
        s = r.choice(here.names)
        return r.choice(
            [self.w.pick.of(fit, s=s), f"what is the {key} of {s}", f"{s.removeprefix('the ')} {key}"]
        )

    def also(self, before):
        """One more question: (words, answer, fact)."""
        r = self.w.r
        like = [f for f in self.facts if before and f.section != before.section and f.key == before.key]
        if like and r.random() < 0.5:
            fact = r.choice(like)
            two = len({f.section for f in self.facts}) == 2
            words = OTHER if two and r.random() < 0.4 else CELL_ALSO
            return self.w.pick.of(words, w=r.choice(fact.names)), fact.line, fact
        fit = [f for f in self.facts if f is not before and (before is None or f.section == before.section)]
        fit = [f for f in fit if sum(o.key == f.key for o in self.facts) == 1 or before]
        if not fit:
            return None
        fact = r.choice(fit)
        if r.random() < 0.5:
            return self.w.pick.of(ALSO, k=human(fact.key.rsplit(".")[-1])), fact.line, fact
        plain = [q for q in fact.asked if "{s}" not in q]
        if not plain:
            return None
        return (
            r.choice(["and {q}", "{q} in it", "and {q} there", "{q}"]).replace("{q}", self.w.pick.of(plain)),
            fact.line,
            fact,
        )

    def change(self):
        """(request, the fact, its new value)."""
        r, w = self.w.r, self.w
        fact = r.choice(self.facts)
        k, s = human(fact.key.rsplit(".")[-1]), r.choice(fact.names)
        several = sum(human(f.key).endswith(k) for f in self.facts) > 1
        k = k.removeprefix(human(fact.section) + " ")
        named = (
            r.choice([f"the {s.removeprefix('the ')} {k}", f"the {k} of {s}", f"{k} of {s}"])
            if several or r.random() < 0.4
            else r.choice([f"the {k}", k, fact.key, f"the {k}"])
        )
        if "." in fact.key and r.random() < 0.4:
            named = fact.key
        if fact.value in SWITCH_WORDS and r.random() < 0.7:
            new, on = SWITCH_WORDS[fact.value]
            text = w.pick.of(SWITCH[on], k=named, f=said_file(w, self.f))
        else:
            new = (
                SWITCH_WORDS[fact.value][0]
                if fact.value in SWITCH_WORDS
                else another(r, fact.kind, fact.value)
            )
            text = w.pick.of(
                SET,
                k=named,
                f=said_file(w, self.f),
                o=fact.value,
                v=quoted(r, new, 0.1) if fact.line.count('"') < 1 else new,
            )
        return text, fact, new
