#!/usr/bin/env bash
# Measures a fresh gateway through its public API and prints tables. EVAL_DATA names the
# folder with the data sets; without it the bundled samples are used. Arguments choose the
# parts: recall, noise, growth, facts, ablation, fit. EVAL_TRACKS chooses the tracks of recall
# and ablation (see "eval recall --help"). EVAL_SYSTEMS chooses among the
# memory systems of the tracks systems and sample-systems, EVAL_SIZES the numbers of notes of growth, EVAL_SETS
# the labeled dialogues of facts and EVAL_POLICIES who is told them (see "eval facts --help"). Each
# run of recall leaves a JSON file in EVAL_RESULTS and fails when a metric is worse than in
# the committed one. DATABASE_URL makes it a gateway over Postgres.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(recall noise growth)
committed=internal/eval/results
results=${EVAL_RESULTS:-.cache/eval}
engine=embedded
[[ -z ${DATABASE_URL:-} ]] || engine=postgres

start_gateway
go build -o "$work/eval" ./cmd/eval
for part in "${parts[@]}"; do
	printf '=== %s\n' "$part"
	flags=()
	case $part in
	recall) flags+=(--results "$results" --compare "$committed" ${EVAL_SYSTEMS:+--systems "$EVAL_SYSTEMS"}) ;;
	growth) flags+=(--results "$results" ${EVAL_SIZES:+--sizes "$EVAL_SIZES"}) ;;
	facts) flags+=(--write "$work/facts.jsonl" ${EVAL_SETS:+--sets "$EVAL_SETS"} ${EVAL_POLICIES:+--policies "$EVAL_POLICIES"}) ;;
	esac
	if [[ $part == fit ]]; then
		SLIPBOX_KEY=$key "$work/eval" measure --url "$url" --prefix "$part-" --write "$work/measures.jsonl" \
			--tracks "${EVAL_TRACKS:-talk-locomo,locomo,talk-beam,realmem,madial,madial-zh,talk-vehicle,talk-corpus}"
		"$work/eval" fit "$work/measures.jsonl" --write internal/search/weights.tsv
		continue
	fi
	case $part in
	recall | ablation) flags+=(${EVAL_TRACKS:+--tracks "$EVAL_TRACKS"}) ;;
	esac
	# The key goes through the environment: arguments are visible to every user.
	SLIPBOX_KEY=$key "$work/eval" "$part" --url "$url" --prefix "$part-" --engine "$engine" "${flags[@]}"
done
stop_gateway
