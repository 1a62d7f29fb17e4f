"""A store for LangGraph: ``SlipboxStore`` keeps items as notes of one collection.

All namespaces share a collection, so that a search below a prefix is one search with one ranking, however many
namespaces there are. A note has its namespace and each prefix of it as attributes. For each namespace there is one more
note, its marker, so that listing namespaces reads these and no items.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)

from slipbox import NotFound, Slipbox, models, requests
from slipbox._notes import PAGE, Secrets, ensure, every, leaf, member_path, remove, replacing, within_filter
from slipbox._wire import CollectionRef

# A label may not have a period, so that this separates labels.
SEPARATOR = "."
ITEM, MARKER = "item", "namespace"


class SlipboxStore(BaseStore):
    """Items of LangGraph in a collection of slipbox.

    collection is an id, a name, or the application's ids (default: the name ``langgraph``); it is created with the
    policy ``none`` if it does not exist. index names the paths of a value whose texts are searched, by default the
    whole value. A value has at most 12 KiB as JSON. Search reads at most the first 200 items of a query.

    Items with a ttl (minutes) are not answered after it; sweep_ttl deletes them.

    secrets says what a collection that is created does with keys, card numbers and passwords in values: "redact" (the
    default of the gateway), "refuse", or "keep". redacted has the kinds of those that were taken out so far. With
    erase, deletions remove every version of an item.
    """

    __slots__ = ("_client", "_collection", "_erase", "_index", "_ready", "_secrets", "redacted", "ttl_config")
    supports_ttl = True

    def __init__(
        self,
        client: Slipbox,
        collection: CollectionRef = "langgraph",
        *,
        index: list[str] | None = None,
        ttl: TTLConfig | None = None,
        secrets: Secrets | None = None,
        erase: bool = False,
    ) -> None:
        self._client = client
        self._collection = collection
        self._index = index
        self._ready = False
        self._secrets = secrets
        self._erase = erase
        self.redacted: set[str] = set()
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out the operations in order, and returns a result for each."""
        self._create()
        return [self._run(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out the operations in order, beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Deletes the items that have expired, and returns how many."""
        self._create()
        expired = [*self._notes(every(leaf("kind", ITEM), leaf("expires_at", time.time(), "lte")))]
        for note in expired:
            self._delete(note)
        return len(expired)

    def _create(self) -> None:
        if not self._ready:
            ensure(self._client, self._collection, self._secrets)
        self._ready = True

    def _run(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise TypeError(f"{type(op).__name__} is no operation of a store")

    # Reading

    def _notes(self, filter: requests.Filter) -> Iterable[models.Note]:
        return self._client.list_notes(self._collection, filter=filter, limit=PAGE)

    def _of(self, namespace: tuple[str, ...], key: str) -> list[models.Note]:
        """Returns the notes of a key. There are two only after two wrote a new key at once; the oldest counts."""
        named: requests.Filter = {"or": [leaf("name", key), leaf("key", key)]}
        found = self._notes(every(leaf("kind", ITEM), leaf("namespace", _text(namespace)), named))
        return sorted(found, key=lambda note: note.id)

    def _get(self, op: GetOp) -> Item | None:
        notes = self._of(op.namespace, op.key)
        if not notes or _expired(notes[0].attributes):
            return None
        if op.refresh_ttl:
            self._refresh(notes[0].id, notes[0].attributes)
        return Item(**_fields(notes[0]))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        conditions = [leaf("kind", ITEM), _unexpired()]
        if op.namespace_prefix:
            conditions.append(leaf("prefixes", _text(op.namespace_prefix), "contains"))
        conditions += within_filter(op.filter or {}, "value", _compare)
        last = op.offset + op.limit
        if op.query:
            hits = self._client.search(
                self._collection,
                query=op.query,
                k=min(last, PAGE),
                filter=every(*conditions, leaf("indexed", True)),
                fields=["*"],
            ).hits[op.offset :]
            notes: list[models.Note | models.HitNote] = [hit.note for hit in hits]
            found = [SearchItem(**_fields(hit.note), score=hit.score) for hit in hits]
        else:
            notes = list(islice(self._notes(every(*conditions)), op.offset, last))
            found = [SearchItem(**_fields(note)) for note in notes]
        if op.refresh_ttl:
            for note in notes:
                self._refresh(note.id, note.attributes or {})
        return found

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {_path(note.attributes) for note in self._notes(leaf("kind", MARKER))}
        kept = {n[: op.max_depth] for n in namespaces if all(_matches(c, n) for c in op.match_conditions or ())}
        return sorted(kept)[op.offset : op.offset + op.limit]

    # Writing

    def _put(self, op: PutOp) -> None:
        while True:
            try:
                self._write(op)
                return
            except NotFound:
                # Another process deleted the key in between.
                continue

    def _write(self, op: PutOp) -> None:
        notes = self._of(op.namespace, op.key)
        if op.value is None:
            for note in notes:
                self._delete(note)
            return
        attributes = {
            "kind": ITEM,
            "namespace": _text(op.namespace),
            "prefixes": [_text(op.namespace[: i + 1]) for i in range(len(op.namespace))],
            # What is called a key is taken for a secret, as "key" was that earlier stores wrote.
            "name": op.key,
            "value": dict(op.value),
            # A patch removes nulls, and a filter does not compare lists.
            "nulls": [*_nulls(op.value)],
            "lists": [*_lists(op.value)],
            "indexed": op.index is not False,
        }
        if op.ttl is not None:
            attributes |= {"ttl": op.ttl, "expires_at": time.time() + op.ttl * 60}
        content = self._content(op)
        if notes:
            # A merge patch: what the new value does not have is removed by null.
            written = self._client.patch_note(
                self._collection, notes[0].id, content=content, attributes=replacing(notes[0].attributes, attributes)
            )
            self.redacted.update(written.redacted)
            for note in notes[1:]:
                remove(self._client, self._collection, note.id, erase=self._erase)
        else:
            made = self._client.create_note(
                self._collection, content=content, attributes=attributes, infer=False, on_duplicate="keep"
            )
            if (name := made.note.attributes["name"]) != op.key:
                remove(self._client, self._collection, made.note.id, erase=True)
                raise ValueError(f"the key would be stored as {name!r}; use a collection with the secrets 'keep'")
            self.redacted.update(made.redacted)
        self._mark(op.namespace)

    def _content(self, op: PutOp) -> str:
        """Returns the text that is searched. What is not indexed is found by no query, see _search."""
        if op.index is False:
            return op.key
        paths = op.index or self._index or ["$"]
        return "\n".join(text for path in paths for text in get_text_at_path(op.value, path) if text) or op.key

    def _mark(self, namespace: tuple[str, ...]) -> None:
        """Makes sure that a namespace has its marker. The gateway stores the same text once."""
        attributes = {"kind": MARKER, "namespace": _text(namespace)}
        self._client.create_note(self._collection, content=_text(namespace), attributes=attributes, infer=False)

    def _delete(self, note: models.Note) -> None:
        """Deletes an item, and the marker of a namespace that is empty then."""
        remove(self._client, self._collection, note.id, erase=self._erase)
        namespace = note.attributes["namespace"]
        items = every(leaf("kind", ITEM), leaf("namespace", namespace))
        if next(iter(self._notes(items)), None) is not None:
            return
        for marker in self._notes(every(leaf("kind", MARKER), leaf("namespace", namespace))):
            remove(self._client, self._collection, marker.id, erase=self._erase)
        # A put writes its item before its marker. One that was marked before the marker was deleted is seen here.
        if next(iter(self._notes(items)), None) is not None:
            self._mark(tuple(namespace.split(SEPARATOR)))

    def _refresh(self, note: str, attributes: Mapping[str, Any]) -> None:
        if "ttl" in attributes:
            expires = {"expires_at": time.time() + attributes["ttl"] * 60}
            self._client.patch_note(self._collection, note, attributes=expires)


def _text(namespace: tuple[str, ...]) -> str:
    return SEPARATOR.join(namespace)


def _path(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(attributes["namespace"]).split(SEPARATOR))


def _fields(note: models.Note | models.HitNote) -> dict[str, Any]:
    attributes = note.attributes or {}
    return {
        "namespace": _path(attributes),
        "key": attributes["name"] if "name" in attributes else attributes["key"],
        "value": _with_nulls(attributes["value"], attributes.get("nulls", ())),
        "created_at": note.created_at,
        "updated_at": note.updated_at,
    }


def _nulls(value: Mapping[str, Any], *path: str) -> Iterator[list[str]]:
    """Yields the paths of an object's members that are None. Those within lists stay where they are."""
    for name, member in value.items():
        if member is None:
            yield [*path, name]
        elif isinstance(member, Mapping):
            yield from _nulls(member, *path, name)


def _with_nulls(value: Mapping[str, Any], paths: Iterable[list[str]]) -> dict[str, Any]:
    """Returns an object with these members, which a patch has removed. The object is not changed."""
    out = dict(value)
    for name, *below in paths:
        out[name] = _with_nulls(out.get(name) or {}, [below]) if below else None
    return out


def _lists(value: Mapping[str, Any], path: str = "value") -> Iterator[str]:
    """Yields the path of each list of an object, and a mark by which a filter finds the list."""
    for name, member in value.items():
        at = member_path(path, name)
        if isinstance(member, Mapping):
            yield from _lists(member, at)
        elif isinstance(member, (list, tuple)):
            yield at
            yield _mark_of(at, member)


def _mark_of(path: str, items: Any) -> str:
    text = json.dumps([path, _comparable(items)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _comparable(value: Any) -> Any:
    """Returns a value so that those that are equal in Python are equal as JSON: 1.0 is 1."""
    if isinstance(value, Mapping):
        return {name: _comparable(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_comparable(member) for member in value]
    return int(value) if isinstance(value, (bool, float)) and value == value // 1 else value


def _compare(at: str, value: Any, operator: str = "eq") -> requests.Filter:
    """Returns the condition on a member of a value. None is like absent, as in LangGraph's own stores."""
    if value is None and operator in ("eq", "ne"):
        return leaf(at, operator == "ne", "exists")
    if isinstance(value, (list, tuple)) and operator in ("eq", "ne"):
        return leaf("lists", _mark_of(at, value), operator)
    if operator not in ("eq", "ne"):
        return leaf(at, value, operator)
    # The gateway's eq also finds a list with this element.
    equal = every(leaf(at, value), {"not": leaf("lists", at)})
    return equal if operator == "eq" else {"not": equal}


def _unexpired() -> requests.Filter:
    return {"or": [leaf("expires_at", False, "exists"), leaf("expires_at", time.time(), "gt")]}


def _expired(attributes: Mapping[str, Any]) -> bool:
    return bool(attributes.get("expires_at", float("inf")) <= time.time())


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Reports whether a namespace begins or ends with a path, in which * is any label."""
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(want in ("*", label) for want, label in zip(path, part, strict=True))
