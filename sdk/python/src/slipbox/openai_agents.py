"""A session for OpenAI's Agents SDK: ``SlipboxSession`` keeps the items of a conversation as messages."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings

from slipbox import AsyncSlipbox, NotFound, models
from slipbox._items import PAGE, Items, messages_of, requests_of, text_of
from slipbox._notes import Secrets, ensure_ids
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput


class SlipboxSession(SessionABC):
    """The conversation session_id in a collection.

    With create, a policy, the collection of an application's ids is made on first use. What a user and an assistant
    say is a message like any other: the collection's policy learns from it, and other sessions find what it learned.
    Calls of tools and their results are kept for this conversation; nothing is learned from them. An item of more than
    12 kB as JSON is stored in parts, and given back whole.

    secrets says what the collection that is made does with keys, card numbers and passwords: "redact" (the default of
    the gateway), "refuse", or "keep". redacted has the kinds of those that were taken out so far. With erase,
    pop_item and clear_session remove every version of an item.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncSlipbox,
        collection: CollectionRef,
        *,
        create: str | None = None,
        secrets: Secrets | None = None,
        erase: bool = False,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None
        self.redacted: set[str] = set()
        self._client = client
        self._collection = collection
        self._create = create
        self._secrets = secrets
        self._erase = erase

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the newest limit items, or all, oldest first."""
        items = [item async for _, item in self._newest(limit)] if limit is None or limit > 0 else []
        return items[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items at the end."""
        await self._made()
        for part in requests_of(message for item in items for message in self._messages(item)):
            answer = await self._client.add_messages(self._collection, messages=part, create=self._create)
            self.redacted.update(answer.redacted)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item and returns it."""
        async for notes, item in self._newest(1):
            for note in notes:
                await self._client.delete_note(self._collection, note, erase=self._erase)
            return item
        return None

    async def clear_session(self) -> None:
        """Removes all items, and what was learned from nothing else."""
        for note in [message.id async for message in self._stored(PAGE)]:
            await self._client.delete_note(self._collection, note, erase=self._erase)

    async def _made(self) -> None:
        """Makes the collection of an application's ids with its setting about secrets, once."""
        if self._create is not None and self._secrets is not None:
            await ensure_ids(self._client, self._collection, self._create, self._secrets)
        self._secrets = None

    async def _stored(self, size: int) -> AsyncIterator[models.StoredMessage]:
        """Yields the messages, the newest first."""
        try:
            async for message in self._client.list_messages(
                self._collection, session=self.session_id, order="newest", limit=size
            ):
                yield message
        except NotFound:
            # Nobody has written to it yet.
            return

    async def _newest(self, limit: int | None) -> AsyncIterator[tuple[list[str], TResponseInputItem]]:
        """Yields the notes of an item and the item, the newest first."""
        items, count = Items(), 0
        async for message in self._stored(PAGE if limit is None else min(limit, PAGE)):
            if found := items.add(message):
                yield found[0], cast(TResponseInputItem, found[1])
                count += 1
                if count == limit:
                    return

    def _messages(self, item: TResponseInputItem) -> Iterator[MessageInput]:
        """Yields the messages that hold an item."""
        fields = cast(dict[str, Any], item)
        return messages_of(self.session_id, fields, fields.get("role"), text_of(fields.get("content")))
