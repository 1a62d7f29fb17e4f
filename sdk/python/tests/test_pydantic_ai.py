"""What slipbox is for PydanticAI, in agents of its own. The model is a function."""

import asyncio
import uuid

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from slipbox import AsyncSlipbox, External
from slipbox.pydantic_ai import SlipboxHistory, memory_toolset


def dumped(messages: list[ModelMessage]) -> bytes:
    # Two images of the same bytes are not equal.
    return ModelMessagesTypeAdapter.dump_json(messages)


def test_history(gateway: tuple[str, str]) -> None:
    """A conversation comes back as it was, whatever is in it, and others find what was said."""

    async def run() -> None:
        ids: External = {"user": str(uuid.uuid4())}
        async with AsyncSlipbox(*gateway) as client:
            history = SlipboxHistory("one", client, ids, create="mem0")
            assert await history.messages() == []
            said: list[ModelMessage] = [
                ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("I live in Oslo.")]),
                ModelResponse(parts=[ThinkingPart("Hm."), ToolCallPart("weather", {"city": "Oslo"}, "c1")]),
                ModelRequest(parts=[ToolReturnPart("weather", {"rain": None}, "c1")]),
                ModelResponse(parts=[TextPart("It rains.")], model_name="m"),
                ModelRequest(
                    parts=[UserPromptPart(["x<&" * 9_000, BinaryContent(b"A" * 30_000, media_type="image/png")])]
                ),
            ]
            await history.add(said)
            assert dumped(await history.messages()) == dumped(said)
            assert dumped(await history.messages(last=1)) == dumped(said[-1:])
            # A window does not begin with the answer to a call.
            assert len(await history.messages(last=2)) == len(said)
            other = SlipboxHistory("two", client, ids)
            await client.add_messages(
                ids,
                messages=[
                    {"role": "user", "content": "Hello.", "session": "two"},
                    {"role": "assistant", "content": "Hello, Nora.", "session": "two"},
                ],
            )
            assert [m.kind for m in await other.messages()] == ["request", "response"]
            assert "I live in Oslo." in (await client.build_context(ids, query="Where does Nora live?")).text
            await history.clear()
            assert await history.messages() == [] and len(await other.messages()) == 2
            await client.forget_external(ids)

    asyncio.run(run())


def test_agent(gateway: tuple[str, str]) -> None:
    """A model remembers by a tool, and finds it in another conversation, whose history is kept."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"The tool said: {last.content}")])
        tools = {tool.name: tool for tool in info.function_tools}
        assert set(tools) == {"search_memory", "remember"}
        assert "earlier conversations" in (tools["search_memory"].description or "")
        assert isinstance(last, UserPromptPart) and isinstance(last.content, str)
        if last.content.endswith("?"):
            return ModelResponse(parts=[ToolCallPart("search_memory", {"query": last.content})])
        return ModelResponse(parts=[ToolCallPart("remember", {"text": last.content})])

    async def run() -> None:
        ids: External = {"user": str(uuid.uuid4())}
        async with AsyncSlipbox(*gateway) as client:
            agent = Agent(FunctionModel(model), toolsets=[memory_toolset(client, ids, create="mem0")])
            empty = await agent.run("What is my boat called?")
            assert empty.output == "The tool said: Nothing is remembered about this."
            assert (await agent.run("My boat is called Rosa.")).output == "The tool said: Remembered."
            history = SlipboxHistory("two", client, ids)
            result = await agent.run("What is my boat called?", message_history=await history.messages())
            assert "My boat is called Rosa." in result.output
            await history.add(result.new_messages())
            kept = await history.messages()
            assert kept == result.all_messages() and len(kept) == 4
            await agent.run("And my cat?", message_history=kept)
            await client.forget_external(ids)

    asyncio.run(run())
