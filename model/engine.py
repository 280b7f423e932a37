"""llama.cpp in this process (xllamacpp), greedy, with or without the adapter."""

import json
import os
import socket
import urllib.request

import xllamacpp as xlc

BASE = os.environ.get("CHARLA_BASE_MODEL", "SmolLM2-135M-Instruct.Q4_1.gguf")


class Engine:
    """One model, one request at a time."""

    def __init__(self, adapter=None, base=BASE, threads=1, context=4096):
        params = xlc.CommonParams()
        params.model.path = base
        params.port = free_port()
        params.n_ctx, params.n_parallel, params.warmup = context, 1, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        if adapter:
            info = xlc.CommonAdapterLoraInfo()
            info.path, info.scale = adapter, 1.0
            params.lora_adapters = [info]
        self.server = xlc.Server(params)

    def complete(self, prompt, most=120, **more):
        """The whole reply of llama.cpp's completion endpoint."""
        request = {"prompt": prompt, "n_predict": most, "temperature": 0, "cache_prompt": True}
        found = self.server.handle_completions({**request, "stop": ["<|im_end|>"], **more})
        return json.loads(found) if isinstance(found, str) else found

    def text(self, prompt, most=120):
        return self.complete(prompt, most)["choices"][0]["text"].strip()

    def tokens(self, text):
        body = json.dumps({"content": text, "parse_special": True, "add_special": False}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.server.listening_address + "/tokenize", body, headers)
        return json.load(urllib.request.urlopen(request))["tokens"]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
