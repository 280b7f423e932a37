"""Adapters as files: npz as training writes them, GGUF as llama.cpp reads them.

adapter.py IN.npz OUT.gguf [RANK]     packs, with RANK cut to the best product of that rank
adapter.py IN.npz OUT.npz RANK        cuts or grows only, for training to go on with this rank
"""

import sys

import gguf
import numpy as np

# Steps of the packed numbers' grid to a standard deviation.
STEPS = 8


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


def balanced(a, b):
    """The same product with columns of `b` of one size, so that one grid fits them all."""
    a, b = cut(a, b, a.shape[0])
    size = np.sqrt(np.mean(b**2, axis=0))
    size[size == 0] = 1
    return a * size[:, None], b / size


def on_grid(a):
    """A matrix as q8_0 with one scale a row: blocks of 32 whole numbers behind their scale."""
    scale = (np.sqrt(np.mean(a**2, axis=1, keepdims=True)) / STEPS).astype(np.float16)
    whole = np.divide(a, scale, out=np.zeros_like(a), where=scale != 0)
    whole = np.clip(np.round(whole), -127, 127).astype(np.int8).reshape(-1, 32)
    scales = np.repeat(scale.ravel(), a.shape[1] // 32)[:, None]
    return np.concatenate([scales.view(np.uint8), whole.view(np.uint8)], axis=1).reshape(len(a), -1)


def write_gguf(path, alpha, pairs):
    """Of each pair the first as q8_0, the second as f16: its rows, as long as the rank, are too short for quantized forms.

    Both lie on grids, `STEPS` to a standard deviation: of numbers that are this coarse gzip leaves half, and the program
    carries them so.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_name("charla")
    writer.add_license("apache-2.0")
    even = {tensor: balanced(*ab) for tensor, ab in pairs.items()}
    # What is alike lies together: gzip leaves less of it.
    for tensor, (a, _) in even.items():
        writer.add_tensor(f"{tensor}.lora_a", on_grid(a), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    for tensor, (_, b) in even.items():
        writer.add_tensor(f"{tensor}.lora_b", (np.round(b * STEPS) / STEPS).astype(np.float16))
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
