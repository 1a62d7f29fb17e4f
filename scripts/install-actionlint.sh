#!/usr/bin/env bash
# Installs actionlint at the version given and prints the path of the binary.
# Usage: install-actionlint.sh VERSION      (for example 1.7.12, without "v")
#
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-actionlint.sh VERSION}
dir=$(tool_dir actionlint "$version")

# usable succeeds when the binary runs and has the version asked for.
usable() {
	[[ -x $dir/actionlint ]] || return 1
	local said
	said=$("$dir/actionlint" -version 2>/dev/null) || return 1
	[[ $said == *"$version"* ]]
}

install_tool "$dir" actionlint "$version" "github.com/rhysd/actionlint/cmd/actionlint@v$version"
