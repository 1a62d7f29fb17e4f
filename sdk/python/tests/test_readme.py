"""The snippets of README.md run against a real gateway."""

import pytest
from conftest import run_snippets

from slipbox import Slipbox


def test_readme(client: Slipbox, capsys: pytest.CaptureFixture[str]) -> None:
    # No model is asked, also where the gateway has one, so that what is learned is known.
    client.create_collection(
        name="readme", policy="mem0", policy_config={"analyst": "heuristic"}, external={"user": "nora@example.com"}
    )
    run_snippets()
    assert "I live in Oslo." in capsys.readouterr().out
