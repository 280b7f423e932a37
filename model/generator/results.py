"""What tools return, and the folder a conversation is about."""

from generator import names as n
from generator.contents import code_line


def root(r):
    who = r.choice(n.PEOPLE).lower()
    return r.choice(
        [
            f"/home/{who}/{n.joined(r, 2)}",
            f"/home/{who}/{r.choice(['work', 'code', 'projects', 'dev', 'repos'])}/{n.joined(r, 2)}",
            f"/Users/{who}/{n.joined(r, 2)}",
            f"/opt/{n.word(r)}",
            f"/srv/{n.word(r)}",
            f"/tmp/{n.word(r)}",
        ]
    )


def entries(r, count=None, ext=None):
    count = r.randint(1, 9) if count is None else count
    found = set()
    for _ in range(count):
        found.add(
            (r.choice(n.DIRS) if r.random() < 0.6 else n.joined(r, 2), True)
            if r.random() < 0.3
            else (n.base(r, ext), False)
        )
    return sorted(found, key=lambda e: (not e[1], e[0]))


def listing(r, where, found):
    if not found:
        return f"The folder {where} is empty."
    lines = [
        (
            f"[DIR] {name}"
            if is_dir
            else f"{name} ({r.choice([r.randint(1, 999), r.randint(1000, 90000)])} bytes)"
        )
        for name, is_dir in found
    ]
    return f"Directory listing for {where}:\n" + "\n".join(lines)


def full(at, path):
    return at if path in (".", "") else path if path.startswith("/") else f"{at}/{path}"


def matches(r, at, what, files=None, count=None):
    files = files or sorted({n.file(r, r.choice(n.TEXT_EXT)) for _ in range(r.randint(1, 3))})
    text, total = "", 0
    for name in files:
        text += f"\n---\nFile: {name}"
        line = 0
        for _ in range(r.randint(1, 3)):
            line += r.randint(1, 60)
            total += 1
            text += f"\nL{line}: {code_line(r, what)}"
    return f"{total} match(es) for '{what}' in {len(files)} file(s) in {at}:{text}"


def found_files(r, at, pattern, files):
    if not files:
        return f"No files match '{pattern}' in {at} ({r.randint(3, 900)} entries were looked at)."
    return f"{len(files)} file(s) match '{pattern}' in {at}, recently changed ones first:\n" + "\n".join(
        full(at, f) for f in files
    )


NOT_ALLOWED = [
    "The user did not allow this call.",
    "The user did not allow this call: no",
    "The user did not allow this call: not now",
    "Error: The user did not allow this call.",
]


def missing(r, at, f):
    """The text of a file that is not there."""
    return r.choice(["", "Error: "]) + r.choice(
        [
            f"There is no file {full(at, f)}.",
            f"There is no file {full(at, f)}. Look with list_directory or glob what is there, and mind that relative paths start in the working folder.",
            f"File not found: {full(at, f)}",
        ]
    )


BY_USER = "I did not do it, because you did not allow it."
BY_RULE = "I did not do it, because a rule does not allow it."
NOBODY = "I did not do it, because nobody was there to allow it. Ask me again at a terminal."


def refused(r, what):
    """(the tool's text, what to say) for a call that was not run."""
    x = r.random()
    if x < 0.5:
        return r.choice(NOT_ALLOWED), BY_USER
    if x < 0.75:
        reason = r.choice(
            [
                f"{what}: denied by policy",
                f"{n.word(r)} is not allowed",
                f"write to {n.file(r)}: denied by policy",
                "it would change files outside of the folder",
            ]
        )
        return f"Tool execution denied by policy: {reason} (rule: {n.joined(r, 2)})", BY_RULE
    return (
        f"Not run: it needs approval ({what}) and nobody is there to give it. Do without it, or say what should be allowed.",
        NOBODY,
    )


def broken(r, at, f):
    """A tool's other errors; the answer shows them."""
    path = full(at, f)
    return r.choice(
        [
            f"{path} is a directory, not a file. Use list_directory to see what is in it.",
            f"{path}: no permission. The user would have to grant it.",
            f"{path} is a binary file ({r.randint(100, 900000)} bytes) and cannot be shown or edited as text. Use run_shell_command with a program that understands it.",
            f"{path} is too large ({r.randint(10, 900)} MB).",
            f"Error: {path}: {r.choice(['Input/output error', 'Too many open files', 'Is a directory', 'Permission denied'])}",
            f"{path} is a socket and is not opened by this tool.",
        ]
    )


class World:
    """What a conversation is about: the folder and what the model is told is in it."""

    def __init__(self, pick):
        r = pick.r
        self.pick, self.r, self.at = pick, r, root(r)
        x = r.random()
        self.files = []
        if x < 0.8:
            found = entries(r, r.randint(1, 8))
            self.files = [name + "/" * is_dir for name, is_dir in found][:8]
            if r.random() < 0.5:
                self.files = sorted(
                    set(self.files[:5])
                    | set(
                        r.sample(
                            [
                                "README.md",
                                "src/",
                                "docs/",
                                "tests/",
                                "LICENSE",
                                "Cargo.toml",
                                "package.json",
                                "Makefile",
                                "pyproject.toml",
                                "go.mod",
                                "main.py",
                            ],
                            r.randint(1, 3),
                        )
                    ),
                    key=lambda e: (not e.endswith("/"), e),
                )
        self.last = None

    def show(self, *names):
        """Puts names among the files so that the prompt, which has room for few, tells them."""
        room = 70 - sum(map(len, names))
        others = [f for f in self.files if f not in names]
        self.r.shuffle(others)
        kept = []
        for f in others[:4]:
            if len(f) <= room:
                kept.append(f)
                room -= len(f)
        self.files = sorted({*kept, *names}, key=lambda e: (not e.endswith("/"), e))

    def some_file(self, often=0.3, ext=None):
        own = [f for f in self.files if not f.endswith("/")]
        return self.r.choice(own) if own and ext is None and self.r.random() < often else n.file(self.r, ext)

    def some_folder(self, often=0.3):
        own = [f[:-1] for f in self.files if f.endswith("/")]
        return self.r.choice(own) if own and self.r.random() < often else n.folder(self.r)
