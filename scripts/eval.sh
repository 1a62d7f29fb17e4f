#!/usr/bin/env bash
# Loads conversations into a fresh gateway through its public API and reports notes,
# links, evolutions, time, and recall. EVAL_DATA names the folder with the data sets;
# without it the bundled sample is used. Arguments choose the parts: load, recall.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(load recall)
start_gateway
go build -o "$work/eval" ./cmd/eval
for part in "${parts[@]}"; do
	printf '=== %s\n' "$part"
	# The key goes through the environment: arguments are visible to every user.
	SLIPBOX_KEY=$key "$work/eval" "$part" --url "$url" --prefix "$part-"
done
stop_gateway
