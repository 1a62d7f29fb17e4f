"""A memory for Google's Agent Development Kit: ``SlipboxMemoryService`` keeps what a user and agents say."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, cast

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from slipbox import AsyncSlipbox, External, NotFound
from slipbox._notes import Secrets, ensure_ids
from slipbox.requests import MessageInput, NoteInput

# The most messages in one request.
PER_REQUEST = 500
USER = "user"


class SlipboxMemoryService(BaseMemoryService):
    """Memories of the users of an app, each user's in a collection of its own.

    The collection has the ids ``{"app": app_name, "user": user_id}`` and is made on first use with the policy create,
    which decides what is learned from a session. A search returns at most k memories. An event without text, such as a
    call of a tool, is not remembered. A session may be added again while it continues: an event is remembered once, by
    its id.

    secrets says what a collection that is made does with keys, card numbers and passwords: "redact" (the default of the
    gateway), "refuse", or "keep". redacted has the kinds of those that were taken out so far. With erase, delete_memory
    removes every version of a memory.
    """

    def __init__(
        self,
        client: AsyncSlipbox,
        *,
        create: str = "mem0",
        k: int = 10,
        secrets: Secrets | None = None,
        erase: bool = False,
    ) -> None:
        self.redacted: set[str] = set()
        self._client = client
        self._create = create
        self._k = k
        self._secrets = secrets
        self._erase = erase
        self._made: set[tuple[str, str]] = set()

    async def add_session_to_memory(self, session: Session) -> None:
        """Remembers what is said in a session."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remembers what is said in events. custom_metadata becomes attributes of the messages."""
        said = [message for event in events if (message := _message(event, session_id, custom_metadata or {}))]
        for start in range(0, len(said), PER_REQUEST):
            part = said[start : start + PER_REQUEST]
            ids = await self._ensure(app_name, user_id)
            answer = await self._client.add_messages(ids, messages=part, create=self._create)
            self.redacted.update(answer.redacted)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Stores memories as they are. Custom metadata becomes attributes. The same text is stored once."""
        for memory in memories:
            note: NoteInput = {
                "content": _text(memory.content),
                "kind": "fact",
                "infer": False,
                "attributes": {**(custom_metadata or {}), **memory.custom_metadata},
            }
            if memory.author:
                note["attributes"]["name"] = memory.author
            if memory.timestamp:
                note["occurred_at"] = _time(datetime.fromisoformat(memory.timestamp.replace("Z", "+00:00")))
            ids = await self._ensure(app_name, user_id)
            made = await self._client.create_note(ids, create=self._create, **note)
            self.redacted.update(made.redacted)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Finds what fits a question, the best first."""
        try:
            found = await self._client.search(_ids(app_name, user_id), query=query, k=self._k, fields=["*"])
        except NotFound:
            # Nothing was said yet.
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry(hit.note) for hit in found.hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes a memory by the id that a search returned. It is no error if there is none."""
        if not memory_id:
            return
        try:
            await self._client.delete_note(_ids(app_name, user_id), memory_id, erase=self._erase)
        except NotFound:
            return

    async def _ensure(self, app_name: str, user_id: str) -> External:
        """Returns the ids of a user's collection, which is made with the setting about secrets if there is one."""
        ids = _ids(app_name, user_id)
        if self._secrets is not None and (app_name, user_id) not in self._made:
            await ensure_ids(self._client, ids, self._create, self._secrets)
            self._made.add((app_name, user_id))
        return ids


def _ids(app_name: str, user_id: str) -> External:
    return {"app": app_name, "user": user_id}


def _message(event: Event, session: str | None, attributes: Mapping[str, object]) -> MessageInput | None:
    """Returns an event as a message; None if nothing is said in it, or only a part of it so far."""
    text = _text(event.content)
    if not text or event.partial:
        return None
    message: MessageInput = {
        "id": event.id,
        "role": "user" if event.author == USER else "assistant",
        "content": text,
        "occurred_at": _time(datetime.fromtimestamp(event.timestamp)),
        "attributes": dict(attributes),
    }
    if event.author and event.author != USER:
        message["name"] = event.author
    if session:
        message["session"] = session
    return message


def _time(at: datetime) -> str:
    """Returns a time, which is local unless it has an offset, as the gateway takes it."""
    return at.astimezone(timezone.utc).isoformat()


def _text(content: types.Content | None) -> str:
    """Returns the texts of a content, without a model's thoughts."""
    parts = content.parts or [] if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _entry(note: Any) -> MemoryEntry:
    attributes = cast(dict[str, Any], note.attributes or {})
    role = "model" if attributes.get("role") == "assistant" else USER
    return MemoryEntry(
        id=note.id,
        content=types.Content(role=role, parts=[types.Part(text=note.content)]),
        author=attributes.get("name"),
        timestamp=note.occurred_at.isoformat() if note.occurred_at else None,
        custom_metadata=attributes,
    )
