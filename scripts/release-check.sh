#!/usr/bin/env bash
# Builds a release as a tag would, and publishes nothing: versions, archives for each platform with checksums, the list of
# components of each archive when syft is installed, the chart, and the image when docker reaches its server. Says what it left out.
# Usage: release-check.sh GORELEASER_VERSION HELM_VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

goreleaser=$(scripts/install-goreleaser.sh "${1:?usage: release-check.sh GORELEASER_VERSION HELM_VERSION}")
helm=$(scripts/install-helm.sh "${2:?usage: release-check.sh GORELEASER_VERSION HELM_VERSION}")
scripts/release-versions.sh >/dev/null
"$goreleaser" check

skip=publish
command -v syft >/dev/null || { skip=$skip,sbom; echo "syft is not installed: no list of components was made" >&2; }
# The flags of make are not those of a release.
GOFLAGS='' "$goreleaser" release --snapshot --clean --skip="$skip"
(cd dist && sha256sum --quiet -c SHA256SUMS)
"$helm" package charts/slipbox -d dist
ls -hs dist/*gz

if docker info >/dev/null 2>&1; then
	docker build -f deploy/Dockerfile -t slipbox:release-check .
	docker run --rm slipbox:release-check version
else
	echo "docker reaches no server: no image was built (make chart/check reads deploy/Dockerfile)" >&2
fi
