"""SlipboxSession keeps what a session of OpenAI's Agents SDK keeps. No agent is run, and no model is asked."""

import asyncio
import uuid
from typing import Any

from agents.items import TResponseInputItem

from slipbox import AsyncSlipbox, External
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
