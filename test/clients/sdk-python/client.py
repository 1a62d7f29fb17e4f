"""The tests of the Python client: the cases of sdk/fixtures, and calls of a real gateway.

Those of the other frameworks are run by sdk-python-all.
"""

from _package import OTHERS, run

run("pytest", "-p", "no:cacheprovider", *(f"--ignore=tests/test_{name}.py" for name in OTHERS))
