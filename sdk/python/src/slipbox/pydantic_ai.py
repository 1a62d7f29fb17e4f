"""For PydanticAI: ``SlipboxHistory`` keeps a conversation, and ``memory_toolset`` lets an agent search and remember."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from pydantic_ai import FunctionToolset
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, TextPart, UserPromptPart

from slipbox import AsyncSlipbox, NotFound
from slipbox._items import PAGE, Items, messages_of, requests_of
from slipbox._tools import async_functions
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput


class SlipboxHistory:
    """The conversation session_id in a collection.

    ``result = await agent.run("Hello", message_history=await history.messages())``, and then
    ``await history.add(result.new_messages())``.

    With create, a policy, the collection of an application's ids is made on first use. The policy learns from what user
    and model say, and other conversations find it. Calls of tools are kept for the conversation alone. redacted has the
    kinds of secrets that the gateway took out so far. With erase, clear removes every version of a message.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncSlipbox,
        collection: CollectionRef,
        *,
        create: str | None = None,
        erase: bool = False,
    ) -> None:
        self.redacted: set[str] = set()
        self._session = session_id
        self._client = client
        self._collection = collection
        self._create = create
        self._erase = erase

    async def messages(self, last: int | None = None) -> list[ModelMessage]:
        """Returns the messages, oldest first: all, or the newest last ones, and those back to the question before."""
        items: list[dict[str, Any]] = []
        async for _, item in self._items():
            items.append(item)
            if last is not None and len(items) >= last and _is_question(item):
                break
        return ModelMessagesTypeAdapter.validate_json(json.dumps(items[::-1]))

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Adds messages at the end, such as ``result.new_messages()``."""
        for part in requests_of(stored for message in messages for stored in self._stored(message)):
            answer = await self._client.add_messages(self._collection, messages=part, create=self._create)
            self.redacted.update(answer.redacted)

    async def clear(self) -> None:
        """Removes all messages, and what was learned from nothing else."""
        for note in [note async for notes, _ in self._items() for note in notes]:
            await self._client.delete_note(self._collection, note, erase=self._erase)

    def _stored(self, message: ModelMessage) -> Iterator[MessageInput]:
        (item,) = json.loads(ModelMessagesTypeAdapter.dump_json([message]))
        return messages_of(self._session, item, _role(message), _said(message))

    async def _items(self) -> AsyncIterator[tuple[list[str], dict[str, Any]]]:
        """Yields the notes of a message and the message, the newest first."""
        items = Items()
        try:
            async for stored in self._client.list_messages(
                self._collection, session=self._session, order="newest", limit=PAGE
            ):
                if found := items.add(stored):
                    yield found[0], _readable(found[1])
        except NotFound:
            # Nobody has written to it yet.
            return


def _role(message: ModelMessage) -> str:
    return "user" if message.kind == "request" else "assistant"


def _said(message: ModelMessage) -> str:
    """Returns what a user or a model says in a message, without instructions, thoughts and tools."""
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, UserPromptPart):
            content = [part.content] if isinstance(part.content, str) else part.content
            texts += [text for text in content if isinstance(text, str)]
    return "\n".join(texts)


def _is_question(item: dict[str, Any]) -> bool:
    """Reports whether a conversation may begin with a message: the answer to a call needs the call."""
    return any(part.get("part_kind") == "user-prompt" for part in item["parts"])


def _readable(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item as PydanticAI's own form has it, also one that another program stored."""
    if "parts" in item:
        return item
    answer = item["role"] == "assistant"
    part = {"part_kind": "text" if answer else "user-prompt", "content": item["content"]}
    return {"kind": "response" if answer else "request", "parts": [part]}


def memory_toolset(
    client: AsyncSlipbox, collection: CollectionRef, *, create: str | None = None, token_budget: int = 800
) -> FunctionToolset[Any]:
    """Returns the tools search_memory and remember, for ``Agent(model, toolsets=[…])``.

    With create, a policy, the collection of an application's ids is made when something is remembered.
    """
    return FunctionToolset([*async_functions(client, collection, create=create, token_budget=token_budget)])
