"""The generator: the prompt format, held-out families, and calls that a program can run. Needs nothing but Python."""

import json
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)

import examples
from generator import prompt
from generator.conversations import EARLIER, conversation, plain
from generator.wording import held_out

ARGUMENTS = {
    name: set(arguments.split(", ")) for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", prompt.TOOLS)
}


class Format(unittest.TestCase):
    def test_the_examples_are_what_the_generator_writes(self):
        with open(os.path.join(HERE, "examples.json")) as file:
            kept = json.load(file)
        self.assertEqual(kept, json.loads(json.dumps(list(examples.examples()))))

    def test_names_stop_before_the_one_that_has_no_room(self):
        self.assertEqual(
            prompt.system("/a", ["b" * 40, "c" * 40, "d"]).split("\n")[0],
            f"You are Charla, a small assistant in the folder /a. It has: {'b' * 40}.",
        )

    def test_a_tools_result_is_a_turn_of_the_user(self):
        text = prompt.render([("tool", "x")], last=True)
        self.assertEqual(
            text,
            "<|im_start|>user\n<tool_response>\nx\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
        )


class Conversations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = [conversation(seed) for seed in range(1500)]

    def test_a_seed_always_gives_the_same(self):
        self.assertEqual(self.made[:50], [conversation(seed) for seed in range(50)])

    def test_calls_are_json_with_a_tools_arguments(self):
        for _, turns in self.made:
            for role, said in turns:
                if role == "assistant" and said.startswith("<tool_call>"):
                    call = json.loads(said.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))
                    self.assertEqual(set(call["arguments"]), ARGUMENTS[call["name"]])

    def test_a_call_is_answered_by_a_tool_and_the_last_word_is_the_assistants(self):
        for _, turns in self.made:
            self.assertEqual(turns[-1][0], "assistant")
            self.assertFalse(turns[-1][1].startswith("<tool_call>"))
            for (role, said), (after, _) in zip(turns, turns[1:]):
                calls = role in ("assistant", "earlier") and said.startswith("<tool_call>")
                self.assertEqual(calls, after == "tool")

    def test_no_slot_of_a_template_is_left(self):
        for _, turns in self.made:
            for _, said in turns:
                self.assertIsNone(re.search(r"\{(f|d|k|t|s|w|x|who|q)\}", said), said)

    def test_an_answer_from_a_file_is_a_line_of_it_or_a_cell(self):
        lines, cells = 0, 0
        for kind, turns in self.made:
            (role, found), (_, answer) = turns[-2:]
            if kind != "lookup" or role != "tool" or answer.endswith((" does not say that.", "small model.")):
                continue
            if answer.startswith("There is no file") or answer.startswith("That did not work"):
                continue
            cell = re.fullmatch(r"The (.+) of (.+?) is (.+)\.", answer)
            if cell and answer not in found:
                cells += 1
                self.assertIn(cell.group(2), found)
                self.assertIn(cell.group(3).split(" and the ")[0], found)
            else:
                lines += 1
                for line in answer.split("\n"):
                    self.assertIn(line, found)
        self.assertGreater(lines, 50)
        self.assertGreater(cells, 30)

    def test_a_change_takes_a_text_of_the_file_that_was_read(self):
        changes = 0
        for kind, turns in self.made:
            for (role, found), (_, said) in zip(turns, turns[1:]):
                if kind == "set" and role == "tool" and said.startswith('<tool_call>\n{"name": "replace"'):
                    changes += 1
                    call = json.loads(said.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))
                    self.assertIn(call["arguments"]["old_string"], found)
        self.assertGreater(changes, 20)

    def test_of_an_earlier_result_no_more_is_told_than_the_program_tells(self):
        told = [turns for _, turns in self.made if any(role == "earlier" for role, _ in turns)]
        self.assertTrue(told)
        for turns in told:
            last = max(at for at, (role, _) in enumerate(turns) if role == "earlier")
            for role, said in turns[:last]:
                self.assertTrue(role != "tool" or len(said) <= EARLIER)

    def test_adding_to_a_file_never_writes_it_anew(self):
        for kind, turns in self.made:
            if kind == "append":
                self.assertIn(" >> ", turns[2][1])

    def test_prompts_of_the_evaluations_are_not_made(self):
        kind, turns = conversation(3)
        self.assertIsNone(conversation(3, taken=frozenset([plain(turns[1][1].upper())])))

    def test_validation_uses_families_that_training_does_not(self):
        self.assertTrue(any(conversation(seed, valid=True) for seed in range(20)))
        share = sum(held_out(str(number)) for number in range(12000)) / 12000
        self.assertAlmostEqual(share, 1 / 12, delta=0.02)


if __name__ == "__main__":
    unittest.main()
