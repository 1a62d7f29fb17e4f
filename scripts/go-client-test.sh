#!/usr/bin/env bash
# Tests the Go client (sdk/go, a module of its own) by the cases of sdk/fixtures and against a gateway.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

serve_args=(--log-level warn)
start_gateway
(cd sdk/go && go vet ./... && SLIPBOX_URL=$url SLIPBOX_KEY=$key go test -count=1 -timeout=5m ./...)
end_gateway
stop_gateway
