"""Notes in files: the answer to a question is the line that tells it."""

from generator import names as n
from generator.lookups import Asked, file_of
from generator.notes import NOTES, slots
from generator.values import value


def filled(r, template, known):
    for slot in slots(template):
        if slot not in known:
            known[slot] = kept(r, slot)
        template = template.replace("{" + slot + "}", known[slot])
    return template


def kept(r, slot):
    """Slots with an ending are another of the same kind: `personb`; `code` is a word of code, `town` a city."""
    for kind in ("person", "thing", "day", "command"):
        if slot in (kind + "b", kind + "c"):
            return value(r, kind)
    if slot in ("code", "codeb"):
        return r.choice(n.CODE)
    return value(r, "city" if slot == "town" else slot)


class Notes(Asked):
    """Lines, some under headings."""

    def __init__(self, w):
        r = w.r
        titles = w.pick.some([names[0] for names, _ in NOTES])
        stems, entries = r.choice([note for note in NOTES if note[0][0] in titles])
        some = r.sample(entries, min(len(entries), r.randint(3, 11)))
        self.lacking = [asked for line, asked in entries if (line, asked) not in some]
        if stems[0][0].isupper():
            return self.bare(w, stems[0], some)
        ext, self.lines, text = r.choice(["txt", "md", "txt", "md", "rst"]), [], []
        text += (
            [f"# {n.phrase(r).capitalize()}", ""]
            if ext == "md"
            else [n.phrase(r).upper(), ""] if r.random() < 0.6 else []
        )
        mark, pad = r.choice(["", "", "- ", "* "]), r.choice(["", "", "  "])
        for template, asked in some:
            known = {}
            line = filled(r, template, known)
            self.lines.append((line, asked, known))
            line = mark + line
            if r.random() < 0.15:
                text += ["", f"## {n.word(r).capitalize()}" if ext == "md" else n.word(r).capitalize()]
            text.append(pad + line)
            if r.random() < 0.25:
                text.append(pad + mark + n.sentence(r))
        super().__init__(w, file_of(w, ext, stems), "\n".join(text))

    def bare(self, w, f, some):
        """A file whose name and lines are fixed."""
        self.lines = []
        for template, asked in some:
            known = {}
            self.lines.append((filled(w.r, template, known), asked, known))
        super().__init__(w, f, "\n".join(line for line, _, _ in self.lines))

    def ask(self):
        r = self.w.r
        if self.lacking and r.random() < 0.14:
            fit = [q for asked in self.lacking for q in asked if "{" not in q]
            if fit:
                return self.w.pick.of(fit), f"{self.f} does not say that.", None
        line, asked, known = r.choice(self.lines)
        return filled(r, self.w.pick.of(asked), known), line, line

    def also(self, before):
        r = self.w.r
        line, asked, known = r.choice(self.lines)
        if line == before:
            return None
        question = filled(r, self.w.pick.of(asked), known)
        return (
            r.choice(["and {q}?", "{q}?", "ok, and {q}?", "{q} in it?"]).replace("{q}", question),
            line,
            line,
        )
