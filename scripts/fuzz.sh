#!/usr/bin/env bash
# Fuzzes a running gateway from the OpenAPI file that it serves: whatever is sent, no
# 500, no undocumented status or content type, no answer that breaks its schema, no
# route that answers without a credential, nothing that lives on after its deletion.
# Afterwards the gateway must be alive, its store sound, and stop by itself with 0.
#
# Settings: GATEWAY (a binary, instead of building one), FUZZ_EXAMPLES (per operation),
# FUZZ_SEED, FUZZ_SECONDS (limit of the whole run), FUZZ_CHECKS. Further arguments go
# to schemathesis, for example: scripts/fuzz.sh --include-path-regex notes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

examples=${FUZZ_EXAMPLES:-20}
seed=${FUZZ_SEED:-20261121}
seconds=${FUZZ_SECONDS:-600}
checks=${FUZZ_CHECKS:-not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,ignored_auth,use_after_free}

schemathesis=$(scripts/install-schemathesis.sh)
start_gateway

# call METHOD PATH [BODY] prints the answer, and fails on anything but a 2xx.
call() {
	local body=()
	[[ -n ${3:-} ]] && body=(--data-binary "$3" -H 'Content-Type: application/json')
	curl -fsS --max-time 30 -X "$1" -H "Authorization: Bearer $key" "${body[@]}" "$url$2"
}

# Something to find: most generated ids lead to a 404, which is a shallow test. These
# names and ids are drawn half of the time.
call POST /v1/collections '{"name":"fuzz"}' >/dev/null
call POST /v1/collections '{"name":"fuzz-2","policy":"none"}' >/dev/null
notes=()
for n in 1 2 3; do
	notes+=("$(call POST '/v1/collections/fuzz/notes?wait=evolved' \
		"{\"content\":\"Note $n: Rosa repairs old bicycles in Porto.\"}" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["note"]["id"])')")
done

# The key that the fuzz uses is not the key that looks at the end, so that a revocation
# of its own key by the fuzz (which is its right) is told from a broken gateway.
fuzz_key=$("$gateway" key create --tenant default --json --data "$data" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["key"])')

config=$work/schemathesis.toml
python3 - "${notes[@]}" >"$config" <<'PY'
import json
import sys

print("[dictionaries.collections]")
print('values = ["fuzz", "fuzz-2"]')
print("[dictionaries.notes]")
print("values =", json.dumps(sys.argv[1:]))
print("[parameters]")
print('"path.collection" = { dictionary = "collections", probability = 0.5 }')
print('"path.note" = { dictionary = "notes", probability = 0.5 }')
PY

code=0
# Event streams do not end by themselves, so they are left out. Made-up credentials
# beside the key would turn every answer into a 401; ignored_auth tries them itself.
# Answers may carry keys, so they are shown sanitised (the default).
(cd "$work" && timeout --kill-after=10 "$seconds" "$schemathesis" --config-file "$config" run "$url/openapi.yaml" \
	--url "$url" \
	--header "Authorization: Bearer $fuzz_key" \
	--checks "$checks" \
	--exclude-path-regex '/events$' \
	--max-examples "$examples" \
	--seed "$seed" \
	--generation-database none \
	--generation-with-security-parameters false \
	--request-timeout 40 \
	--continue-on-failure \
	--suppress-health-check all \
	--no-color \
	"$@") || code=$?
case $code in
0) ;;
2) echo "fuzz: schemathesis could not run with these arguments" >&2 ;;
124 | 137) echo "fuzz: not finished within $seconds s" >&2 ;;
*) echo "fuzz: schemathesis found failures (exit $code); the gateway's log ends:" >&2; tail -n 20 "$log" >&2 ;;
esac

fail() {
	echo "fuzz: $1; the gateway's log ends:" >&2
	tail -n 30 "$log" >&2
	exit 1
}
alive || fail "the gateway does not answer any more"
call GET /v1/collections >/dev/null || fail "the tenant's key is refused after the run"
"$gateway" check --data "$data" || fail "the store is damaged after the run"
if grep -qE 'panic|goroutine [0-9]+ \[' "$log"; then
	fail "something panicked"
fi
stop_gateway || { echo "fuzz: the gateway did not stop cleanly (exit $?)" >&2; exit 1; }
exit "$code"
