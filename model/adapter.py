"""Adapters as files: npz as training writes them, GGUF as llama.cpp reads them.

adapter.py IN.npz OUT.gguf [RANK]     packs, with RANK cut to the best product of that rank
adapter.py IN.npz OUT.npz RANK        cuts or grows only, for training to go on with this rank
"""

import sys

import gguf
import numpy as np


def load(path):
    """(alpha, {tensor: (a, b)})."""
    found = dict(np.load(path))
    names = sorted({key[:-2] for key in found if key != "alpha"})
    return float(found["alpha"]), {
        k: (found[k + ".a"].astype(np.float32), found[k + ".b"].astype(np.float32)) for k in names
    }


def cut(a, b, rank):
    """The best product of this rank, by singular values; both halves get the same share of each value."""
    qb, rb = np.linalg.qr(b)
    qa, ra = np.linalg.qr(a.T)
    u, s, v = np.linalg.svd(rb @ ra.T)
    root = np.sqrt(s[:rank])
    return (v[:rank] * root[:, None]) @ qa.T, (qb @ u[:, :rank]) * root


def grown(a, b, rank, random):
    """The same product with room for more: new rows of `a` are random, what `b` makes of them is nothing yet."""
    more = rank - a.shape[0]
    new = random.standard_normal((more, a.shape[1])) / np.sqrt(a.shape[1])
    return np.concatenate([a, new]), np.concatenate([b, np.zeros((b.shape[0], more))], axis=1)


def resized(alpha, pairs, rank):
    """alpha / rank is the scale: half the rank needs half the alpha."""
    was, random = next(iter(pairs.values()))[0].shape[0], np.random.default_rng(0)
    fit = lambda a, b: cut(a, b, rank) if rank <= was else grown(a, b, rank, random)
    return alpha * rank / was, {k: fit(a, b) for k, (a, b) in pairs.items()}


def write_npz(path, alpha, pairs):
    named = {f"{k}.{end}": x.astype(np.float16) for k, ab in pairs.items() for end, x in zip("ab", ab)}
    np.savez(path, alpha=alpha, **named)


def write_gguf(path, alpha, pairs):
    """Of each pair the first as q8_0, the second as f16: its rows, as long as the rank, are too short for quantized forms."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_name("charla")
    writer.add_license("apache-2.0")
    for tensor, ab in pairs.items():
        a, b = (np.ascontiguousarray(x, dtype=np.float32) for x in ab)
        q8 = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(f"{tensor}.lora_a", gguf.quantize(a, q8), raw_dtype=q8)
        writer.add_tensor(f"{tensor}.lora_b", b.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    alpha, pairs = load(sys.argv[1])
    if len(sys.argv) > 3:
        alpha, pairs = resized(alpha, pairs, int(sys.argv[3]))
    write = write_npz if sys.argv[2].endswith(".npz") else write_gguf
    write(sys.argv[2], alpha, pairs)


if __name__ == "__main__":
    main()
