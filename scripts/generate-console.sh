#!/usr/bin/env bash
# Checks the types of the web console, and bundles it into internal/console/page. "make generate" runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/install-clients.sh ./console >/dev/null
(cd console && node_modules/.bin/tsc)
page=$PWD/internal/console/page
rm -f "$page"/*
# Flags of the project's own builds (-mod) are not the tool's.
GOFLAGS=-trimpath go -C tools/console run . "$PWD/console" "$page"
go run ./tools/pack -rm "$page"/*
