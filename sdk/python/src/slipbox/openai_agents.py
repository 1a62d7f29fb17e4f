"""A session for OpenAI's Agents SDK: ``SlipboxSession`` keeps the items of a conversation as messages."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings

from slipbox import AsyncSlipbox, NotFound, models
from slipbox._notes import Secrets, ensure_ids
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput

# The most messages and bytes in one request, and the gateway's longest page.
PER_REQUEST, REQUEST_BYTES, PAGE = 500, 600_000, 200
# The most bytes of an item in one message, and of the text of a message.
ITEM_BYTES, TEXT_BYTES = 12_000, 60_000
ROLES = ("user", "assistant", "system", "developer")


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
        for part in _requests(message for item in items for message in self._messages(item)):
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
        """Yields the notes of an item and the item, the newest first. Without all of its parts an item is left out."""
        count = 0
        parts: dict[str, dict[int, tuple[str, str]]] = {}
        async for message in self._stored(PAGE if limit is None else min(limit, PAGE)):
            attributes = message.attributes or {}
            notes, item = [message.id], attributes.get("item")
            if part := attributes.get("part"):
                found = parts.setdefault(part["item"], {})
                found[part["at"]] = (message.id, part["text"])
                if len(found) < part["of"]:
                    continue
                notes = [found[at][0] for at in sorted(found)]
                item = _whole("".join(found[at][1] for at in sorted(found)), message)
                del parts[part["item"]]
            elif item is None:
                item = {"role": message.role, "content": message.content}
            yield notes, cast(TResponseInputItem, item)
            count += 1
            if count == limit:
                return

    def _messages(self, item: TResponseInputItem) -> Iterator[MessageInput]:
        """Yields the messages that hold an item."""
        fields = cast(dict[str, Any], item)
        role, text = fields.get("role"), _shown(_text(fields.get("content")))
        whole, plain = json.dumps(fields, default=str), json.dumps(fields, default=str, ensure_ascii=False)
        first: MessageInput = {"id": uuid.uuid4().hex, "session": self.session_id}
        if role in ROLES and text:
            first |= MessageInput(role=cast(Any, role), content=text)
        else:
            # Calls of tools and what they return: nothing is learned from them.
            first |= MessageInput(role="tool", content=_shown(plain), recalled=True)
        if _bytes(whole) <= ITEM_BYTES and "\\u0000" not in plain and _is_unicode(plain):
            yield first | MessageInput(attributes={"item": fields})
            return
        slices = [*_slices(whole)]
        for at, slice in enumerate(slices):
            attributes = {"part": {"item": first["id"], "at": at, "of": len(slices), "text": slice}}
            if at == 0:
                yield first | MessageInput(attributes=attributes)
            else:
                content = f"[part {at + 1} of {len(slices)}]"
                yield MessageInput(
                    id=uuid.uuid4().hex,
                    session=self.session_id,
                    role="tool",
                    content=content,
                    recalled=True,
                    attributes=attributes,
                )


def _requests(messages: Iterator[MessageInput]) -> Iterator[list[MessageInput]]:
    """Yields the messages in lists that fit in one request."""
    part: list[MessageInput] = []
    size = 0
    for message in messages:
        more = len(json.dumps(message))
        if part and (len(part) == PER_REQUEST or size + more > REQUEST_BYTES):
            yield part
            part, size = [], 0
        part.append(message)
        size += more
    if part:
        yield part


def _bytes(text: str) -> int:
    """Returns the size of an ASCII text within JSON, in which some signs are escaped."""
    return len(text) + sum(text.count(sign) for sign in '"\\') + 5 * sum(text.count(sign) for sign in "<>&")


def _slices(text: str) -> Iterator[str]:
    """Yields the parts of an ASCII text that fit in a message."""
    while text:
        end = min(len(text), ITEM_BYTES)
        while _bytes(text[:end]) > ITEM_BYTES:
            end -= max(1, (_bytes(text[:end]) - ITEM_BYTES) // 6)
        yield text[:end]
        text = text[end:]


def _whole(text: str, message: models.StoredMessage) -> Any:
    """Returns an item of its JSON; where a secret was taken out of it so that it is none, what can be read of it."""
    try:
        return json.loads(text)
    except ValueError:
        return {"role": "user" if message.role == "tool" else message.role, "content": message.content}


def _is_unicode(text: str) -> bool:
    """Reports whether a text can be sent: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(text: str) -> str:
    """Returns a text as a message can have it."""
    raw = text.replace("\x00", "").strip().encode("utf-8", "replace")
    return raw[:TEXT_BYTES].decode("utf-8", "ignore")


def _text(content: Any) -> str:
    """Returns the text of an item's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text"))
