"""Chat completions with OpenAI's Python client: only the base URL and the key differ."""

import json

import openai
from _home import KEY, URL, api, await_messages, create, messages

create("home")
client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY)


def said(text):
    return [{"role": "user", "content": text}]


# Two conversations: what was said in the first is recalled in the second.
first = client.chat.completions.create(model="slipbox@home", messages=said("I live in Lisbon now."))
assert first.choices[0].message.content.startswith("You said: I live in Lisbon now."), first
await_messages("home", 2)
assert first.usage.total_tokens > 0, first
raw = client.chat.completions.with_raw_response.create(model="slipbox@home", messages=said("Where do I live?"))
second = raw.parse().choices[0].message.content
assert "Memory:" in second and "Lisbon" in second, second
cited = raw.headers["Slipbox-Citations"].split(",")
assert any("Lisbon" in api("GET", f"/v1/collections/home/notes/{n}").json()["content"] for n in cited), cited

# A stream, with its usage at the end.
parts = list(client.chat.completions.create(
    model="fake@home", messages=said("Where do I live?"), stream=True, stream_options={"include_usage": True}
))
text = "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
assert "Lisbon" in text, text
assert parts[-1].usage.total_tokens > 0 and not parts[-1].choices, parts[-1]

# A round of tools.
tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
dialogue = said("How is the weather in Lisbon?")
asked = client.chat.completions.create(model="slipbox@home", messages=dialogue, tools=tools).choices[0].message
call = asked.tool_calls[0]
assert json.loads(call.function.arguments) == {"city": "Lisbon"}, call
dialogue += [asked, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
told = client.chat.completions.create(model="slipbox@home", messages=dialogue, tools=tools)
assert told.choices[0].message.content == "The tool said: sunny", told

# The ids of an application name a collection, which is created on first use.
for headers, model in [
    ({"Slipbox-External": "user=nora%40example.com", "Slipbox-Create": "none"}, "slipbox"),
    ({}, "slipbox@user=nora%40example.com"),
]:
    answer = client.chat.completions.create(model=model, messages=said("I live in Porto."), extra_headers=headers)
assert "Porto" in answer.choices[0].message.content.split("Memory:", 1)[1], answer

# Errors are those of the client.
for broken, error in [
    (dict(model="gpt-99@home", messages=said("a")), openai.NotFoundError),
    (dict(model="slipbox@nowhere", messages=said("a")), openai.NotFoundError),
    (dict(model="slipbox@home", messages=said("a"), n=99), openai.UnprocessableEntityError),
    (dict(model="slipbox", messages=said("a")), openai.UnprocessableEntityError),
]:
    try:
        client.chat.completions.create(**broken)
        raise AssertionError(broken)
    except error as e:
        assert e.type == "invalid_request_error" and e.code and e.message, e
try:
    openai.OpenAI(base_url=URL + "/v1", api_key="sb_live_no").chat.completions.create(model="slipbox@home", messages=said("a"))
    raise AssertionError("a key that does not exist is accepted")
except openai.AuthenticationError:
    pass
try:
    list(client.chat.completions.create(model="slipbox@home", messages=said("Please break off."), stream=True))
    raise AssertionError("half an answer passed for one")
except openai.APIError:
    pass
assert [m for m in messages("home") if "break off" in m] == ["user: Please break off."], messages("home")
