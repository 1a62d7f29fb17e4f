#!/usr/bin/env bash
# Installs helm at the version given and prints the path of the binary.
# Usage: install-helm.sh VERSION      (for example 3.22.0, without "v")
#
# Building it from source takes some minutes, once per version.
# It may be run by several processes at once, and repairs a half-done install.
set -euo pipefail
# shellcheck source=scripts/go-tool.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-tool.sh"

version=${1:?usage: install-helm.sh VERSION}
major=${version%%.*}
module=helm.sh/helm/v$major
dir=$(tool_dir helm "$version")

# kubernetes_minor prints the minor version of the Kubernetes 1 whose client this helm uses:
# client-go 0.N belongs to Kubernetes 1.N.
kubernetes_minor() {
	local go_mod
	go_mod=$(cd / && GOFLAGS='' go mod download -json "$module@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
	sed -n 's/^\tk8s\.io\/client-go v0\.\([0-9]*\)\..*/\1/p' "$go_mod"
}
minor=$(kubernetes_minor)
[[ $minor =~ ^[0-9]+$ ]] || { echo "the version of k8s.io/client-go in $module@v$version was not found" >&2; exit 1; }

# usable succeeds when the binary runs, has the version asked for, and takes the Kubernetes of
# its client for the version of a cluster that it cannot ask.
usable() {
	[[ -x $dir/helm ]] || return 1
	local said chart
	said=$("$dir/helm" version --template '{{.Version}}' 2>/dev/null) || return 1
	[[ $said == "v$version" ]] || return 1
	chart=$(mktemp -d)
	mkdir "$chart/templates"
	printf 'apiVersion: v2\nname: probe\nversion: 0.0.1\n' >"$chart/Chart.yaml"
	echo 'kubernetes: {{ .Capabilities.KubeVersion.Version }}' >"$chart/templates/probe.yaml"
	said=$(KUBECONFIG=$chart/none "$dir/helm" template "$chart" 2>/dev/null) || said=
	rm -rf "$chart"
	[[ $said == *"kubernetes: v1.$minor.0"* ]]
}

# Its version and that of Kubernetes are variables that helm's own Makefile sets.
export CGO_ENABLED=0
flags="-s -w -X $module/internal/version.version=v$version"
for package in chartutil lint/rules; do
	flags+=" -X $module/pkg/$package.k8sVersionMajor=1 -X $module/pkg/$package.k8sVersionMinor=$minor"
done
install_tool "$dir" helm "$version" -trimpath -ldflags "$flags" "$module/cmd/helm@v$version"
