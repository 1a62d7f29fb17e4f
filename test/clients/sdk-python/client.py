"""The tests of the Python client: the cases of sdk/fixtures, and calls of a real gateway.

Those of the other frameworks are run by sdk-python-all.
"""

from _package import run

run("pytest", "-p", "no:cacheprovider", "--ignore=tests/test_adk.py", "--ignore=tests/test_crewai.py")
