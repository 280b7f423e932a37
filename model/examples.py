"""Writes examples.json: prompts byte for byte, for the program's tests to compare theirs with."""

import json
import pathlib

from generator import prompt

FILE = pathlib.Path(__file__).with_name("examples.json")
CASES = [
    ("/home/ann/shop", [], [("user", "hi")]),
    (
        "/home/ann/shop",
        ["src/", "README.md"],
        [
            ("user", "what is in README.md?"),
            ("assistant", prompt.call("read_file", file_path="README.md")),
            ("tool", '# Shop\n\nSells "tea".'),
        ],
    ),
    (
        "/srv/größe",
        ["a-folder-with-a-long-name/", "another-folder/", "notes-of-the-last-meeting.txt", "z.txt"],
        [
            ("user", "add milk to z.txt"),
            ("assistant", prompt.call("run_shell_command", command="echo 'milk' >> z.txt")),
            ("tool", "Output: (empty)"),
            ("assistant", "I added it to z.txt."),
            ("user", "read it"),
        ],
    ),
    (
        "/tmp/x",
        ["a.txt"],
        [
            ("user", 'replace "old" with né in a.txt'),
            ("assistant", prompt.call("replace", file_path="a.txt", old_string='"old"', new_string="né")),
            ("tool", "Changed 1 place in /tmp/x/a.txt."),
        ],
    ),
]


def examples():
    for folder, files, turns in CASES:
        system = prompt.system(folder, files)
        yield {
            "folder": folder,
            "files": files,
            "turns": turns,
            "prompt": prompt.render([("system", system), *turns], last=True),
        }


if __name__ == "__main__":
    FILE.write_text(json.dumps(list(examples()), ensure_ascii=False, indent=1) + "\n")
