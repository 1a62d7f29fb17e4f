"""What adapters share that keep a conversation item by item: an item is a message, so that policies read it."""

import json
import uuid
from collections.abc import Iterator
from typing import Any, cast

from slipbox import models
from slipbox.requests import MessageInput

# The most messages and bytes in one request, and the gateway's longest page.
PER_REQUEST, REQUEST_BYTES, PAGE = 500, 600_000, 200
# The most bytes of an item in one message, and of the text of a message.
ITEM_BYTES, TEXT_BYTES = 12_000, 60_000
ROLES = ("user", "assistant", "system", "developer")


class Items:
    """The items of a conversation, from its messages, which are read the newest first."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[int, tuple[str, str]]] = {}

    def add(self, message: models.StoredMessage) -> tuple[list[str], Any] | None:
        """Returns the notes of an item and the item; None while parts of it are missing."""
        attributes = message.attributes or {}
        part = attributes.get("part")
        if part is None:
            return [message.id], attributes.get("item") or {"role": message.role, "content": message.content}
        found = self._parts.setdefault(part["item"], {})
        found[part["at"]] = (message.id, part["text"])
        if len(found) < part["of"]:
            return None
        del self._parts[part["item"]]
        parts = [found[at] for at in sorted(found)]
        return [note for note, _ in parts], _whole("".join(text for _, text in parts), message)


def messages_of(session: str, item: dict[str, Any], role: str | None, text: str) -> Iterator[MessageInput]:
    """Yields the messages that hold an item. What a role says is learned from; nothing is from calls of tools."""
    said = _shown(text)
    whole, plain = json.dumps(item, default=str), json.dumps(item, default=str, ensure_ascii=False)
    first: MessageInput = {"id": uuid.uuid4().hex, "session": session}
    if role in ROLES and said:
        first |= MessageInput(role=cast(Any, role), content=said)
    else:
        first |= MessageInput(role="tool", content=_shown(plain), recalled=True)
    if _bytes(whole) <= ITEM_BYTES and "\\u0000" not in plain and _is_unicode(plain):
        yield first | MessageInput(attributes={"item": item})
        return
    slices = [*_slices(whole)]
    for at, slice in enumerate(slices):
        attributes = {"part": {"item": first["id"], "at": at, "of": len(slices), "text": slice}}
        if at == 0:
            yield first | MessageInput(attributes=attributes)
        else:
            content = f"[part {at + 1} of {len(slices)}]"
            yield MessageInput(
                id=uuid.uuid4().hex, session=session, role="tool", content=content, recalled=True, attributes=attributes
            )


def requests_of(messages: Iterator[MessageInput]) -> Iterator[list[MessageInput]]:
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


def text_of(content: Any) -> str:
    """Returns the text of an item's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text"))
