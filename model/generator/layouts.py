"""Files of settings in many formats, line by line, so that the line of each fact is known."""

import re
from dataclasses import dataclass

from generator import names as n
from generator.contents import javascript, python, rust
from generator.facts import SECTIONS
from generator.values import value

# Several of a kind in one file, all with the same keys.
OF_A_KIND = {
    "worker": "web api worker mailer search admin proxy scheduler ingest billing gateway indexer thumbnails chat".split(),
    "server": "public internal admin metrics staging production canary debug".split(),
    "database": "users orders archive analytics primary replica sessions reporting".split(),
    "sensor": "roof cellar hall tank outside freezer boiler window attic".split(),
    "api": "payments weather maps search mail translation shipping".split(),
    "user": "anna bruno celia dario edith fabian gwen hector".split(),
}
CODE = {
    "py": ("{k} = {v}", python),
    "rs": ("[pub |]const {k}: [u32|&str|f64] = {v};", rust),
    "js": ("[export |]const {k} = {v};", javascript),
    "ts": ("export const {k} = {v};", javascript),
    "go": ("const {k} = {v}", None),
    "c": ("#define {k} {v}", None),
    "h": ("#define {k} {v}", None),
    "java": ("    [private |public |]static final [int|String|double] {k} = {v};", None),
    "sh": ("{k}={v}", None),
}
FORMATS = ["ini", "toml", "yaml", "yml", "json", "properties", "env", "conf", "cfg", "txt", "md", "xml"]


@dataclass
class Fact:
    """A key with its value, and where it stands."""

    section: str
    names: list  # the section, as questions name it
    key: str
    kind: str
    value: str
    asked: list
    line: str = ""

    def with_value(self, new):
        """The line, stripped, with another value."""
        before, _, after = self.line.rpartition(self.value)
        return before + new + after


def styled(r, key, ext, style):
    words = re.sub(r"[^a-z0-9 ]", "", key.lower()).split()
    if ext in ("env", "sh") or ext in CODE and style != "own":
        return "_".join(words).upper()
    if style == "camel":
        return words[0] + "".join(w.capitalize() for w in words[1:])
    return {"kebab": "-", "blank": " "}.get(style, "_").join(words)


def chosen(w):
    """[(section, names, facts)]: a few sections, or several of a kind."""
    r = w.r
    if r.random() < 0.4:
        title = r.choice(w.pick.some(list(OF_A_KIND)))
        some = r.sample(OF_A_KIND[title], r.randint(2, 5))
        return [(name, [f"the {name}", name, name], few(r, SECTIONS[title][1], 2, 7)) for name in some]
    titles = w.pick.some(list(SECTIONS))
    some = r.sample(titles, min(len(titles), r.choice([1, 2, 3, 4, 5, 6, 9])))
    return [
        (t, [f"the {x}" for x in SECTIONS[t][0]] + SECTIONS[t][0][:1], few(r, SECTIONS[t][1], 2, 9))
        for t in some
    ]


def few(r, facts, least, most):
    return r.sample(facts, min(len(facts), r.randint(least, most)))


def settings_file(w, ext):
    """(text, facts) of a file with this ending."""
    r = w.r
    yes = (
        r.choice([("true", "false"), ("true", "false"), ("yes", "no"), ("on", "off")])
        if ext in ("ini", "conf", "cfg", "txt", "md", "yaml")
        else ("true", "false")
    )
    style = r.choice(["snake", "snake", "kebab", "camel"]) if ext not in ("txt", "md") else "blank"
    groups = []
    for section, names, facts in chosen(w):
        made = []
        for key, kind, asked in facts:
            v = r.choice(yes) if kind == "bool" else value(r, kind)
            made.append(Fact(section, names, styled(r, key, ext, style), kind, v, asked))
        groups.append((section, made))
    write = (
        inline
        if ext in ("ini", "cfg") and len(groups) > 1 and r.random() < 0.2
        else WRITERS.get(ext, sectioned)
    )
    lines = write(r, ext, groups)
    for fact in (fact for _, made in groups for fact in made):
        fact.line = fact.line.strip().rstrip(",").lstrip("-* ")
    return "\n".join(lines), [fact for _, made in groups for fact in made]


def comment(r, mark="#"):
    return f"{mark} {r.choice([n.sentence(r), n.phrase(r)])}"


def is_plain(v):
    return bool(re.fullmatch(r"-?\d+(\.\d+)?|true|false", v))


def quoted(v):
    return v if is_plain(v) else f'"{v}"'


def sectioned(r, ext, groups):
    """[section], then key = value."""
    sep = {"toml": " = ", "cfg": r.choice([" = ", "=", ": "])}.get(ext, r.choice([" = ", "=", " = "]))
    lines = [comment(r, r.choice(["#", ";"]) if ext != "toml" else "#")] if r.random() < 0.4 else []
    for at, (section, made) in enumerate(groups):
        if at or r.random() < 0.8:
            lines += ([""] if lines else []) + [f"[{section}]"]
        for fact in made:
            if r.random() < 0.05:
                lines.append(comment(r))
            tail = f"  # {n.phrase(r)}" if r.random() < 0.05 else ""
            fact.line = f"{fact.key}{sep}{quoted(fact.value) if ext == 'toml' else fact.value}{tail}"
            lines.append(fact.line)
    return lines


def inline(r, ext, groups):
    """A line for each section, with everything it has."""
    lines = [f"[{n.word(r)}]"] if r.random() < 0.5 else []
    for section, made in groups:
        line = f"{section} " + " ".join(f"{fact.key}={fact.value.replace(' ', '_')}" for fact in made[:3])
        lines += [line] + ([""] if r.random() < 0.1 else [])
        del made[3:]
        for fact in made:
            fact.line, fact.value = line, fact.value.replace(" ", "_")
    return lines


def yaml(r, ext, groups):
    top = r.choice(["services", "config", "jobs", "stages", "spec"]) if r.random() < 0.3 else None
    pad = "  " if top else ""
    lines = ([comment(r)] if r.random() < 0.35 else []) + ([f"{top}:"] if top else [])
    gap = r.random() < 0.5
    for section, made in groups:
        lines += ([""] if gap and lines and not lines[-1].endswith(":") else []) + [f"{pad}{section}:"]
        deep = (
            r.choice(["limits", "options", "settings", "defaults"])
            if r.random() < 0.15 and len(made) > 2
            else None
        )
        for at, fact in enumerate(made):
            if deep and at == 2:
                lines.append(f"{pad}  {deep}:")
            v = f'"{fact.value}"' if r.random() < 0.12 or fact.value[:1] in "*%#" else fact.value
            fact.line = (
                pad
                + ("    " if deep and at >= 2 else "  ")
                + f"{fact.key}: {v}"
                + (f"  # {n.phrase(r)}" if r.random() < 0.04 else "")
            )
            lines.append(fact.line)
        if r.random() < 0.12:
            lines += [f"{pad}  {r.choice(['tags', 'depends_on', 'volumes', 'paths'])}:"] + [
                f"{pad}    - {n.word(r)}" for _ in range(r.randint(1, 4))
            ]
    return lines


def json(r, ext, groups):
    pad = r.choice(["  ", "  ", "    "])
    lines = ["{"]
    if r.random() < 0.4:
        lines += [f'{pad}"{n.word(r)}": {quoted(n.word(r))},' for _ in range(r.randint(1, 3))]
    for at, (section, made) in enumerate(groups):
        lines.append(f'{pad}"{section}": {{')
        for i, fact in enumerate(made):
            fact.line = f'{pad * 2}"{fact.key}": {quoted(fact.value)}' + ("," if i + 1 < len(made) else "")
            lines.append(fact.line)
        if r.random() < 0.1:
            lines[-1] = lines[-1].rstrip(",") + ","
            lines.append(
                f'{pad * 2}"{r.choice(["tags", "paths", "allowed"])}": ["{n.word(r)}", "{n.word(r)}"]'
            )
        lines.append(f"{pad}}}" + ("," if at + 1 < len(groups) else ""))
    return lines + ["}"]


def dotted(r, ext, groups):
    """section.key=value, or SECTION_KEY=value."""
    lines, head = [], n.word(r) + "." if ext == "properties" and r.random() < 0.2 else ""
    title = r.random() < 0.6
    for section, made in groups:
        if title:
            lines += ([""] if lines else []) + [
                r.choice([f"# {section}", f"# --- {section} ---", f"## {section} settings"])
            ]
        bare = len(groups) == 1 and r.random() < 0.5
        for fact in made:
            if not bare:
                fact.key = (
                    f"{head}{section}.{fact.key}" if ext == "properties" else f"{section}_{fact.key}".upper()
                )
            fact.line = f"{fact.key}{' = ' if ext == 'properties' and title else '='}{fact.value}"
            lines.append(fact.line)
    return lines


def braced(r, ext, groups):
    """section { key value; }"""
    end, lines = r.choice([";", ";", ""]), [comment(r)] if r.random() < 0.3 else []
    gap = r.choice([" ", " ", "  ", "\t"])
    for at, (section, made) in enumerate(groups):
        flat = at == 0 and r.random() < 0.4
        lines += (
            []
            if flat
            else ([""] if lines else [])
            + [
                (
                    r.choice([f"{section} {{", f"server {section} {{", f"location /{section} {{"])
                    if end
                    else f"{section} {{"
                )
            ]
        )
        for fact in made:
            fact.line = ("" if flat else "    ") + f"{fact.key}{gap}{fact.value}{end}"
            lines.append(fact.line)
        lines += [] if flat else ["}"]
    return lines


def told(r, ext, groups):
    """Notes: a heading, then key: value."""
    lines = (
        [f"# {n.phrase(r).capitalize()}"]
        if ext == "md"
        else [n.phrase(r).upper()] if r.random() < 0.4 else []
    )
    mark = r.choice(["- ", "- ", "* ", ""]) if ext == "md" else r.choice(["", "", "  "])
    for section, made in groups:
        lines += (
            ([""] if lines else [])
            + [f"## {section.capitalize()}" if ext == "md" else section.capitalize()]
            + ([""] if ext == "md" and r.random() < 0.5 else [])
        )
        if r.random() < 0.2:
            lines += [n.sentence(r), ""]
        for fact in made:
            fact.key = fact.key if r.random() < 0.4 else fact.key.capitalize()
            fact.line = f"{mark}{fact.key}: {fact.value}"
            lines.append(fact.line)
    return lines


def xml(r, ext, groups):
    lines = ['<?xml version="1.0"?>', f"<{r.choice(['config', 'project', 'settings'])}>"]
    for section, made in groups:
        lines.append(f"  <{section}>")
        for fact in made:
            fact.line = f"    <{fact.key}>{fact.value}</{fact.key}>"
            lines.append(fact.line)
        lines.append(f"  </{section}>")
    return lines + [lines[1].replace("<", "</")]


def coded(w, ext):
    """(text, facts): constants in a program."""
    r = w.r
    form, make = CODE[ext]
    groups = chosen(w)[:3]
    if len({name for name, _, _ in groups}) > 1:
        facts = [
            Fact(s, names, f"{s} {key}", kind, value(r, kind), asked)
            for s, names, made in groups
            for key, kind, asked in made
        ]
    else:
        facts = [
            Fact(s, names, key, kind, value(r, kind), asked)
            for s, names, made in groups
            for key, kind, asked in made
        ]
    lines = []
    for fact in facts:
        fact.key = styled(r, fact.key, ext, "upper")
        v = fact.value if ext == "sh" and " " not in fact.value else quoted(fact.value)
        v = {"true": "True", "false": "False"}.get(v, v) if ext == "py" else v
        fact.value = v.strip('"')
        fact.line = w.pick.fill(form, {}).replace("{k}", fact.key).replace("{v}", v)
        lines.append(fact.line)
        if r.random() < 0.06:
            lines.append({"py": "# ", "sh": "# "}.get(ext, "// ") + n.phrase(r))
        fact.line = fact.line.strip()
    below = (
        make(r, r.randint(5, 40))[0]
        if make
        else "\n".join(f"    {n.identifier(r)}({n.word(r)});" for _ in range(r.randint(2, 20)))
    )
    if ext == "java":
        lines = [f"public class {n.word(r).capitalize()} {{", *lines]
        below += "\n}"
    return "\n".join([*lines, "", below]), facts


WRITERS = {
    "yaml": yaml,
    "yml": yaml,
    "json": json,
    "properties": dotted,
    "env": dotted,
    "conf": braced,
    "txt": told,
    "md": told,
    "xml": xml,
}
