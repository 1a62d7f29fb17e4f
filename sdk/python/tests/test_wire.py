"""The rules that both clients share."""

import pytest

from slipbox import Slipbox, SlipboxError, _wire


@pytest.mark.parametrize(
    ("status", "headers", "repeatable", "attempt", "wait"),
    [
        (429, {}, False, 0, 0.25),
        (429, {}, False, 3, 2.0),
        (429, {}, False, 30, 4.0),  # half of the longest pause
        (429, {"retry-after": "7"}, False, 0, 7.25),
        (429, {"retry-after": "61"}, False, 0, None),
        (429, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, False, 0, 0.25),
        (429, {"retry-after": "soon"}, False, 0, 0.25),
        (503, {"retry-after": "0"}, False, 0, 0.25),
        (503, {}, True, 0, None),
        (0, {}, False, 0, None),
        (0, {}, True, 0, 0.25),
        (502, {}, True, 1, 0.5),
        (504, {}, False, 0, None),
        (500, {}, True, 0, None),
        (404, {"retry-after": "1"}, True, 0, None),
    ],
)
def test_pause(status: int, headers: dict[str, str], repeatable: bool, attempt: int, wait: float | None) -> None:
    assert _wire.pause(attempt, status, headers, repeatable, 0.5, lambda: 0.5) == wait


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPBOX_URL", raising=False)
    monkeypatch.delenv("SLIPBOX_KEY", raising=False)
    with pytest.raises(SlipboxError, match="SLIPBOX_KEY"):
        Slipbox()
    monkeypatch.setenv("SLIPBOX_URL", "http://example.com/memory/")
    monkeypatch.setenv("SLIPBOX_KEY", "sb_x")
    assert Slipbox().url == "http://example.com/memory"


def test_no_ids() -> None:
    with pytest.raises(SlipboxError, match="at least one id"):
        Slipbox("http://127.0.0.1:1", "k").get_collection({})


def test_queries_of_a_single_search() -> None:
    with pytest.raises(SlipboxError, match="search_batch"):
        Slipbox("http://127.0.0.1:1", "k").search("c", queries=[{"query": "x"}])
