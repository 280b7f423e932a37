"""The prompt format: what the model reads and writes, byte for byte."""

import json

TOOLS = "list_directory(dir_path), read_file(file_path), grep_search(pattern), glob(pattern), run_shell_command(command), write_file(file_path, content), replace(file_path, old_string, new_string)"
RESULT = "<result/>"
BEYOND = "That is beyond me: I am a very small model. For this, set an API key or use a larger local model."


def system(folder, files):
    shown = []
    for name in files:  # some tokens for names, not more
        if sum(map(len, shown)) + len(name) > 70:
            break
        shown.append(name)
    has = f" It has: {', '.join(shown)}." if shown else ""
    return f"You are Charla, a small assistant in the folder {folder}.{has}\nTools: {TOOLS}"


def render(turns, last=False):
    """The text of a conversation as llama.cpp gets it; with `last`, up to where the assistant begins."""
    text = ""
    for role, said in turns:
        if role == "tool":
            role, said = "user", f"<tool_response>\n{said}\n</tool_response>"
        role = "assistant" if role == "earlier" else role
        text += f"<|im_start|>{role}\n{said}<|im_end|>\n"
    return text + ("<|im_start|>assistant\n" if last else "")


def call(name, **arguments):
    return (
        "<tool_call>\n"
        + json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        + "\n</tool_call>"
    )
