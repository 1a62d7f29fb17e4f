"""The official Python client: all methods."""

import asyncio

from _methods import HOST, KEY, every_method

from mem0 import MemoryClient

asyncio.run(every_method(MemoryClient(api_key=KEY, host=HOST)))
