"""Several things of a kind in one file, each with its name and the same keys: lists in JSON and YAML, tables of TOML, headings."""

from generator import names as n
from generator.layouts import Fact, quoted, styled
from generator.lookups import Settings, file_of
from generator.tables import NAMED, TABLES
from generator.values import value

FORMATS = ["json", "json", "json", "yaml", "yaml", "yml", "toml", "md", "txt", "xml", "ini"]


def about(r):
    """Lines of a file that are about all of it: (key, value)."""
    some = [("updated", value(r, "date")), ("owner", value(r, "fullname")), ("version", value(r, "ver"))]
    return r.sample(some, r.randint(0, 2))


def as_json(r, title, head, groups):
    """An array of objects; small ones may stand on a line of their own."""
    pad = r.choice(["  ", "  ", "    "])
    lines = ["{"] + [f'{pad}"{k}": {quoted(v)},' for k, v in about(r)] + [f'{pad}"{title}": [']
    flat = r.random() < 0.12
    for at, (name, made) in enumerate(groups):
        end = "," if at + 1 < len(groups) else ""
        pairs = [f'"{head}": {quoted(name)}'] + [f'"{fact.key}": {quoted(fact.value)}' for fact in made]
        if flat:
            line = f"{pad * 2}{{ {', '.join(pairs)} }}{end}"
            lines.append(line)
            for fact in made:
                fact.line = line
            continue
        lines.append(f"{pad * 2}{{")
        lines += [f"{pad * 3}{pair}" + ("," if pair is not pairs[-1] else "") for pair in pairs]
        lines.append(f"{pad * 2}}}{end}")
        for fact, pair in zip(made, pairs[1:]):
            fact.line = pair
    return lines + [f"{pad}]", "}"]


def as_yaml(r, title, head, groups):
    lines = [f"{k}: {v}" for k, v in about(r)] + [f"{title}:"]
    keyed = r.random() < 0.3
    for name, made in groups:
        lines.append(f"  {name}:" if keyed else f"  - {head}: {name}")
        for fact in made:
            fact.line = f"    {fact.key}: {fact.value}"
            lines.append(fact.line)
    return lines


def as_toml(r, title, head, groups):
    lines = [f"{k} = {quoted(v)}" for k, v in about(r)]
    for name, made in groups:
        lines += ([""] if lines else []) + [f"[[{title}]]", f"{head} = {quoted(name)}"]
        for fact in made:
            fact.line = f"{fact.key} = {quoted(fact.value)}"
            lines.append(fact.line)
    return lines


def as_sections(r, title, head, groups):
    lines = []
    for name, made in groups:
        lines += ([""] if lines else []) + [f"[{name}]"]
        for fact in made:
            fact.line = f"{fact.key} = {fact.value}"
            lines.append(fact.line)
    return lines


def as_text(r, title, head, groups):
    """Headings, or blocks that begin with the name."""
    mark, lines = r.choice(["- ", "* ", ""]), [f"# {title.capitalize()}"]
    form = r.choice(["## {}", "### {}", "{}:", "{}", "Name: {}"])
    for name, made in groups:
        lines += ["", form.format(name)] + ([""] if r.random() < 0.4 and "#" in form else [])
        for fact in made:
            fact.line = f"{mark}{fact.key.capitalize() if r.random() < 0.5 else fact.key}: {fact.value}"
            lines.append(fact.line)
    return lines


def as_xml(r, title, head, groups):
    one = title.rstrip("s")
    lines = ['<?xml version="1.0"?>', f"<{title}>"]
    for name, made in groups:
        inside = r.random() < 0.5
        lines += [f'  <{one} {head}="{name}">'] if inside else [f"  <{one}>", f"    <{head}>{name}</{head}>"]
        for fact in made:
            fact.line = f"    <{fact.key}>{fact.value}</{fact.key}>"
            lines.append(fact.line)
        lines.append(f"  </{one}>")
    return lines + [f"</{title}>"]


WRITERS = {
    "json": as_json,
    "yaml": as_yaml,
    "yml": as_yaml,
    "toml": as_toml,
    "ini": as_sections,
    "md": as_text,
    "txt": as_text,
    "xml": as_xml,
}


class Records(Settings):
    """Things with names, asked by name and key."""

    def __init__(self, w):
        r = w.r
        titles = w.pick.some([names[0] for names, *_ in TABLES])
        stems, head, kind, columns = r.choice([t for t in TABLES if t[0][0] in titles])
        some = r.sample(columns, min(len(columns), r.randint(2, 7)))
        self.lacking = [c for c in columns if c not in some]
        names = list(dict.fromkeys(value(r, kind) for _ in range(r.choice([2, 2, 3, 4, 5, 7, 10]))))
        ext = r.choice(FORMATS)
        style = "blank" if ext in ("md", "txt") else r.choice(["snake", "snake", "camel", "kebab"])
        groups = []
        for name in names:
            said = [name, name, name.lower()] + ([f"the {name}"] if kind in NAMED or kind == "product" else [])
            made = [
                Fact(name, said, styled(r, key, ext, style), kind_of, value(r, kind_of), asked_of(asked))
                for key, kind_of, asked in some
            ]
            # Not each has everything.
            made = [fact for fact in made if len(made) < 3 or r.random() < 0.93]
            groups.append((name, made))
        head = head if r.random() < 0.3 else r.choice(["name", "name", "id", "title"])
        title = r.choice(stems).replace("-", "_")
        lines = WRITERS[ext](r, title, styled(r, head, ext, style), groups)
        self.facts = [fact for _, made in groups for fact in made]
        for fact in self.facts:
            fact.line = fact.line.strip().rstrip(",").lstrip("-* ")
        super(Settings, self).__init__(w, file_of(w, ext, stems), "\n".join(lines))

    def absent(self):
        """Something that no record has, or a name that is not there."""
        r, here = self.w.r, self.w.r.choice(self.facts)
        if self.lacking and r.random() < 0.75:
            key, _, asked = r.choice(self.lacking)
            s = r.choice(here.names)
            return r.choice([self.w.pick.of(asked_of(asked), s=s), f"what is the {key} of {s}"])
        other = next(
            (name for name in (r.choice([*n.PEOPLE, *n.CITIES, *n.WORDS]) for _ in range(9)) if name not in self.content),
            None,
        )
        return other and self.w.pick.of(here.asked, s=other)


def asked_of(asked):
    """Questions by row, as questions by section."""
    return [q.replace("{w}", "{s}") for q in asked]
