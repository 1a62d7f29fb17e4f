#!/usr/bin/env bash
# Runs every fuzz target of the packages (go test -fuzz), one after another. An input that
# fails is written to testdata/fuzz of its package; commit it with the fix.
#
# Settings: FUZZTIME (of each target, default 60s), KEEP (adds up to so many of the
# smallest new inputs of each target to testdata/fuzz; default none).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzztime=${FUZZTIME:-60s}
keep=${KEEP:-0}
cache=$(go env GOCACHE)/fuzz
failed=()

# keep_inputs PACKAGE FOLDER TARGET copies the smallest inputs that the fuzzer found.
keep_inputs() {
	local from=$cache/$1/$3 to=$2/testdata/fuzz/$3 file
	[[ -d $from ]] || return 0
	mkdir -p "$to"
	find "$from" -type f -printf '%s %p\n' | sort -n | awk '$1 <= 4096' | head -n "$keep" |
		while read -r _ file; do cp -n "$file" "$to/"; done
}

targets=$(go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir pkg; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | sed "s|^func |$dir $pkg |" || true
done)
[[ -n $targets ]] || { echo "fuzz-go: no fuzz target was found" >&2; exit 1; }

while read -r dir pkg target; do
	printf '\nfuzz-go: %s %s for %s\n' "$pkg" "$target" "$fuzztime"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "$pkg" || failed+=("$pkg $target")
	((keep == 0)) || keep_inputs "$pkg" "$dir" "$target"
done <<<"$targets"

if ((${#failed[@]} > 0)); then
	printf 'fuzz-go: failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
echo "fuzz-go: passed, $(wc -l <<<"$targets") targets"
