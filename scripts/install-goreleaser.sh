#!/usr/bin/env bash
# Installs GoReleaser at the version given and prints the path of the binary.
# Usage: install-goreleaser.sh VERSION
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-goreleaser.sh VERSION}
dir=$(tool_dir goreleaser "$version")

usable() { built_from "$dir/goreleaser" github.com/goreleaser/goreleaser/v2 "v$version"; }

install_tool "$dir" goreleaser "$version" "github.com/goreleaser/goreleaser/v2@v$version"
