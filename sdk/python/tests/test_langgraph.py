"""SlipboxStore behaves as LangGraph's own stores do."""

import asyncio
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from slipbox import External, Slipbox
from slipbox.errors import Invalid
from slipbox.langgraph import SlipboxStore


@pytest.fixture
def store(client: Slipbox) -> Iterator[SlipboxStore]:
    name = f"store-{uuid.uuid4().hex}"
    yield SlipboxStore(client, name)
    client.delete_collection(name)


def test_put_get_delete(store: SlipboxStore) -> None:
    assert store.get(("users", "nora"), "city") is None
    store.put(("users", "nora"), "city", {"name": "Oslo", "since": {"year": 2020, "month": 3}})
    first = store.get(("users", "nora"), "city")
    assert first is not None and first.value == {"name": "Oslo", "since": {"year": 2020, "month": 3}}
    assert (first.namespace, first.key) == (("users", "nora"), "city")
    # A put replaces the whole value.
    store.put(("users", "nora"), "city", {"name": "Rome", "since": {"year": 2026}, "list": [1, None, "x"]})
    second = store.get(("users", "nora"), "city")
    assert second is not None and second.value == {"name": "Rome", "since": {"year": 2026}, "list": [1, None, "x"]}
    assert second.created_at == first.created_at and second.updated_at > first.updated_at
    assert store.get(("users",), "city") is None and store.get(("users", "nora"), "town") is None
    store.delete(("users", "nora"), "city")
    store.delete(("users", "nora"), "city")
    assert store.get(("users", "nora"), "city") is None
    with pytest.raises(InvalidNamespaceError):
        store.put(("users", "a.b"), "k", {})


def test_keys(store: SlipboxStore) -> None:
    # A key is an id, not a secret, whatever it looks like.
    for key in (uuid.uuid4().hex, f"user-{uuid.uuid4().hex}", str(uuid.uuid4())):
        store.put(("users",), key, {"o": {}})
        found = store.get(("users",), key)
        assert found is not None and (found.key, found.value) == (key, {"o": {}})
    with pytest.raises(ValueError, match="card number"):
        store.put(("users",), "4111111111111111", {"o": 1})
    store.put(("users",), "other", {"p": {}})
    assert {item.key for item in store.search(("users",), filter={"p": {}})} == {"other"}


def test_search(store: SlipboxStore) -> None:
    store.put(("docs", "a"), "one", {"text": "The ferry to Naxos leaves at nine.", "n": 1, "tags": {"kind": "trip"}})
    store.put(("docs", "a", "deep"), "two", {"text": "Rosa repairs bicycles in Porto.", "n": 2})
    store.put(("docs", "b"), "three", {"text": "The ferry to Paros leaves at ten.", "n": 3})
    store.put(("documents",), "four", {"text": "The ferry to Crete leaves at noon.", "n": 4})
    found = store.search(("docs",), query="When does the ferry leave?", limit=2)
    assert {item.key for item in found} == {"one", "three"}
    assert all(item.score is not None and item.score > 0 for item in found)
    assert store.search(("docs",), query="When does the ferry leave?", limit=1, offset=1)[0] == found[1]
    assert {item.key for item in store.search(("docs", "a"))} == {"one", "two"}
    assert {item.key for item in store.search(())} == {"one", "two", "three", "four"}
    assert len(store.search(("docs",), limit=2)) == 2 and len(store.search(("docs",), limit=2, offset=2)) == 1
    assert [item.key for item in store.search(("docs",), filter={"n": 3})] == ["three"]
    assert {item.key for item in store.search(("docs",), filter={"n": {"$gte": 2}})} == {"two", "three"}
    assert [item.key for item in store.search(("docs",), filter={"tags": {"kind": "trip"}})] == ["one"]
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(("docs",), filter={"n": {"$near": 2}})


def test_what_was_put_is_got(store: SlipboxStore) -> None:
    values: list[dict[str, object]] = [
        {"a": 1, "b": {"c": 2, "d": {"e": 3}}, "x": {"y": {"z": None}}},
        {"n": None, "b": {"c": None, "d": []}},
        {"b": {}, "l": [None, {"m": None}, []], "empty": {}},
        {},
        {"b": [1, 2], "n": {"m": None}},
        {"b": {"c": {"only": None}}, "text": "", "no": False, "zero": 0, "float": 1.5},
        {"b": None},
        {"a.b": None, "kind": None, "ü": {"": 1}},
    ]
    for value in values + values[::-1]:
        store.put(("a",), "k", value)
        item = store.get(("a",), "k")
        assert item is not None and item.value == value
        assert store.search(("a",))[0].value == value


def test_filters_compare_as_in_memory(store: SlipboxStore) -> None:
    memory = InMemoryStore()
    for each in (store, memory):
        each.put(("a",), "1", {"n": None, "tags": ["x", "y"], "in": {"list": [], "none": None}})
        each.put(("a",), "2", {"n": 5, "tags": ["y", "x"], "in": {"list": [1, 2.0], "none": 0}})
        each.put(("a",), "3", {"tags": "x", "in": {"list": [None]}})
        each.put(("a",), "4", {"in.list": [1], "file.size": 4, "von\\bis": 2, "in": {"größe.cm": 3}})
    questions: list[dict[str, object]] = [
        {"n": None},
        {"n": {"$eq": None}},
        {"n": {"$ne": None}},
        {"tags": ["x", "y"]},
        {"tags": ["x"]},
        {"tags": {"$eq": ["y", "x"]}},
        {"tags": {"$ne": ["y", "x"]}},
        {"in": {"list": []}},
        {"in": {"list": [1, 2]}},
        {"in": {"list": [None]}},
        {"in": {"none": None}},
        {"in": {"none": 0}},
        {"nothing": None},
        {"tags": "x"},
        {"file.size": 4},
        {"file.size": {"$ne": 4}},
        {"file": {"size": 4}},
        {"in.list": [1]},
        {"in": {"list": [1]}},
        {"in": {"größe.cm": {"$eq": 3}}},
        {"von\\bis": 2},
    ]
    for question in questions:
        got = sorted(item.key for item in store.search(("a",), filter=question))
        assert got == sorted(item.key for item in memory.search(("a",), filter=question)), question


def test_secrets_are_the_programs_choice(client: Slipbox) -> None:
    value = {"password": "Tr0ub4dor!3x"}
    for secrets, kept in (("keep", True), (None, False)):
        for collection in (f"store-{uuid.uuid4().hex}", External(user=str(uuid.uuid4()))):
            store = SlipboxStore(client, collection, secrets=secrets)  # type: ignore[arg-type]
            for _ in range(2):  # a new value, and a changed one
                store.put(("a",), "k", value)
                item = store.get(("a",), "k")
                assert item is not None and (item.value == value) is kept and bool(store.redacted) is not kept
    refusing = SlipboxStore(client, f"store-{uuid.uuid4().hex}", secrets="refuse")
    with pytest.raises(Invalid, match="refuses"):
        refusing.put(("a",), "k", value)


def test_index(store: SlipboxStore) -> None:
    store.put(("a",), "hidden", {"text": "The ferry leaves at nine."}, index=False)
    store.put(("a",), "part", {"text": "The kiln is inspected.", "note": "The ferry leaves."}, index=["text"])
    assert [item.key for item in store.search(("a",), query="kiln")] == ["part"]
    assert "hidden" not in {item.key for item in store.search(("a",), query="ferry")}
    assert store.get(("a",), "hidden") is not None
    assert {item.key for item in store.search(("a",))} == {"hidden", "part"}


def test_namespaces_are_listed_as_in_memory(store: SlipboxStore) -> None:
    memory = InMemoryStore()
    paths = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "x", "c"), ("z", "b"), ("ab",)]
    for each in (store, memory):
        for path in paths:
            each.put(path, "k", {"v": 1})
    questions: list[dict[str, object]] = [
        {},
        {"prefix": ("a",)},
        {"prefix": ("a", "*", "c")},
        {"suffix": ("c",)},
        {"suffix": ("b", "*")},
        {"prefix": ("a",), "suffix": ("c",)},
        {"max_depth": 2},
        {"prefix": ("a",), "max_depth": 1},
        {"limit": 2, "offset": 1},
    ]
    for question in questions:
        assert sorted(store.list_namespaces(**question)) == sorted(memory.list_namespaces(**question)), question  # type: ignore[arg-type]
    # A namespace without items is none.
    store.put(("a", "b"), "other", {})
    store.delete(("a", "b"), "k")
    assert ("a", "b") in store.list_namespaces()
    store.delete(("a", "b"), "other")
    assert ("a", "b") not in store.list_namespaces()
    store.put(("a", "b"), "k", {})
    assert ("a", "b") in store.list_namespaces()


def test_batch(store: SlipboxStore) -> None:
    results = store.batch(
        [
            PutOp(("a",), "k", {"v": 1}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"v": 2}),
            SearchOp(("a",)),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a",)),)),
            PutOp(("a",), "k", None),
            GetOp(("a",), "k"),
        ]
    )
    assert results[0] is None and results[1].value == {"v": 1}  # type: ignore[union-attr]
    assert [item.value for item in results[3]] == [{"v": 2}]  # type: ignore[union-attr]
    assert results[4:] == [[("a",)], None, None]


def test_expiry(store: SlipboxStore) -> None:
    store.put(("a",), "gone", {"v": "ferry"}, ttl=0)
    store.put(("a",), "kept", {"v": "ferry"}, ttl=10)
    assert store.get(("a",), "gone") is None and store.get(("a",), "kept") is not None
    assert [item.key for item in store.search(("a",))] == ["kept"]
    assert [item.key for item in store.search(("a",), query="ferry")] == ["kept"]
    assert store.sweep_ttl() == 1 and store.sweep_ttl() == 0
    # A put without ttl ends it.
    store.put(("a",), "kept", {"v": "ferry"})
    assert store.get(("a",), "kept") is not None


def test_asynchronous_and_at_once(store: SlipboxStore) -> None:
    async def run() -> None:
        await store.aput(("a",), "k", {"v": 1})
        item = await store.aget(("a",), "k")
        assert item is not None and item.value == {"v": 1}
        assert [found.key for found in await store.asearch(("a",), query="k")] == ["k"]
        assert await store.alist_namespaces() == [("a",)]

    asyncio.run(run())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: store.put(("b",), "same", {"v": i}), range(12)))
    # One more put leaves one note of the key.
    store.put(("b",), "same", {"v": "last"})
    assert [item.value for item in store.search(("b",))] == [{"v": "last"}]


def test_ids_of_an_application(client: Slipbox) -> None:
    ids = {"user": f"{uuid.uuid4()}@example.com"}
    store = SlipboxStore(client, ids)  # type: ignore[arg-type]
    store.put(("a",), "k", {"v": 1})
    assert store.get(("a",), "k") is not None
    client.forget_external(ids)  # type: ignore[arg-type]
