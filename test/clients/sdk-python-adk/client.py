"""The tests and the types of slipbox.adk, with the framework itself."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["SLIPBOX_TREE"]) / "test" / "clients" / "sdk-python"))
from _package import run

run("pytest", "-p", "no:cacheprovider", "tests/test_adk.py")
cache = str(Path(sys.prefix).parent.with_suffix(".mypy"))
run("mypy", "--cache-dir", cache, "src/slipbox/adk.py", "tests/test_adk.py")
