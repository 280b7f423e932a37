"""Serves one model on loopback with the server that is part of xllamacpp.

Started by Charla. What it needs comes as one JSON object in CHARLA_ENGINE, so that the key is in no
argument list; it is ended from outside.
"""

import json
import os
import sys
import threading


def main():
    options = json.loads(os.environ.pop("CHARLA_ENGINE"))
    # Python runs isolated: this folder is the only one beside its own that modules come from.
    sys.path.insert(0, options["packages"])

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options["model"]
    params.model_alias = {options["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = options["port"]
    params.api_keys = [options["key"]]
    params.n_ctx = options["window"]
    params.n_parallel = 1
    params.cpuparams.n_threads = options["threads"]
    params.cpuparams_batch.n_threads = options["threads"]
    params.use_jinja = True
    params.warmup = False
    params.ui = False
    params.offline = True
    # Keeps the matrix extension out, which crashes on some virtual machines.
    params.no_extra_bufts = True
    if options["adapter"]:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = options["adapter"], 1.0
        params.lora_adapters = [adapter]

    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    threading.Event().wait()


main()
