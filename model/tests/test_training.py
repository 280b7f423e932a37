"""Ten steps of training on the CPU, with a network of one layer and bytes for tokens: seconds, and no base model."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import missing

try:
    import numpy as np
    import torch

    import adapter
    import network
    import train
except ImportError as error:
    raise missing.left_out("training needs torch, gguf and tokenizers", error)

from generator.conversations import conversation


# Short conversations, few a batch.
LONGEST, ROWS = 600, 4


class Bytes:
    """A tokenizer of bytes, without special tokens."""

    def encode(self, text, add_special_tokens=False):
        return argparse.Namespace(ids=list(text.encode()))


class Stream:
    """Batches without end."""

    def __init__(self):
        self.count = 0

    def __iter__(self):
        seed = 0
        while True:
            rows = []
            while len(rows) < ROWS:
                seed += 1
                kind, turns = conversation(seed)
                ids, marks = train.encoded(Bytes(), turns)
                if len(ids) < LONGEST:
                    rows.append((kind, np.array(ids, np.uint16), np.array(marks, np.uint8)))
            self.count += len(rows)
            yield rows


def tiny():
    """Weights of one layer, at random."""
    torch.manual_seed(1)
    small = lambda *shape: torch.randn(*shape) * 0.05
    found = {"token_embd.weight": small(256, 576), "output_norm.weight": torch.ones(576)}
    shapes = {
        "attn_q": (576, 576),
        "attn_k": (192, 576),
        "attn_v": (192, 576),
        "attn_output": (576, 576),
        "ffn_gate": (96, 576),
        "ffn_up": (96, 576),
        "ffn_down": (576, 96),
    }
    found |= {f"blk.0.{name}.weight": small(*shape) for name, shape in shapes.items()}
    return found | {f"blk.0.{name}.weight": torch.ones(576) for name in ("attn_norm", "ffn_norm")}


class TenSteps(unittest.TestCase):
    def options(self, folder):
        numbers = {
            "rank": 4,
            "alpha": 8.0,
            "lr": 0.02,
            "steps": 10,
            "seconds": 0.0,
            "budget": 4000,
            "every": 5,
            "seed": 0,
        }
        return argparse.Namespace(out=os.path.join(folder, "ten.npz"), **numbers)

    def test_ten_steps_lower_the_loss_and_save_an_adapter(self):
        torch.set_num_threads(1)
        rows = next(iter(Stream()))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            o = self.options(folder)
            net = network.Model(tiny(), o.rank, o.alpha)
            before, _ = train.validate(net, rows, o.budget, "cpu")
            train.train(net, Stream(), rows, o, "cpu", time.time())
            after, found = train.validate(net, rows, o.budget, "cpu")
            self.assertLess(after, before * 0.9)
            self.assertGreater(sum(asked for _, asked in found.values()), 3)
            again = network.Model(tiny(), o.rank, o.alpha)
            again.load_adapter(np.load(o.out))
            self.assertAlmostEqual(train.validate(again, rows, o.budget, "cpu")[0], after, places=1)

    def test_cutting_to_the_rank_it_has_changes_nothing(self):
        net = network.Model(tiny(), 4, 8.0)
        for x in net.parameters():
            x.data = torch.randn_like(x)
        pairs = {k: (a.numpy(), b.numpy()) for k, (a, b) in net.adapter().items()}
        alpha, cut = adapter.resized(8.0, pairs, 4)
        self.assertEqual(alpha, 8.0)
        for name, (a, b) in pairs.items():
            np.testing.assert_allclose(cut[name][1] @ cut[name][0], b @ a, atol=1e-3)

    def test_the_packed_adapter_can_be_read(self):
        import gguf

        net = network.Model(tiny(), 4, 8.0)
        pairs = {k: (a.numpy(), b.numpy()) for k, (a, b) in net.adapter().items()}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ten.gguf")
            adapter.write_gguf(path, 8.0, pairs)
            reader = gguf.GGUFReader(path)
            self.assertEqual(reader.fields["adapter.lora.alpha"].contents(), 8.0)
            names = {tensor.name for tensor in reader.tensors}
            self.assertIn("blk.0.ffn_up.weight.lora_b", names)
            self.assertEqual(len(names), 14)
            del reader


if __name__ == "__main__":
    unittest.main()
