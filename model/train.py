"""Trains the adapter. train.py BASE.gguf OUT.npz --seconds 480

New conversations for every step (the generator makes as many as are wanted); the loss is on the assistant's tokens only.
Every `--every` steps, and at the end, the held-out families are asked: an answer counts when every token of it is the
likeliest one, which is what greedy decoding would write. The rate of learning follows the steps, or with `--seconds` the clock.
"""

import argparse
import collections
import json
import math
import multiprocessing
import os
import pathlib
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import network
import weights
from generator import prompt
from generator.conversations import conversation

LONGEST = 2048
TAKEN = pathlib.Path(__file__).with_name("taken.txt")


def encoded(tok, turns):
    """(ids, marks): marks are 0 for what is given, else the number of the assistant's message."""
    ids, marks, message = [], [], 0
    tokens = lambda text: tok.encode(text, add_special_tokens=False).ids
    for role, said in turns:
        if role != "assistant":
            new = tokens(prompt.render([(role, said)]))
            ids, marks = ids + new, marks + [0] * len(new)
            continue
        message += 1
        head, body, tail = tokens("<|im_start|>assistant\n"), tokens(said + "<|im_end|>"), tokens("\n")
        ids += head + body + tail
        marks += [0] * len(head) + [message] * len(body) + [0] * len(tail)
    return ids, marks


class Maker:
    """What a process that makes conversations keeps."""

    def __init__(self, path):
        self.tok = weights.tokenizer(path)
        self.taken = frozenset(TAKEN.read_text().split())

    def rows(self, first, count, valid):
        made = []
        for seed in range(first, first + count):
            try:
                got = conversation(seed, valid, self.taken)
            except Exception as error:  # one bad seed must not end a run
                print(f"seed {seed}: {error!r}", flush=True)
                continue
            if not got:
                continue
            ids, marks = encoded(self.tok, got[1])
            if len(ids) <= LONGEST:
                made.append((got[0], np.array(ids, np.uint16), np.array(marks, np.uint8)))
        return made


MAKER = None


def setup(path):
    global MAKER
    MAKER = Maker(path)


def make(job):
    return MAKER.rows(*job)


def batches(rows, budget, r):
    """Rows of like length together, at most `budget` tokens with the padding."""
    rows = sorted(rows, key=lambda row: len(row[1]) + r.random())
    made, now = [], []
    for row in rows:
        if now and (len(now) + 1) * len(row[1]) > budget:
            made.append(now)
            now = []
        now.append(row)
    made.append(now)
    r.shuffle(made)
    return made


def padded(rows, device):
    length = -(-max(len(ids) for _, ids, _ in rows) // 16) * 16
    ids = np.full((len(rows), length), 2, np.int64)
    marks = np.zeros((len(rows), length), np.int64)
    for at, (_, i, m) in enumerate(rows):
        ids[at, : len(i)], marks[at, : len(m)] = i, m
    return tuple(torch.from_numpy(x).to(device, non_blocking=True) for x in (ids, marks))


@torch.no_grad()
def validate(net, rows, budget, device):
    """(loss, {kind of message: (right, asked)})."""
    right, asked, loss, tokens = collections.Counter(), collections.Counter(), 0.0, 0
    for batch in batches(rows, budget, random.Random(0)):
        ids, marks = padded(batch, device)
        where = marks[:, 1:] > 0
        logits = net.logits(net.hidden(ids)[:, :-1][where]).float()
        target = ids[:, 1:][where]
        loss += F.cross_entropy(logits, target, reduction="sum").item()
        tokens += len(target)
        good = torch.ones_like(where)
        good[where] = logits.argmax(-1) == target
        good, marks = good.cpu().numpy(), marks[:, 1:].cpu().numpy()
        for (kind, _, _), g, m in zip(batch, good, marks):
            for message in range(1, m.max() + 1):
                name = (
                    "later turns"
                    if "+" in kind and message > 1
                    else f"{kind.split('+')[0]} {'first' if message == 1 else 'then'}"
                )
                asked[name] += 1
                right[name] += bool(g[m == message].all())
    return loss / max(tokens, 1), {name: (right[name], asked[name]) for name in sorted(asked)}


def options():
    p = argparse.ArgumentParser()
    p.add_argument("gguf")
    p.add_argument("out")
    p.add_argument("--start", help="an adapter (npz) to go on from")
    numbers = {
        "rank": 16,
        "alpha": 32.0,
        "lr": 1e-3,
        "steps": 10**6,
        "seconds": 0.0,
        "budget": 49152,
        "every": 10**6,
        "valid": 3000,
        "procs": 14,
        "seed": 0,
    }
    for name, default in numbers.items():
        p.add_argument("--" + name, type=type(default), default=default)
    return p.parse_args()


class Stream:
    """Batches without end, made ahead by other processes."""

    def __init__(self, pool, o):
        self.pool, self.o, self.r = pool, o, random.Random(o.seed)
        self.chunk = max(1, o.budget * 24 // 400 // 14 + 1)
        self.next, self.count, self.ahead = 1_000_000 * (o.seed + 1), 0, collections.deque()

    def jobs(self):
        for _ in range(14):
            self.next += self.chunk
            yield self.pool.apply_async(make, ((self.next, self.chunk, False),))

    def __iter__(self):
        while True:
            while len(self.ahead) < 4:
                self.ahead.append(list(self.jobs()))
            rows = [row for job in self.ahead.popleft() for row in job.get()]
            self.count += len(rows)
            yield from batches(rows, self.o.budget, self.r)


def report(net, valid, o, device):
    loss, found = validate(net, valid, o.budget, device)
    good, asked = (sum(x[i] for x in found.values()) for i in (0, 1))
    print(
        f"held out: loss {loss:.4f}, right {good}/{asked}: "
        + ", ".join(f"{k} {a}/{b}" for k, (a, b) in found.items()),
        flush=True,
    )


def save(net, o):
    named = {
        f"{k}.{end}": t.numpy().astype(np.float16)
        for k, ab in net.adapter().items()
        for end, t in zip("ab", ab)
    }
    np.savez(o.out + ".tmp.npz", alpha=o.alpha, **named)
    os.replace(o.out + ".tmp.npz", o.out)


def train(net, stream, valid, o, device, begun):
    learnt = [x for x in net.parameters() if x.requires_grad]
    # Not on a CPU: torch has known the word since 2.0, and Debian's may be older.
    fused = {"fused": True} if device == "cuda" else {}
    optimizer = torch.optim.AdamW(learnt, lr=o.lr, betas=(0.9, 0.98), weight_decay=0.0, **fused)
    seen, total, since = 0, 0.0, time.time()
    source = iter(stream)
    for step in range(o.steps):
        done = (time.time() - begun) / o.seconds if o.seconds else step / o.steps
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = (
                o.lr * min(1, (step + 1) / 60) * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * done)))
            )
        ids, marks = padded(next(source), device)
        where = marks[:, 1:] > 0
        loss = F.cross_entropy(net.logits(net.hidden(ids)[:, :-1][where]).float(), ids[:, 1:][where])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimizer.step()
        seen += ids.numel()
        total += loss.detach()
        if (step + 1) % 25 == 0:
            print(
                f"step {step + 1} loss {float(total) / 25:.4f} {seen / (time.time() - since):.0f} tok/s {time.time() - begun:.0f} s, {stream.count} conversations",
                flush=True,
            )
            total = 0.0
        if (step + 1) % o.every == 0:
            report(net, valid, o, device)
            save(net, o)
    print(f"{step + 1} steps, {seen} tokens with padding", flush=True)


def main():
    o, begun = options(), time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(o.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    pool = multiprocessing.get_context("fork").Pool(o.procs, setup, (o.gguf,))
    stream = Stream(pool, o)
    valid = [row for part in pool.map(make, [(at, 50, True) for at in range(0, o.valid, 50)]) for row in part]
    net = network.Model(
        weights.tensors(o.gguf), o.rank, o.alpha, torch.bfloat16 if device == "cuda" else torch.float32
    )
    if o.start:
        net.load_adapter(np.load(o.start))
    net = net.to(device)
    count = sum(x.numel() for x in net.parameters() if x.requires_grad)
    print(f"{count} parameters, {len(valid)} held-out conversations, {time.time() - begun:.0f} s", flush=True)
    train(net, stream, valid, o, device, begun)
    save(net, o)
    report(net, valid, o, device)
    pool.terminate()
    with open(o.out + ".json", "w") as file:
        json.dump(vars(o), file)
    print(f"done in {time.time() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
