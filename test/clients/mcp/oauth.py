"""The official Python client's OAuth flow: it finds the server, registers, is allowed by a user, refreshes, and is refused more."""

import asyncio
import os
import time

import httpx2
from _consent import allow
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

URL = os.environ["SLIPBOX_URL"]


class Memory(TokenStorage):
    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, info):
        self.client = info


def provider(storage, user, access="write"):
    answer = {}

    async def redirect(address: str) -> None:
        answer.update(await allow(address, user, access))

    async def callback():
        from mcp.client import auth

        assert answer["iss"] == URL, answer
        if hasattr(auth, "AuthorizationCodeResult"):
            return auth.AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])
        return answer["code"], answer["state"]

    metadata = OAuthClientMetadata(client_name="Python test", redirect_uris=["http://localhost:3030/callback"])
    return OAuthClientProvider(server_url=URL + "/mcp", client_metadata=metadata, storage=storage, redirect_handler=redirect, callback_handler=callback)


async def main() -> None:
    storage = Memory()
    auth = provider(storage, "ida@example.com")
    async with httpx2.AsyncClient(auth=auth, timeout=300) as http:
        async with Client(streamable_http_client(URL + "/mcp", http_client=http)) as client:
            said = await client.call_tool("remember", {"content": "Ida keeps bees.", "policy": "none"})
            assert not said.is_error, said
            first = storage.tokens
            assert first.refresh_token and first.scope == "read write", first
            auth.context.token_expiry_time = time.time() - 1  # as after an hour
            found = await client.call_tool("search_notes", {"query": "bees"})
            assert "Ida keeps bees" in found.content[0].text, found
            assert storage.tokens.refresh_token != first.refresh_token
            other = await client.call_tool("search_notes", {"query": "bees", "external": {"user": "tom@example.com"}})
            assert other.is_error, other
    async with httpx2.AsyncClient(auth=provider(Memory(), "ida@example.com", "read"), timeout=300) as http:
        async with Client(streamable_http_client(URL + "/mcp", http_client=http)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "search_notes" in names and "remember" not in names, names
            found = await client.call_tool("search_notes", {"query": "bees"})
            assert "Ida keeps bees" in found.content[0].text, found


asyncio.run(main())
