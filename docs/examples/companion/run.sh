#!/usr/bin/env bash
# A companion: it knows what happened on which day and what the application says of the person, and lets go of what is
# never spoken of again. Without a model a day is quoted; a model also writes moods, and how to answer this person.
# collection.json is its configuration: one collection for each person.
#
#   make build && docs/examples/companion/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)

say "start"
start

say "configure: a bank for one person"
api POST /collections "@$here/collection.json" | field policy
api PUT /collections/mira/profile '{"name": "Mira", "hobbies": "climbing, watercolors", "speaking_style": "warm, and short"}' >/dev/null

say "talk: three evenings"
while IFS='|' read -r day user assistant; do
	api POST '/collections/mira/messages?wait=evolved' "{\"messages\": [{\"name\": \"Mira\", \"occurred_at\": \"$day\", \"user\": \"$user\", \"assistant\": \"$assistant\"}]}" >/dev/null
	echo "  ${day%T*} $user"
done <<'TALK'
2026-03-01T19:00:00Z|I was so happy today: my watercolor of the harbor hangs in the library.|The harbor one? You worked on it for weeks!
2026-03-02T19:00:00Z|I am worried about my sister Anna. Her surgery is on Friday.|I will think of her. Shall we talk about it on Friday?
2026-03-06T19:00:00Z|Anna is well, the surgery went fine! I love that she laughed already.|What a relief. You both needed that.
TALK
# Days are summarized after the answer.
for _ in $(seq 150); do
	api GET '/collections/mira/summaries?period=day' >"$data/days.json"
	if [ "$(grep -o '"date":"[^"]*"' "$data/days.json" | wc -l)" -ge 3 ]; then break; fi
	sleep 0.1
done

say "days: what was said, one summary each"
show <"$data/days.json"

say "history: all days, each behind its date"
api GET '/collections/mira/summaries?period=global' | show

# faded prints how many notes a far quicker forgetting (tau of 86 seconds, not 30 days) would delete.
faded() { api POST /collections/mira/forget '{"dry_run": true, "mode": "threshold", "tau": 0.001}' | grep -o '"forgotten":[0-9]*'; }

say "fading: none of it was recalled"
faded

say "context: what the next prompt is given"
api POST /collections/mira/context '{"query": "How is Anna after her surgery?", "token_budget": 400}' | lines

say "fading: what that recalled is fresh again"
faded

say "verify and stop"
finish
