#!/usr/bin/env bash
# Runs what .ci/run leaves out or does with small numbers. It takes hours, and prints how
# long each step took. Needs what .ci/run needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/steps.sh
source scripts/steps.sh

GOFLAGS=$(make -s goflags)
export GOFLAGS CGO_ENABLED=1 RAPID_CHECKS=500 SLIPBOX_KILL_ROUNDS=20

make_() { make --no-print-directory "$@"; }

# all_tests [NAME=VALUE...] runs every test of the module with the race detector.
# all_tests runs every test of the module with the race detector.
all_tests() (
	env=$(scripts/services.sh env)
	eval "$env"
	SLIPBOX_REQUIRE_SERVICES=1 go test -race -shuffle=on -timeout=120m ./...
)

step "services" make_ services
step "encoder" make_ encoder
step "all tests, with the race detector" all_tests
step "packages over a store, on Postgres" make_ test/postgres
step "coverage" make_ cover RAPID_CHECKS=20
step "fuzz targets" make_ test/fuzz/go
step "contract fuzz" env FUZZ_EXAMPLES=25 scripts/fuzz.sh
step "faults" make_ test/faults
print_summary
