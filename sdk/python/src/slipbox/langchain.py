"""For LangChain: ``SlipboxRetriever`` finds notes as documents, ``SlipboxChatHistory`` keeps a conversation, and
``memory_tools`` lets a model search and remember."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ConfigDict, Field

from slipbox import NotFound, Slipbox
from slipbox._items import PAGE, Items, messages_of, requests_of, text_of
from slipbox._tools import functions
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput

ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class SlipboxRetriever(BaseRetriever):
    """Finds the notes of a collection that fit a question.

    collection is an id, a name, or the application's ids. search has further fields of the request, such as
    ``{"expand_links": 1}`` or a filter. A document has the note's text, its id, and the other fields of the hit as
    metadata.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Slipbox
    collection: Any = Field(description="A CollectionRef.")
    k: int = 5
    search: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        collection: CollectionRef = self.collection
        request: Any = {"query": query, "k": self.k, **self.search}
        found = self.client.search(collection, **request)
        documents = []
        for hit in found.hits:
            note = hit.note.model_dump(mode="json", exclude_unset=True)
            content = note.pop("content", "")
            metadata = note | {"score": hit.score}
            if hit.collection is not None:
                metadata["collection"] = hit.collection
            documents.append(Document(page_content=content, id=hit.note.id, metadata=metadata))
        return documents


class SlipboxChatHistory(BaseChatMessageHistory):
    """The conversation session_id in a collection, for ``RunnableWithMessageHistory`` and programs that keep a history.

    With create, a policy, the collection of an application's ids is made on first use. The policy learns from what user
    and assistant say, and other conversations find it. Calls of tools are kept for the conversation alone. redacted has
    the kinds of secrets that the gateway took out so far. With erase, clear removes every version of a message.
    """

    def __init__(
        self,
        session_id: str,
        client: Slipbox,
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

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return messages_from_dict([item for _, item in self._items()])[::-1]

    @messages.setter
    def messages(self, messages: list[BaseMessage]) -> None:
        self.clear()
        self.add_messages(messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds messages at the end."""
        for part in requests_of(stored for message in messages for stored in self._stored(message)):
            answer = self._client.add_messages(self._collection, messages=part, create=self._create)
            self.redacted.update(answer.redacted)

    def clear(self) -> None:
        """Removes all messages, and what was learned from nothing else."""
        for note in [note for notes, _ in self._items() for note in notes]:
            self._client.delete_note(self._collection, note, erase=self._erase)

    def _stored(self, message: BaseMessage) -> Iterator[MessageInput]:
        return messages_of(self._session, message_to_dict(message), ROLES.get(message.type), text_of(message.content))

    def _items(self) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yields the notes of a message and the message, the newest first."""
        items = Items()
        try:
            for stored in self._client.list_messages(
                self._collection, session=self._session, order="newest", limit=PAGE
            ):
                if found := items.add(stored):
                    yield found[0], _readable(cast(dict[str, Any], found[1]))
        except NotFound:
            # Nobody has written to it yet.
            return


def _readable(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item as LangChain's own form has it, also one that another program stored."""
    if "type" in item:
        return item
    kind = next((kind for kind, role in ROLES.items() if role == item["role"]), "human")
    return {"type": kind, "data": {"content": item["content"]}}


def memory_tools(
    client: Slipbox, collection: CollectionRef, *, create: str | None = None, token_budget: int = 800
) -> list[BaseTool]:
    """Returns the tools search_memory and remember, for ``create_agent(model, tools=…)`` and ``model.bind_tools(…)``.

    With create, a policy, the collection of an application's ids is made when something is remembered.
    """
    return [
        StructuredTool.from_function(function)
        for function in functions(client, collection, create=create, token_budget=token_budget)
    ]
