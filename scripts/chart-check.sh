#!/usr/bin/env bash
# Checks the Helm chart and the container file, without a cluster or a container engine.
# Usage: chart-check.sh HELM_VERSION
#
# Each values file in ci/ must pass helm's lint and render manifests that tools/chartcheck
# has nothing against. Each one in ci/refused/, laid over ci/minimal.yaml, must be refused
# with the message that its first line expects. The notes must ask for what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

helm=$(scripts/install-helm.sh "${1:?usage: chart-check.sh HELM_VERSION}")
chart=charts/slipbox
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nothing of the user's own Helm or cluster takes part.
export HELM_CONFIG_HOME=$work/helm HELM_CACHE_HOME=$work/helm HELM_DATA_HOME=$work/helm KUBECONFIG=$work/none

# The oldest Kubernetes that the chart allows, and the one whose types chartcheck knows.
versions=(1.30.0 1.37.0)

export GOFLAGS=-buildvcs=false
go test -C tools/chartcheck -timeout 5m ./...
go build -C tools/chartcheck -o "$work/chartcheck" .

failed=0
fail() {
	printf '%s\n' "$@" >&2
	failed=1
}

# render VALUES... renders the chart into $work/manifests, its errors into $work/errors.
render() {
	local args=() file
	for file in "$@"; do args+=(-f "$file"); done
	"$helm" template release "$chart" -n memory --kube-version "$kube" "${args[@]}" >"$work/manifests" 2>"$work/errors"
}

shopt -s nullglob
accepted=("$chart"/ci/*.yaml) refused=("$chart"/ci/refused/*.yaml)
((${#accepted[@]} >= 3 && ${#refused[@]} > 0)) || fail "$chart/ci has no values to check with"

for values in "${accepted[@]}"; do
	# It says on stderr for each link that it follows it.
	"$helm" lint --strict --quiet "$chart" -f "$values" 2>"$work/errors" || fail "$values: helm lint failed:" "$(<"$work/errors")"
	for kube in "${versions[@]}"; do
		if ! render "$values"; then
			fail "$values: helm template failed for Kubernetes $kube:" "$(<"$work/errors")"
		elif ! "$work/chartcheck" manifests docs/watching.md <"$work/manifests" >"$work/mistakes"; then
			fail "$values: Kubernetes $kube:" "$(<"$work/mistakes")"
		fi
	done
done

kube=${versions[0]}
# Each example fits the values that it is for; the first makes every entry that the pods of the smallest installation read.
for pair in external-secrets:minimal cloudnativepg-valkey:cloudnativepg; do
	example=$chart/examples/${pair%:*}.yaml values=$chart/ci/${pair#*:}.yaml
	render "$values" || fail "$values: helm template failed" "$(<"$work/errors")"
	{ cat "$work/manifests"; echo ---; cat "$example"; } >"$work/both"
	"$work/chartcheck" manifests docs/watching.md <"$work/both" >"$work/mistakes" || fail "$example:" "$(<"$work/mistakes")"
done

for values in "${refused[@]}"; do
	expected=$(sed -n '1s/^# expect: //p' "$values")
	if [[ -z $expected ]]; then
		fail "$values: the first line does not say what is expected (# expect: MESSAGE)"
	elif render "$chart/ci/minimal.yaml" "$values"; then
		fail "$values: was rendered, and should be refused with: $expected"
	elif ! grep -qF -- "$expected" "$work/errors"; then
		fail "$values: was refused, but not with: $expected" "$(<"$work/errors")"
	fi
done
# Without any values, each of the required ones is named.
if render; then
	fail "the chart was rendered without values"
else
	for path in "'/image': missing property 'repository'" "'/secrets/"{database,redis,wrappingKey,migrations}"': missing property 'name'"; do
		grep -qF -- "$path" "$work/errors" || fail "without values, $path is not said:" "$(<"$work/errors")"
	done
fi

# Helm prints its notes only where there is a cluster: a copy of the chart renders them as a manifest.
cp -RL "$chart" "$work/noted"
{
	echo '{{- define "notes" }}'
	cat "$chart/templates/NOTES.txt"
	echo '{{- end }}notes: {{ include "notes" . | toJson }}'
} >"$work/noted/templates/notes.yaml"
# notes VALUES... prints what Helm says after an install.
notes() { "$helm" template release "$work/noted" -n memory --kube-version "$kube" --show-only templates/notes.yaml -f "$@" 2>&1; }
# Behind a proxy they say that it has to be trusted, until it is.
trusted=SLIPBOX_TRUSTED_PROXIES
for values in full routed; do
	[[ $(notes "$chart/ci/$values.yaml") == *"--set settings.$trusted="* ]] || fail "$chart/ci/$values.yaml: the notes do not name $trusted"
done
said="$(notes "$chart/ci/minimal.yaml") $(notes "$chart/ci/full.yaml" --set "settings.$trusted=10.0.0.0/8")"
[[ $said == *"rollout status"*"rollout status"*"rollout status"*"rollout status"* && $said != *"$trusted"* ]] ||
	fail "the notes ask for $trusted without need, or there are none:" "$said"

"$work/chartcheck" settings "$chart/values.schema.json" . >"$work/mistakes" || fail "$(<"$work/mistakes")"
"$work/chartcheck" values "$chart/values.yaml" "$chart/README.md" >"$work/mistakes" || fail "$(<"$work/mistakes")"
"$work/chartcheck" dockerfile deploy/Dockerfile >"$work/mistakes" || fail "$(<"$work/mistakes")"

((failed == 0)) || exit 1
echo "chart: ${#accepted[@]} sets of values accepted, ${#refused[@]} refused as expected; settings, page and container file are in order"
