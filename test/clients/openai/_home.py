"""A collection of its own for each script."""

import os
import time

import httpx2 as httpx

URL, KEY = os.environ["SLIPBOX_URL"], os.environ["SLIPBOX_API_KEY"]


def api(method, path, **more):
    answer = httpx.request(method, URL + path, headers={"Authorization": "Bearer " + KEY}, timeout=300, **more)
    answer.raise_for_status()
    return answer


def create(name):
    api("POST", "/v1/collections", json={"name": name, "policy": "none"})


def messages(name):
    """What a collection remembers, oldest first."""
    items = api("GET", f"/v1/collections/{name}/messages").json()["items"]
    return [f'{m["role"]}: {m["content"]}' for m in items]


def await_messages(name, count):
    """Waits until a collection remembers so many messages: an exchange is stored after its answer is sent."""
    end = time.monotonic() + 120
    while len(messages(name)) < count:
        assert time.monotonic() < end, messages(name)
        time.sleep(0.02)
