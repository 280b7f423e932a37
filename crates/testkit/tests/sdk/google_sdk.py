"""The official Google GenAI SDK against the scripted server: contents, token counts, embeddings, models."""

import base64
import functools
import sys

from google import genai
from google.genai import errors as genai_errors
from google.genai import types
from report import ANSWER, PIXEL, THOUGHT, expect, raises, run

URL = sys.argv[1]
MODEL = "gemini-3-test"
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            description="Weather of a city.",
            parameters_json_schema={
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        )
    ]
)
CONFIG = types.GenerateContentConfig(
    tools=[TOOL],
    system_instruction="Be brief.",
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


@functools.cache
def client(key="test-key"):
    return genai.Client(api_key=key, vertexai=False, http_options=types.HttpOptions(base_url=URL))


def ask(contents="hello", model=MODEL, key="test-key", config=None):
    return client(key).models.generate_content(model=model, contents=contents, config=config)


def thoughts(parts):
    return "".join(part.text or "" for part in parts if part.thought)


def unary():
    answer = ask()
    expect(answer.text, ANSWER)
    expect(thoughts(answer.parts), THOUGHT)
    assert answer.parts[-1].thought_signature
    expect(answer.candidates[0].finish_reason, types.FinishReason.STOP)
    usage = answer.usage_metadata
    expect((usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count), (11, 7, 5))
    expect((usage.cached_content_token_count, usage.total_token_count), (4, 23))


def stream():
    text, thought, finish, signed = "", "", None, False
    for chunk in client().models.generate_content_stream(model=MODEL, contents="hello"):
        for part in chunk.parts or []:
            signed = signed or part.thought_signature is not None
            if part.thought:
                thought += part.text
            else:
                text += part.text or ""
        finish = chunk.candidates[0].finish_reason or finish
    expect((text, thought, finish, signed), (ANSWER, THOUGHT, types.FinishReason.STOP, True))


def tools():
    contents = [types.Content(role="user", parts=[types.Part(text="weather")])]
    first = ask(contents, config=CONFIG)
    calls = first.function_calls
    expect([call.args for call in calls], [{"city": "Paris"}, {"city": "Oslo"}])
    assert next(part for part in first.parts if part.function_call).thought_signature
    contents.append(first.candidates[0].content)
    results = [
        types.Part.from_function_response(name=call.name, response={"output": "18 degrees"}) for call in calls
    ]
    contents.append(types.Content(role="user", parts=results))
    expect(ask(contents, config=CONFIG).text, "It is 18 degrees.")


def image():
    picture = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
    expect(ask([picture, "picture"]).text, "I see a picture.")


def length():
    expect(ask("long").candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)


def blocked():
    answer = ask("forbidden")
    assert not answer.candidates
    expect(answer.prompt_feedback.block_reason, types.BlockedReason.PROHIBITED_CONTENT)


def count_tokens():
    assert client().models.count_tokens(model=MODEL, contents="hello").total_tokens > 0


def embeddings():
    answer = client().models.embed_content(
        model="embed-test",
        contents=["one", "two", "one"],
        config=types.EmbedContentConfig(output_dimensionality=16),
    )
    vectors = [row.values for row in answer.embeddings]
    expect([len(vector) for vector in vectors], [16, 16, 16])
    assert vectors[0] == vectors[2] != vectors[1]


def models():
    assert f"models/{MODEL}" in [model.name for model in client().models.list()]


def errors():
    wrong = raises(genai_errors.ClientError, lambda: ask(key="wrong"), code=400, status="INVALID_ARGUMENT")
    assert "API_KEY_INVALID" in str(wrong.details), wrong.details
    raises(genai_errors.ClientError, lambda: ask(model="no-such-model"), code=404, status="NOT_FOUND")
    raises(genai_errors.ClientError, lambda: ask("busy"), code=429, status="RESOURCE_EXHAUSTED")
    raises(genai_errors.ServerError, lambda: ask("fail"), code=500, status="INTERNAL")


run([unary, stream, tools, image, length, blocked, count_tokens, embeddings, models, errors])
