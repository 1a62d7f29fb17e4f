#!/usr/bin/env bash
# Measures a built gateway over HTTP while a collection grows (tools/growth), and with
# PEERS=1 also Chroma, which it installs into an environment of its own. Prints a table in
# Markdown, and its progress on stderr.
#
# Settings: SIZES (numbers of notes, default 1000,10000,100000), CALLS (calls for each figure,
# default 300), TENANTS (default 200; 0: without that part), EMBEDDER (hash or local, default
# hash), DOCS (1: write figures and curves into docs/), PEERS (1: measure Chroma), GATEWAY (a binary
# to measure instead of building one).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The version that is measured.
chroma_version=1.5.9

sizes=${SIZES:-1000,10000,100000}
target=growth
work=$(mktemp -d /var/tmp/slipbox-growth.XXXXXX)
trap 'rm -rf "$work"' EXIT
flags=(-sizes "$sizes" -calls "${CALLS:-300}" -tenants "${TENANTS:-200}" -embedder "${EMBEDDER:-hash}" -dir "$work")
[[ -z ${DOCS:-} ]] || flags+=(-out docs)

if [[ -n ${PEERS:-} ]]; then
	target=peers
	python=$(scripts/tools-dir.sh)/chroma-$chroma_version
	if ! "$python/bin/python3" -c 'import chromadb' 2>/dev/null; then
		echo "chromadb $chroma_version: installing it, once; this takes some minutes" >&2
		rm -rf "$python"
		python3 -m venv "$python"
		"$python/bin/python3" -m pip --quiet --disable-pip-version-check install "chromadb==$chroma_version" >&2
	fi
	flags+=(-python "$python/bin/python3")
fi

if [[ -z ${GATEWAY:-} ]]; then
	make --no-print-directory build >&2
	GATEWAY=$PWD/bin/gateway
fi
go build -C tools/growth -o "$work/growth" .
"$work/growth" -gateway "$GATEWAY" "${flags[@]}" -command "make bench/$target SIZES=$sizes"
