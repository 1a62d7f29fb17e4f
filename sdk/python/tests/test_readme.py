"""The snippets of README.md run against a real gateway."""

import pytest
from conftest import run_snippets

from slipbox import Slipbox


def test_readme(client: Slipbox, capsys: pytest.CaptureFixture[str]) -> None:
    # No model is asked, also where the gateway has one, so that what is learned is known.
    client.create_collection(
        name="readme", policy="mem0", policy_config={"analyst": "heuristic"}, external={"user": "nora@example.com"}
    )
    client.create_collection(
        name="otto", policy="memgpt", policy_config={"approve": ["conversation_search", "send_message"]}
    )
    run_snippets()
    said = capsys.readouterr().out
    assert "I live in Oslo." in said
