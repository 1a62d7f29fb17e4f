#!/usr/bin/env bash
# Measures the set-up of servers (BenchmarkServers) on a Postgres with fsync and a Redis
# of its own, which it starts and removes again, and prints tables of the results. Progress and
# each result go to stderr.
#
# Settings: SLIPBOX_BENCH_SIZES (notes of the collections, default 500,10000,100000),
# SLIPBOX_BENCH_TURN (how long each figure is measured, default 2s), BENCH (a part, such as
# Servers/search), SLIPBOX_BENCH_PG_PORT (55452), SLIPBOX_BENCH_REDIS_PORT (56399). The Makefile
# sets BENCHSTAT_VERSION.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export SLIPBOX_BENCH_SIZES=${SLIPBOX_BENCH_SIZES:-500,10000,100000}
export SLIPBOX_BENCH_TURN=${SLIPBOX_BENCH_TURN:-2s}
bench=${BENCH:-Servers}

# Never another's servers: the environment may name some.
unset DATABASE_URL MIGRATE_DATABASE_URL REDIS_URL
SLIPBOX_SERVICES_DIR=$(mktemp -d /var/tmp/slipbox-bench.XXXXXX)
export SLIPBOX_SERVICES_DIR SLIPBOX_PG_FSYNC=on SLIPBOX_REQUIRE_SERVICES=1
export SLIPBOX_PG_PORT=${SLIPBOX_BENCH_PG_PORT:-55452} SLIPBOX_REDIS_PORT=${SLIPBOX_BENCH_REDIS_PORT:-56399}

clean() {
	scripts/services.sh down || true
	rm -rf "$SLIPBOX_SERVICES_DIR"
}
trap clean EXIT

benchstat=$(scripts/install-benchstat.sh "${BENCHSTAT_VERSION:?run make bench/servers}")
scripts/services.sh up
environment=$(scripts/services.sh env)
eval "$environment"
{
	echo "command: SLIPBOX_BENCH_SIZES=$SLIPBOX_BENCH_SIZES SLIPBOX_BENCH_TURN=$SLIPBOX_BENCH_TURN BENCH='$bench' make bench/servers"
	# Each part runs once, and times by itself.
	TMPDIR=$SLIPBOX_SERVICES_DIR go test -run '^$' -bench "$bench" -benchtime 1x -timeout 30m ./test/bench
} | tee >(cat >&2) | "$benchstat" -
