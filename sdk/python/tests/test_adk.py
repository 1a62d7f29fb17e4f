"""SlipboxMemoryService remembers what sessions of the Agent Development Kit say. No agent is run, no model is asked."""

import asyncio
import uuid
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from slipbox import AsyncSlipbox, NotFound
from slipbox.adk import SlipboxMemoryService


def said(author: str, text: str, **more: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, content=types.Content(role=role, parts=[types.Part(text=text)]), **more)


def texts(memories: list[MemoryEntry]) -> list[str]:
    return [part.text or "" for memory in memories for part in memory.content.parts or []]


async def session_of(app: str, user: str, *events: Event) -> Session:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name=app, user_id=user)
    for event in events:
        await sessions.append_event(session, event)
    return session


def test_sessions(gateway: tuple[str, str]) -> None:
    async def run() -> None:
        user = str(uuid.uuid4())
        at: Any = {"app_name": "guide", "user_id": user}
        async with AsyncSlipbox(*gateway) as client:
            memory = SlipboxMemoryService(client, create="none")
            assert (await memory.search_memory(**at, query="Where is the ferry?")).memories == []
            call = types.Part(function_call=types.FunctionCall(name="ferries", args={}))
            session = await session_of(
                "guide",
                user,
                said("user", "When does the ferry to Naxos leave?"),
                Event(author="clerk", content=types.Content(role="model", parts=[call])),
                said("clerk", "The ferry to Naxos leaves at nine."),
                said("clerk", "The ferry to", partial=True),
            )
            await memory.add_session_to_memory(session)
            # The session continues, and is added again: what was said is remembered once.
            session.events.append(said("user", "I like green tea."))
            await memory.add_session_to_memory(session)
            messages = client.list_messages({"app": "guide", "user": user})
            stored = [(m.role, m.content, m.session) async for m in messages]
            assert stored == [
                ("user", "When does the ferry to Naxos leave?", session.id),
                ("assistant", "The ferry to Naxos leaves at nine.", session.id),
                ("user", "I like green tea.", session.id),
            ]
            found = (await memory.search_memory(**at, query="Which tea does the user like?")).memories
            assert texts(found)[0] == "I like green tea." and found[0].content.role == "user" and found[0].timestamp
            ferry = (await memory.search_memory(**at, query="The ferry to Naxos leaves at nine.")).memories[0]
            assert ferry.author == "clerk" and ferry.content.role == "model"
            # Another user of the app, and another app of the user, have memories of their own.
            assert (await memory.search_memory(app_name="guide", user_id="nobody", query="tea")).memories == []
            assert (await memory.search_memory(app_name="other", user_id=user, query="tea")).memories == []
            await memory.delete_memory(**at, memory_id=found[0].id)
            await memory.delete_memory(**at, memory_id=found[0].id)
            await memory.delete_memory(**at)
            left = (await memory.search_memory(**at, query="Which tea does the user like?")).memories
            assert "I like green tea." not in texts(left)
            await client.forget_external({"user": user})

    asyncio.run(run())


def test_explicit_memories(gateway: tuple[str, str]) -> None:
    async def run() -> None:
        user = str(uuid.uuid4())
        at: Any = {"app_name": "guide", "user_id": user}
        async with AsyncSlipbox(*gateway) as client:
            memory = SlipboxMemoryService(client)
            entry = MemoryEntry(
                content=types.Content(parts=[types.Part(text="Nora is allergic to nuts.")]),
                author="doctor",
                timestamp="2026-03-01T09:00:00Z",
                custom_metadata={"source": "form"},
            )
            for _ in range(2):
                await memory.add_memory(**at, memories=[entry], custom_metadata={"app": "clinic"})
            (found,) = (await memory.search_memory(**at, query="Is Nora allergic to nuts?")).memories
            assert texts([found]) == ["Nora is allergic to nuts."] and found.author == "doctor"
            assert found.timestamp == "2026-03-01T09:00:00+00:00"
            assert found.custom_metadata["source"] == "form" and found.custom_metadata["app"] == "clinic"
            await memory.add_events_to_memory(**at, events=[said("user", "I live in Oslo.")], custom_metadata={"n": 1})
            (message,) = [m async for m in client.list_messages({"app": "guide", "user": user})]
            assert (message.content, (message.attributes or {})["n"]) == ("I live in Oslo.", 1)
            await client.forget_external({"user": user})

    asyncio.run(run())


def test_secrets_and_erasing(gateway: tuple[str, str]) -> None:
    """The program decides about secrets, and whether what it deletes is gone for good."""

    async def run() -> None:
        async with AsyncSlipbox(*gateway) as client:
            for secrets, kept in (("keep", True), (None, False)):
                user = str(uuid.uuid4())
                at: Any = {"app_name": "guide", "user_id": user}
                choice: Any = secrets
                memory = SlipboxMemoryService(client, create="none", secrets=choice, erase=kept)
                parts = [types.Part(text='{"password": "Tr0ub4dor!3x"}')]
                await memory.add_memory(**at, memories=[MemoryEntry(content=types.Content(role="user", parts=parts))])
                await memory.add_session_to_memory(
                    await session_of("guide", user, said("user", "The password is Tr0ub4dor!3x."))
                )
                found = (await memory.search_memory(**at, query="password")).memories
                assert len(found) == 2
                assert all(("Tr0ub4dor!3x" in text) is kept for text in texts(found))
                assert bool(memory.redacted) is not kept
                gone = found[0].id
                assert gone is not None
                await memory.delete_memory(**at, memory_id=gone)
                past = client.get_note_history({"app": "guide", "user": user}, gone)
                if kept:
                    with pytest.raises(NotFound):
                        _ = [version async for version in past]
                else:
                    assert len([version async for version in past]) >= 2
                await client.forget_external({"app": "guide", "user": user})

    asyncio.run(run())
