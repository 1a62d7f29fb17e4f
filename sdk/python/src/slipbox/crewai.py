"""A memory for CrewAI: ``SlipboxStorage`` keeps its records, ``SlipboxEmbedder`` makes the vectors that it searches by.

``storage`` makes one of a text, for ``set_memory_storage_factory``. CrewAI decides by a model of its own what is
remembered and where; a record is a note that no policy reads.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qsl

from crewai.memory.types import MemoryRecord, ScopeInfo

from slipbox import Slipbox, models, requests
from slipbox._notes import PAGE, Secrets, ensure, every, leaf, member_path, remove, replacing
from slipbox._wire import CollectionRef

ROOT = "/"
# The most values of one condition, and the most notes of one request.
VALUES, PER_REQUEST = 256, 1000
# The most texts of one request for embeddings, and the most bytes of all of them.
TEXTS, BYTES = 256, 128 << 10


class SlipboxEmbedder:
    """Embeds texts as the gateway embeds notes: the embedder of a Memory whose storage is a SlipboxStorage."""

    def __init__(self, client: Slipbox) -> None:
        self._client = client

    def __call__(self, input: Sequence[str]) -> list[list[float]]:
        """Returns a vector for each text."""
        vectors: list[list[float]] = []
        part: list[str] = []
        size = 0
        for text in input:
            added = len(text.encode())
            if part and (len(part) == TEXTS or size + added > BYTES):
                vectors += self._embed(part)
                part, size = [], 0
            part.append(text)
            size += added
        return vectors + (self._embed(part) if part else [])

    def _embed(self, texts: list[str]) -> list[list[float]]:
        body = {"model": "slipbox", "input": texts}
        answer = self._client.request("POST", "/v1/embeddings", body=body, repeatable=True).json()
        return [item["embedding"] for item in answer["data"]]


class SlipboxStorage:
    """Records of CrewAI's Memory in a collection of slipbox, a ``StorageBackend``.

    collection is an id, a name, or the application's ids; it is created with the policy ``none`` if it does not exist.
    A record's metadata, categories and scope have at most 12 KiB as JSON. Scopes are paths: /a contains /a/b, and not
    /ab. Lists and counts of a scope read all of its records. Search returns at most 200, by the cosine of the vectors.

    secrets says what the collection that is made does with keys, card numbers and passwords: "redact" (the default of
    the gateway), "refuse", or "keep". redacted has the kinds of those that were taken out so far. With erase, deletions
    remove every version of a record.
    """

    def __init__(
        self,
        client: Slipbox,
        collection: CollectionRef = "crewai",
        *,
        secrets: Secrets | None = None,
        erase: bool = False,
    ) -> None:
        self.redacted: set[str] = set()
        self._client = client
        self._collection = collection
        self._ready = False
        self._secrets = secrets
        self._erase = erase

    def save(self, records: list[MemoryRecord]) -> None:
        """Stores records."""
        self._create()
        for start in range(0, len(records), PER_REQUEST):
            part = records[start : start + PER_REQUEST]
            for result in self._client.bulk_notes(self._collection, [_note(record) for record in part]):
                if result.error is not None:
                    raise ValueError(f"record {part[result.line - 1].id}: {result.error.detail}")
                self.redacted.update(result.redacted or [])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Returns the nearest records with the cosine of their vectors and the query's, the nearest first."""
        self._create()
        found = self._client.search(
            self._collection,
            vector=query_embedding,
            mode="vector",
            k=min(limit, PAGE),
            filter=every(*_conditions(scope_prefix, categories, metadata_filter)),
            fields=["*"],
            include=["embedding"],
        )
        scored = [(_record(hit.note), _cosine(query_embedding, hit.note.embedding or [])) for hit in found.hits]
        return sorted((pair for pair in scored if pair[1] >= min_score), key=lambda pair: -pair[1])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Deletes the records for which all that is given holds, and returns how many."""
        conditions = _conditions(scope_prefix, categories, metadata_filter)
        if older_than is not None:
            conditions.append(leaf("created", _stamp(older_than), "lt"))
        deleted = 0
        chosen: list[list[requests.Filter]] = [conditions]
        if record_ids is not None:
            parts = (record_ids[start : start + VALUES] for start in range(0, len(record_ids), VALUES))
            chosen = [[*conditions, leaf("id", ids, "in")] for ids in parts]
        for part in chosen:
            for note in list(self._notes(*part)):
                deleted += remove(self._client, self._collection, note.id, erase=self._erase)
        return deleted

    def update(self, record: MemoryRecord) -> None:
        """Replaces the record with the same id, or stores it if there is none."""
        for note in self._notes(leaf("id", record.id)):
            new = _note(record)
            written = self._client.patch_note(
                self._collection,
                note.id,
                content=new["content"],
                importance=new["importance"],
                attributes=replacing(note.attributes, new["attributes"]),
            )
            self.redacted.update(written.redacted)
            return
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Returns a record; None if there is none."""
        return next((_record(note) for note in self._notes(leaf("id", record_id))), None)

    def touch_records(self, record_ids: list[str]) -> None:
        """Notes that records were read."""
        at = {"last_accessed": datetime.now(timezone.utc).replace(tzinfo=None).isoformat()}
        for start in range(0, len(record_ids), VALUES):
            for note in list(self._notes(leaf("id", record_ids[start : start + VALUES], "in"))):
                self._client.patch_note(self._collection, note.id, attributes=at)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Returns the records of a scope, the newest first."""
        records = sorted(self._records(scope_prefix), key=lambda record: -_stamp(record.created_at))
        return records[max(0, offset) :][: max(0, limit)]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Returns what a scope and those below it have."""
        records = self._records(scope)
        times = sorted((record.created_at for record in records), key=_stamp)
        return ScopeInfo(
            path=_path(scope),
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=times[0] if times else None,
            newest_record=times[-1] if times else None,
            child_scopes=_children(scope, records),
        )

    def list_scopes(self, parent: str = ROOT) -> list[str]:
        """Returns the scopes directly below one."""
        return _children(parent, self._records(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Returns how many records of a scope have each category."""
        counts: dict[str, int] = {}
        for record in self._records(scope_prefix):
            for category in record.categories:
                counts[category] = counts.get(category, 0) + 1
        return counts

    def count(self, scope_prefix: str | None = None) -> int:
        """Returns how many records a scope and those below it have."""
        return len(self._records(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Deletes the records of a scope and of those below it."""
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Is save, beside the event loop."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Is search, beside the event loop."""
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Is delete, beside the event loop."""
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def _create(self) -> None:
        if not self._ready:
            ensure(self._client, self._collection, self._secrets)
        self._ready = True

    def _notes(self, *conditions: requests.Filter) -> Iterable[models.Note]:
        self._create()
        return self._client.list_notes(
            self._collection, filter=every(leaf("id", True, "exists"), *conditions), limit=PAGE
        )

    def _records(self, scope: str | None) -> list[MemoryRecord]:
        return [_record(note) for note in self._notes(*_conditions(scope))]


def storage(spec: str) -> SlipboxStorage | None:
    """Returns the storage that a text names, for ``set_memory_storage_factory``.

    ``slipbox`` is the collection crewai, ``slipbox:name`` another one, ``slipbox:user=nora%40example.com`` that of an
    application's ids. The gateway and the key are those of ``Slipbox()``. Any other text is CrewAI's own: None.
    """
    name, _, rest = spec.partition(":")
    if name != "slipbox":
        return None
    collection: Any = dict(parse_qsl(rest)) if "=" in rest else rest or "crewai"
    return SlipboxStorage(Slipbox(), collection)


def _note(record: MemoryRecord) -> Any:
    """Returns a record as a note. Filters compare created, a number; created_at is what CrewAI gets back."""
    return {
        "content": record.content,
        "importance": record.importance,
        "infer": False,
        "on_duplicate": "keep",
        "attributes": {
            "id": record.id,
            "scope": _path(record.scope),
            "scopes": _ancestors(record.scope),
            "categories": record.categories,
            "metadata": record.metadata,
            "created": _stamp(record.created_at),
            "created_at": record.created_at.isoformat(),
            "last_accessed": record.last_accessed.isoformat(),
            "source": record.source,
            "private": record.private,
        },
    }


def _record(note: models.Note | models.HitNote) -> MemoryRecord:
    attributes = note.attributes or {}
    return MemoryRecord(
        content=note.content or "",
        importance=0.5 if note.importance is None else note.importance,
        embedding=note.embedding,
        **{name: attributes[name] for name in MemoryRecord.model_fields if attributes.get(name) is not None},
    )


def _conditions(
    scope: str | None = None, categories: list[str] | None = None, metadata: dict[str, Any] | None = None
) -> list[requests.Filter]:
    # A list equals each of its elements.
    conditions = [leaf("scopes", _path(scope or ROOT))]
    if categories:
        conditions.append(leaf("categories", categories, "in"))
    for name, value in (metadata or {}).items():
        at = member_path("metadata", name)
        conditions.append(leaf(at, False, "exists") if value is None else leaf(at, value))
    return conditions


def _path(scope: str) -> str:
    return ROOT + "/".join(part for part in scope.split("/") if part)


def _ancestors(scope: str) -> list[str]:
    """Returns a scope and those that contain it, the root first."""
    parts = [part for part in scope.split("/") if part]
    return [ROOT + "/".join(parts[:i]) for i in range(len(parts) + 1)]


def _children(parent: str, records: list[MemoryRecord]) -> list[str]:
    depth = len(_ancestors(parent))
    return sorted({above[depth] for record in records if len(above := _ancestors(record.scope)) > depth})


def _stamp(at: datetime) -> float:
    """Returns a time as seconds since 1970. CrewAI's have no offset and are UTC."""
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Returns the cosine of two vectors, at least 0."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return max(0.0, dot / (math.sqrt(sum(x * x for x in a) * sum(y * y for y in b)) or 1.0))
