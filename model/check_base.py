"""The dequantized weights against llama.cpp: tokens, next-token probabilities, and a random adapter."""

import torch

import adapter
import engine
import network
import weights

TEXTS = [
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    '<|im_start|>system\nFolder: /home/ann/a-b_c, 12345 files. Größe 漢字 "x": {"a": [1, 2]}<|im_end|>\n'
    "<|im_start|>user\n<tool_response>\nL12:  let x = 3;\n\n\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
]


def compare(name, tok, net, llama):
    for text in TEXTS:
        ids = tok.encode(text, add_special_tokens=False).ids
        print(name, "same tokens", ids == llama.tokens(text), len(ids))
        with torch.no_grad():
            mine = torch.log_softmax(net.logits(net.hidden(torch.tensor([ids])))[0, -1], -1)
        top = mine.topk(5)
        print(
            "  torch    ",
            [(tok.decode([i]), round(v, 3)) for i, v in zip(top.indices.tolist(), top.values.tolist())],
        )
        found = llama.complete(ids, 1, n_probs=5)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        print("  llama.cpp", [(x["token"], round(x["logprob"], 3)) for x in found])


def main():
    tok, found = weights.tokenizer(engine.BASE), weights.tensors(engine.BASE)
    torch.manual_seed(1)
    compare("base", tok, network.Model(found), engine.Engine())
    net = network.Model(found, rank=8, alpha=16)
    for x in net.parameters():
        x.data = torch.randn_like(x) * 0.02
    adapter.write_gguf(
        "random.gguf", 16.0, {k: (a.numpy(), b.numpy()) for k, (a, b) in net.adapter().items()}
    )
    compare("random adapter", tok, net, engine.Engine("random.gguf"))


if __name__ == "__main__":
    main()
