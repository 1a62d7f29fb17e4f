"""The official Python client for asyncio: all methods."""

import asyncio

from _methods import HOST, KEY, every_method

from mem0 import AsyncMemoryClient


async def main() -> None:
    async with AsyncMemoryClient(api_key=KEY, host=HOST) as client:
        await every_method(client)


asyncio.run(main())
