"""Adapters as files: npz as training writes them, GGUF as llama.cpp reads them.

adapter.py IN.npz OUT.gguf [RANK]     packs, with RANK cut to the best product of that rank
adapter.py IN.npz OUT.npz RANK        cuts only, for training to go on with the smaller rank
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


def smaller(alpha, pairs, rank):
    """alpha / rank is the scale: half the rank needs half the alpha."""
    was = next(iter(pairs.values()))[0].shape[0]
    return alpha * rank / was, {k: cut(a, b, rank) for k, (a, b) in pairs.items()}


def write_npz(path, alpha, pairs):
    named = {f"{k}.{end}": x.astype(np.float16) for k, ab in pairs.items() for end, x in zip("ab", ab)}
    np.savez(path, alpha=alpha, **named)


def write_gguf(path, alpha, pairs):
    """Tensors as f16: rows of 8 or 16 are too short for the quantized forms."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_name("charla")
    writer.add_license("apache-2.0")
    for tensor, ab in pairs.items():
        for end, data in zip(("lora_a", "lora_b"), ab):
            writer.add_tensor(f"{tensor}.{end}", np.ascontiguousarray(data, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    alpha, pairs = load(sys.argv[1])
    if len(sys.argv) > 3:
        alpha, pairs = smaller(alpha, pairs, int(sys.argv[3]))
    write = write_npz if sys.argv[2].endswith(".npz") else write_gguf
    write(sys.argv[2], alpha, pairs)


if __name__ == "__main__":
    main()
