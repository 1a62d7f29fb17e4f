"""Both clients do what sdk/fixtures says that every client does."""

import asyncio
import inspect
import json
import re
from datetime import datetime
from typing import Any

import httpx
import pytest
from conftest import FIXTURES, Double, key_of
from pydantic import BaseModel

from slipbox import AsyncPages, AsyncSlipbox, ConnectionFailed, Pages, ProblemError, Slipbox

LOADED: dict[str, dict[str, Any]] = {
    f"{file.stem}: {case['name']}": case
    for file in sorted(FIXTURES.glob("*.json"))
    for case in json.loads(file.read_text())
}
CASES = [pytest.param(case, id=name) for name, case in LOADED.items()]
# Arguments that have no name in a call.
POSITIONAL = ("collection", "external", "note", "job", "run", "results", "notes", "method", "path")


def method(client: Any, case: dict[str, Any]) -> Any:
    """Calls the operation of a case."""
    arguments = dict(case["arguments"])
    named = case["operation"] == "listJobs"
    places = [] if named else [arguments.pop(name) for name in POSITIONAL if name in arguments]
    body = arguments.pop("body", {}) if case["operation"] != "request" else {}
    if case["operation"] == "addFile":
        file = arguments.pop("file")
        arguments |= {"file": file["text"].encode(), "name": file["name"]}
    body = {"from_" if name == "from" else name: value for name, value in body.items()}  # a keyword of Python
    return getattr(client, re.sub(r"([A-Z])", r"_\1", case["operation"]).lower())(*places, **arguments, **body)


def as_json(value: Any) -> Any:
    """Returns what a call returned as JSON values."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(value, httpx.Response):
        return value.json()
    return [as_json(item) for item in value] if isinstance(value, list) else value


def contains(got: Any, want: Any, at: str = "") -> None:
    """Fails unless want is contained in got."""
    if isinstance(want, dict):
        assert isinstance(got, dict), f"{at}: {got!r}"
        for name, value in want.items():
            assert name in got, f"{at}.{name} is missing"
            contains(got[name], value, f"{at}.{name}")
    elif isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), f"{at}: {got!r} instead of {want!r}"
        for i, value in enumerate(want):
            contains(got[i], value, f"{at}[{i}]")
    elif isinstance(want, str) and re.match(r"\d{4}-\d\d-\d\dT", want):
        assert datetime.fromisoformat(got) == datetime.fromisoformat(want), at
    else:
        assert got == want, f"{at}: {got!r} instead of {want!r}"


def check(case: dict[str, Any], returned: Any, items: list[Any], error: Exception | None) -> None:
    """Compares what a call did with what the case says."""
    want = case.get("error")
    if want is None:
        assert error is None, repr(error)
    elif want.get("connection"):
        assert isinstance(error, ConnectionFailed), repr(error)
    else:
        assert isinstance(error, ProblemError), repr(error)
        contains(as_json(error.problem), want)
        assert str(want["status"]) in str(error)
        assert all(str(error).count(f"{e['field']}: {e['reason']}") == 1 for e in want.get("errors", [])), str(error)
    if "items" in case:
        contains([as_json(item) for item in items], case["items"])
    elif want is None:
        contains(as_json(returned), case.get("returns", case["exchanges"][-1]["answer"].get("body")))


@pytest.mark.parametrize("case", CASES)
def test_synchronous(case: dict[str, Any]) -> None:
    with Double(case) as double, Slipbox(double.url, key_of(case), retry_wait=0) as client:
        returned, items, error = None, [], None
        try:
            returned = method(client, case)
            if inspect.isgenerator(returned) or isinstance(returned, Pages):
                for item in returned:
                    items.append(item)
        except (ProblemError, ConnectionFailed) as e:
            error = e
        check(case, returned, items, error)
        double.check()


@pytest.mark.parametrize("case", CASES)
def test_asynchronous(case: dict[str, Any]) -> None:
    async def run(double: Double) -> None:
        async with AsyncSlipbox(double.url, key_of(case), retry_wait=0) as client:
            returned, items, error = None, [], None
            try:
                returned = method(client, case)
                if inspect.isasyncgen(returned) or isinstance(returned, AsyncPages):
                    async for item in returned:
                        items.append(item)
                else:
                    returned = await returned
            except (ProblemError, ConnectionFailed) as e:
                error = e
            check(case, returned, items, error)

    with Double(case) as double:
        asyncio.run(run(double))
        double.check()


def test_every_operation_has_a_case() -> None:
    """A method that no case calls is not shown to be the same in all clients."""
    tested = {re.sub(r"([A-Z])", r"_\1", case["operation"]).lower() for case in LOADED.values()}
    methods = {name for name, _ in inspect.getmembers(Slipbox, inspect.isfunction) if not name.startswith("_")}
    assert methods - {"close"} == tested
