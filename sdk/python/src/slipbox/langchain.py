"""For LangChain: ``SlipboxRetriever`` finds notes as documents, ``SlipboxVectorStore`` keeps documents,
``SlipboxChatHistory`` keeps a conversation, and ``memory_tools`` lets a model search and remember."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from slipbox import NotFound, Slipbox, models, requests
from slipbox._items import PAGE, Items, messages_of, requests_of, text_of
from slipbox._notes import Secrets, ensure, every, hits_of, leaf, remove, replacing, within_filter
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
        documents = []
        for hit in hits_of(self.client, collection, request):
            note = hit.note.model_dump(mode="json", exclude_unset=True)
            content = note.pop("content", "")
            metadata = note | {"score": hit.score}
            if hit.collection is not None:
                metadata["collection"] = hit.collection
            documents.append(Document(page_content=content, id=hit.note.id, metadata=metadata))
        return documents


class SlipboxVectorStore(VectorStore):
    """Documents in a collection, which the gateway embeds: an embedding that a caller passes is not used.

    collection is an id, a name, or the application's ids; it is created with the policy ``none`` if it does not exist,
    with this setting about secrets. In a collection of another policy nothing is derived from documents, and searches
    find them alone. A search is by words and meaning; scores are between 0 and 1. Filters are of the metadata:
    ``{"author": "Ida", "year": {"$gte": 2024}}``, with $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin. A document has at
    most 64 KiB, its metadata 12 KiB as JSON. redacted has the kinds of secrets that were taken out so far. With erase,
    deletions remove every version of a document.
    """

    def __init__(
        self, client: Slipbox, collection: CollectionRef, *, secrets: Secrets | None = None, erase: bool = False
    ) -> None:
        self.redacted: set[str] = set()
        self._client = client
        self._collection = collection
        self._erase = erase
        ensure(client, collection, secrets)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> "SlipboxVectorStore":
        """Adds texts to a store; kwargs are those of the class, such as client and collection."""
        store = cls(**kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Adds documents, and returns their ids. A document with an id that is there takes its place."""
        ids = kwargs.get("ids") or [document.id for document in documents]
        if len(ids) != len(documents):
            raise ValueError(f"there are {len(ids)} ids for {len(documents)} documents")
        # Of two documents with one id, the last one stays.
        named = {given or str(uuid.uuid4()): document for given, document in zip(ids, documents, strict=True)}
        left = iter(named.items())
        while batch := dict(islice(left, PAGE)):
            for note in self._notes(leaf("document", list(batch), "in")):
                old = note.attributes or {}
                document = batch.pop(old["document"], None)
                if document is None:  # two notes have the id
                    continue
                change = {"metadata": replacing(old.get("metadata") or {}, document.metadata)}
                answer = self._client.patch_note(
                    self._collection, note.id, content=document.page_content, attributes=change
                )
                self.redacted.update(answer.redacted)
            new: list[requests.BulkNote] = [
                {
                    "content": document.page_content,
                    "attributes": {"document": name, "metadata": document.metadata},
                    "infer": False,
                    "on_duplicate": "keep",
                }
                for name, document in batch.items()
            ]
            for result in self._client.bulk_notes(self._collection, new) if new else ():
                self.redacted.update(result.redacted)
                if result.error:
                    raise ValueError(f"a document was refused: {result.error.detail}")
        return list(named)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Returns those of some documents that there are."""
        return [_document(note) for note in self._of(ids)]

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Deletes documents; without ids, all that were added as documents. Other notes of the collection stay."""
        found = self._notes(leaf("document", True, "exists")) if ids is None else self._of(ids)
        for note in list(found):
            remove(self._client, self._collection, note.id, erase=self._erase)
        return True

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Returns the k documents that fit a query best; filter is one of their metadata."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        """Returns the documents that fit a query best, with their scores."""
        return self._found(*args, **kwargs)

    def _found(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        conditions = within_filter(filter or {}, "metadata", _compare, **{"in": "in", "nin": "nin"})
        request: Any = {
            "query": query,
            "k": k,
            "filter": every(leaf("document", True, "exists"), *conditions),
            "fields": ["content", "attributes"],
        }
        found = self._client.search(self._collection, **request)
        return [(_document(hit.note), hit.score) for hit in found.hits]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self._found(query, k, **kwargs)

    def _of(self, ids: Sequence[str]) -> Iterator[models.Note]:
        left = iter(ids)
        while batch := list(islice(left, PAGE)):
            yield from self._notes(leaf("document", batch, "in"))

    def _notes(self, filter: requests.Filter) -> list[models.Note]:
        return list(self._client.list_notes(self._collection, filter=filter, limit=PAGE))


def _document(note: models.Note | models.HitNote) -> Document:
    attributes = note.attributes or {}
    metadata = attributes.get("metadata") or {}
    return Document(page_content=note.content or "", id=attributes["document"], metadata=metadata)


def _compare(at: str, value: Any, operator: str = "eq") -> requests.Filter:
    """Returns the condition on a value of the metadata."""
    if value is None and operator in ("eq", "ne"):
        return leaf(at, operator == "ne", "exists")
    if operator == "nin":
        return {"not": leaf(at, value, "in")}
    return leaf(at, value, operator)


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
