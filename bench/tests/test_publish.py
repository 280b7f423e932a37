"""The page of what was measured: made of whatever was, goals that were missed included."""

import argparse
import pathlib
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import publish
import run

FIGURES = [
    {"name": "one-shot / minimal client", "seconds": 0.009, "reference": 0.001, "ratio": 9.0, "budget": 3, "memory": 37.7, "room": 15, "good": False},
    {"name": "listing sessions", "seconds": 0.2, "most": 0.3, "memory": 31.6, "room": 150, "good": True},
    {"name": "the binary", "size": 24.6, "room": 25, "good": True},
]


def options(folder):
    return argparse.Namespace(quick=True, binaries=None, sessions=3, svg=folder / "chart.svg")


class Programs(unittest.TestCase):
    def test_what_is_not_built_is_named_with_how_to_build_it(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            for name in run.PROGRAMS:
                (place / name).touch()
            self.assertEqual(run.built(place), place.resolve())
            (place / "measure").unlink()
            with self.assertRaisesRegex(SystemExit, "has no measure\nhint: cargo build"):
                run.built(place)


class Page(unittest.TestCase):
    def served(self, program):
        with tempfile.TemporaryDirectory() as folder:
            server = pathlib.Path(folder) / "server.py"
            server.write_text(program)
            with mock.patch.object(publish, "SERVER", server):
                return publish.served(options(pathlib.Path(folder)), pathlib.Path(folder))

    def test_a_server_that_misses_a_goal_is_on_the_page(self):
        table = self.served("import sys; print('| memory | 1200 KB | < 200 KB (missed) |'); sys.exit(1)")
        self.assertIn("(missed)", table)

    def test_a_server_that_cannot_be_measured_is_told(self):
        with self.assertRaisesRegex(SystemExit, "ended with 3"):
            self.served("raise SystemExit(3)")

    def test_every_figure_has_its_row_and_its_bar(self):
        with tempfile.TemporaryDirectory() as folder:
            page = publish.page(FIGURES, "| served |", options(pathlib.Path(folder)))
        for figure in FIGURES:
            self.assertIn(f"| {figure['name']} |", page)
        self.assertIn("**no**", page)
        drawn = xml.dom.minidom.parseString(publish.chart(FIGURES)).documentElement
        self.assertEqual(drawn.tagName, "svg")
        self.assertTrue(drawn.getElementsByTagName("rect"))


if __name__ == "__main__":
    unittest.main()
