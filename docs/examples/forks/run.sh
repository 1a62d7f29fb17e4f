#!/usr/bin/env bash
# Two agents on one shared base. Each has a fork of its own. The researcher learns in its fork and proposes what it has
# learned; a person approves a part of it; then the seller knows it, in the base and in its own fork. Neither agent may
# write to the base. At the end the approval is rolled back.
#
#   make build && docs/examples/forks/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
base=/collections/glazes
# as NAME makes the following requests those of an agent, which may fork and write its own memory and read the base.
as() { key=$(key=$owner api POST /auth/token "{\"agent\": \"$1\", \"scopes\": [\"notes:read\", \"notes:write\", \"clone\"]}" | field access_token); }
# learn COLLECTION TEXT CONFIDENCE adds a note, and prints its id.
learn() { api POST "/collections/$1/notes" "{\"content\": \"$2\", \"attributes\": {\"confidence\": $3}}" | sed 's/.*"note":{//' | field id; }
# ask COLLECTION QUESTION prints what is found.
ask() { api POST "/collections/$1/search" "{\"query\": \"$2\", \"k\": 2}" | show; }
# changed prints what a diff holds, one note per line.
changed() { sed 's/"note":"/\n"note":"/g' | sed -n 's/.*"content":"\([^"]*\)".*"change":"\([a-z]*\)".*/  - \2: \1/p; s/.*"change":"\([a-z]*\)".*"content":"\([^"]*\)".*/  - \1: \2/p'; }

say "start"
start
owner=$key

say "base: shared by all agents"
api POST /collections '{"name": "glazes", "policy": "none"}' | field name
learn glazes "The ash glaze is fired at 1240 degrees." 1 >/dev/null

say "fork: one for each agent"
for agent in researcher seller; do
	as "$agent"
	api POST "$base/clone" "{\"name\": \"$agent\"}" | field name
done

say "learn: the researcher writes to its fork"
as researcher
blue=$(learn researcher "Rutile turns the ash glaze blue." 0.95)
learn researcher "Perhaps salt makes the ash glaze crack." 0.4 >/dev/null
api GET /collections/researcher/diff | changed
echo "  it may not write to the base:"
learn glazes "Salt is forbidden." 1 2>&1 | grep -o '"code":"[a-z_]*"' || true

say "propose: what the researcher is sure of"
api POST "$base/merge" '{"from": "researcher", "review": true, "min_confidence": 0.9, "kinds": ["note"]}' >"$data/proposed.json"
review=$(sed 's/.*"id":"\([^"]*\)","merge".*/\1/' "$data/proposed.json")
show <"$data/proposed.json"

say "before: the seller knows nothing of it"
as seller
ask glazes "What turns the glaze blue?"

say "approve: a person does"
key=$owner
api POST "/reviews/$review/approve" "{\"notes\": [\"$blue\"]}" | grep -o '"state":"approved"'

say "after: the seller finds it in the base, and brings its own fork up to date"
as seller
ask glazes "What turns the glaze blue?"
api POST /collections/seller/merge '{"from": "glazes"}' | grep -o '"merged":{[^}]*}'
ask seller "What turns the glaze blue?"

say "blame: what wrote its text, and at which revision"
api GET "$base/notes/$blue/blame" | grep -o '"content":{[^}]*}' | grep -o '"cause":"[a-z]*"\|"revision":[0-9]*'

say "follow: the log of the base, in pages or as a stream"
api GET "$base/changes?after=1" | grep -o '"cause":"[^"]*"'

say "rollback: the base as it was"
key=$owner
api POST "$base/rollback" '{"revision": 1}' | grep -o '"changed":[0-9]*'
ask glazes "What turns the glaze blue?"

say "verify and stop"
finish
