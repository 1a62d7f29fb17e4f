#!/usr/bin/env bash
# Fuzzes a running gateway from the OpenAPI file that it serves, first with a tenant's
# key, then with an operator's. No input may cause a 500, no undocumented status or
# content type, or an answer that breaks its schema (NDJSON line by line); no bad request
# is accepted, no route that answers without a credential or without its scope,
# nothing that lives on after its deletion. Every operation must have succeeded at least
# once, or the fuzz was shallow. Afterwards the gateway must be alive, its store sound,
# its log without errors, and it must stop by itself with 0.
#
# Settings: GATEWAY (a binary, instead of building one), FUZZ_EXAMPLES (per operation),
# FUZZ_PHASES (of schemathesis; "coverage" adds 20,000 requests, with each limit of each
# value), FUZZ_SEED, FUZZ_SECONDS (limit of each of the two runs), FUZZ_CHECKS, FUZZ_KEEP (a
# folder that the gateway's log and the calls are copied to). Further arguments go to
# schemathesis, for example: scripts/fuzz.sh --include-path-regex notes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

examples=${FUZZ_EXAMPLES:-12}
phases=${FUZZ_PHASES:-examples,fuzzing,stateful}
seed=${FUZZ_SEED:-20261121}
seconds=${FUZZ_SECONDS:-1200}
checks=${FUZZ_CHECKS:-not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,negative_data_rejection,ignored_auth,use_after_free,line_results,scope_needed}
tenant_scopes=notes:read,notes:write,collections:write,base:write,clone,admin
here=$PWD

schemathesis=$(scripts/install-schemathesis.sh)
serve_args=(--config tools/fuzz/gateway.yaml)
start_gateway
calls=$work/calls
export FUZZ_URL=$url

# What is never counted as a success: event streams are left out, for they do not end by
# themselves, and the contract is read before anything is counted.
excused=('GET /v1/jobs/{job}/events' 'GET /v1/collections/{collection}/changes' 'GET /openapi.yaml')

# fail MESSAGE ends the script, and shows what the gateway said last.
fail() {
	echo "fuzz: $1; the gateway's log ends:" >&2
	tail -n 30 "$log" >&2
	keep
	exit 1
}

keep() {
	if [[ -n ${FUZZ_KEEP:-} ]]; then
		mkdir -p "$FUZZ_KEEP"
		cp "$log" "$calls" "$work"/*.toml "$FUZZ_KEEP/" || true
	fi
}

# new_key ARGUMENT... prints the text of a key that it makes.
new_key() {
	SLIPBOX_DATA=$data "$gateway" key create --json "$@" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["key"])'
}

# id_of KEY prints the id in a key's text.
id_of() {
	python3 -c 'import base64, sys, uuid
print(uuid.UUID(bytes=base64.b32decode(sys.argv[1].split("_")[3].upper() + "======")))' "$1"
}

# answers KEY PATH succeeds when the gateway answers with a 2xx.
answers() {
	curl -fsS --max-time 120 -o /dev/null -H "Authorization: Bearer $1" "$url$2"
}

# seed_as NAME KEY fills the gateway, and writes what fuzz_as draws from.
seed_as() {
	FUZZ_KEY=$2 python3 tools/fuzz/seed.py "$1" "$work/$1.toml" >>"$work/kept" || fail "the gateway could not be filled"
}

# fuzz_as NAME KEY SCOPES EXAMPLES [ARGUMENT...] fuzzes the gateway after seed_as.
fuzz_as() {
	local name=$1 fuzz_key=$2 scopes=$3 examples=$4 code=0
	shift 4
	printf '\nfuzz: with the key of: %s\n' "$name"
	# Made-up credentials beside the key would turn every answer into a 401; ignored_auth
	# tries them itself. Answers may carry keys, so they are shown sanitized (the default).
	(cd "$work" && SCHEMATHESIS_HOOKS=$here/tools/fuzz/hooks.py FUZZ_CALLS=$calls FUZZ_KEPT=$work/kept FUZZ_SCOPES=$scopes \
		PYTHONDONTWRITEBYTECODE=1 timeout --kill-after=10 "$seconds" \
		"$schemathesis" --config-file "$work/$name.toml" run "$url/openapi.yaml" \
		--url "$url" \
		--header "Authorization: Bearer $fuzz_key" \
		--checks "$checks" \
		--phases "$phases" \
		--exclude-path-regex '^/v1/(jobs/.*/events|collections/.*/changes)$' \
		--max-examples "$examples" \
		--seed "$seed" \
		--generation-database none \
		--generation-with-security-parameters false \
		--request-timeout 120 \
		--continue-on-failure \
		--suppress-health-check all \
		--no-color \
		--warnings off \
		"$@") || code=$?
	case $code in
	0) ;;
	2) fail "schemathesis could not run with these arguments" ;;
	124 | 137) fail "not finished within $seconds s" ;;
	*) fail "schemathesis found failures (exit $code)" ;;
	esac
	alive || fail "the gateway does not answer any more"
}

# The keys that the fuzz uses are not the key that looks at the end, and it may not
# revoke any of them: everything after that would be a 401.
tenant_key=$(new_key --tenant default)
operator_key=$(new_key --operator)
for k in "$key" "$tenant_key" "$operator_key"; do
	id_of "$k" >>"$work/kept"
done

seed_as tenant "$tenant_key"
fuzz_as tenant "$tenant_key" "$tenant_scopes" "$examples" "$@"
answers "$key" /v1/collections/fuzz || fail "what the tenant's key sees is gone after its run"
seed_as operator "$operator_key"
fuzz_as operator "$operator_key" operator "$examples" "$@"
answers "$key" /v1/collections/fuzz || fail "an operator's fuzz reached into the default tenant"
answers "$operator_key" /v1/tenants/default || fail "the operator's key is refused after its run"

if (($# == 0)); then
	# What no drawn request has reached gets ten times as many.
	missed=()
	while read -r label; do missed+=(--include-name "$label"); done < <(python3 tools/fuzz/report.py --missed "$calls" "${excused[@]}")
	if ((${#missed[@]})); then
		fuzz_as tenant "$tenant_key" "$tenant_scopes" $((10 * examples)) "${missed[@]}"
	fi
	python3 tools/fuzz/report.py "$calls" "${excused[@]}" || fail "some operations were never tried in earnest"
fi
SLIPBOX_DATA=$data "$gateway" check || fail "the store is damaged after the run"
end_gateway || fail "the gateway did not stop cleanly (exit $?)"
if grep -nE 'panic|goroutine [0-9]+ \[|level=ERROR' "$log" >&2; then
	fail "the gateway logged these errors"
fi
keep
stop_gateway
echo "fuzz: passed"
