"""The types and the style of the Python client."""

import os

from _package import run

run("mypy", "--cache-dir", os.devnull, ".")
run("ruff", "check", "--no-cache", ".")
run("ruff", "format", "--no-cache", "--check", ".")
