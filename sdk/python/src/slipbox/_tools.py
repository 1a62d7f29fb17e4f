"""What a model may do with a memory, for the frameworks that make tools of functions."""

from collections.abc import Awaitable, Callable
from typing import Any

from slipbox import AsyncSlipbox, NotFound, Slipbox
from slipbox._wire import CollectionRef

SEARCH = "Search what is remembered of earlier conversations: facts, people, dates, preferences, plans."
REMEMBER = "Remember something for later conversations. Say it in full, so that it is understood by itself."
NOTHING = "Nothing is remembered about this."


def functions(
    client: Slipbox, collection: CollectionRef, *, create: str | None = None, token_budget: int = 800
) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Returns the two tools of a memory: search_memory and remember."""

    def search_memory(query: str) -> str:
        try:
            found = client.build_context(collection, query=query, token_budget=token_budget)
        except NotFound:
            # Nothing was remembered yet.
            return NOTHING
        return found.text or NOTHING

    def remember(text: str) -> str:
        client.add_messages(collection, messages=[{"role": "user", "content": text}], create=create)
        return "Remembered."

    return described(search_memory, remember)


def async_functions(
    client: AsyncSlipbox, collection: CollectionRef, *, create: str | None = None, token_budget: int = 800
) -> tuple[Callable[[str], Awaitable[str]], Callable[[str], Awaitable[str]]]:
    """Returns functions that do not wait."""

    async def search_memory(query: str) -> str:
        try:
            found = await client.build_context(collection, query=query, token_budget=token_budget)
        except NotFound:
            return NOTHING
        return found.text or NOTHING

    async def remember(text: str) -> str:
        await client.add_messages(collection, messages=[{"role": "user", "content": text}], create=create)
        return "Remembered."

    return described(search_memory, remember)


def described(search: Any, remember: Any) -> tuple[Any, Any]:
    """Returns the functions with what a model is told of them."""
    search.__doc__, remember.__doc__ = SEARCH, REMEMBER
    return search, remember
