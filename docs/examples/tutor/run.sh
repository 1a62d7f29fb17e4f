#!/usr/bin/env bash
# A tutor: subjects come back over months. Lessons become sessions by theme, so an old mistake is found beside a new one;
# what is practiced often stays hot and is analyzed: the profile of the student has what she said, with its date. Each
# move says why. That is the policy memoryos: one person, themes that return. A model also writes traits, with evidence.
# collection.json is its configuration: one collection for each student. A lesson is short here, so the short tier has
# room for two exchanges and a session is analyzed early; leave both out for real ones.
#
#   make build && docs/examples/tutor/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)
lea=/collections/lea
# items splits the objects of a list, one per line.
items() { sed 's/{"/\n{"/g'; }

say "start"
start

say "configure: tiers for one student"
api POST /collections "@$here/collection.json" | field policy

say "teach: what was said in four lessons"
while IFS='|' read -r day user assistant; do
	api POST "$lea/messages?wait=evolved" "{\"messages\": [{\"session\": \"$day\", \"name\": \"Lea\", \"occurred_at\": \"${day}T16:00:00Z\", \"user\": \"$user\", \"assistant\": \"$assistant\"}]}" >/dev/null
	echo "  $day $user"
done <<'LESSONS'
2026-02-02|I add fractions like this: 1/2 + 1/3 is 2/5.|Not yet: fractions need a common denominator first. 1/2 + 1/3 is 5/6.
2026-02-02|I want to understand why fractions need a common denominator.|Because halves and thirds are parts of different size. The common denominator cuts both fractions into parts of one size.
2026-02-09|I love maps! I drew a map of our village, and its scale is 1 to 500.|A beautiful map. How many meters is one centimeter on it?
2026-02-09|One centimeter on the map is five meters.|Right, you read the scale of a map well.
2026-02-16|I am nervous about the test on fractions on Friday.|Then we practice fractions: find the common denominator of 1/4 and 1/6.
2026-02-16|The common denominator of the fractions is 12.|Correct, and so fast.
2026-02-23|Fractions with letters: a/2 + a/3 is 2a/5, right?|The same mistake as with 1/2 + 1/3: find the common denominator of the fractions first.
2026-02-23|I play chess with my brother on Sundays.|Nice! We can do a chess problem some day.
2026-03-02|Can we draw graphs today?|Yes, get your ruler.
2026-03-02|My graph is a straight line.|Well done.
LESSONS

say "moves: why an exchange is where it is, newest first"
api GET "$lea/moves" | items | sed -n 's/.*"from":"\([a-z]*\)".*"reason":"\([^"]*\)".*"to":"\([a-z]*\)".*/  - \1 to \3: \2/p'

say "profile: what Lea said that says most, in order"
api GET "$lea/profile" | field portrait | sed 's/ \(20[0-9-]*: \)/\n\1/g' | sed 's/^/  - /'

say "plan: what the tutor has to know before the next lesson"
api POST "$lea/search" '{"query": "Which mistakes does Lea make when she adds fractions?", "k": 7}' | show

say "context: the profile, the old lessons that matter, and the newest exchanges"
api POST "$lea/context" '{"query": "Lea adds fractions", "token_budget": 500}' | lines

say "themes: the hottest first; what was asked for is hot"
# Visits are counted after the answer.
for _ in $(seq 150); do
	api GET "$lea/sessions" | items | sed -n 's/.*"pages":\([0-9]*\).*"theme":"\([^"]*\)".*"visits":\([0-9]*\).*/  - \2: pages \1, visits \3/p' >"$data/themes"
	if sed -n 1p "$data/themes" | grep -qi fractions; then break; fi
	sleep 0.1
done
cat "$data/themes"
echo

say "verify and stop"
finish
