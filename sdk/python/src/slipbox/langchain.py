"""A retriever for LangChain: ``SlipboxRetriever`` finds notes as documents."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from slipbox import Slipbox
from slipbox._wire import CollectionRef


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
