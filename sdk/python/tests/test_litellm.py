"""SlipboxCallback in LiteLLM, for a model that is an HTTP server of the test."""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import litellm
import pytest

from slipbox import AsyncSlipbox, External, Slipbox, SlipboxError
from slipbox.litellm import SlipboxCallback

Asked = list[list[dict[str, Any]]]


@pytest.fixture
def model() -> Iterator[tuple[str, Asked]]:
    """Address of a model, and the messages that it was asked. It answers "Noted."."""
    asked: Asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body["messages"])
            whole = {"id": "1", "created": 1, "model": "m", "object": "chat.completion"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            if body.get("stream"):
                chunks = [{"delta": {"role": "assistant", "content": text}, "index": 0} for text in ("Not", "ed.")]
                chunks.append({"delta": {}, "index": 0, "finish_reason": "stop"})
                lines = [json.dumps(whole | {"object": "chat.completion.chunk", "choices": [c]}) for c in chunks]
                text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
                kind = "text/event-stream"
            else:
                message = {"role": "assistant", "content": "Noted."}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                text, kind = json.dumps(whole | {"choices": [choice], "usage": usage}), "application/json"
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


def chat(url: str, question: Any, **more: Any) -> Any:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    return litellm.acompletion(model="openai/m", api_base=url, api_key="x", messages=messages, **more)


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what is done after an answer."""
    for _ in range(30_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come")


def test_callback(gateway: tuple[str, str], client: Slipbox, model: tuple[str, Asked], monkeypatch: Any) -> None:
    url, asked = model
    user = f"{uuid.uuid4()}@example.com"
    ids: External = {"user": user}

    def said() -> list[tuple[str, str, bool | None]]:
        try:
            return [(m.role, m.content, m.recalled) for m in client.list_messages(ids)]
        except SlipboxError:
            return []

    async def run() -> None:
        async with AsyncSlipbox(*gateway) as memory:
            monkeypatch.setattr(litellm, "callbacks", [SlipboxCallback(memory)])
            assert (await chat(url, "I live in Oslo.", user=user)).choices[0].message.content == "Noted."
            await until(lambda: len(said()) == 2)
            parts = [{"type": "text", "text": "Where do I live?"}]
            text = ""
            async for chunk in await chat(url, parts, user=user, stream=True):
                text += chunk.choices[0].delta.content or ""
            assert text == "Noted."
            await until(lambda: len(said()) == 4)
            await chat(url, "Without a user.")

    asyncio.run(run())
    first, second, third = asked
    assert first[1]["content"] == "I live in Oslo." and third[1]["content"] == "Without a user."
    question, told = second[1]["content"]
    assert second[0]["content"] == "Be brief." and question["text"] == "Where do I live?"
    assert told["text"].startswith("<slipbox-memory>") and "I live in Oslo." in told["text"]
    assert [(role, content) for role, content, _ in said()] == [
        ("user", "I live in Oslo."),
        ("assistant", "Noted."),
        ("user", "Where do I live?"),
        ("assistant", "Noted."),
    ]
    assert [bool(recalled) for _, _, recalled in said()] == [False, False, False, True]
    client.forget_external(ids)


def test_a_gateway_that_is_away(model: tuple[str, Asked], monkeypatch: Any) -> None:
    url, asked = model
    errors: list[SlipboxError] = []

    async def run() -> None:
        async with AsyncSlipbox("http://127.0.0.1:1", "x", max_retries=0) as memory:
            monkeypatch.setattr(litellm, "callbacks", [SlipboxCallback(memory, failed=errors.append)])
            assert (await chat(url, "Hello.", user="nora")).choices[0].message.content == "Noted."

    asyncio.run(run())
    assert asked[0][1]["content"] == "Hello." and errors
