"""Tables in files, asked by row and column."""

from generator.contents import human
from generator.lookups import Asked, file_of, said_file
from generator.lookups_templates import CELL_ALSO, CELL_SET, ROWS
from generator.asking_templates import ASK_ROW, COMPARE, TWO_OF
from generator.statements import MONTHS
from generator.tables import NAMED, TABLES
from generator import names as n
from generator.values import another, value


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [[cell.ljust(width) for cell, width in zip(row, widths)] for row in rows]


def beside(r, heads):
    """A sentence beside a table, often with words of its heads."""
    head = r.choice(heads).strip().lower().replace("_", " ")
    if r.random() < 0.4:
        return n.sentence(r)
    return r.choice(
        [
            f"The {head} is {value(r, 'phone')}.",
            f"The {head} changes on {value(r, 'day')} at {value(r, 'time')}.",
            f"Ask {value(r, 'person')} about the {head}.",
            f"The {head} of everybody is checked by {value(r, 'fullname')}.",
            f"Last change of the {head}: {value(r, 'date')}.",
        ]
    )


def written(r, ext, rows):
    """The table as text: CSV and the like, Markdown, or columns of words."""
    if ext == "txt":
        return "\n".join("  ".join(row).rstrip() for row in aligned(rows))
    if ext != "md":
        mark = "\t" if ext == "tsv" else r.choice([",", ",", ",", ";"])
        return "\n".join(mark.join(row) for row in rows)
    rows = aligned(rows) if r.random() < 0.6 else rows
    rule = "|" + "|".join("-" * (len(cell) + 2) for cell in rows[0]) + "|"
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    before = [f"# {n.phrase(r).capitalize()}", ""] + ([beside(r, rows[0]), ""] if r.random() < 0.7 else [])
    after = ["", n.sentence(r)] if r.random() < 0.3 else []
    return "\n".join([*before, lines[0], rule, *lines[1:], *after])


def numbered(r, count):
    """A column before the one with the names: numbers, codes or days, under a head."""
    head, make = r.choice(
        [
            ("id", lambda at: str(at + 1)),
            ("sku", lambda at: f"{r.choice('ABCDKLMT')}{r.choice('ABEKRTXZ')}-{1000 + at * 7}"),
            ("date", lambda at: f"2025-{at % 12 + 1:02}-{r.randint(1, 28):02}"),
            ("no", lambda at: str(100 + at)),
            ("code", lambda at: f"{r.choice('PQRSTV')}{at + 11}"),
        ]
    )
    return [[head], *([make(at)] for at in range(count))]


class Table(Asked):
    """Rows and columns."""

    def __init__(self, w):
        r = w.r
        titles = w.pick.some([names[0] for names, *_ in TABLES])
        stems, head, kind, columns = r.choice([t for t in TABLES if t[0][0] in titles])
        some = r.sample(columns, min(len(columns), r.randint(2, 6)))
        self.lacking = [c for c in columns if c not in some]
        most = 10 if kind in NAMED else r.choice([6, 15, 30])
        names = list(dict.fromkeys(value(r, kind) for _ in range(r.randint(3, most))))
        names.sort(key=MONTHS.index if kind == "month" else int if kind == "week" else lambda _: 0)
        style = r.choice([str, str, str.capitalize, lambda c: c.replace(" ", "_")])
        self.head, self.heads = style(head), [style(c) for c, _, _ in some]
        self.asked = [asked for _, _, asked in some]
        self.kinds = [kind for _, kind, _ in some]
        self.rows = {name: [value(r, k) for k in self.kinds] for name in names}
        ext = r.choice(["csv", "csv", "csv", "md", "md", "tsv", "txt"])
        first = numbered(r, len(self.rows)) if r.random() < 0.25 else [[]] * (len(self.rows) + 1)
        rows = [[self.head, *self.heads], *([name, *cells] for name, cells in self.rows.items())]
        content = written(r, ext, [[*one, *row] for one, row in zip(first, rows)])
        super().__init__(w, file_of(w, ext, stems), content)

    def cell(self, row, at):
        return f"The {self.heads[at]} of {row} is {self.rows[row][at]}."

    def said(self, row):
        """A row as it is typed."""
        r = self.w.r
        first = row.split(" ")[0]
        if " " in row and r.random() < 0.2 and sum(other.startswith(first) for other in self.rows) == 1:
            row = first
        return row.lower() if r.random() < 0.25 else row

    def ask(self):
        """(question, answer, what was asked for)."""
        r, of = self.w.r, self.w.pick.of
        row, at = r.choice(list(self.rows)), r.randrange(len(self.heads))
        x = r.random()
        if x < 0.1 and self.lacking:
            return of(r.choice(self.lacking)[2], w=self.said(row)), self.none(), None
        if x < 0.16:
            other = r.choice([name for name in [*n.PEOPLE, *n.WORDS, *n.CITIES] if name not in self.content])
            return of(self.asked[at], w=other), self.none(), None
        if x < 0.24:
            v = self.rows[row][at]
            if sum(cells[at] == v for cells in self.rows.values()) == 1 and v not in ("yes", "no", "none"):
                return (
                    of(ROWS, h=human(self.head), c=human(self.heads[at]), v=v),
                    self.cell(row, at),
                    (row, at),
                )
        if x < 0.4:
            return of(ASK_ROW, c=human(self.heads[at]), w=self.said(row)), self.cell(row, at), (row, at)
        return of(self.asked[at], w=self.said(row)), self.cell(row, at), (row, at)

    def change(self):
        """(request, the row's line, the line with another value, that value); None where the value stands in it more than once."""
        r = self.w.r
        row, at = r.choice(list(self.rows)), r.randrange(len(self.heads))
        old = self.rows[row][at]
        new = another(r, self.kinds[at], old)
        lines = [line for line in self.content.split("\n") if row in line and line.count(old) == 1]
        if len(lines) != 1 or old in row or "{" in new:
            return None
        user = self.w.pick.of(
            CELL_SET, c=human(self.heads[at]), w=self.said(row), v=new, o=old, f=said_file(self.w, self.f)
        )
        return user, lines[0].strip(), lines[0].replace(old, new, 1).strip(), new

    def bare(self):
        """A question that names no file, and its row."""
        r, row, at = self.w.r, self.w.r.choice(list(self.rows)), self.w.r.randrange(len(self.heads))
        c, said = human(self.heads[at]), row.lower() if self.w.r.random() < 0.4 else row
        forms = [
            "{w}'s {c}",
            "{w}'s {c}",
            "{w} {c}",
            "{c} of {w}",
            "what is the {c} of {w}",
            "whats {w}'s {c}",
            "which {c} does {w} have",
        ]
        return self.w.pick.of(r.choice([forms, self.asked[at]]), w=said, c=c), row

    def none(self):
        return f"{self.f} does not say that."

    def two(self):
        r, row = self.w.r, self.w.r.choice(list(self.rows))
        one, other = r.sample(range(len(self.heads)), 2)
        user = self.w.pick.of(TWO_OF, k=human(self.heads[one]), j=human(self.heads[other]), w=self.said(row))
        return user, f"{self.cell(row, one)[:-1]} and the {self.heads[other]} is {self.rows[row][other]}."

    def compare(self):
        r = self.w.r
        return self.w.pick.of(
            COMPARE,
            f="{f}",
            c=human(r.choice(self.heads)),
            w=r.choice(list(self.rows)),
            v=r.choice(list(self.rows)),
            n=str(r.randint(2, 99)),
        )

    def also(self, before):
        """The same of another row, or another column of the same: (words, answer, what was asked for)."""
        r = self.w.r
        if not before:
            return None
        row, at = before
        if r.random() < 0.5:
            others = [name for name in self.rows if name != row]
            if not others:
                return None
            row = r.choice(others)
            return self.w.pick.of(CELL_ALSO, w=self.said(row)), self.cell(row, at), (row, at)
        at = r.choice([i for i in range(len(self.heads)) if i != at])
        words = r.choice(
            [
                "and the {c}?",
                "what about the {c}?",
                "and {c}?",
                "the {c} too",
                "and what is the {c}",
                "now the {c}",
            ]
        )
        return words.replace("{c}", human(self.heads[at])), self.cell(row, at), (row, at)
