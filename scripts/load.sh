#!/usr/bin/env bash
# Measures what one tenant's flood does to the others (test/load), on the embedded engine or on a
# Postgres with fsync and a Redis of its own, which it starts and removes again.
#
# Settings: ENGINE (embedded, the default, or servers), LOAD (further flags of test/load),
# SLIPBOX_LOAD_PG_PORT (55462), SLIPBOX_LOAD_REDIS_PORT (56409), SLIPBOX_BINARIES (a folder with gateway
# and worker; default: they are built).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

engine=${ENGINE:-embedded}
# Never another's servers: the environment may name some.
unset DATABASE_URL MIGRATE_DATABASE_URL REDIS_URL
dir=$(mktemp -d /var/tmp/slipbox-load.XXXXXX)
chmod 755 "$dir"

clean() {
	if [ "$engine" = servers ]; then
		scripts/services.sh down || true
	fi
	rm -rf "$dir"
}
trap clean EXIT

mkdir "$dir/bin"
if [ -n "${SLIPBOX_BINARIES:-}" ]; then
	cp "$SLIPBOX_BINARIES/gateway" "$SLIPBOX_BINARIES/worker" "$dir/bin/"
else
	go build -o "$dir/bin/" ./cmd/gateway ./cmd/worker
fi
go build -o "$dir/bin/" ./test/load
if [ "$engine" = servers ]; then
	export SLIPBOX_SERVICES_DIR=$dir/services SLIPBOX_PG_FSYNC=on
	export SLIPBOX_PG_PORT=${SLIPBOX_LOAD_PG_PORT:-55462} SLIPBOX_REDIS_PORT=${SLIPBOX_LOAD_REDIS_PORT:-56409}
	scripts/services.sh up
	environment=$(scripts/services.sh env)
	eval "$environment"
	"$dir/bin/gateway" migrate up
fi
read -r -a flags <<<"${LOAD:-}"
"$dir/bin/load" --bin "$dir/bin" --engine "$engine" "${flags[@]}"
