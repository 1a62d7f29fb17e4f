"""What the stores for frameworks share: records are notes that no policy reads, with attributes to filter by."""

from collections.abc import Mapping
from typing import Any, cast

from slipbox import NotFound, Slipbox, requests
from slipbox._wire import CollectionRef

# The gateway's longest page, and its longest search.
PAGE = 200


def ensure(client: Slipbox, collection: CollectionRef) -> None:
    """Makes sure that a collection exists. A new one has the policy none."""
    if isinstance(collection, str):
        client.create_collection(name=collection, policy="none", extend=True)
    else:
        # A search creates the collection of an application's ids and writes nothing.
        client.search(collection, query="anything", k=1, create="none")


def remove(client: Slipbox, collection: CollectionRef, note: str) -> bool:
    """Deletes a note, and reports whether it was there: another process may have been faster."""
    try:
        client.delete_note(collection, note)
    except NotFound:
        return False
    return True


def leaf(name: str, value: Any, op: str = "eq") -> requests.Filter:
    """Returns the condition on an attribute."""
    return cast(requests.Filter, {"field": f"attributes.{name}", "op": op, "value": value})


def every(*filters: requests.Filter) -> requests.Filter:
    """Returns the condition that all of these hold."""
    return {"and": list(filters)}


def replacing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the merge patch that makes new of old."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        patch[name] = replacing(before, value) if both else value  # type: ignore[arg-type]
    return patch
