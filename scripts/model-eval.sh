#!/usr/bin/env bash
# Measures what the policies do with a model, through a fresh gateway. Labeled dialogues are told to
# them with the model and without it, and what they derive is compared with the labels. Then the model
# is asked every call of every policy; this fails when something is stored that is not as it should be.
#
# MODEL_URL is the base URL of an OpenAI-compatible endpoint, with its /v1; MODEL its name there,
# MODEL_KEY its key, both optional. DIALOGUES is how many dialogues are told (0), TURNS how many turns
# of each (0: all), IDS names them instead, PAIRS tells so many pairs of turns of each kind instead of whole dialogues, SET is "believed" or "learned", POLICIES are mem0, mem0g,
# layered (mem0), and amem, memorybank, memoryos, which derive links and texts; CONFIG their policy_config in JSON
# where the model is asked. STATE is a file that keeps what each dialogue gave, links and texts too: a later run
# continues from it.
# CALLS is how often each call of each policy is asked (5; 0: not), what a scenario gave is kept beside STATE, TIMEOUT when no
# more calls are asked, REQUEST_TIMEOUT how long one answer may take.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

if [[ -z ${MODEL_URL:-} ]]; then
	echo "usage: make eval/model MODEL_URL=http://host:port/v1 [MODEL=name] [MODEL_KEY=key] [DIALOGUES=0] [TURNS=0] [CALLS=5] [TIMEOUT=20m] [REQUEST_TIMEOUT=30s]" >&2
	exit 2
fi
model=${MODEL:-default}
listen=127.0.0.1:$(free_port)
export SLIPBOX_LLM=openai SLIPBOX_LLM_BASE_URL=http://$listen/v1 SLIPBOX_LLM_MODEL=$model SLIPBOX_LLM_API_KEY=${MODEL_KEY:-}
# Retries are bounded: a model that fails is told so soon.
export SLIPBOX_LLM_TIMEOUT=${REQUEST_TIMEOUT:-30s} SLIPBOX_LLM_MAX_TRIES=2 SLIPBOX_LLM_BREAKER_PAUSE=1s SLIPBOX_LLM_MAX_CONCURRENT=2

mkdir -p .cache/eval
start_gateway
go build -o "$work/eval" ./cmd/eval
SLIPBOX_KEY=$key "$work/eval" model --url "$url" --prefix model- --upstream "$MODEL_URL" --listen "$listen" --model "$model" \
	--dialogues "${DIALOGUES:-0}" --turns "${TURNS:-0}" --pairs "${PAIRS:-0}" --set "${SET:-believed}" ${IDS:+--ids "$IDS"} --policies "${POLICIES:-mem0}" \
	--config "${CONFIG:-{\}}" --state "${STATE:-.cache/eval/model-$model.jsonl}" --calls "${CALLS:-5}" --timeout "${TIMEOUT:-20m}"
stop_gateway
