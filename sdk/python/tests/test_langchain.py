"""What slipbox is for LangChain, in chains of its own."""

import asyncio
import uuid
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from slipbox import External, NotFound, Slipbox
from slipbox.langchain import SlipboxChatHistory, SlipboxRetriever, SlipboxVectorStore, memory_tools


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_retriever(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    retriever = SlipboxRetriever(client=client, collection=ids, k=1, search={"fields": ["content", "tags"]})
    assert retriever.invoke("When does the ferry leave?") == []  # nothing was written for this user yet
    with pytest.raises(NotFound):
        SlipboxRetriever(client=client, collection="misspelled").invoke("When does the ferry leave?")
    made = client.create_note(ids, content="The ferry to Naxos leaves at nine.", tags=["trip"], create="none")
    client.create_note(ids, content="Rosa repairs bicycles in Porto.")
    (document,) = retriever.invoke("When does the ferry leave?")
    assert document.page_content == "The ferry to Naxos leaves at nine."
    assert document.id == made.note.id and document.metadata["tags"] == ["trip"] and document.metadata["score"] > 0
    chain: Runnable[str, list[str]] = retriever | RunnableLambda(texts)
    assert asyncio.run(chain.ainvoke("Who repairs bicycles?")) == ["Rosa repairs bicycles in Porto."]
    client.forget_external(ids)


def test_vector_store(client: Slipbox) -> None:
    """Documents are added, found by filters, replaced and deleted, in a collection that has other notes, too."""
    ids: External = {"user": str(uuid.uuid4())}
    client.create_note(ids, content="The ferry to Naxos is a note, and no document.", create="amem")
    store = SlipboxVectorStore.from_texts(
        ["The ferry to Naxos leaves at nine.", "The ferry to Paros leaves at ten.", "Rosa repairs bicycles."],
        None,
        [{"island": "Naxos", "year": 2024, "by": {"name": "Ida"}}, {"island": "Paros", "year": 2025}, {"page.no": 7}],
        ids=["naxos", "paros", "rosa"],
        client=client,
        collection=ids,
    )
    assert [d.id for d in store.similarity_search("When does the ferry to Naxos leave?", k=1)] == ["naxos"]
    for filter, want in (
        ({"island": "Paros"}, ["paros"]),
        ({"year": {"$gt": 2024}}, ["paros"]),
        ({"by": {"name": "Ida"}}, ["naxos"]),
        ({"island": {"$in": ["Paros", "Milos"]}}, ["paros"]),
        ({"island": {"$nin": ["Paros"]}, "year": 2024}, ["naxos"]),
        ({"island": None}, ["rosa"]),
        ({"page.no": 7}, ["rosa"]),
        ({"page": {"no": 7}}, []),
    ):
        assert [d.id for d in store.similarity_search("ferry", filter=filter)] == want, filter
    ((document, score),) = store.similarity_search_with_relevance_scores("ferry to Paros", k=1)
    assert document.metadata == {"island": "Paros", "year": 2025} and 0 < score <= 1
    with pytest.raises(ValueError, match=r"\$near"):
        store.similarity_search("ferry", filter={"year": {"$near": 1}})
    # The same id takes the place of a document, and the same text without one does not.
    assert store.add_texts(["The ferry to Naxos leaves at noon."], [{"island": "Naxos"}], ids=["naxos"]) == ["naxos"]
    assert store.get_by_ids(["naxos", "none"]) == [
        Document(page_content="The ferry to Naxos leaves at noon.", id="naxos", metadata={"island": "Naxos"})
    ]
    first, second = store.add_documents([Document(page_content="Twice."), Document(page_content="Twice.")])
    assert first != second and len(store.get_by_ids([first, second])) == 2
    assert [d.id for d in store.as_retriever(search_kwargs={"k": 1}).invoke("bicycles")] == ["rosa"]
    # A search shows once what is there twice.
    assert len(asyncio.run(store.asimilarity_search("ferry", k=10))) == 4
    store.delete(["paros"])
    assert store.get_by_ids(["paros"]) == []
    store.delete()
    assert store.similarity_search("ferry", k=10) == []
    assert [hit.note.content for hit in client.search(ids, query="ferry").hits] == [
        "The ferry to Naxos is a note, and no document."
    ]
    client.forget_external(ids)


def test_chat_history(client: Slipbox) -> None:
    """A conversation comes back as it was, whatever is in it, and its policy learns from what was said."""
    ids: External = {"user": str(uuid.uuid4())}
    history = SlipboxChatHistory("one", client, ids, create="mem0")
    assert history.messages == []
    said: list[BaseMessage] = [
        SystemMessage("Be brief."),
        HumanMessage("I live in Oslo.", id="h1", name="Nora"),
        AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}]),
        ToolMessage("Rain \x00 \ud800", tool_call_id="c1"),
        AIMessage([{"type": "text", "text": "It rains."}], response_metadata={"n": None}),
        HumanMessage("x<&" * 9_000),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}]),
    ]
    history.add_messages(said)
    assert history.messages == said
    assert asyncio.run(history.aget_messages()) == said
    other = SlipboxChatHistory("two", client, ids)
    other.add_user_message("Hello.")
    assert [m.content for m in other.messages] == ["Hello."]
    # What was said is found from elsewhere; what tools said is not learned.
    client.add_messages(ids, messages=[{"role": "assistant", "content": "Noted.", "session": "two"}])
    assert [m.type for m in other.messages] == ["human", "ai"]
    assert "I live in Oslo." in client.build_context(ids, query="Where does Nora live?", token_budget=300).text
    history.messages = said[:2]
    assert history.messages == said[:2]
    history.clear()
    assert history.messages == [] and len(other.messages) == 2
    client.forget_external(ids)


def test_history_of_a_runnable(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    model: Runnable[Any, AIMessage] = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} messages"))
    chain = RunnableWithMessageHistory(
        model, lambda session_id: SlipboxChatHistory(session_id, client, ids, create="none")
    )
    config: RunnableConfig = {"configurable": {"session_id": "s"}}
    assert chain.invoke([HumanMessage("Hello.")], config=config).content == "1 messages"
    assert chain.invoke([HumanMessage("Again.")], config=config).content == "3 messages"
    client.forget_external(ids)


def test_tools(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    search, remember = memory_tools(client, ids, create="none")
    assert (search.name, remember.name) == ("search_memory", "remember")
    assert list(search.args) == ["query"] and list(remember.args) == ["text"] and "earlier" in search.description
    assert search.invoke({"query": "ferry"}) == "Nothing is remembered about this."
    remember.invoke({"text": "The ferry to Naxos leaves at nine."})
    assert "leaves at nine" in asyncio.run(search.ainvoke({"query": "When does the ferry leave?"}))
    client.forget_external(ids)
