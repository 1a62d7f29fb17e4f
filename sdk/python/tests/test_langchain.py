"""SlipboxRetriever in a chain of LangChain."""

import asyncio
import uuid

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda

from slipbox import External, Slipbox
from slipbox.langchain import SlipboxRetriever


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_retriever(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    made = client.create_note(ids, content="The ferry to Naxos leaves at nine.", tags=["trip"], create="none")
    client.create_note(ids, content="Rosa repairs bicycles in Porto.")
    retriever = SlipboxRetriever(client=client, collection=ids, k=1, search={"fields": ["content", "tags"]})
    (document,) = retriever.invoke("When does the ferry leave?")
    assert document.page_content == "The ferry to Naxos leaves at nine."
    assert document.id == made.note.id and document.metadata["tags"] == ["trip"] and document.metadata["score"] > 0
    chain: Runnable[str, list[str]] = retriever | RunnableLambda(texts)
    assert asyncio.run(chain.ainvoke("Who repairs bicycles?")) == ["Rosa repairs bicycles in Porto."]
    client.forget_external(ids)
