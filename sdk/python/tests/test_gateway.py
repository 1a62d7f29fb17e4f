"""The clients against a real gateway: what a double cannot show."""

import asyncio
import contextlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slipbox import AsyncSlipbox, Conflict, External, Invalid, NotFound, ProblemError, Slipbox, SlipboxError
from slipbox.models import ChatAnswer, ChatDelta

# Ids as applications have them: an identity provider's, another script, a path, 256 bytes.
IDS = ["auth0|x", str(uuid.uuid4()), "日本", "a/b", "../x", "x" * 256, "a b&c=d#e?f%2F+"]


@pytest.fixture
def user(client: Slipbox) -> Iterator[External]:
    """The ids of a user that nobody else has, who is forgotten after the test."""
    ids: External = {"user": f"{uuid.uuid4()}@example.com"}
    yield ids
    with contextlib.suppress(NotFound):
        client.forget_external(ids, forks="delete")


@pytest.mark.parametrize("name", IDS)
def test_ids_of_applications(client: Slipbox, name: str) -> None:
    ids: External = {"user": name, "app": str(uuid.uuid4())}
    made = client.create_note(ids, content="Tea at five.", create="none")
    assert client.get_collection(ids).external.user == name  # type: ignore[union-attr]
    assert client.get_note(ids, made.note.id).content == "Tea at five."
    assert [hit.note.id for hit in client.search(ids, query="tea").hits] == [made.note.id]
    assert client.forget_external(ids).notes == 1
    with pytest.raises(NotFound):
        client.get_collection(ids)


def test_an_id_that_is_too_long(client: Slipbox) -> None:
    with pytest.raises(Invalid) as raised:
        client.create_note({"user": "x" * 257}, content="x", create="none")
    assert raised.value.problem.errors


def test_writers_at_once_make_one_collection(client: Slipbox, user: External) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: client.create_note(user, content=f"Note {i}.", create="none"), range(24)))
    assert len({note.note.collection for note in made}) == 1
    assert len(list(client.list_notes(user, limit=5))) == 24


def test_a_key_makes_one_note(client: Slipbox, user: External) -> None:
    first = client.create_note(user, content="x", on_duplicate="keep", create="none", idempotency_key="one")
    again = client.create_note(user, content="x", on_duplicate="keep", create="none", idempotency_key="one")
    assert first.note.id == again.note.id
    with pytest.raises(Conflict):
        client.create_note(user, content="y", create="none", idempotency_key="one")


def test_changes_on_a_condition(client: Slipbox, user: External) -> None:
    note = client.create_note(user, content="x", category="a", create="none").note
    etag = client.get_note(user, note.id).http_headers["etag"]
    assert client.patch_note(user, note.id, if_match=etag, category="b").category == "b"
    with pytest.raises(ProblemError) as raised:
        client.patch_note(user, note.id, if_match=etag, category="c")
    assert raised.value.status == 412
    assert len(list(client.get_note_history(user, note.id, limit=1))) == 2


def test_fork_jobs_and_chat(client: Slipbox, user: External) -> None:
    # Rules learn, also where the gateway has a model, so that what is learned is known.
    rules = {"analyst": "heuristic"}
    client.create_collection(name=f"c-{uuid.uuid4().hex}", policy="mem0", policy_config=rules, external=user)
    said = client.add_messages(
        user, wait="evolved", messages=[{"role": "user", "name": "Nora", "content": "I live in Oslo."}]
    )
    assert ["I live in Oslo." in memory.memory for memory in said.learned or []] == [True]
    fork = client.clone_collection(user)
    note = client.create_note(fork.id, content="Nora moved to Rome.")
    assert note.job and client.wait_for_job(note.job.id).state == "done"
    assert note.note.id not in {n.id for n in client.list_notes(user)}
    events = list(client.stream_chat(user, message="Where do I live?", remember=False))
    assert isinstance(events[0], ChatDelta) and isinstance(events[-1], ChatAnswer)
    assert "".join(e.text for e in events if isinstance(e, ChatDelta)) == events[-1].reply
    assert "Oslo" in client.chat(user, message="Where do I live?", remember=False).reply
    assert "Oslo" in client.build_context_all(query="Where does Nora live?", external=user).text


def test_a_file_is_found(client: Slipbox, user: External, tmp_path: Path) -> None:
    file = tmp_path / "Mühle.txt"
    file.write_text("The mill was built in 1720.")
    added = client.add_file(user, file, create="none", wait="done")
    assert (added.file.name, added.file.state) == ("Mühle.txt", "ready")
    with file.open("rb") as opened:
        assert client.add_file(user, opened).file.id == added.file.id
    assert client.add_file(user, file.read_bytes(), name="again.txt").file.id == added.file.id
    assert "1720" in (client.search(user, query="When was the mill built?").hits[0].note.content or "")
    with pytest.raises(SlipboxError, match="name"):
        client.add_file(user, b"x")


def test_a_stream_may_be_left(client: Slipbox, user: External) -> None:
    client.create_note(user, content="Tea at five.", create="none")
    for _ in client.stream_chat(user, message="When is tea?", remember=False):
        break
    assert client.get_collection(user).counts is not None


def test_many_notes(client: Slipbox, user: External) -> None:
    results = client.bulk_notes(user, [{"content": "One."}, {"content": ""}, {"content": "日本"}], create="none")
    assert [result.status for result in results] == [201, 422, 201]
    assert results[1].error is not None and results[1].error.code == "invalid"


def test_a_foreign_key(gateway: tuple[str, str]) -> None:
    with Slipbox(gateway[0], "sb_live_wrong") as stranger, pytest.raises(ProblemError) as raised:
        stranger.get_collection("any")
    assert raised.value.status == 401


def test_asynchronous(gateway: tuple[str, str], user: External) -> None:
    async def key() -> str:
        return gateway[1]

    async def run() -> None:
        async with AsyncSlipbox(gateway[0], key) as client:
            await asyncio.gather(*(client.create_note(user, content=f"Note {i}.", create="none") for i in range(8)))
            assert len([note async for note in client.list_notes(user, limit=3)]) == 8
            assert (await client.search(user, query="note", k=3)).hits
            assert (await client.add_file(user, b"Tea at five.", name="tea.txt", wait="done")).file.state == "ready"
            events = [e async for e in client.stream_chat(user, message="Which notes?", remember=False)]
            assert isinstance(events[-1], ChatAnswer)

    asyncio.run(run())
