"""Every method of a Python client of mem0's, which answers at once or is awaited."""

import asyncio
import inspect
import os
import time

os.environ["MEM0_TELEMETRY"] = "False"  # before the import, which reads it

import httpx
from mem0.client.types import (
    AddMemoryOptions,
    DeleteAllMemoryOptions,
    GetAllMemoryOptions,
    SearchMemoryOptions,
    UpdateMemoryOptions,
)
from mem0.exceptions import MemoryError, MemoryNotFoundError, ValidationError

URL, KEY = os.environ["SLIPBOX_URL"], os.environ["SLIPBOX_API_KEY"]
HOST = URL + "/mem0"
ABSENT = "0190b5a0-0000-7000-8000-000000000000"


def learns_without_a_model(user):
    """Creates the collection of a user, so that what is learned does not depend on what the fake model says."""
    body = {"name": user, "policy": "mem0", "external": {"user": user}, "policy_config": {"analyst": "heuristic"}}
    httpx.post(URL + "/v1/collections", json=body, headers={"Authorization": "Bearer " + KEY}, timeout=300).raise_for_status()


class Called:
    """A client that notes the names of what is used of it."""

    def __init__(self, client):
        self._client, self.names = client, set()

    def __getattr__(self, name):
        self.names.add(name)
        return getattr(self._client, name)

    def missed(self):
        return {name for name, _ in inspect.getmembers(type(self._client), inspect.isfunction) if name[0] != "_"} - self.names


async def result(value):
    return await value if inspect.isawaitable(value) else value


async def refused(kind, method, *args, **named):
    """The error of a call, which must be of this very type."""
    try:
        answer = await result(method(*args, **named))
    except Exception as error:
        assert type(error) is kind, repr(error)
        return error
    raise AssertionError(f"{method.__name__} {args} {named} was not refused: {answer}")


async def learned(added):
    """Waits until what was added is learned; no method of the clients asks for an event."""
    assert added["status"] == "PENDING", added
    end = time.monotonic() + 120
    async with httpx.AsyncClient(headers={"X-API-Key": KEY}, timeout=300) as http:
        while time.monotonic() < end:
            event = (await http.get(f"{HOST}/v1/event/{added['event_id']}/")).raise_for_status().json()
            if event["status"] in ("SUCCEEDED", "FAILED"):
                assert event["status"] == "SUCCEEDED", event
                return event["results"]
            await asyncio.sleep(0.05)
    raise AssertionError(f"not learned: {added}")


def texts(answer):
    return [one["memory"] for one in answer["results"]]


async def every_method(client):
    m, project = Called(client), Called(client.project)
    nora = {"user_id": "nora"}
    learns_without_a_model("nora")

    # Added with an agent, read without. Without a model nothing is replaced: both are there.
    oslo = await learned(await result(m.add("I live in Oslo.", user_id="nora", agent_id="guide")))
    assert [one["event"] for one in oslo] == ["ADD"] and "Oslo" in oslo[0]["memory"], oslo
    moved = [{"role": "user", "content": "I moved to Rome."}, {"role": "assistant", "content": "Welcome!"}]
    rome = await learned(await result(m.add(moved, AddMemoryOptions(filters=nora, metadata={"source": "chat"}), immutable=True, version="v2")))
    assert [one["event"] for one in rome] == ["ADD"] and "Rome" in rome[0]["memory"], rome
    found = await result(m.search("Where does Nora live?", filters=nora))
    assert len(found["results"]) == 2 and "Rome" in str(found) and "Oslo" in str(found), found
    options = SearchMemoryOptions(filters=nora, top_k=3, rerank=True, keyword_search=True, latest_only=True, fields=["memory"])
    assert sorted(texts(await result(m.search("Who moved to Rome or to Oslo?", options)))) == sorted(texts(found))

    tea = await result(m.add({"role": "user", "content": "I like tea."}, user_id="nora", run_id="r1", infer=False, metadata={"topic": "drinks"}))
    assert [one["event"] for one in tea["results"]] == ["ADD"], tea
    tea = tea["results"][0]["id"]
    assert texts(await result(m.get_all(filters={"AND": [nora, {"metadata": {"topic": "drinks"}}]}))) == ["I like tea."]
    first = await result(m.get_all(filters=nora, page=1, page_size=1))
    second = await result(m.get_all(GetAllMemoryOptions(filters=nora, page=2, page_size=1, show_expired=True)))
    assert first["count"] == second["count"] == 3 and first["next"] and second["next"] and second["previous"], (first, second)
    assert texts(first) == ["I like tea."] and texts(second) == [rome[0]["memory"]]
    one = await result(m.get(tea))
    assert (one["memory"], one["user_id"], one["run_id"], one["agent_id"], one["metadata"]) == ("I like tea.", "nora", "r1", None, {"topic": "drinks"}), one
    assert (await result(m.update(tea, text="I like green tea.", metadata={"hot": True})))["memory"] == "I like green tea."
    one = await result(m.update(tea, UpdateMemoryOptions(expiration_date="2099-12-31", timestamp=1767225600)))
    assert one["expiration_date"] == "2099-12-31" and one["metadata"] == {"topic": "drinks", "hot": True}, one
    assert (await result(m.update(tea, expiration_date=None)))["expiration_date"] is None
    history = await result(m.history(tea))
    assert [(h["event"], h["old_memory"], h["new_memory"]) for h in history[:2]] == [
        ("ADD", None, "I like tea."), ("UPDATE", "I like tea.", "I like green tea."),
    ], history
    await result(m.batch_update([{"memory_id": tea, "text": "I like black tea."}]))
    assert (await result(m.get(tea)))["memory"] == "I like black tea."
    await result(m.batch_delete([{"memory_id": tea}]))
    await refused(MemoryNotFoundError, m.get, tea)
    for gone in rome + oslo:
        await result(m.delete(gone["id"], delete_linked=True))
    assert (await result(m.get_all(filters=nora)))["count"] == 0

    assert (await result(m.get_profile("nora")))["entity_id"] == "nora"
    assert "entities" in await result(m.get_profile_settings())
    assert (await result(m.get_project()))["id"] == (await result(project.get()))["id"] == client.project_id

    # Names with a slash, deleting in all ways that there are, and never without a name.
    for user in ("a/b", "bea", "cem"):
        await result(m.add(f"I am {user}.", user_id=user, infer=False))
    listed = await result(m.users())
    assert {(e["type"], e["name"]) for e in listed["results"]} == {("user", u) for u in ("nora", "a/b", "bea", "cem")}, listed
    await result(m.delete_users(user_id="a/b"))
    await result(m.delete_all(user_id="bea"))
    await result(m.delete_all(DeleteAllMemoryOptions(filters={"user_id": "cem"})))
    for user in ("a/b", "bea", "cem"):
        assert (await result(m.get_all(filters={"user_id": user})))["count"] == 0, user
    await result(m.add("I stay.", user_id="dan", infer=False))
    await refused(ValidationError, m.delete_all)
    await refused(ValidationError, m.delete_all, user_id="*")
    for nobody in ({}, {"user_id": "*"}, {"AND": [{"user_id": "*"}]}, {"OR": [{"user_id": "dan"}, {"agent_id": "*"}]}, {"NOT": [{"user_id": "dan"}]}):
        await refused(ValidationError, m.search, "Who stays?", filters=nobody)
        await refused(ValidationError, m.get_all, filters=nobody)
    assert (await result(m.get_all(filters={"user_id": "dan", "colour": "red"})))["count"] == 0  # a name of the metadata
    await refused(ValidationError, m.add, "I am nobody.")
    await refused(MemoryNotFoundError, m.update, ABSENT, text="x")
    await refused(MemoryNotFoundError, m.delete, "not an id")
    assert texts(await result(m.get_all(filters={"user_id": "dan"}))) == ["I stay."]

    # What is not there says so.
    for method, args in (
        (m.create_memory_export, ("{}",)), (m.get_memory_export, ()), (m.get_summary, (nora,)), (m.feedback, (ABSENT, "POSITIVE")),
        (m.generate_profile, ("nora",)), (m.sample_profiles, (2,)), (m.get_profile_job, (ABSENT,)), (m.update_profile_settings, (True,)),
        (m.get_webhooks, ("p",)), (m.create_webhook, ("http://localhost/", "w", "p", ["memory_add"])), (m.update_webhook, (7, "w")), (m.delete_webhook, (7,)),
        (m.update_project, (None, "Be brief.")), (project.update, ("Be brief.",)), (project.create, ("p",)), (project.delete, ()), (project.get_members, ()),
        (project.add_member, ("a@example.com",)), (project.update_member, ("a@example.com", "OWNER")), (project.remove_member, ("a@example.com",)),
    ):
        error = await refused(MemoryError, method, *args)
        assert error.error_code == "HTTP_501" and error.details["code"] == "not_implemented", error
    await refused(NotImplementedError, m.chat)

    await result(m.reset())
    assert (await result(m.users()))["count"] == 0
    assert not m.missed() and not project.missed(), (m.missed(), project.missed())

    try:
        type(client)(api_key="sbx_nobody", host=HOST)
    except ValueError as error:
        assert str(error).startswith("Error: "), error
    else:
        raise AssertionError("a wrong key was accepted")
