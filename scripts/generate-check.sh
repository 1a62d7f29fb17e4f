#!/usr/bin/env bash
# Runs the generators and fails when a file of the tree changed by it. The new files
# are left in place, to be looked at and committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# sums lists every file of the tree with its checksum, without what is not source.
sums() {
	find . \( -path ./.git -o -path ./bin -o -path ./data -o -path ./dist -o -path ./console/build -o -path ./sdk/typescript/build -o -path ./sdk/typescript/dist -o -name node_modules \) -prune -o \
		-type f ! -name coverage.out -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
}

before=$(sums)
go generate ./...
if ! changed=$(diff <(echo "$before") <(sums)); then
	echo "generated files are not up to date; run make generate and commit:" >&2
	sed -nE 's/^[<>] [0-9a-f]{64}  /  /p' <<<"$changed" | sort -u >&2
	exit 1
fi
