"""Client of slipbox, a memory platform for LLM agents. See README.md."""

from slipbox._async import AsyncPages, AsyncSlipbox
from slipbox._sync import Pages, Slipbox
from slipbox._wire import CollectionRef
from slipbox.errors import Conflict, ConnectionFailed, Invalid, NotFound, ProblemError, SlipboxError, TooManyRequests
from slipbox.requests import External

__all__ = [
    "AsyncPages",
    "AsyncSlipbox",
    "CollectionRef",
    "Conflict",
    "ConnectionFailed",
    "External",
    "Invalid",
    "NotFound",
    "Pages",
    "ProblemError",
    "Slipbox",
    "SlipboxError",
    "TooManyRequests",
]
