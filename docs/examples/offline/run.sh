#!/usr/bin/env bash
# A whole session without a network: no account, no model, no key of another service. It starts a
# gateway on a temporary directory, creates a collection, adds notes, searches, forks, prints a
# history, and stops.
#
#   make build && docs/examples/offline/run.sh
#
# GATEWAY names another binary (default bin/gateway), PORT another port (default 8765). It needs bash,
# curl, grep and sed. To see that it needs no network, run it without one:
#
#   unshare -rn sh -c 'ip link set lo up && docs/examples/offline/run.sh'
set -euo pipefail

here=$(cd "$(dirname "$0")/../../.." && pwd)
gateway=${GATEWAY:-$here/bin/gateway}
url=http://127.0.0.1:${PORT:-8765}
if ! [ -x "$gateway" ]; then
	echo "$gateway does not exist: run \"make build\", or set GATEWAY" >&2
	exit 1
fi

data=$(mktemp -d)
pid=
stop() {
	status=$?
	if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then wait "$pid" || true; fi
	rm -rf "$data"
	exit "$status"
}
trap stop EXIT

say() { printf '\n== %s\n' "$*"; }
# api METHOD PATH [BODY] sends one request. A refusal ends the script.
api() {
	curl -sS --noproxy '*' --fail-with-body -X "$1" "$url/v1$2" \
		-H "Authorization: Bearer $key" -H 'Content-Type: application/json' ${3:+-d "$3"}
}
# field NAME prints the first text of that name in the JSON on stdin.
field() { grep -o "\"$1\":\"[^\"]*\"" | sed -n "1s/^\"$1\":\"\(.*\)\"$/\1/p"; }
# show prints the contents of notes or hits, one per line.
show() { grep -o '"content":"[^"]*"' | sed 's/^"content":"/  - /; s/"$//'; }

say "start: one binary, an empty directory, the analyst that needs no model"
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

say "init: a collection of the agent ada"
api POST /collections '{"name": "diary", "agent": "ada"}' | field name

say "add: the answer comes at once; wait=evolved waits until a note is described and linked"
while read -r content; do
	api POST '/collections/diary/notes?wait=evolved' "{\"content\": \"$content\"}" >"$data/note.json"
	first=${first:-$(sed 's/.*"note":{//' "$data/note.json" | field id)}
	echo "  - $content"
	grep -o '"keywords":\[[^]]*\]' "$data/note.json" | sed 's/^/      /'
done <<'NOTES'
Grandmother's sourdough bread recipe needs rye flour and a long night in the cellar.
The bicycle repair workshop on Mill Street opens on Tuesdays and Fridays.
Tried the sourdough bread recipe with rye flour: two nights in the cellar are better than one.
Ines moved to Porto and restores tiles for the railway station.
NOTES

say "search: by words and by meaning, with what is linked"
api POST /collections/diary/search '{"query": "how long does the rye bread rest?", "k": 2, "expand_links": 1}' >"$data/hits.json"
show <"$data/hits.json"

say "fork: one row for the agent bob; his writes stay in the fork"
api POST /collections/diary/clone '{"agent": "bob", "name": "bobs-diary"}' >/dev/null
api POST '/collections/bobs-diary/notes?wait=evolved' '{"content": "Bob thinks that the rye bread is too sour."}' >/dev/null
echo "bob's:"
api GET /collections/bobs-diary/notes | show
echo "ada's:"
api GET /collections/diary/notes | show

say "history: each version of the first note, newest first, and its cause"
api GET "/collections/diary/notes/$first/history" >"$data/history.json"
grep -o '"cause":"[^"]*"' "$data/history.json" | sed 's/^"cause":"/  - /; s/"$//'

say "verify and stop"
"$gateway" check --data "$data"
kill "$pid"
wait "$pid"
pid=
echo "done"
