"""SlipboxSession keeps what a session of OpenAI's Agents SDK keeps. No agent is run, and no model is asked."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agents.items import TResponseInputItem

from slipbox import AsyncSlipbox, External
from slipbox.errors import Invalid
from slipbox.openai_agents import SlipboxSession


def said(role: str, text: str) -> TResponseInputItem:
    item: Any = {"role": role, "content": text}
    return item  # type: ignore[no-any-return]


def test_session(gateway: tuple[str, str]) -> None:
    async def run() -> None:
        ids: External = {"user": str(uuid.uuid4())}
        async with AsyncSlipbox(*gateway) as client:
            session = SlipboxSession("one", client, ids, create="none")
            assert await session.get_items() == [] and await session.pop_item() is None
            call: Any = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}
            result: Any = {"type": "function_call_output", "call_id": "c1", "output": "rain"}
            parts: Any = {"role": "assistant", "content": [{"type": "output_text", "text": "Rain.", "annotations": []}]}
            items = [said("user", "Hello"), said("user", "Hello"), call, result, parts]
            await session.add_items(items)
            await SlipboxSession("two", client, ids).add_items([said("user", "Other")])
            assert await session.get_items() == items
            assert await session.get_items(limit=2) == items[-2:]
            assert await session.get_items(limit=0) == []
            assert await session.pop_item() == parts
            assert await session.get_items() == items[:-1]
            # What was said is found from other sessions.
            assert [hit.note.content for hit in (await client.search(ids, query="Other", k=1)).hits] == ["Other"]
            await session.clear_session()
            assert await session.get_items() == []
            assert await SlipboxSession("two", client, ids).get_items() == [said("user", "Other")]
            await client.forget_external(ids)

    asyncio.run(run())


def test_long_items(gateway: tuple[str, str]) -> None:
    """An item of any size is given back whole, and nothing raises at the end of a good run."""

    async def run() -> None:
        ids: External = {"user": str(uuid.uuid4())}
        async with AsyncSlipbox(*gateway) as client:
            session = SlipboxSession("one", client, ids, create="none")
            page: Any = {
                "type": "function_call_output",
                "call_id": "c1",
                "output": '<p class="x">Ærø & 🍕</p>\n' * 20_000,
            }
            image: Any = {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "image_url": "data:image/png;base64," + "iVBORw0KGgoAAAANSUhE" * 5_000},
                ],
            }
            odd: Any = {"type": "function_call_output", "call_id": "c2", "output": "a\x00b \ud800"}
            items = [
                said("user", "Hello"),
                page,
                image,
                said("user", "x" * 100_000),
                odd,
                said("assistant", " "),
                said("user", "Bye"),
            ]
            await session.add_items(items)
            assert await session.get_items() == items
            assert await session.get_items(limit=3) == items[-3:]
            # Another writer between the parts of an item.
            other = SlipboxSession("one", client, ids)
            await asyncio.gather(other.add_items([page]), other.add_items([image]))
            assert sorted(map(str, (await session.get_items())[-2:])) == sorted(map(str, [page, image]))
            await session.pop_item()
            await session.pop_item()
            assert await session.get_items() == items
            assert (await client.search(ids, query="What is it?", k=1)).hits[0].note.content == "What is it?"
            await session.clear_session()
            assert await session.get_items() == []
            await client.forget_external(ids)

    asyncio.run(run())


def test_secrets(gateway: tuple[str, str]) -> None:
    """The program decides about secrets, and the session says what was taken out."""

    async def run() -> None:
        call: Any = {
            "type": "function_call",
            "call_id": "c1",
            "name": "login",
            "arguments": '{"password": "Tr0ub4dor!3x"}',
        }
        async with AsyncSlipbox(*gateway) as client:
            for secrets, kept, redacted in (("keep", True, False), (None, False, True)):
                ids: External = {"user": str(uuid.uuid4())}
                session = SlipboxSession("one", client, ids, create="none", secrets=secrets)  # type: ignore[arg-type]
                await session.add_items([call])
                assert ((await session.get_items()) == [call]) is kept
                assert bool(session.redacted) is redacted
                await client.forget_external(ids)
            refusing: External = {"user": str(uuid.uuid4())}
            with pytest.raises(Invalid, match="refuses"):
                await SlipboxSession("one", client, refusing, create="none", secrets="refuse").add_items([call])
            await client.forget_external(refusing)

    asyncio.run(run())


def test_two_loops(gateway: tuple[str, str]) -> None:
    """One client object works in several event loops, one after the other and at once."""
    client = AsyncSlipbox(*gateway)

    async def ask() -> int:
        return len([c async for c in client.list_collections(limit=1).pages()][:1])

    assert [asyncio.run(ask()) for _ in range(3)] == [1, 1, 1]
    with ThreadPoolExecutor(3) as threads:
        assert [*threads.map(lambda _: asyncio.run(ask()), range(3))] == [1, 1, 1]
    asyncio.run(client.aclose())
