"""The types and the style of the Python client."""

import sys
from pathlib import Path

from _package import OTHERS, run

# The types of imported packages are kept beside the environment, which must hold nothing else.
# sdk-python-all checks what imports the other frameworks.
run("mypy", "--cache-dir", str(Path(sys.prefix).parent.with_suffix(".mypy")), "--exclude", rf"({'|'.join(OTHERS)})\.py$", ".")
run("ruff", "check", "--no-cache", ".")
run("ruff", "format", "--no-cache", "--check", ".")
