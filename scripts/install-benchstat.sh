#!/usr/bin/env bash
# Installs benchstat at the version given and prints the path of the binary.
# Usage: install-benchstat.sh VERSION      (a version of golang.org/x/perf)
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-benchstat.sh VERSION}
dir=$(tool_dir benchstat "$version")

# usable succeeds when the binary is there and was built from the version asked for.
usable() {
	[[ -x $dir/benchstat ]] || return 1
	[[ $(go version -m "$dir/benchstat" 2>/dev/null) == *"golang.org/x/perf"*"$version"* ]]
}

install_tool "$dir" benchstat "$version" "golang.org/x/perf/cmd/benchstat@$version"
