"""The snippets of README.md run in order, as pasted, against a real gateway."""

import re
from pathlib import Path
from typing import Any

import pytest

from slipbox import Slipbox

README = Path(__file__).resolve().parents[1] / "README.md"


def test_readme(client: Slipbox, capsys: pytest.CaptureFixture[str]) -> None:
    # Rules learn, also where the gateway has a model, so that what is learned is known.
    client.create_collection(
        name="readme", policy="mem0", policy_config={"analyst": "heuristic"}, external={"user": "nora@example.com"}
    )
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.M | re.S)
    assert blocks
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert "Nora lives in Oslo." in capsys.readouterr().out
