#!/usr/bin/env bash
# Installs golangci-lint at the version given and prints the path of the binary.
# Usage: install-golangci-lint.sh VERSION      (for example 2.15.0, without "v")
#
# Building it from source takes some minutes, once per version and Go release.
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-golangci-lint.sh VERSION}
dir=$(tool_dir golangci-lint "$version")

# usable succeeds when the binary runs, has the version asked for, and was built by
# the same Go release: golangci-lint refuses code that is newer than its own Go.
usable() {
	[[ -x $dir/golangci-lint ]] || return 1
	local said
	said=$("$dir/golangci-lint" version 2>/dev/null) || return 1
	[[ $said == *"has version $version built with $(go env GOVERSION) "* ]]
}

install_tool "$dir" golangci-lint "$version" "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version"
