"""CrewAI's Memory keeps its records in slipbox. No model is asked: what is remembered is said in full."""

import asyncio
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from slipbox import External, NotFound, Slipbox
from slipbox.crewai import SlipboxEmbedder, SlipboxStorage, storage


@pytest.fixture
def store(client: Slipbox) -> Iterator[SlipboxStorage]:
    name = f"crewai-{uuid.uuid4().hex}"
    yield SlipboxStorage(client, name)
    client.delete_collection(name)


@pytest.fixture
def embed(client: Slipbox) -> SlipboxEmbedder:
    return SlipboxEmbedder(client)


def contents(found: list[tuple[MemoryRecord, float]]) -> list[str]:
    return [record.content for record, _ in found]


def test_memory(store: SlipboxStorage, embed: SlipboxEmbedder, client: Slipbox) -> None:
    """CrewAI's own Memory, with this storage and this embedder."""
    memory = Memory(storage=store, embedder=embed, consolidation_threshold=1.0)
    for text, scope in (("Nora lives in Oslo.", "/team/nora"), ("Ben repairs bicycles in Porto.", "/team/ben")):
        kept = memory.remember(text, scope=scope, categories=["people"], metadata={"n": 1}, importance=0.7)
        assert kept is not None and kept.scope == scope
    assert memory.remember("The office is closed.", scope="/office", categories=["news"], importance=0.5) is not None
    best = memory.recall("Where does Nora live?", limit=3, depth="shallow")
    assert best[0].record.content == "Nora lives in Oslo." and best[0].record.importance == 0.7
    assert [m.record.content for m in memory.recall("Who?", scope="/team/ben", depth="shallow")] == [
        "Ben repairs bicycles in Porto."
    ]
    news = memory.recall("closed", categories=["news"], depth="shallow")
    assert [m.record.content for m in news] == ["The office is closed."]
    assert memory.list_scopes("/") == ["/office", "/team"] and memory.list_categories() == {"people": 2, "news": 1}
    changed = memory.update(best[0].record.id, content="Nora lives in Rome.")
    assert changed.content == "Nora lives in Rome." and changed.created_at == best[0].record.created_at
    assert memory.recall("Where does Nora live?", depth="shallow")[0].record.content == "Nora lives in Rome."
    assert memory.forget(scope="/team/ben") == 1
    memory.reset()
    assert memory.recall("Where does Nora live?", depth="shallow") == []
    memory.close()


def test_records(store: SlipboxStorage, embed: SlipboxEmbedder) -> None:
    assert isinstance(store, StorageBackend)
    start = datetime(2026, 3, 1, 9, 30, 0, 123456)
    texts = ["The ferry leaves at nine.", "The ferry leaves at ten.", "Bread is baked here."]
    records = [
        MemoryRecord(
            content=text,
            scope=scope,
            categories=[category, "all"],
            metadata={"n": i, "line.no": i, "deep": {"x": [1, None]}},
            created_at=start + timedelta(days=i),
            source="nora",
            private=True,
            embedding=vector,
        )
        for i, (text, scope, category, vector) in enumerate(
            zip(texts, ("/a", "/a/b", "/ab"), ("trip", "trip", "food"), embed(texts), strict=True)
        )
    ]
    store.save(records)
    got = store.get_record(records[1].id)
    assert got is not None and got.model_dump() == records[1].model_dump()
    assert store.get_record(str(uuid.uuid4())) is None
    # The vector is the embedder's, so that a record is as near as can be to its own text.
    query = embed([texts[0]])[0]
    found = store.search(query, limit=2)
    assert contents(found) == texts[:2] and 0.999 < found[0][1] <= 1.0001 and found[1][1] < found[0][1]
    assert contents(store.search(query, scope_prefix="/a")) == texts[:2]
    assert contents(store.search(query, categories=["food", "none"])) == [texts[2]]
    assert contents(store.search(query, metadata_filter={"n": 1})) == [texts[1]]
    assert contents(store.search(query, metadata_filter={"line.no": 1})) == [texts[1]]
    assert contents(store.search(query, metadata_filter={"none": None}, limit=1)) == [texts[0]]
    assert contents(store.search(query, min_score=0.999)) == [texts[0]]
    assert [r.content for r in store.list_records()] == texts[::-1]
    assert [r.content for r in store.list_records("/a", limit=1, offset=1)] == [texts[0]]
    info = store.get_scope_info("/a/")
    assert (info.path, info.record_count, info.categories, info.child_scopes) == ("/a", 2, ["all", "trip"], ["/a/b"])
    assert (info.oldest_record, info.newest_record) == (start, start + timedelta(days=1))
    assert store.get_scope_info("/none").record_count == 0
    assert store.list_scopes() == ["/a", "/ab"] and store.list_scopes("/a") == ["/a/b"]
    assert store.list_categories("/a") == {"trip": 2, "all": 2} and store.count() == 3 and store.count("/a/b") == 1
    # An update replaces the record: what it no longer has is gone.
    new = records[0].model_copy(update={"content": "The ferry is full.", "metadata": {"m": 2}, "source": None})
    store.update(new)
    got = store.get_record(new.id)
    assert got is not None and got.model_dump() == new.model_dump() and store.count() == 3
    store.touch_records([new.id, str(uuid.uuid4())])
    touched = store.get_record(new.id)
    assert touched is not None and touched.last_accessed >= new.last_accessed
    assert store.delete(older_than=start + timedelta(days=1)) == 1
    assert store.delete(record_ids=[records[1].id, new.id]) == 1
    assert store.delete(record_ids=[]) == 0 and store.delete(categories=["trip"]) == 0
    store.reset("/a")
    assert store.count() == 1
    store.reset()
    assert store.count() == 0


def test_without_waiting(store: SlipboxStorage, embed: SlipboxEmbedder) -> None:
    async def run() -> None:
        await store.asave([MemoryRecord(content="The ferry leaves at nine.", embedding=embed(["x"])[0])])
        assert contents(await store.asearch(embed(["ferry"])[0])) == ["The ferry leaves at nine."]
        assert await store.adelete() == 1

    asyncio.run(run())


def test_many_texts(embed: SlipboxEmbedder) -> None:
    texts = [f"sentence {i}" for i in range(300)]
    vectors = embed(texts)
    assert len(vectors) == 300 and vectors[299] == embed(texts[299:])[0]


def test_registered(gateway: tuple[str, str], monkeypatch: pytest.MonkeyPatch, embed: SlipboxEmbedder) -> None:
    monkeypatch.setenv("SLIPBOX_URL", gateway[0])
    assert storage("lancedb") is None and storage("slipboxes") is None
    set_memory_storage_factory(storage)
    try:
        user = f"{uuid.uuid4()}@example.com"
        memory = Memory(storage=f"slipbox:user={user.replace('@', '%40')}", embedder=embed)
        memory.remember("Nora lives in Oslo.", scope="/", categories=["people"], importance=0.7)
        with Slipbox(*gateway) as client:
            assert [note.content for note in client.list_notes({"user": user})] == ["Nora lives in Oslo."]
            client.forget_external({"user": user})
        memory.close()
    finally:
        set_memory_storage_factory(None)


def test_secrets_and_erasing(client: Slipbox) -> None:
    """The program decides about secrets, and whether what it deletes is gone for good."""
    for secrets, kept in (("keep", True), (None, False)):
        for collection in (f"crewai-{uuid.uuid4().hex}", External(user=str(uuid.uuid4()))):
            store = SlipboxStorage(client, collection, secrets=secrets, erase=kept)  # type: ignore[arg-type]
            record = MemoryRecord(content='{"password": "Tr0ub4dor!3x"}')
            store.save([record])
            got = store.get_record(record.id)
            assert got is not None and ("Tr0ub4dor!3x" in got.content) is kept
            record.content = '{"password": "Tr0ub4dor!4y"}'
            store.update(record)
            got = store.get_record(record.id)
            assert got is not None and ("Tr0ub4dor!4y" in got.content) is kept and bool(store.redacted) is not kept
            note = next(iter(client.list_notes(collection))).id
            assert store.delete(record_ids=[record.id]) == 1
            if kept:
                with pytest.raises(NotFound):
                    list(client.get_note_history(collection, note))
            else:
                assert len(list(client.get_note_history(collection, note))) >= 2
