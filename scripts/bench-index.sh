#!/usr/bin/env bash
# Sets the index beside brute force, Go libraries and pgvector (tools/indexbench), on a
# Postgres of its own, which it starts and removes again. Prints tables in Markdown, and
# its progress on stderr. Figures and plots go to .cache/indexbench, where what was
# encoded is kept for the next run.
#
# Settings: SIZES (numbers of notes, default 1000,10000,100000), ENCODE (how many notes
# are encoded, default 40000; others are mixed from them), GRAPHS (most notes
# that HNSW graphs are built of, default 100000), TURN (seconds for each figure, default
# 3), DOCS (1: write the tables and plots into docs/, too), SLIPBOX_BENCH_PG_PORT (55453).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sizes=${SIZES:-1000,10000,100000}
flags=(-sizes "$sizes" -time "${TURN:-3}s")
command="make bench/index SIZES=$sizes"
for pair in "encode:ENCODE" "graphs:GRAPHS"; do
	name=${pair#*:}
	[[ -n ${!name:-} ]] || continue
	flags+=("-${pair%:*}" "${!name}")
	command+=" $name=${!name}"
done
[[ -z ${TURN:-} ]] || command+=" TURN=$TURN"
[[ -z ${DOCS:-} ]] || flags+=(-docs docs)

# Other servers are never used, also when the environment names some.
unset DATABASE_URL MIGRATE_DATABASE_URL REDIS_URL
SLIPBOX_SERVICES_DIR=$(mktemp -d /var/tmp/slipbox-bench.XXXXXX)
export SLIPBOX_SERVICES_DIR SLIPBOX_PG_PORT=${SLIPBOX_BENCH_PG_PORT:-55453}

clean() {
	scripts/services.sh down postgres || true
	rm -rf "$SLIPBOX_SERVICES_DIR"
}
trap clean EXIT

go build -C tools/indexbench -o "$SLIPBOX_SERVICES_DIR/indexbench" .
scripts/services.sh up postgres >&2
environment=$(scripts/services.sh env)
eval "$environment"
"$SLIPBOX_SERVICES_DIR/indexbench" "${flags[@]}" -command "$command"
