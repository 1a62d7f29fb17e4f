"""What slipbox is for LlamaIndex, in agents of its own. The model is a function."""

import asyncio
import uuid
from typing import Any

import pytest
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ImageBlock,
    LLMMetadata,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback

from slipbox import External, NotFound, Slipbox
from slipbox.llamaindex import SlipboxMemory, SlipboxRetriever


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def test_memory(client: Slipbox) -> None:
    """A conversation comes back as it was, whatever is in it, and others find what was said."""
    ids: External = {"user": str(uuid.uuid4())}
    memory = SlipboxMemory.from_defaults(client=client, collection=ids, session="one", create="mem0")
    assert memory.get_all() == [] and memory.get("Where do I live?") == []
    said = [
        ChatMessage(role="system", content="Be brief."),
        user("I live in Oslo."),
        ChatMessage(
            role="assistant",
            blocks=[ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Oslo"})],
        ),
        ChatMessage(role="tool", content="Rain \x00", additional_kwargs={"tool_call_id": "c1"}),
        ChatMessage(role="assistant", content="It rains."),
        ChatMessage(role="user", blocks=[TextBlock(text="x<&" * 9_000), ImageBlock(image=b"A" * 30_000)]),
    ]
    memory.put_messages(said)
    assert memory.get_all() == said and asyncio.run(memory.aget_all()) == said
    other = SlipboxMemory(client=client, collection=ids, session="two")
    other.put(user("Where do I live?"))
    (asked,) = other.get()
    assert (asked.content or "").startswith("Where do I live?") and "I live in Oslo." in (asked.content or "")
    assert "<slipbox-memory>" in (asked.content or "") and other.get_all() == [user("Where do I live?")]
    assert SlipboxMemory(client=client, collection=ids, session="two", token_budget=0).get() == [
        user("Where do I live?")
    ]
    assert [
        m.content for m in SlipboxMemory(client=client, collection=ids, session="one", last=2, token_budget=0).get()
    ] == [m.content for m in said[-2:]]
    # What stays the same is not written again.
    ids_before = [message.id for message in client.list_messages(ids, session="one")][:2]
    memory.set([*said[:2], user("No.")])
    assert [message.id for message in client.list_messages(ids, session="one")][:2] == ids_before
    assert memory.get_all() == [*said[:2], user("No.")]
    asyncio.run(memory.areset())
    assert memory.get_all() == [] and len(other.get_all()) == 1
    client.forget_external(ids)


def test_retriever(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    retriever = SlipboxRetriever(client, ids, k=1, fields=["content", "tags"])
    assert retriever.retrieve("When does the ferry leave?") == []  # nothing was written for this user yet
    with pytest.raises(NotFound):
        SlipboxRetriever(client, "misspelled").retrieve("When does the ferry leave?")
    made = client.create_note(ids, content="The ferry to Naxos leaves at nine.", tags=["trip"], create="none")
    client.create_note(ids, content="Rosa repairs bicycles in Porto.")
    (found,) = retriever.retrieve("When does the ferry leave?")
    assert found.text == "The ferry to Naxos leaves at nine." and found.node_id == made.note.id
    assert found.metadata["tags"] == ["trip"] and (found.score or 0) > 0
    (found,) = asyncio.run(retriever.aretrieve("Who repairs bicycles?"))
    assert found.get_content() == "Rosa repairs bicycles in Porto."
    client.forget_external(ids)


class Repeat(CustomLLM):
    """A model that says what it was shown last."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=False)

    @llm_chat_callback()
    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        return ChatResponse(message=ChatMessage(role="assistant", content=f"You said: {messages[-1].content}"))

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=prompt)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        text = f"Thought: I can answer.\nAnswer: {prompt[-300:]}"
        yield CompletionResponse(text=text, delta=text)


def test_chat_engine(client: Slipbox) -> None:
    ids: External = {"user": str(uuid.uuid4())}
    first = SlipboxMemory(client=client, collection=ids, session="one", create="none")
    engine = SimpleChatEngine.from_defaults(llm=Repeat(), memory=first)
    assert str(engine.chat("My boat is called Rosa.")).startswith("You said: My boat is called Rosa.")
    assert [m.role.value for m in first.get_all()] == ["user", "assistant"]
    second = SlipboxMemory(client=client, collection=ids, session="two")
    engine = SimpleChatEngine.from_defaults(llm=Repeat(), memory=second)
    assert "My boat is called Rosa." in str(engine.chat("What is my boat called?"))
    client.forget_external(ids)


def test_agent(client: Slipbox) -> None:
    """An agent of LlamaIndex takes it as its memory."""
    ids: External = {"user": str(uuid.uuid4())}
    client.add_messages(ids, messages=[{"role": "user", "content": "My boat is called Rosa."}], create="none")
    memory = SlipboxMemory(client=client, collection=ids, session="one")

    async def run() -> str:
        agent = ReActAgent(llm=Repeat(), tools=[])
        return str(await agent.run("What is my boat called?", memory=memory))

    assert "My boat is called Rosa." in asyncio.run(run())
    assert [m.role.value for m in memory.get_all()] == ["user", "assistant"]
    client.forget_external(ids)
