#!/usr/bin/env bash
# Fails unless all that names the version of a release names this one: the changelog, the chart, the clients, and the Go client
# that the commands are built with. Prints the section of the changelog.
# Usage: release-versions.sh [VERSION]     (such as 0.1.0; default: that of the chart)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:-$(awk '$1 == "version:" { print $2 }' charts/slipbox/Chart.yaml)}
bad=0

# named FILE PATTERN fails unless a line of a file is the pattern, of which VERSION is a part.
named() {
	grep -qE "^$2\$" "$1" || { echo "$1 does not name the version $version ($2)" >&2; bad=1; }
}

quoted=${version//./\\.}
named charts/slipbox/Chart.yaml "version: $quoted"
named charts/slipbox/Chart.yaml "appVersion: $quoted"
named sdk/python/pyproject.toml "version = \"$quoted\""
named sdk/typescript/package.json "  \"version\": \"$quoted\","
named go.mod "	github.com/slipboxhq/slipbox/sdk/go v$quoted"
scripts/release-notes.sh "$version" || bad=1
exit "$bad"
