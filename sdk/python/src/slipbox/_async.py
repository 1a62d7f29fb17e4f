"""The asynchronous client, from which _sync.py is generated."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from os import PathLike
from types import TracebackType
from typing import IO, Any, Generic, Literal, TypeVar

import anyio
import httpx
from typing_extensions import Self, Unpack

from slipbox import _wire, models, requests
from slipbox._base import Model
from slipbox._wire import CollectionRef, path, within
from slipbox.errors import ConnectionFailed, SlipboxError

P = TypeVar("P", bound=Model)
T = TypeVar("T")


class AsyncPages(Generic[P, T]):
    """A listing. Iterate over it for the items of all pages, or over pages() for the pages as they are answered."""

    def __init__(
        self, client: "AsyncSlipbox", kind: type[P], at: tuple[str, dict[str, Any]], items: Callable[[P], list[T]]
    ):
        self._client, self._kind, self._at, self._items = client, kind, at, items

    async def pages(self) -> AsyncGenerator[P, None]:
        """Yields the pages. Writes do not move them: a listing is read at one revision."""
        where, query = self._at
        cursor = query.get("cursor")
        while True:
            page = await self._client._get(self._kind, (where, query | {"cursor": cursor}))
            yield page
            cursor = getattr(page, "next_cursor", None)
            if not cursor:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in self._items(page):
                yield item


class AsyncSlipbox:
    """A client of one gateway. Methods are named as the operations of the contract (/docs of a gateway).

    url and api_key are SLIPBOX_URL (default http://127.0.0.1:8080) and SLIPBOX_KEY by default. A function as api_key,
    for example of a store of secrets, is asked before each try, and again after a 401: a request whose key was refused
    is sent once more if there is another one by then. timeout is in seconds, of one try. A request that may be repeated
    is tried max_retries times more; the first pause is up to retry_wait seconds, and Retry-After of the gateway wins.
    Writes carry an Idempotency-Key of their own unless one is passed.

    One client may be used in several event loops; each has its connections, and aclose() closes those of
    the one that runs.

    Calls raise errors.ProblemError for what the gateway refuses, and errors.ConnectionFailed.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | _wire.AsyncKey | None = None,
        *,
        timeout: float = 60.0,
        max_retries: int = 3,
        retry_wait: float = 0.5,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self.url, self._key = _wire.settings(url, api_key)
        self._timeout = timeout
        self._max_retries = max_retries
        self._retry_wait = retry_wait
        self._connections = _wire.Connections(http_client, httpx.AsyncClient)
        self._owned = http_client is None

    async def aclose(self) -> None:
        """Closes the connections, unless http_client was passed."""
        if self._owned:
            await self._connections.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Requests

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        files: Mapping[str, tuple[str, bytes]] | None = None,
        headers: Mapping[str, str | None] | None = None,
        idempotency_key: str | None = None,
        repeatable: bool | None = None,
    ) -> httpx.Response:
        """Sends any request of the contract, and returns the answer, whose status is below 400.

        body is sent as JSON, content as it is, with the content type in headers, files (name and bytes) as a form. A
        POST is repeated after a lost connection only with an idempotency_key, or when repeatable says that it does no
        harm.
        """
        send = self._built(method, path, query, body, content, headers, idempotency_key, files)
        return await self._sent(send, self._repeatable(method, idempotency_key, repeatable), stream=False)

    def _repeatable(self, method: str, key: str | None, repeatable: bool | None) -> bool:
        return (method != "POST" or key is not None) if repeatable is None else repeatable

    def _built(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
        key: str | None = None,
        files: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> Callable[[], httpx.Request]:
        sent = {"user-agent": "slipbox-python"}
        if key is not None:
            sent["idempotency-key"] = key
        sent |= {name.lower(): value for name, value in (headers or {}).items() if value is not None}
        payload: dict[str, Any] = {"content": content} if files is None else {"files": files}
        if content is None and body is not None:
            payload = {"json": body}
        return lambda: self._connections.http.build_request(
            method,
            self.url + path,
            params=_wire.parameters(query or {}),
            headers=sent,
            timeout=self._timeout,
            **payload,
        )

    async def _sent(self, build: Callable[[], httpx.Request], repeatable: bool, stream: bool) -> httpx.Response:
        attempt, renewed = 0, False
        key = await _wire.key_later(self._key)
        while True:
            headers: Mapping[str, str] = {}
            try:
                request = build()
                request.headers["authorization"] = f"Bearer {key}"
                response = await self._connections.http.send(request, stream=stream)
                if response.status_code < 400:
                    return response
                status, headers = response.status_code, response.headers
                error: SlipboxError = _wire.problem(status, await response.aread(), headers)
                await response.aclose()
            except httpx.HTTPError as e:
                status = 0
                # Nothing was sent over a connection that was never made.
                repeatable = repeatable or isinstance(e, (httpx.ConnectError, httpx.ConnectTimeout))
                error = ConnectionFailed(f"{type(e).__name__}: {e}")
                error.__cause__ = e
            if status == 401 and not renewed:
                refused, key = key, await _wire.key_later(self._key)
                if key == refused:
                    raise error
                renewed = True
                continue
            wait = _wire.pause(attempt, status, headers, repeatable, self._retry_wait)
            if wait is None or attempt >= self._max_retries:
                raise error
            attempt += 1
            await anyio.sleep(wait)
            key = await _wire.key_later(self._key)

    async def _get(self, kind: type[P], at: tuple[str, dict[str, Any]]) -> P:
        return _wire.parse(kind, await self.request("GET", at[0], query=at[1]))

    async def _write(
        self,
        kind: type[P],
        at: tuple[str, dict[str, Any]],
        body: Any = None,
        *,
        method: str = "POST",
        idempotency_key: str | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> P:
        key = (idempotency_key or _wire.new_key()) if method == "POST" else None
        response = await self.request(method, at[0], query=at[1], body=body, headers=headers, idempotency_key=key)
        return _wire.parse(kind, response)

    async def _read(self, kind: type[P], at: tuple[str, dict[str, Any]], body: Any, create: str | None = None) -> P:
        headers = {"slipbox-create": create}
        response = await self.request("POST", at[0], query=at[1], body=body, headers=headers, repeatable=True)
        return _wire.parse(kind, response)

    async def _events(
        self, build: Callable[[], httpx.Request], repeatable: bool
    ) -> AsyncGenerator[tuple[str, str], None]:
        response = await self._sent(build, repeatable, stream=True)
        async with aclosing(self._events_of(response)) as events:
            async for event in events:
                yield event

    async def _events_of(self, response: httpx.Response) -> AsyncGenerator[tuple[str, str], None]:
        events = _wire.Events()
        try:
            async for line in response.aiter_lines():
                for event in events.line(line):
                    yield event
        except httpx.HTTPError as e:
            raise ConnectionFailed(f"the stream broke off: {type(e).__name__}: {e}") from e
        finally:
            await response.aclose()

    # Collections

    async def create_collection(
        self, *, idempotency_key: str | None = None, **collection: Unpack[requests.CollectionInput]
    ) -> models.Collection:
        """Creates a collection."""
        return await self._write(
            models.Collection, (path("collections"), {}), collection, idempotency_key=idempotency_key
        )

    def list_collections(
        self,
        *,
        agent: str | None = None,
        name: str | None = None,
        user: str | None = None,
        agent_id: str | None = None,
        app: str | None = None,
        run: str | None = None,
        q: str | None = None,
        order: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.CollectionList, models.Collection]:
        """Lists collections. user, agent_id, app and run are the application's own ids; agent is the owner.

        q searches names, titles and ids; order is name, newest, oldest, updated or user.
        """
        query = {"agent": agent, "name": name, "user": user, "agent_id": agent_id, "app": app, "run": run}
        at = path("collections"), query | {"q": q, "order": order, "limit": limit}
        return AsyncPages(self, models.CollectionList, at, lambda page: page.items)

    async def get_collection(self, collection: CollectionRef) -> models.Collection:
        """Reads a collection."""
        return await self._get(models.Collection, within(collection))

    async def patch_collection(
        self, collection: CollectionRef, **change: Unpack[requests.CollectionPatch]
    ) -> models.Collection:
        """Changes a collection; None removes a value."""
        return await self._write(models.Collection, within(collection), change, method="PATCH")

    async def delete_collection(
        self,
        collection: str,
        *,
        forks: Literal["delete", "materialise"] | None = None,
        wait: Literal["none", "removed"] | None = None,
    ) -> models.RemovalReport | None:
        """Deletes one collection. forget_external deletes all of a user.

        With wait="removed" it waits until all rows are gone, within limits; the report says so in `removed`.
        """
        at = within(collection, query={"forks": forks, "wait": wait})
        response = await self.request("DELETE", at[0], query=at[1])
        return _wire.parse(models.RemovalReport, response) if wait == "removed" else None

    async def forget_external(
        self,
        external: requests.External,
        *,
        forks: Literal["delete", "materialise"] | None = None,
        wait: Literal["none", "removed"] | None = None,
    ) -> models.ForgetReport:
        """Deletes every collection that has these ids of the application, and reports what was in them.

        With wait="removed" it waits until all rows are gone, within limits; removed says whether they are.
        """
        at = within(external, query={"forks": forks, "wait": wait})
        return await self._write(models.ForgetReport, at, method="DELETE")

    async def clone_collection(
        self, collection: CollectionRef, *, idempotency_key: str | None = None, **clone: Unpack[requests.CloneRequest]
    ) -> models.Collection:
        """Forks a collection, or copies it with mode="copy"; a copy is filled by a job, while its state is copying."""
        at = within(collection, "clone")
        response = await self.request(
            "POST", at[0], query=at[1], body=clone, idempotency_key=idempotency_key or _wire.new_key()
        )
        if response.status_code == 202:
            return _wire.parse(models.CloneAccepted, response).collection
        return _wire.parse(models.Collection, response)

    def diff_collection(
        self,
        collection: CollectionRef,
        *,
        against: str | None = None,
        at: str | None = None,
        against_at: str | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.Diff, models.Diff]:
        """Yields the pages of what leads from another view to the collection: from its parent, or against another one.

        at and against_at are revisions, times or names of snapshots. All pages read the same revisions.
        """
        query = {"against": against, "at": at, "against_at": against_at, "kind": kind, "limit": limit}
        return AsyncPages(self, models.Diff, within(collection, "diff", query=query), lambda page: [page])

    async def merge_collection(
        self,
        collection: CollectionRef,
        from_: str,
        *,
        strategy: Literal["fail", "ours", "theirs"] | None = None,
        notes: list[str] | None = None,
        kinds: list[str] | None = None,
        min_confidence: float | None = None,
        min_age_seconds: int | None = None,
        dry_run: bool | None = None,
        review: bool | None = None,
        approve_from: float | None = None,
        wait: Literal["none", "done"] | None = None,
    ) -> models.MergeResult:
        """Takes over what another collection of the lineage has changed.

        Where both changed a field, it raises ProblemError, whose problem.conflicts say which, unless strategy decides.
        A large merge is a job, which the answer names. wait="done" waits for it: the answer is then what the job did,
        with the state in which it ended.
        """
        merge = {"from": from_, "strategy": strategy, "notes": notes, "kinds": kinds, "min_confidence": min_confidence}
        merge |= {
            "min_age_seconds": min_age_seconds,
            "dry_run": dry_run,
            "review": review,
            "approve_from": approve_from,
            "wait": wait,
        }
        body = {name: value for name, value in merge.items() if value is not None}
        at = within(collection, "merge")
        answer = _wire.parse(models.MergeResult, await self.request("POST", at[0], query=at[1], body=body))
        if answer.job is None or wait != "done":
            return answer
        return _wire.with_outcome(answer, await self.wait_for_job(answer.job.id))

    async def rollback_collection(
        self, collection: CollectionRef, **to: Unpack[requests.RollbackRequest]
    ) -> models.RollbackResult:
        """Makes a collection show what it showed at a revision, a time or a snapshot, as one more change.

        A large rollback is a job, as a large merge is; wait="done" waits for it.
        """
        at = within(collection, "rollback")
        answer = _wire.parse(models.RollbackResult, await self.request("POST", at[0], query=at[1], body=to))
        if answer.job is None or to.get("wait") != "done":
            return answer
        return _wire.with_outcome(answer, await self.wait_for_job(answer.job.id))

    async def follow_changes(self, collection: CollectionRef, *, after: int = 0) -> AsyncGenerator[models.Change, None]:
        """Yields the changes after a revision: those that there are, then each new one.

        A stream that ends or breaks off is opened again after the last change, until the gateway refuses or cannot be
        reached: none is missed, and none comes twice. To continue in another process, keep the revision of the last.
        """
        while True:
            where, query = within(collection, "changes", query={"after": after})
            build = self._built("GET", where, query, headers={"accept": "text/event-stream"})
            response = await self._sent(build, repeatable=True, stream=True)
            try:
                async with aclosing(self._events_of(response)) as events:
                    async for name, data in events:
                        if name == "change":
                            change = models.Change.model_validate_json(data)
                            after = change.revision
                            yield change
            except ConnectionFailed:
                pass
            await anyio.sleep(self._retry_wait)

    # Notes

    async def create_note(
        self,
        collection: CollectionRef,
        *,
        wait: Literal["none", "evolved"] | None = None,
        create: str | None = None,
        idempotency_key: str | None = None,
        **note: Unpack[requests.NoteInput],
    ) -> models.NoteCreated:
        """Adds a note. create names the policy of a collection of the application's ids, which is made on first use."""
        return await self._write(
            models.NoteCreated,
            within(collection, "notes", query={"wait": wait}),
            note,
            idempotency_key=idempotency_key,
            headers={"slipbox-create": create},
        )

    async def bulk_notes(
        self,
        collection: CollectionRef,
        notes: Iterable[requests.BulkNote],
        *,
        create: str | None = None,
        idempotency_key: str | None = None,
    ) -> list[models.BulkResult]:
        """Adds many notes, at most 10,000 and 32 MiB, and returns a result for each. An invalid one fails alone."""
        at = within(collection, "notes", "bulk")
        response = await self.request(
            "POST",
            at[0],
            query=at[1],
            content=_wire.ndjson(notes),
            headers={"content-type": "application/x-ndjson", "slipbox-create": create},
            idempotency_key=idempotency_key or _wire.new_key(),
        )
        # The last line is a summary.
        lines = [line for line in response.content.splitlines() if line]
        if not lines or b'"summary"' not in lines[-1]:
            raise ConnectionFailed("the answer broke off before its last line")
        return [_wire.with_headers(models.BulkResult.model_validate_json(line), response) for line in lines[:-1]]

    def list_notes(
        self,
        collection: CollectionRef,
        *,
        kind: str | None = None,
        state: str | None = None,
        filter: requests.Filter | None = None,
        order: str | None = None,
        as_of: int | str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.NoteList, models.Note]:
        """Lists notes. order is oldest (the default), newest or updated; limit is the size of a page."""
        query = {"kind": kind, "state": state, "filter": filter, "order": order, "as_of": as_of, "limit": limit}
        return AsyncPages(self, models.NoteList, within(collection, "notes", query=query), lambda page: page.items)

    async def get_note(self, collection: CollectionRef, note: str, *, as_of: int | str | None = None) -> models.Note:
        """Reads a note. Its ETag is in http_headers."""
        return await self._get(models.Note, within(collection, "notes", note, query={"as_of": as_of}))

    async def patch_note(
        self, collection: CollectionRef, note: str, *, if_match: str | None = None, **change: Unpack[requests.NotePatch]
    ) -> models.Note:
        """Changes a note; None removes a value. With if_match, only while its ETag is the same (412 otherwise)."""
        at = within(collection, "notes", note)
        return await self._write(models.Note, at, change, method="PATCH", headers={"if-match": if_match})

    async def delete_note(
        self,
        collection: CollectionRef,
        note: str,
        *,
        sources: Literal["keep", "delete"] | None = None,
        erase: bool = False,
        if_match: str | None = None,
    ) -> models.ErasureReport | None:
        """Deletes a note. With erase, every version is removed for good, and the report says what was."""
        at = within(collection, "notes", note, query={"sources": sources, "erase": erase or None})
        response = await self.request("DELETE", at[0], query=at[1], headers={"if-match": if_match})
        return _wire.parse(models.ErasureReport, response) if erase else None

    def get_note_history(
        self, collection: CollectionRef, note: str, *, limit: int | None = None
    ) -> AsyncPages[models.HistoryList, models.HistoryEntry]:
        """Lists the versions of a note, newest first."""
        at = within(collection, "notes", note, "history", query={"limit": limit})
        return AsyncPages(self, models.HistoryList, at, lambda page: page.items)

    # Messages

    async def add_messages(
        self,
        collection: CollectionRef,
        *,
        wait: Literal["none", "evolved"] | None = None,
        create: str | None = None,
        idempotency_key: str | None = None,
        **messages: Unpack[requests.MessagesInput],
    ) -> models.MessagesAccepted:
        """Stores messages, from which the policy learns. With wait="evolved" the answer has what was learned."""
        return await self._write(
            models.MessagesAccepted,
            within(collection, "messages", query={"wait": wait}),
            messages,
            idempotency_key=idempotency_key,
            headers={"slipbox-create": create},
        )

    def list_messages(
        self,
        collection: CollectionRef,
        *,
        query: str | None = None,
        role: str | None = None,
        session: str | None = None,
        order: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.MessageList, models.StoredMessage]:
        """Lists messages as they were said; with query, those that fit it."""
        asked = {"query": query, "role": role, "session": session, "order": order, "limit": limit}
        at = within(collection, "messages", query=asked)
        return AsyncPages(self, models.MessageList, at, lambda page: page.items)

    async def add_file(
        self,
        collection: CollectionRef,
        file: str | PathLike[str] | bytes | IO[bytes],
        *,
        name: str | None = None,
        wait: Literal["none", "done"] | None = None,
        create: str | None = None,
        expires_at: str | None = None,
        ttl_seconds: int | None = None,
    ) -> models.FileAccepted:
        """Adds a file, of a path, of bytes or open: a job reads its text, which searches and contexts then find.

        name has the extension of its format, by default that of the file. wait="done" waits for the job: the answer has
        the file as it is then, ready, or failed with a reason.
        """
        at = within(collection, "files", query={"expires_at": expires_at, "ttl_seconds": ttl_seconds})
        # The same file again is the one that is there.
        response = await self.request(
            "POST",
            at[0],
            query=at[1],
            files={"file": _wire.named(file, name)},
            headers={"slipbox-create": create},
            repeatable=True,
        )
        answer = _wire.parse(models.FileAccepted, response)
        if answer.job is not None and wait == "done":
            await self.wait_for_job(answer.job.id)
            answer.file = await self._get(models.File, within(collection, "files", answer.file.id))
        return answer

    # Reading

    async def search(
        self, collection: CollectionRef, *, create: str | None = None, **search: Unpack[requests.SearchRequest]
    ) -> models.SearchResult:
        """Searches a collection by words and meaning. search_batch asks several queries at once."""
        return await self._read(models.SearchResult, within(collection, "search"), _single(search), create)

    async def search_batch(
        self, collection: CollectionRef, *, create: str | None = None, **search: Unpack[requests.SearchRequest]
    ) -> list[models.SearchResult]:
        """Searches a collection for several queries; the other fields are their defaults."""
        return (await self._read(models.SearchResults, within(collection, "search"), search, create)).results

    async def search_all(self, **search: Unpack[requests.SearchRequest]) -> models.SearchResult:
        """Searches up to 50 collections, or all of external, in one ranking."""
        return await self._read(models.SearchResult, (path("search"), {}), _single(search))

    async def build_context(
        self, collection: CollectionRef, *, create: str | None = None, **context: Unpack[requests.ContextRequest]
    ) -> models.ContextAnswer:
        """Writes what is found as one text for a prompt, within token_budget, with citations."""
        return await self._read(models.ContextAnswer, within(collection, "context"), context, create)

    async def build_context_all(self, **context: Unpack[requests.ContextRequest]) -> models.ContextAnswer:
        """Writes a context from up to 50 collections, or all of external."""
        return await self._read(models.ContextAnswer, (path("context"), {}), context)

    def list_facts(
        self,
        collection: CollectionRef,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        valid: bool | None = None,
        valid_at: str | None = None,
        conflicts: bool | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.FactList, models.Fact]:
        """Lists facts as triples."""
        query = {"subject": subject, "relation": relation, "object": object, "valid": valid, "valid_at": valid_at}
        at = within(collection, "facts", query=query | {"conflicts": conflicts, "limit": limit})
        return AsyncPages(self, models.FactList, at, lambda page: page.items)

    # Chat

    async def chat(
        self, collection: CollectionRef, *, create: str | None = None, **chat: Unpack[requests.ChatRequest]
    ) -> models.ChatAnswer:
        """Answers from memory, and remembers the exchange unless remember=False."""
        at = within(collection, "chat")
        headers = {"slipbox-create": create}
        remembers = chat.get("remember", True)
        response = await self.request("POST", at[0], query=at[1], body=chat, headers=headers, repeatable=not remembers)
        return _wire.parse(models.ChatAnswer, response)

    async def stream_chat(
        self, collection: CollectionRef, *, create: str | None = None, **chat: Unpack[requests.ChatRequest]
    ) -> AsyncGenerator[models.ChatDelta | models.ChatAnswer, None]:
        """Yields the pieces of a reply as they come (ChatDelta), and the whole answer last (ChatAnswer)."""
        where, query = within(collection, "chat")
        headers = {"slipbox-create": create, "accept": "text/event-stream"}
        build = self._built("POST", where, query, {**chat, "stream": True}, headers=headers)
        async with aclosing(self._events(build, repeatable=False)) as events:
            async for name, data in events:
                event = _wire.chat_event(name, data)
                if event is not None:
                    yield event
                if isinstance(event, models.ChatAnswer):
                    return
        raise ConnectionFailed("the reply broke off before its end")

    # Runs of agents

    async def post_event(
        self, collection: CollectionRef, *, idempotency_key: str | None = None, **event: Unpack[requests.EventInput]
    ) -> models.Run:
        """Makes an agent act now, and returns the run when it has ended or requires action."""
        where, query = within(collection, "events")
        key = idempotency_key or _wire.new_key()
        body = {**event, "wait": "done"}
        response = await self.request("POST", where, query=query, body=body, idempotency_key=key)
        if response.status_code != 202:
            return await self._settled(collection, _wire.parse(models.Run, response))
        accepted = _wire.parse(models.EventAccepted, response)
        if accepted.run is None or accepted.job is None:
            raise SlipboxError("an event for later has no run yet: post it with request")
        await self.wait_for_job(accepted.job.id)
        return await self.get_run(collection, accepted.run)

    async def post_results(self, collection: CollectionRef, run: str, results: list[requests.CallResult]) -> models.Run:
        """Answers calls of a run, and returns the run when it has ended or requires action again."""
        at = within(collection, "runs", run, "results")
        return await self._settled(collection, await self._read(models.Run, at, {"results": results, "wait": "done"}))

    async def get_run(self, collection: CollectionRef, run: str) -> models.Run:
        """Reads a run of an agent."""
        return await self._get(models.Run, within(collection, "runs", run))

    async def _settled(self, collection: CollectionRef, run: models.Run) -> models.Run:
        if run.job is None or run.state not in ("queued", "running"):
            return run
        await self.wait_for_job(run.job)
        return await self.get_run(collection, run.id)

    # Jobs

    def list_jobs(
        self,
        *,
        collection: str | None = None,
        state: str | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[models.JobList, models.Job]:
        """Lists jobs, newest first."""
        query = {"collection": collection, "state": state, "kind": kind, "limit": limit}
        return AsyncPages(self, models.JobList, (path("jobs"), query), lambda page: page.items)

    async def get_job(self, job: str) -> models.Job:
        """Reads a job."""
        return await self._get(models.Job, (path("jobs", job), {}))

    async def retry_job(self, job: str) -> models.Job:
        """Tries a job again that failed."""
        return await self._read(models.Job, (path("jobs", job, "retry"), {}), None)

    async def cancel_job(self, job: str) -> models.Job:
        """Cancels a job that has not ended."""
        return await self._read(models.Job, (path("jobs", job, "cancel"), {}), None)

    async def stream_job(self, job: str) -> AsyncGenerator[models.Job, None]:
        """Yields a job at once and after each change, until it has ended.

        A stream that ends or breaks off before is opened again, until the gateway refuses or cannot be reached.
        """
        while True:
            build = self._built("GET", path("jobs", job, "events"), headers={"accept": "text/event-stream"})
            try:
                async with aclosing(self._events(build, repeatable=True)) as events:
                    async for name, data in events:
                        if name == "job":
                            state = models.Job.model_validate_json(data)
                            yield state
                            if state.state in _wire.ENDED:
                                return
            except ConnectionFailed:
                pass
            # get_job tries as often as any request, and says when the gateway is away.
            state = await self.get_job(job)
            if state.state in _wire.ENDED:
                yield state
                return
            await anyio.sleep(self._retry_wait)

    async def wait_for_job(self, job: str) -> models.Job:
        """Returns a job when it is done, failed, dead or cancelled."""
        async with aclosing(self.stream_job(job)) as states:
            return [state async for state in states][-1]


def _single(search: requests.SearchRequest) -> requests.SearchRequest:
    if "queries" in search:
        raise SlipboxError("queries has one result for each query: use search_batch")
    return search
