#!/usr/bin/env bash
# Installs helm at the version given and prints the path of the binary.
# Usage: install-helm.sh VERSION      (for example 3.22.0, without "v")
#
# Building it from source takes some minutes, once per version.
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail

version=${1:?usage: install-helm.sh VERSION}
major=${version%%.*}
root=$("$(dirname "${BASH_SOURCE[0]}")/tools-dir.sh")
dir=$root/helm-$version
bin=$dir/helm

# usable says whether the binary runs and has the version asked for.
usable() {
	[[ -x $bin ]] || return 1
	local said
	said=$("$bin" version --template '{{.Version}}' 2>/dev/null) || return 1
	[[ $said == "v$version" ]]
}

if ! usable; then
	mkdir -p "$dir"
	exec 9>"$dir/.lock"
	flock 9
	if ! usable; then
		echo "building helm $version (once, some minutes)" >&2
		rm -rf "$dir"/build.*
		build=$(mktemp -d "$dir/build.XXXXXX")
		trap 'rm -rf "$build"' EXIT
		# GOFLAGS of the project (-mod, -race) must not leak into the tool's build. Its
		# version is a variable that helm's own Makefile sets.
		GOBIN=$build GOFLAGS=-buildvcs=false CGO_ENABLED=0 go install -trimpath \
			-ldflags "-s -w -X helm.sh/helm/v$major/internal/version.version=v$version" \
			"helm.sh/helm/v$major/cmd/helm@v$version" >&2
		mv -f "$build/helm" "$bin"
		usable || { echo "helm $version was built, but does not answer as $version" >&2; exit 1; }
	fi
fi
echo "$bin"
