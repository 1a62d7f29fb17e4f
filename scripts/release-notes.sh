#!/usr/bin/env bash
# Prints the section of CHANGELOG.md about a version, without its heading. It fails when
# there is none.
# Usage: release-notes.sh VERSION      (for example 0.1.0, without "v")
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?usage: release-notes.sh VERSION}
notes=$(awk -v wanted="$version" '
	/^## / { inside = ($2 == wanted || $2 == "[" wanted "]" || $2 == "v" wanted); next }
	inside
' CHANGELOG.md)
[[ $notes == *[![:space:]]* ]] || { echo "CHANGELOG.md has no section about $version" >&2; exit 1; }
echo "$notes"
