"""A session for OpenAI's Agents SDK: ``SlipboxSession`` keeps the items of a conversation as messages."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings

from slipbox import AsyncSlipbox, NotFound
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput

# The most messages in one request, and the gateway's longest page.
PER_REQUEST, PAGE = 500, 200
ROLES = ("user", "assistant", "system", "developer")


class SlipboxSession(SessionABC):
    """The conversation session_id in a collection.

    With create, a policy, the collection of an application's ids is made on first use. What a user and an assistant
    say is a message like any other: the collection's policy learns from it, and other sessions find what it learned.
    Calls of tools and their results are kept for this conversation; nothing is learned from them. An item has at most
    12 KiB as JSON.
    """

    def __init__(
        self, session_id: str, client: AsyncSlipbox, collection: CollectionRef, *, create: str | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None
        self._client = client
        self._collection = collection
        self._create = create

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the newest limit items, or all, oldest first."""
        items = [item async for _, item in self._newest(limit)] if limit is None or limit > 0 else []
        return items[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items at the end."""
        learned = [self._message(item) for item in items]
        for start in range(0, len(learned), PER_REQUEST):
            part = learned[start : start + PER_REQUEST]
            await self._client.add_messages(self._collection, messages=part, create=self._create)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item and returns it."""
        async for note, item in self._newest(1):
            await self._client.delete_note(self._collection, note)
            return item
        return None

    async def clear_session(self) -> None:
        """Removes all items. What was learned from them stays."""
        for note in [note async for note, _ in self._newest(None)]:
            await self._client.delete_note(self._collection, note)

    async def _newest(self, limit: int | None) -> AsyncIterator[tuple[str, TResponseInputItem]]:
        """Yields note and item, the newest first."""
        size = PAGE if limit is None else min(limit, PAGE)
        count = 0
        try:
            async for message in self._client.list_messages(
                self._collection, session=self.session_id, order="newest", limit=size
            ):
                stored = (message.attributes or {}).get("item")
                item = stored if stored is not None else {"role": message.role, "content": message.content}
                yield message.id, cast(TResponseInputItem, item)
                count += 1
                if count == limit:
                    return
        except NotFound:
            # Nobody has written to it yet.
            return

    def _message(self, item: TResponseInputItem) -> MessageInput:
        fields = cast(dict[str, Any], item)
        role, text = fields.get("role"), _text(fields.get("content"))
        message: MessageInput = {"id": uuid.uuid4().hex, "session": self.session_id, "attributes": {"item": fields}}
        if role in ROLES and text:
            return message | MessageInput(role=cast(Any, role), content=text)
        # Calls of tools and what they return: nothing is learned from them.
        return message | MessageInput(role="tool", content=json.dumps(fields, ensure_ascii=False), recalled=True)


def _text(content: Any) -> str:
    """Returns the text of an item's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text"))
