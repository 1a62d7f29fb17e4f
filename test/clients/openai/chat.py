"""Chat completions with OpenAI's Python client: only the base URL and the key differ."""

import os

import httpx2 as httpx
from openai import OpenAI

url, key = os.environ["SLIPBOX_URL"], os.environ["SLIPBOX_API_KEY"]
httpx.post(
    url + "/v1/collections",
    headers={"Authorization": "Bearer " + key},
    json={"name": "home", "policy": "none"},
).raise_for_status()

client = OpenAI(base_url=url + "/v1", api_key=key)
first = client.chat.completions.create(
    model="slipbox@home",
    messages=[{"role": "user", "content": "I live in Lisbon now."}],
)
assert first.choices[0].message.content.startswith("You said: I live in Lisbon now."), first
assert first.usage.total_tokens > 0, first

second = client.chat.completions.create(
    model="slipbox@home",
    messages=[{"role": "user", "content": "Where do I live?"}],
)
said = second.choices[0].message.content
assert "Memory:" in said and "Lisbon" in said, said
