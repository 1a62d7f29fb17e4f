"""For LlamaIndex: ``SlipboxMemory`` is the memory of an agent, ``SlipboxRetriever`` finds notes as nodes."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.memory import BaseMemory
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from slipbox import NotFound, Slipbox
from slipbox._items import PAGE, Items, messages_of, requests_of
from slipbox._notes import hits_of
from slipbox._prompt import OPEN, told
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput

ROLES = {"chatbot": "assistant", "model": "assistant"}


class SlipboxMemory(BaseMemory):
    """The conversation session in a collection, and what the collection knows from others.

    ``agent.run("Hello", memory=SlipboxMemory(client=client, collection={"user": "nora"}, session="17"))``

    With create, a policy, the collection of an application's ids is made on first use. The policy learns from what user
    and assistant say. A prompt has the newest last messages of the conversation (default: all), and behind its last
    question what is remembered about it, in at most token_budget tokens; 0 leaves that out. With erase, reset and set
    remove every version of a message.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Slipbox = Field(exclude=True)
    collection: Any = Field(description="A CollectionRef.")
    session: str
    create: str | None = None
    last: int | None = None
    token_budget: int = 800
    erase: bool = False

    @classmethod
    def class_name(cls) -> str:
        return "SlipboxMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "SlipboxMemory":
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Returns the conversation, with what is remembered about its last question, or about input."""
        history = self.get_all()[-self.last if self.last else 0 :]
        at = next((i for i in reversed(range(len(history))) if history[i].role == MessageRole.USER), None)
        asked = history[at] if at is not None else None
        query = input or (asked.content if asked else None)
        if not query or not self.token_budget or (asked and OPEN in (asked.content or "")):
            return history
        try:
            text = self.client.build_context(self._at, query=query[:60_000], token_budget=self.token_budget).text
        except NotFound:
            # Nobody has written to it yet.
            return history
        if not text:
            return history
        block = TextBlock(text=told(text))
        if asked is None or at is None:
            return [*history, ChatMessage(role=MessageRole.USER, blocks=[block])]
        behind = asked.model_copy(update={"blocks": [*asked.blocks, block]})
        return [*history[:at], behind, *history[at + 1 :]]

    def get_all(self) -> list[ChatMessage]:
        """Returns the messages, oldest first."""
        return [ChatMessage.model_validate(_readable(item)) for _, item in self._items()][::-1]

    def put(self, message: ChatMessage) -> None:
        """Adds a message at the end."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Adds messages at the end."""
        for part in requests_of(stored for message in messages for stored in self._stored(message)):
            self.client.add_messages(self._at, messages=part, create=self.create)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replaces the messages, and leaves those that stay: what was learned from them stays too."""
        before = [(notes, ChatMessage.model_validate(_readable(item))) for notes, item in self._items()][::-1]
        same = 0
        while same < min(len(before), len(messages)) and before[same][1] == messages[same]:
            same += 1
        self._delete(note for notes, _ in before[same:] for note in notes)
        self.put_messages(messages[same:])

    def reset(self) -> None:
        """Removes all messages, and what was learned from nothing else."""
        self._delete([note for notes, _ in self._items() for note in notes])

    @property
    def _at(self) -> CollectionRef:
        return cast(CollectionRef, self.collection)

    def _delete(self, notes: Any) -> None:
        for note in notes:
            self.client.delete_note(self._at, note, erase=self.erase)

    def _stored(self, message: ChatMessage) -> Iterator[MessageInput]:
        role = ROLES.get(message.role.value, message.role.value)
        return messages_of(self.session, message.model_dump(mode="json"), role, message.content or "")

    def _items(self) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yields the notes of a message and the message, the newest first."""
        items = Items()
        try:
            for stored in self.client.list_messages(self._at, session=self.session, order="newest", limit=PAGE):
                if found := items.add(stored):
                    yield found
        except NotFound:
            return


def _readable(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item as LlamaIndex's own form has it, also one that another program stored."""
    if "blocks" in item:
        return item
    return {"role": item["role"], "blocks": [{"block_type": "text", "text": item["content"]}]}


class SlipboxRetriever(BaseRetriever):
    """Finds the notes of a collection that fit a question.

    collection is an id, a name, or the application's ids. search has further fields of the request, such as
    ``{"expand_links": 1}`` or a filter. A node has the note's text, its id, and its other fields as metadata.
    """

    def __init__(self, client: Slipbox, collection: CollectionRef, *, k: int = 5, **search: Any) -> None:
        super().__init__()
        self._client = client
        self._collection = collection
        self._search = {"k": k, **search}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        request: Any = {"query": query_bundle.query_str, **self._search}
        nodes = []
        for hit in hits_of(self._client, self._collection, request):
            note = hit.note.model_dump(mode="json", exclude_unset=True)
            text = note.pop("content", "")
            # A model is shown the text alone.
            node = TextNode(text=text, id_=hit.note.id, metadata=note, excluded_llm_metadata_keys=list(note))
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
