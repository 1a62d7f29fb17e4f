#!/usr/bin/env bash
# Installs golangci-lint at the version given and prints the path of the binary.
# Usage: install-golangci-lint.sh VERSION      (for example 2.15.0, without "v")
#
# Building it from source takes some minutes, once per version and Go release.
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail

version=${1:?usage: install-golangci-lint.sh VERSION}
root=$("$(dirname "${BASH_SOURCE[0]}")/tools-dir.sh")
dir=$root/golangci-lint-$version
bin=$dir/golangci-lint

# usable says whether the binary runs, has the version asked for, and was built by
# the same Go release: golangci-lint refuses code that is newer than its own Go.
usable() {
	[[ -x $bin ]] || return 1
	local said
	said=$("$bin" version 2>/dev/null) || return 1
	[[ $said == *"has version $version built with $(go env GOVERSION) "* ]]
}

if ! usable; then
	mkdir -p "$dir"
	exec 9>"$dir/.lock"
	flock 9
	if ! usable; then
		echo "building golangci-lint $version (once, some minutes)" >&2
		rm -rf "$dir"/build.*
		build=$(mktemp -d "$dir/build.XXXXXX")
		trap 'rm -rf "$build"' EXIT
		# GOFLAGS of the project (-mod, -race) must not leak into the tool's build.
		GOBIN=$build GOFLAGS=-buildvcs=false \
			go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version" >&2
		mv -f "$build/golangci-lint" "$bin"
		usable || { echo "golangci-lint $version was built, but does not answer as $version" >&2; exit 1; }
	fi
fi
echo "$bin"
