#!/usr/bin/env bash
# Installs helm at the version given and prints the path of the binary.
# Usage: install-helm.sh VERSION      (for example 3.22.0, without "v")
#
# Building it from source takes some minutes, once per version.
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-helm.sh VERSION}
major=${version%%.*}
dir=$(tool_dir helm "$version")

# usable succeeds when the binary runs and has the version asked for.
usable() {
	[[ -x $dir/helm ]] || return 1
	local said
	said=$("$dir/helm" version --template '{{.Version}}' 2>/dev/null) || return 1
	[[ $said == "v$version" ]]
}

# Its version is a variable that helm's own Makefile sets.
export CGO_ENABLED=0
install_tool "$dir" helm "$version" -trimpath \
	-ldflags "-s -w -X helm.sh/helm/v$major/internal/version.version=v$version" \
	"helm.sh/helm/v$major/cmd/helm@v$version"
