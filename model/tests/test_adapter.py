"""Packing: what is written is close to what was trained."""

import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)

import missing

try:
    import gguf
    import numpy as np

    import adapter
except ImportError as error:
    raise missing.left_out("packing needs gguf and numpy", error)


def read_back(path):
    """The tensors of a packed adapter, as numbers."""
    reader = gguf.GGUFReader(path)
    return {t.name: gguf.dequantize(t.data, t.tensor_type) for t in reader.tensors}


class Packing(unittest.TestCase):
    def packed(self, a, b):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "packed.gguf")
            adapter.write_gguf(path, 8.0, {"x": (a, b)})
            found = read_back(path)
        return found["x.lora_b"].astype(np.float32) @ found["x.lora_a"]

    def test_the_product_is_the_same_within_a_few_percent(self):
        random = np.random.default_rng(3)
        # Columns of very different size, as training makes them.
        b = random.standard_normal((192, 12)) * np.geomspace(0.01, 3, 12)
        a = random.standard_normal((12, 576))
        lost = self.packed(a, b) - b @ a
        self.assertLess(np.linalg.norm(lost), 0.06 * np.linalg.norm(b @ a))

    def test_an_adapter_that_has_learnt_nothing_stays_nothing(self):
        a = np.random.default_rng(3).standard_normal((4, 96))
        self.assertFalse(self.packed(a, np.zeros((64, 4))).any())


if __name__ == "__main__":
    unittest.main()
