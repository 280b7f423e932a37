"""The official OpenAI SDK against the scripted server: Chat Completions, Responses, embeddings, models."""

import functools
import json
import sys

import openai
from report import ANSWER, PIXEL, THOUGHT, expect, raises, run

URL = sys.argv[1]
MODEL = "gpt-test"
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@functools.cache
def client(key="test-key"):
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=0)


def ask(text):
    return [{"role": "user", "content": text}]


def chat(text="hello", model=MODEL, key="test-key", **options):
    return client(key).chat.completions.create(model=model, messages=ask(text), **options)


def respond(text="hello", **options):
    return client().responses.create(model=MODEL, input=text, **options)


def chat_unary():
    answer = chat()
    expect(answer.choices[0].message.content, ANSWER)
    expect(answer.choices[0].message.reasoning_content, THOUGHT)
    expect(answer.choices[0].finish_reason, "stop")
    expect(answer.usage.prompt_tokens, 11)
    expect(answer.usage.completion_tokens, 12)
    expect(answer.usage.completion_tokens_details.reasoning_tokens, 5)
    expect(answer.usage.prompt_tokens_details.cached_tokens, 4)


def chat_stream():
    text, thought, finish, usage = "", "", None, None
    for chunk in chat(stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
    expect((text, thought, finish), (ANSWER, THOUGHT, "stop"))
    expect(usage.total_tokens, 23)


def chat_stream_helper():
    with client().chat.completions.stream(model=MODEL, messages=ask("weather")) as stream:
        message = stream.get_final_completion().choices[0].message
    expect([json.loads(call.function.arguments) for call in message.tool_calls], [{"city": "Paris"}, {"city": "Oslo"}])


def chat_tools():
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
    messages = ask("weather")
    first = client().chat.completions.create(model=MODEL, messages=messages, tools=tools)
    expect(first.choices[0].finish_reason, "tool_calls")
    message = first.choices[0].message
    expect(len(message.tool_calls), 2)
    messages.append(message)
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "18 degrees"})
    second = client().chat.completions.create(model=MODEL, messages=messages, tools=tools)
    expect(second.choices[0].message.content, "It is 18 degrees.")


def chat_image():
    content = [
        {"type": "text", "text": "picture"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    ]
    answer = client().chat.completions.create(model=MODEL, messages=[{"role": "user", "content": content}])
    expect(answer.choices[0].message.content, "I see a picture.")


def chat_length():
    expect(chat("long").choices[0].finish_reason, "length")


def chat_errors():
    raises(openai.AuthenticationError, lambda: chat(key="wrong"), status_code=401, code="invalid_api_key")
    raises(openai.NotFoundError, lambda: chat(model="no-such-model"), status_code=404, code="model_not_found")
    limited = raises(openai.RateLimitError, lambda: chat("busy"), status_code=429, code="rate_limit_exceeded")
    expect(limited.response.headers["retry-after"], "7")
    raises(openai.InternalServerError, lambda: chat("fail"), status_code=500)
    raises(openai.APIError, lambda: list(chat("break", stream=True)))


def responses_unary():
    answer = respond()
    expect(answer.output_text, ANSWER)
    expect(answer.output[0].summary[0].text, THOUGHT)
    expect(answer.status, "completed")
    expect((answer.usage.input_tokens, answer.usage.output_tokens), (11, 12))
    expect(answer.usage.output_tokens_details.reasoning_tokens, 5)


def responses_stream():
    text, thought, last = "", "", None
    for event in respond(stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.reasoning_summary_text.delta":
            thought += event.delta
        last = event
    expect((text, thought, last.type), (ANSWER, THOUGHT, "response.completed"))
    expect(last.response.output_text, ANSWER)


def responses_stream_helper():
    with client().responses.stream(model=MODEL, input="weather") as stream:
        final = stream.get_final_response()
    calls = [item for item in final.output if item.type == "function_call"]
    expect([json.loads(call.arguments) for call in calls], [{"city": "Paris"}, {"city": "Oslo"}])


def responses_tools():
    tools = [{"type": "function", "name": "get_weather", "parameters": PARAMETERS, "strict": True}]
    options = {"tools": tools, "store": False, "include": ["reasoning.encrypted_content"]}
    items = ask("weather")
    first = client().responses.create(model=MODEL, input=items, **options)
    expect([item.type for item in first.output], ["reasoning", "function_call", "function_call"])
    items += first.output
    for item in first.output:
        if item.type == "function_call":
            items.append({"type": "function_call_output", "call_id": item.call_id, "output": "18 degrees"})
    expect(client().responses.create(model=MODEL, input=items, **options).output_text, "It is 18 degrees.")


def responses_image():
    content = [
        {"type": "input_text", "text": "picture"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
    ]
    expect(respond([{"role": "user", "content": content}]).output_text, "I see a picture.")


def responses_incomplete():
    answer = respond("long")
    expect((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"))


def responses_errors():
    raises(openai.RateLimitError, lambda: respond("busy"), status_code=429)
    events = []
    raises(openai.APIError, lambda: [events.append(event.type) for event in respond("break", stream=True)])
    assert "response.output_text.delta" in events, events


def embeddings():
    answer = client().embeddings.create(model="embed-test", input=["one", "two", "one"], dimensions=16)
    vectors = [row.embedding for row in answer.data]
    expect([len(vector) for vector in vectors], [16, 16, 16])
    assert vectors[0] == vectors[2] != vectors[1]


def models():
    assert MODEL in [model.id for model in client().models.list()]


run([
    chat_unary, chat_stream, chat_stream_helper, chat_tools, chat_image, chat_length, chat_errors,
    responses_unary, responses_stream, responses_stream_helper, responses_tools, responses_image,
    responses_incomplete, responses_errors, embeddings, models,
])
