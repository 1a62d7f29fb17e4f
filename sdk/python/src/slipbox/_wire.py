"""What both clients know of the protocol, without any input or output of their own."""

import asyncio
import json
import os
import random
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time
from typing import IO, Any, Generic, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

import httpx
from pydantic import ValidationError

from slipbox import models
from slipbox._base import Model
from slipbox.errors import BY_STATUS, ProblemError, SlipboxError
from slipbox.requests import External

M = TypeVar("M", bound=Model)
C = TypeVar("C", httpx.Client, httpx.AsyncClient)

#: Id or name of a collection, or the application's own ids: ``{"user": "nora@example.com"}``.
CollectionRef = str | External

#: What returns a key, of each client.
Key = Callable[[], str]
AsyncKey = Callable[[], str | Awaitable[str]]
K = TypeVar("K", Key, AsyncKey)

# A server that asks for a longer wait than this, in seconds, is not waited for: the caller gets its answer.
LONGEST_WAIT = 60.0
# The longest wait that the client chooses by itself, in seconds.
LONGEST_PAUSE = 8.0
# States of a job that do not change any more.
ENDED = frozenset({"done", "failed", "dead", "cancelled"})


def settings(url: str | None, api_key: str | K | None) -> tuple[str, str | K]:
    """Returns address and key, by default from SLIPBOX_URL and SLIPBOX_KEY."""
    url = (url or os.environ.get("SLIPBOX_URL", "http://127.0.0.1:8080")).strip()
    if not callable(api_key):
        api_key = checked(api_key or os.environ.get("SLIPBOX_KEY", ""))
    return url.rstrip("/"), api_key


def checked(key: str) -> str:
    """Returns a key without the line end of the file that it was in."""
    if not key.strip():
        raise SlipboxError("no key: pass api_key, or set SLIPBOX_KEY (gateway key create prints one)")
    return key.strip()


def key_now(key: str | Key) -> str:
    """Returns the key of a try."""
    return checked(key()) if callable(key) else key


async def key_later(key: str | AsyncKey) -> str:
    """Returns the key of a try of the asynchronous client, whose function may be asynchronous."""
    if isinstance(key, str):
        return key
    answer = key()
    return checked(answer if isinstance(answer, str) else await answer)


def named(file: str | os.PathLike[str] | bytes | IO[bytes], name: str | None) -> tuple[str, bytes]:
    """Returns name and bytes of a file, of a path, of bytes or open."""
    if isinstance(file, bytes):
        content, known = file, ""
    elif isinstance(file, (str, os.PathLike)):
        content, known = Path(file).read_bytes(), os.fspath(file)
    else:
        content, known = file.read(), getattr(file, "name", "")
    name = name or Path(known if isinstance(known, str) else "").name  # that of a descriptor is a number
    if not name:
        raise SlipboxError("a file without a path needs a name, with the extension of its format")
    return name, content


def path(*segments: str) -> str:
    """Returns /v1/ and the segments, percent-encoded."""
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


def within(
    collection: CollectionRef, *segments: str, query: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """Returns path and query of what is below a collection."""
    parameters = dict(query or {})
    if isinstance(collection, str):
        return path("collections", collection, *segments), parameters
    if not collection:
        raise SlipboxError("a collection is named by its id, its name, or at least one id of the application")
    return path("collections", "by", *segments), parameters | collection


def parameters(query: Mapping[str, Any]) -> dict[str, str]:
    """Returns the query of a request: without None, with true and false as in JSON, objects as JSON text."""
    out = {}
    for name, value in query.items():
        if value is None:
            continue
        out[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return out


def new_key() -> str:
    """Returns a key that makes a write safe to repeat."""
    return str(uuid.uuid4())


def ndjson(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Returns one line for each object."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def parse(kind: type[M], response: httpx.Response) -> M:
    """Returns the answer as a model, with its headers."""
    try:
        answer = kind.model_validate_json(response.content)
    except ValidationError as e:
        raise SlipboxError(f"the answer to {response.request.method} {response.request.url.path} is none: {e}") from e
    return with_headers(answer, response)


def with_outcome(answer: M, job: models.Job) -> M:
    """Returns an answer with what its job did, which has ended."""
    known = answer.model_dump(by_alias=True) | (job.result or {}) | {"job": job}
    done = type(answer).model_validate(known)
    done._headers = answer._headers
    return done


def with_headers(answer: M, response: httpx.Response) -> M:
    """Returns a model with the headers of its answer."""
    answer._headers = response.headers
    return answer


def problem(status: int, body: bytes, headers: Mapping[str, str]) -> ProblemError:
    """Returns the error that an answer stands for."""
    try:
        document = models.Problem.model_validate_json(body)
    except ValidationError:
        document = models.Problem(
            type="about:blank",
            title=body[:200].decode(errors="replace") or f"HTTP {status}",
            status=status,
            code="unknown",
            request_id=headers.get("x-request-id", ""),
        )
    return BY_STATUS.get(status, ProblemError)(document, headers)


def pause(
    attempt: int,
    status: int,
    headers: Mapping[str, str],
    repeatable: bool,
    first: float,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Returns how many seconds to wait before the next try, or None when the answer is final.

    attempt counts failed tries from 0; status 0 is a connection that was lost after the request was sent. 429, and
    503 with Retry-After, were not carried out and may be repeated; 502, 504 and lost connections only if the request
    is repeatable. Without Retry-After the wait grows from first, with full jitter.
    """
    after = retry_after(headers)
    unchanged = status == 429 or (status == 503 and after is not None)
    if not unchanged and not (repeatable and status in (0, 502, 504)):
        return None
    if after is not None:
        # Spread over a little more than what was asked for, so that clients do not come back together.
        return after + first * jitter() if after <= LONGEST_WAIT else None
    return min(first * 2.0**attempt, LONGEST_PAUSE) * jitter()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of Retry-After, a number or a date, or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


class Connections(Generic[C]):
    """The HTTP client of a client: the one that was passed, or one for each event loop, which owns its connections."""

    def __init__(self, passed: C | None, make: Callable[[], C]) -> None:
        self._passed: C | None = passed
        self._make: Callable[[], C] = make
        self._by_loop: WeakKeyDictionary[Any, C] = WeakKeyDictionary()
        self._one: C | None = None

    @property
    def http(self) -> C:
        """The client of the loop that runs; without asyncio there is one client."""
        if self._passed is not None:
            return self._passed
        try:
            loop = asyncio.get_running_loop() if self._make is httpx.AsyncClient else None
        except RuntimeError:
            loop = None
        http: C | None = self._one if loop is None else self._by_loop.get(loop)
        if http is None:
            http = self._make()
            if loop is None:
                self._one = http
            else:
                self._by_loop[loop] = http
        return http


class Events:
    """Collects the lines of a stream of server-sent events."""

    def __init__(self) -> None:
        self.name = ""
        self.data: list[str] = []

    def line(self, line: str) -> Iterator[tuple[str, str]]:
        """Takes a line, and yields name and data of the event that it ends, if it does."""
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self.name = value
            elif field == "data":
                self.data.append(value)
            return
        if self.data:
            yield self.name or "message", "\n".join(self.data)
        self.name, self.data = "", []


def chat_event(name: str, data: str) -> models.ChatDelta | models.ChatAnswer | None:
    """Returns an event of a chat, None for one of a later version, and raises one that is an error."""
    if name == "delta":
        return models.ChatDelta.model_validate_json(data)
    if name == "done":
        return models.ChatAnswer.model_validate_json(data)
    if name == "error":
        status = json.loads(data).get("status", 500)
        raise problem(status, data.encode(), {})
    return None
