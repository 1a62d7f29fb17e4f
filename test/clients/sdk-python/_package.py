"""Runs tests of sdk/python in the tree, without leaving files there."""

import os
import subprocess
import sys
from pathlib import Path


# The frameworks that sdk-python-all has alone.
OTHERS = ("adk", "crewai", "litellm", "llamaindex", "pydantic_ai")


def run(*arguments: str) -> None:
    """Runs a module of Python in sdk/python, and ends with its exit code if that is not 0."""
    package = Path(os.environ["SLIPBOX_TREE"]) / "sdk" / "python"
    path = os.pathsep.join([str(package / "src"), str(package / "tests")])
    code = subprocess.run([sys.executable, "-m", *arguments], cwd=package, env=os.environ | {"PYTHONPATH": path}).returncode
    if code:
        sys.exit(code)
