"""Responses with OpenAI's Python client."""

import json

import openai
from _home import KEY, URL, await_messages, create, messages

create("home")
client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY)
model = "slipbox@home"

# Two conversations: what was said in the first is recalled in the second.
first = client.responses.create(model=model, input="I live in Lisbon now.", instructions="Be brief.")
assert first.status == "completed" and first.output_text.startswith("You said: I live in Lisbon now."), first
await_messages("home", 2)
assert first.usage.total_tokens > 0 and first.instructions == "Be brief." and first.model == "fake", first
second = client.responses.create(model=model, input=[{"role": "user", "content": "Where do I live?"}])
assert "Lisbon" in second.output_text.split("Memory:", 1)[1], second
assert messages("home")[0] == "user: I live in Lisbon now.", messages("home")

# A stream, by hand and with the client's helper.
events = list(client.responses.create(model=model, input="Where do I live?", stream=True))
names = [e.type for e in events]
assert names[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"], names
assert names[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"], names
assert [e.sequence_number for e in events] == list(range(len(events))), events
text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
assert "Lisbon" in text and text == events[-1].response.output_text, text
assert events[-1].response.usage.total_tokens > 0, events[-1]
with client.responses.stream(model=model, input="Where do I live?") as stream:
    assert stream.get_final_response().output_text, "the helper read nothing"

# A round of tools, whole and streamed.
tools = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}, "strict": False}]
dialogue = [{"role": "user", "content": "How is the weather in Lisbon?"}]
asked = client.responses.create(model=model, input=dialogue, tools=tools)
with client.responses.stream(model=model, input=dialogue, tools=tools) as stream:
    streamed = stream.get_final_response()
for answer in (asked, streamed):
    call = answer.output[0]
    assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Lisbon"}, answer
    told = client.responses.create(
        model=model, tools=tools,
        input=dialogue + answer.output + [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}],
    )
    assert told.output_text == "The tool said: sunny", told

# JSON by a schema.
shaped = client.responses.create(model=model, input="Where do I live?", text={"format": {
    "type": "json_schema", "name": "place", "strict": True,
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
}})
assert "city" in json.loads(shaped.output_text), shaped

# What is not supported is refused by its name.
for field, value in {
    "previous_response_id": first.id, "store": True, "background": True, "conversation": "conv_1", "truncation": "auto",
    "tools": [{"type": "web_search"}], "include": ["file_search_call.results"], "prompt": {"id": "p"}, "max_output_tokens": 10**9,
    "input": [{"type": "item_reference", "id": "rs_1"}],
}.items():
    try:
        client.responses.create(**{"model": model, "input": "a", field: value})
        raise AssertionError(field)
    except openai.UnprocessableEntityError as e:
        assert e.param.split(".")[0] == field, (field, e)
try:
    client.responses.create(model="gpt-99@home", input="a")
    raise AssertionError("a model that does not exist answered")
except openai.NotFoundError as e:
    assert e.code == "model_not_found", e
try:
    list(client.responses.create(model=model, input="Please break off.", stream=True))
    raise AssertionError("half an answer passed for one")
except openai.APIError as e:
    assert "broke off" in e.message, e
assert [m for m in messages("home") if "break off" in m] == ["user: Please break off."], messages("home")
