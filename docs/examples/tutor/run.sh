#!/usr/bin/env bash
# A tutor: each lesson leaves an observation, which is linked to what was seen before and may change how older ones are
# described. So an old mistake is found from a new one. collection.json is its configuration: one collection for each student.
#
#   make build && docs/examples/tutor/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)

say "start"
start

say "configure: notes that are linked and described"
api POST /collections "@$here/collection.json" | field policy

say "observe: what four lessons showed"
while IFS='|' read -r day topic content; do
	api POST '/collections/lea/notes?wait=evolved' "{\"content\": \"$content\", \"category\": \"$topic\", \"occurred_at\": \"${day}T16:00:00Z\", \"attributes\": {\"grade\": 6}}" >"$data/note.json"
	last=$(sed 's/.*"note":{//' "$data/note.json" | field id)
	echo "  - $content"
done <<'LESSONS'
2026-02-02|fractions|Lea adds fractions by adding numerator and denominator: 1/2 + 1/3 gave 2/5.
2026-02-09|reading|Lea reads maps well and explains the scale of a map to others.
2026-02-16|percent|Lea turns fractions into percent by dividing numerator by denominator, without mistakes.
2026-02-23|algebra|Lea adds fractions with letters again by adding numerator and denominator: a/2 + a/3 gave 2a/5.
LESSONS

say "links: which older observations the last one leads to"
api GET "/collections/lea/notes/$last/links" >"$data/links.json"
grep -o '"target":"[^"]*"' "$data/links.json" | wc -l

say "plan: what the tutor has to know before the next lesson"
api POST /collections/lea/search '{"query": "Which mistakes does Lea make with fractions?", "k": 3, "expand_links": 1}' | show

say "since: only what this month's lessons on algebra showed"
api POST /collections/lea/search '{"query": "fractions", "filter": {"field": "category", "op": "eq", "value": "algebra"}}' | show

say "verify and stop"
finish
