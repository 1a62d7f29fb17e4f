#!/usr/bin/env bash
# Installs benchstat at the version given and prints the path of the binary.
# Usage: install-benchstat.sh VERSION      (a version of golang.org/x/perf)
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-benchstat.sh VERSION}
dir=$(tool_dir benchstat "$version")

usable() { built_from "$dir/benchstat" golang.org/x/perf "$version"; }

install_tool "$dir" benchstat "$version" "golang.org/x/perf/cmd/benchstat@$version"
