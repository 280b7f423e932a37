"""The evaluation sets: frozen by hash, and none of them in what is generated."""

import hashlib
import json
import os
import pathlib
import sys
import tempfile
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
    def test_each_case_can_be_asked_and_judged(self):
        sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bench"))
        import whole_turns

        for path in whole_turns.SETS:
            self.assertGreater(len(whole_turns.cases_of(path)), 30)
        with tempfile.TemporaryDirectory() as top:
            os.mkdir(os.path.join(top, "new"))
            os.mkdir(os.path.join(top, "new", "a"))
            path = pathlib.Path(top) / "new.jsonl"
            good = {"id": "s1", "kind": "question", "folder": "a", "say": ["what is in it?"], "has": ["x"]}
            path.write_text(json.dumps(good) + "\n")
            self.assertEqual(whole_turns.cases_of(path), [good])
            for wrong in ({"folder": "b"}, {"hsa": ["x"]}, {"say": "what is in it?"}, {"id": None}):
                path.write_text(json.dumps({**good, **wrong}) + "\n")
                with self.assertRaises(SystemExit):
                    whole_turns.cases_of(path)

    def test_the_whole_turns_are_as_they_were_frozen(self):
        top = os.path.join(HERE, "sets")
        for set_name in ("whole", "fresh", "sixty"):
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
