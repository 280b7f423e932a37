"""Lets the base model answer general questions; writes distilled.json. distill.py GGUF [COUNT]"""

import json
import sys

import torch

import network
import questions
import weights

SYSTEM = "You are a helpful assistant. You answer in one or two short sentences."
MOST, END = 72, 2


@torch.no_grad()
def answers(net, rows, device):
    """Greedy, without a cache: rows of one length at a time are cheap enough."""
    ids = torch.tensor(rows, device=device)
    start, done = ids.shape[1], torch.zeros(len(rows), dtype=torch.bool, device=device)
    for _ in range(MOST):
        logits = net.logits(net.hidden(ids)[:, -1]).float()
        seen = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, ids[:, start:], True)
        logits = torch.where(seen, logits - 0.4, logits)  # a little against loops
        new = logits.argmax(-1).masked_fill(done, END)
        ids = torch.cat([ids, new[:, None]], 1)
        done |= new == END
        if bool(done.all()):
            break
    return ids[:, start:].tolist(), done.tolist()


def main():
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10**9
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tok = weights.tokenizer(path)
    net = network.Model(
        weights.tensors(path), dtype=torch.bfloat16 if device == "cuda" else torch.float32
    ).to(device)
    groups = {}
    for question in questions.all_questions()[:count]:
        text = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        row = tok.encode(text, add_special_tokens=False).ids
        groups.setdefault(len(row), []).append((question, row))
    kept = []
    for group in groups.values():
        for at in range(0, len(group), 1024):
            part = group[at : at + 1024]
            made, ended = answers(net, [row for _, row in part], device)
            for (question, _), ids, end in zip(part, made, ended):
                text = tok.decode(ids[: ids.index(END)] if END in ids else ids).strip()
                if not end:  # whole sentences of what was cut
                    text = text[: max(text.rfind("."), text.rfind("!")) + 1]
                if len(text) > 3 and "{" not in text and "```" not in text:
                    kept.append([question, text])
    json.dump(kept, open("distilled.json", "w"), ensure_ascii=False)
    print(f"{len(kept)} answers; for example {kept[:5]}")


if __name__ == "__main__":
    main()
