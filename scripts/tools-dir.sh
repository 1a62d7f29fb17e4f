#!/usr/bin/env bash
# Prints the directory that holds the pinned tools. It lies outside the tree, so
# that a fresh clone on the same machine finds the tools already built.
set -euo pipefail
echo "${SLIPBOX_TOOLS:-${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/slipbox/tools}"
