"""The base model out of its GGUF file: dequantized weights and the tokenizer."""

import gguf
import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL = 3


def tensors(path):
    """Name -> float32 tensor, exactly what llama.cpp computes with (in GGUF's own row order)."""
    found = {}
    for tensor in gguf.GGUFReader(path).tensors:
        data = gguf.dequantize(tensor.data, tensor.tensor_type)
        shape = [int(n) for n in reversed(tensor.shape)]
        found[tensor.name] = torch.from_numpy(np.array(data, dtype=np.float32).reshape(shape))
    return found


def tokenizer(path):
    fields = gguf.GGUFReader(path).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(pair.split(" ", 1)) for pair in fields["tokenizer.ggml.merges"].contents()]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    special = [word for word, kind in zip(words, kinds) if kind == CONTROL]
    made.add_special_tokens([AddedToken(word, normalized=False, special=True) for word in special])
    return made
