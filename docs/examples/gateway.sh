# shellcheck shell=bash
# What the examples share: they source this file, which starts a gateway on a temporary directory, without
# a network, a model or a key of another service, and removes all of it when the example ends.
#
# GATEWAY names another binary than bin/gateway, PORT another port than 8765. It needs bash, curl, grep and sed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
gateway=${GATEWAY:-$root/bin/gateway}
url=http://127.0.0.1:${PORT:-8765}
if ! [ -x "$gateway" ]; then
	echo "$gateway does not exist: run \"make build\", or set GATEWAY" >&2
	exit 1
fi

data=$(mktemp -d)
pid=
key=
cleanup() {
	status=$?
	if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then wait "$pid" || true; fi
	rm -rf "$data"
	exit "$status"
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
# api METHOD PATH [BODY] sends one request and prints the answer. A body that begins with @ is a file. A refusal
# is printed as an error and ends the example. The headers of the answer are in $data/headers.
api() {
	if ! curl -sS --noproxy '*' --fail-with-body -X "$1" "$url/v1$2" -o "$data/answer" -D "$data/headers" \
		-H "Authorization: Bearer $key" -H 'Content-Type: application/json' ${3:+-d "$3"}; then
		cat "$data/answer" >&2
		return 1
	fi
	cat "$data/answer"
}
# field NAME prints the first text of that name in the JSON on stdin.
field() { grep -o "\"$1\":\"[^\"]*\"" | sed -n "1s/^\"$1\":\"\(.*\)\"$/\1/p"; }
# show prints the contents of notes or hits, one per line.
show() { grep -o '"content":"[^"]*"' | sed 's/^"content":"/  - /; s/"$//'; }
# lines prints the text of a context.
lines() { sed 's/^{"text":"\(\([^"\\]\|\\.\)*\)".*/\1/; s/\\n/\n/g; s/\\"/"/g' | sed 's/^/  /'; echo; }

# start serves until the example ends.
start() {
	SLIPBOX_LLM=heuristic SLIPBOX_EMBEDDER=hash "$gateway" serve \
		--data "$data" --addr "${url#http://}" --log-level warn >"$data/first-start" &
	pid=$!
	# The gateway has the address as soon as it has printed its key.
	for _ in $(seq 150); do
		if grep -q '^key: ' "$data/first-start" && curl -sS --noproxy '*' -o /dev/null "$url/readyz" 2>/dev/null; then break; fi
		if ! kill -0 "$pid" 2>/dev/null; then
			pid=
			echo "the gateway did not start; is the port taken? Set PORT to another one" >&2
			exit 1
		fi
		sleep 0.1
	done
	key=$(sed -n 's/^key: //p' "$data/first-start")
	echo "  $url serves from a temporary directory"
}

# finish verifies the store and stops the gateway.
finish() {
	"$gateway" check --data "$data"
	kill "$pid"
	wait "$pid"
	pid=
	echo "done"
}
