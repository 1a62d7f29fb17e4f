"""The tests of the Python client: the cases of sdk/fixtures, the README, and calls of a real gateway.

Those of frameworks whose install is large are run by sdk-python-adk and sdk-python-crewai.
"""

from _package import run

run("pytest", "-p", "no:cacheprovider", "--ignore=tests/test_adk.py", "--ignore=tests/test_crewai.py")
