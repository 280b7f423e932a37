"""The evaluation sets: frozen by hash, and none of them in what is generated."""

import hashlib
import os
import sys
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)

import taken
import tools
from generator.conversations import plain


def digest(names):
    """As `sha256sum FILE… | sha256sum` prints it."""
    lines = ""
    for name in sorted(names):
        with open(os.path.join(HERE, "sets", name), "rb") as file:
            lines += f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n"
    return hashlib.sha256(lines.encode()).hexdigest()


class Sets(unittest.TestCase):
    def test_the_whole_turns_are_as_they_were_frozen(self):
        top = os.path.join(HERE, "sets")
        for set_name in ("whole", "fresh"):
            names = [f"{set_name}.jsonl"]
            for folder, _, files in os.walk(os.path.join(top, set_name)):
                names += [os.path.relpath(os.path.join(folder, name), top) for name in files]
            with open(os.path.join(top, f"{set_name}.sha256")) as file:
                self.assertEqual(digest(names), file.read().strip())

    def test_all_prompts_are_taken(self):
        with open(os.path.join(HERE, "taken.txt")) as file:
            hashes = set(file.read().split())
        sys.argv = sys.argv[:1]
        for text in taken.prompts():
            self.assertIn(plain(text), hashes)


class Tools(unittest.TestCase):
    def test_a_command_outside_the_folder_is_not_run(self):
        folder = tools.Folder(HERE, "/home/me/x")
        for command in ("cat /etc/passwd", "rm -rf ~", "ls ..", "curl example.com"):
            self.assertEqual(folder.call("run_shell_command", {"command": command}), tools.REFUSED)

    def test_a_file_is_found_by_its_only_name(self):
        folder = tools.Folder(os.path.join(HERE, "sets/whole/orbit"), "/home/me/orbit")
        self.assertIn("EARTH_RADIUS", folder.call("read_file", {"file_path": "body.rs"}))


if __name__ == "__main__":
    unittest.main()
