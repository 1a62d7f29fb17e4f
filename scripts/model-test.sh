#!/usr/bin/env bash
# Asks a model every call of every policy, through a fresh gateway, prints what became of
# each, and fails when something is stored that is not as it should be. MODEL_URL is the
# base URL of an OpenAI-compatible endpoint, with its /v1; MODEL its name there, MODEL_KEY
# its key, both optional. CALLS is how many exchanges each collection is told, TIMEOUT when
# nothing more is asked, REQUEST_TIMEOUT how long one answer may take.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

if [[ -z ${MODEL_URL:-} ]]; then
	echo "usage: make test/model MODEL_URL=http://host:port/v1 [MODEL=name] [MODEL_KEY=key] [CALLS=4] [TIMEOUT=20m] [REQUEST_TIMEOUT=30s]" >&2
	exit 2
fi
listen=127.0.0.1:$(free_port)
export SLIPBOX_LLM=openai SLIPBOX_LLM_BASE_URL=http://$listen/v1 SLIPBOX_LLM_MODEL=${MODEL:-default} SLIPBOX_LLM_API_KEY=${MODEL_KEY:-}
# Retries are bounded: a model that fails is told so soon.
export SLIPBOX_LLM_TIMEOUT=${REQUEST_TIMEOUT:-30s} SLIPBOX_LLM_MAX_TRIES=2 SLIPBOX_LLM_BREAKER_PAUSE=1s SLIPBOX_LLM_MAX_CONCURRENT=2

start_gateway
go build -o "$work/eval" ./cmd/eval
SLIPBOX_KEY=$key "$work/eval" model --url "$url" --prefix model- --upstream "$MODEL_URL" --listen "$listen" --calls "${CALLS:-4}" --timeout "${TIMEOUT:-20m}"
stop_gateway
