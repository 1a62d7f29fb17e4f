#!/usr/bin/env bash
# Runs what .ci/run leaves out or does with small numbers. It takes hours, and prints how
# long each step took. Needs what .ci/run needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/steps.sh
source scripts/steps.sh

GOFLAGS=$(make -s goflags)
# Files with "//go:build night" hold the longest tests.
GOFLAGS="${GOFLAGS/-tags=/-tags=night,}"
export GOFLAGS CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 RAPID_CHECKS=500 SLIPBOX_FORK_STEPS=100000 KILL_ROUNDS=20 SLIPBOX_HOSTILE=full SLIPBOX_SETUPS=all SLIPBOX_EXCHANGES=all SLIPBOX_POOLER_MODES=all

run() { make --no-print-directory "$@"; }

# all_tests runs every test of the module with the race detector.
all_tests() (
	env=$(scripts/services.sh env)
	eval "$env"
	SLIPBOX_REQUIRE_SERVICES=1 go test -race -shuffle=on -count=1 -timeout=120m ./...
)

# rollback runs a release beside the next one, for minutes.
rollback() (
	env=$(scripts/services.sh env)
	eval "$env"
	SLIPBOX_REQUIRE_SERVICES=1 SLIPBOX_ROLLBACK_SECONDS=300 go test -run TestRollBack -count=1 -timeout=30m -v ./cmd/gateway
)

# extras installs the Python client with all of its extras into an empty environment, as pip resolves them today, and imports each adapter.
extras() (
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	python3 -m venv "$tmp/venv"
	"$tmp/venv/bin/pip" install --quiet --disable-pip-version-check './sdk/python[all]'
	"$tmp/venv/bin/pip" check
	cd "$tmp"
	for module in "$OLDPWD"/sdk/python/src/slipbox/[a-z]*.py; do
		"$tmp/venv/bin/python" -c "import slipbox.$(basename "$module" .py)"
	done
)

step "services" run services
step "encoder" run encoder
step "all extras of the Python client, newest" extras
step "all tests, with the race detector" all_tests
step "tests that the race detector leaves out" run test/long COUNT=1
step "packages over a store, on Postgres" run test/postgres WHOLE=1
step "chart" run chart/check
step "growth" go test -C tools/growth -timeout 5m ./...
step "a release beside the next one" rollback
step "coverage" run cover RAPID_CHECKS=20
step "fuzz targets" run test/fuzz/go
step "a history of a million tokens, side by side" run compare OUT="$(mktemp -d)" \
	COMPARE='--generate 1000000 --policies none --baselines full-context,sliding-window --per-add 20'
step "a newcomer's path, with 2,000 conversations" env CONVERSATIONS=2000 scripts/newcomer.sh
step "a history of a gigabyte, in constant memory" env SLIPBOX_HISTORY_MB=1024 go test -run TestConstantMemory -count=1 -timeout=60m -v ./internal/memory/transfer
step "contract fuzz" env FUZZ_EXAMPLES=25 FUZZ_PHASES=examples,coverage,fuzzing,stateful scripts/fuzz.sh
step "console, with 100,000 notes" run test/console CONSOLE_NOTES=100000 SCREENSHOTS="$(mktemp -d)"
step "attack" run attack
step "an hour of use" run soak SLIPBOX_SOAK_SECONDS=1200
step "policies at 10,000 messages" env SLIPBOX_FLAT_SIZES=100,10000 go test -run TestFlat -count=1 -timeout=120m -v ./test/bench
step "faults" run test/faults
step "faults, 120 kills" run test/faults SLIPBOX_FAULT_SECONDS=900
print_summary
