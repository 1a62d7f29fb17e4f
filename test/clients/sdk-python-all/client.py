"""The adapters of the Python client, all frameworks in one environment: their tests and types."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["SLIPBOX_TREE"]) / "test" / "clients" / "sdk-python"))
from _package import run

# What does not import slipbox's adapters is tested by sdk-python.
run("pytest", "-p", "no:cacheprovider", "--ignore=tests/test_fixtures.py", "--ignore=tests/test_gateway.py", "--ignore=tests/test_wire.py")
run("mypy", "--cache-dir", str(Path(sys.prefix).parent.with_suffix(".mypy")), "src", "tests")
