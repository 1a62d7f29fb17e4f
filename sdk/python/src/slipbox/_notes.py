"""What the stores for frameworks share: records are notes that no policy reads, with attributes to filter by."""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, Protocol, TypedDict, cast

from typing_extensions import NotRequired

from slipbox import AsyncSlipbox, NotFound, Slipbox, models, requests
from slipbox._wire import CollectionRef
from slipbox.errors import Conflict

#: What a collection does with keys, card numbers and passwords in what is written to it.
Secrets = Literal["redact", "refuse", "keep"]


class NewCollection(TypedDict):
    policy: str
    policy_config: NotRequired[dict[str, Any]]


# The gateway's longest page, and its longest search.
PAGE = 200


def ensure(client: Slipbox, collection: CollectionRef, secrets: Secrets | None = None) -> None:
    """Makes sure that a collection exists. A new one has the policy none, and this setting about secrets."""
    if isinstance(collection, str):
        new = created("none", secrets)
        client.create_collection(name=collection, extend=True, **new)
    elif secrets is None:
        # A search creates the collection of an application's ids and writes nothing.
        client.search(collection, query="anything", k=1, create="none")
    else:
        try:
            client.get_collection(collection)
        except NotFound:
            with suppress(Conflict):  # another process was faster
                client.create_collection(name=new_name(), external=collection, **created("none", secrets))


async def ensure_ids(client: AsyncSlipbox, ids: CollectionRef, policy: str, secrets: Secrets) -> None:
    """Makes sure that the collection of an application's ids exists. A new one has this setting about secrets."""
    if isinstance(ids, str):
        return
    try:
        await client.get_collection(ids)
    except NotFound:
        with suppress(Conflict):  # another process was faster
            await client.create_collection(name=new_name(), external=ids, **created(policy, secrets))


def created(policy: str, secrets: Secrets | None) -> NewCollection:
    """Returns what a new collection has."""
    return {"policy": policy} if secrets is None else {"policy": policy, "policy_config": {"secrets": secrets}}


def new_name() -> str:
    """Returns a name for the collection of an application's ids, which nobody asks for by it."""
    return f"ids-{uuid.uuid4().hex}"


def hits_of(client: Slipbox, collection: CollectionRef, request: Any) -> list[models.Hit]:
    """Returns what a search finds, which is nothing where the ids of an application have no collection yet.

    A name that does not exist is an error.
    """
    try:
        return client.search(collection, **request).hits
    except NotFound:
        if isinstance(collection, str):
            raise
        return []


def remove(client: Slipbox, collection: CollectionRef, note: str, *, erase: bool = False) -> bool:
    """Deletes a note, and reports whether it was there: another process may have been faster."""
    try:
        client.delete_note(collection, note, erase=erase)
    except NotFound:
        return False
    return True


def member_path(path: str, name: str) -> str:
    """Returns the path of a member of an attribute. A period in its name does not separate members."""
    return f"{path}.{name.replace(chr(92), chr(92) * 2).replace('.', chr(92) + '.')}"


def leaf(name: str, value: Any, op: str = "eq") -> requests.Filter:
    """Returns the condition on an attribute, by its path."""
    return cast(requests.Filter, {"field": f"attributes.{name}", "op": op, "value": value})


def every(*filters: requests.Filter) -> requests.Filter:
    """Returns the condition that all of these hold."""
    return {"and": list(filters)}


#: What frameworks write in filters.
OPERATORS = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


class Compare(Protocol):
    """Returns a condition on a value."""

    def __call__(self, at: str, value: Any, operator: str = "eq") -> requests.Filter: ...


def within_filter(filter: Mapping[str, Any], path: str, compare: Compare, **more: str) -> list[requests.Filter]:
    """Returns a filter of a framework ({"a": 1, "b": {"$gt": 2}}) as conditions; more has other operators."""
    known = OPERATORS | {f"${name}": operator for name, operator in more.items()}
    conditions = []
    for name, value in filter.items():
        at = member_path(path, name)
        if not isinstance(value, Mapping):
            conditions.append(compare(at, value))
        elif not value:
            conditions.append(leaf(at, True, "exists"))
        elif any(key.startswith("$") for key in value):
            for operator, operand in value.items():
                if operator not in known:
                    raise ValueError(f"{operator} is no operator of a filter; there are {', '.join(known)}")
                conditions.append(compare(at, operand, known[operator]))
        else:
            conditions += within_filter(value, at, compare, **more)
    return conditions


def replacing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the merge patch that makes new of old."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        patch[name] = replacing(before, value) if both else value  # type: ignore[arg-type]
    return patch
