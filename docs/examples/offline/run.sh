#!/usr/bin/env bash
# A whole session without a network: no account, no model, no key of another service. It starts a
# gateway on a temporary directory, creates a collection, adds notes, searches, forks, prints a
# history, and stops.
#
#   make build && docs/examples/offline/run.sh
#
# To see that it needs no network, run it without one:
#
#   unshare -rn sh -c 'ip link set lo up && docs/examples/offline/run.sh'
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"

say "start: one binary, an empty directory, the analyst that needs no model"
start

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
finish
