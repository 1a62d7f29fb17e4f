"""The official Python client: the newest protocol and the handshake before it, tools, resources, prompts, refusals."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

URL = os.environ["SLIPBOX_URL"] + "/mcp"
KEY = os.environ["SLIPBOX_API_KEY"]
USER = {"user": "nora@example.com"}


def text(result):
    assert not result.is_error, result
    return result.content[0].text


async def session(mode: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=300) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert len(tools) == 17, sorted(tools)
            assert tools["search_notes"].annotations.read_only_hint
            assert tools["forget"].annotations.destructive_hint
            said = await client.call_tool("remember", {"external": USER, "content": f"Nora tunes her cello by {mode}.", "policy": "none"})
            assert text(said).startswith("Remembered"), said
            note, space = said.structured_content["note"], said.structured_content["collection"]
            assert f"by {mode}" in text(await client.call_tool("search_notes", {"collection": space, "query": f"cello {mode}"}))
            assert text(await client.call_tool("build_context", {"external": USER, "query": "cello"})).startswith("<slipbox-memory>")
            refused = await client.call_tool("search_notes", {"collection": space, "query": "x", "k": 10**9})
            assert refused.is_error and "Fix:" in refused.content[0].text, refused
            try:
                await client.call_tool("absent", {})
            except MCPError as error:
                assert "unknown tool" in str(error), error
            else:
                raise AssertionError("an unknown tool was called")
            assert space in [str(r.uri).rsplit("/", 1)[-1] for r in (await client.list_resources()).resources]
            whole = await client.read_resource(f"slipbox://collections/{space}/notes/{note}")
            assert f"by {mode}" in whole.contents[0].text
            prompt = await client.get_prompt("recall", {"collection": space, "question": "What does Nora play?"})
            assert "cello" in prompt.messages[0].content.text
            gone = await client.call_tool("forget", {"collection": space, "notes": [note]})
            assert gone.structured_content["deleted"] == [note], gone


for way in ("auto", "legacy"):
    asyncio.run(session(way))
