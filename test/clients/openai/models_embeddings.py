"""Models and embeddings with OpenAI's Python client."""

import math

import openai
from _home import KEY, URL

client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY)

names = [m.id for m in client.models.list()]
assert names == ["slipbox", "fake"], names
assert client.models.retrieve("fake").id == "fake"
try:
    client.models.retrieve("gpt-99")
    raise AssertionError("a model that does not exist was found")
except openai.NotFoundError as e:
    assert e.code == "model_not_found", e

# The client asks for base64 unless told otherwise.
texts = ["The ferry leaves at nine.", "At nine the boat departs.", "Bread is baked in an oven."]
packed = client.embeddings.create(model="slipbox", input=texts)
plain = client.embeddings.create(model="slipbox", input=texts, encoding_format="float")
assert packed.usage.prompt_tokens > 0 and packed.usage.total_tokens == packed.usage.prompt_tokens, packed.usage
for a, b in zip(packed.data, plain.data, strict=True):
    assert a.index == b.index and len(a.embedding) == len(b.embedding), (a.index, b.index)
    assert all(math.isclose(x, y, abs_tol=1e-6) for x, y in zip(a.embedding, b.embedding)), a.index
boat, bread = (sum(x * y for x, y in zip(plain.data[0].embedding, plain.data[i].embedding)) for i in (1, 2))
assert boat > bread, (boat, bread)
one = client.embeddings.create(model="slipbox", input=texts[0], dimensions=len(plain.data[0].embedding))
assert one.data[0].embedding == packed.data[0].embedding

for broken, error in [
    (dict(model="slipbox", input=""), openai.UnprocessableEntityError),
    (dict(model="slipbox", input=[]), openai.UnprocessableEntityError),
    (dict(model="slipbox", input=[[1, 2]]), openai.UnprocessableEntityError),
    (dict(model="slipbox", input="a", dimensions=7), openai.UnprocessableEntityError),
    (dict(model="text-embedding-3-small", input="a"), openai.NotFoundError),
]:
    try:
        client.embeddings.create(**broken)
        raise AssertionError(broken)
    except error as e:
        assert e.type == "invalid_request_error" and e.message and e.param, e

# What is not there is refused in the form that the client reads.
try:
    client.conversations.create()
    raise AssertionError("there are no conversations")
except openai.NotFoundError as e:
    assert e.code == "not_found" and "no such route" in e.message, e
