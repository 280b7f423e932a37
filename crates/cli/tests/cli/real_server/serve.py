"""llama.cpp's own server with one model on loopback, as somebody else might run it: no key, a template that knows tools.

What it needs comes as one JSON object in the first argument. It ends with its standard input, so that it never outlives
the test that started it.
"""

import json
import os
import sys

import xllamacpp


def main():
    wanted = json.loads(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = wanted["model"]
    params.model_alias = {"tiny"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = wanted["window"]
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.chat_template = wanted["template"]
    params.endpoint_slots = True
    params.warmup = False
    params.ui = False
    params.offline = True
    # Keeps the matrix extension out, which crashes on some virtual machines.
    params.no_extra_bufts = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
