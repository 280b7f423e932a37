"""The official Anthropic SDK against the scripted server: messages, token counts, models."""

import functools
import sys

import anthropic
from report import ANSWER, PIXEL, THOUGHT, expect, raises, run

URL = sys.argv[1]
MODEL = "claude-test"
TOOLS = [
    {
        "name": "get_weather",
        "description": "Weather of a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
THINKING = {"type": "enabled", "budget_tokens": 1024}


@functools.cache
def client(key="test-key"):
    return anthropic.Anthropic(base_url=URL, api_key=key, max_retries=0)


def ask(text="hello", model=MODEL, key="test-key", **options):
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else text
    return client(key).messages.create(model=model, max_tokens=4096, messages=messages, **options)


def unary():
    answer = ask()
    expect([block.type for block in answer.content], ["thinking", "text"])
    expect((answer.content[0].thinking, answer.content[1].text), (THOUGHT, ANSWER))
    assert answer.content[0].signature
    expect(answer.stop_reason, "end_turn")
    expect((answer.usage.input_tokens, answer.usage.cache_read_input_tokens, answer.usage.output_tokens), (7, 4, 12))


def stream():
    with client().messages.stream(model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": "hello"}]) as events:
        text = "".join(events.text_stream)
        final = events.get_final_message()
    expect(text, ANSWER)
    expect(final.content[0].thinking, THOUGHT)
    assert final.content[0].signature
    expect((final.stop_reason, final.usage.output_tokens), ("end_turn", 12))


def tools():
    messages = [{"role": "user", "content": "weather"}]
    options = {"tools": TOOLS, "thinking": THINKING}
    first = ask(messages, **options)
    expect([block.type for block in first.content], ["thinking", "tool_use", "tool_use"])
    expect(first.stop_reason, "tool_use")
    messages.append({"role": "assistant", "content": first.content})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "18 degrees"}
        for block in first.content
        if block.type == "tool_use"
    ]
    messages.append({"role": "user", "content": results})
    expect(ask(messages, **options).content[0].text, "It is 18 degrees.")


def stream_tools():
    messages = [{"role": "user", "content": "weather"}]
    with client().messages.stream(model=MODEL, max_tokens=4096, messages=messages, tools=TOOLS) as events:
        final = events.get_final_message()
    expect([block.input for block in final.content if block.type == "tool_use"], [{"city": "Paris"}, {"city": "Oslo"}])


def redacted():
    answer = ask("secret")
    expect([block.type for block in answer.content], ["redacted_thinking", "text"])
    follow = [
        {"role": "user", "content": "secret"},
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": "hello"},
    ]
    expect(ask(follow).content[1].text, ANSWER)


def image():
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "picture"}]
    expect(ask([{"role": "user", "content": content}]).content[0].text, "I see a picture.")


def length():
    expect(ask("long").stop_reason, "max_tokens")


def count_tokens():
    count = client().messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hello"}], tools=TOOLS)
    assert count.input_tokens > 0


def models():
    assert MODEL in [model.id for model in client().models.list()]


def errors():
    raises(anthropic.AuthenticationError, lambda: ask(key="wrong"), status_code=401)
    raises(anthropic.NotFoundError, lambda: ask(model="no-such-model"), status_code=404)
    limited = raises(anthropic.RateLimitError, lambda: ask("busy"), status_code=429)
    expect(limited.response.headers["retry-after"], "7")
    raises(anthropic.InternalServerError, lambda: ask("fail"), status_code=500)
    overloaded = raises(anthropic.APIStatusError, lambda: ask("overloaded"), status_code=529)
    expect(overloaded.body["error"]["type"], "overloaded_error")


def stream_error():
    def read():
        with client().messages.stream(model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "break"}]) as events:
            for _ in events:
                pass

    raises(anthropic.APIStatusError, read)


run([unary, stream, tools, stream_tools, redacted, image, length, count_tokens, models, errors, stream_error])
