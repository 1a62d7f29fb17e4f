"""The tests of the Python client: the cases of sdk/fixtures, the README, and calls of a real gateway."""

from _package import run

run("pytest", "-p", "no:cacheprovider")
