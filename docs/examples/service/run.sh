#!/usr/bin/env bash
# Customer service: facts about a customer that are true now, with what was true before, and what the house knows
# beside them. Card numbers are never stored. collection.json is its configuration: one collection for each customer.
#
#   make build && docs/examples/service/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)
# relations prints the relations of a list, one per line.
relations() { sed 's/{"/\n{"/g' | sed -n 's/.*"object":"\([^"]*\)".*"relation":"\([^"]*\)".*/  - \2 \1/p'; }

say "start"
start

say "configure: facts and relations of one customer, and a handbook for all"
api POST /collections "@$here/collection.json" | field policy
api POST /collections '{"name": "handbook", "policy": "none"}' | field policy
api POST /collections/handbook/notes '{"content": "A kettle of the series K3 that leaks is replaced within two years, without a receipt."}' >/dev/null

say "first call"
api POST '/collections/customer-4711/messages?wait=evolved' '{"messages": [{"id": "call-1", "session": "call-1", "name": "Ben",
	"occurred_at": "2026-03-02T09:00:00Z", "user": "I live in Porto. I work at the Hotel Miramar. My kettle K3 leaks.", "assistant": "We will replace it."}]}' >"$data/learned.json"
grep -o '"memory":"[^"]*"' "$data/learned.json" | sed 's/^"memory":"/  - /; s/"$//'

say "second call: he moved, and says a card number that nobody may store"
api POST '/collections/customer-4711/messages?wait=evolved' '{"messages": [{"id": "call-2", "session": "call-2", "name": "Ben",
	"occurred_at": "2026-03-20T09:00:00Z", "user": "I moved to Lisbon last week. My card is 4111 1111 1111 1111.", "assistant": "Thank you."}]}' >"$data/learned.json"
grep -o '"memory":"[^"]*"' "$data/learned.json" | sed 's/^"memory":"/  - /; s/"$//'
grep -i '^slipbox-redacted' "$data/headers"
api GET /collections/customer-4711/messages | show

say "now: what holds"
api GET '/collections/customer-4711/facts?subject=Ben' | relations

say "before: what held once"
api GET '/collections/customer-4711/facts?subject=Ben&valid=false' | relations

say "answer: the rule of the house, and the customer"
api POST /collections/handbook/search '{"query": "leaking kettle K3", "k": 1}' | show
api POST /collections/customer-4711/context '{"query": "Where do we send the new kettle?", "token_budget": 200}' | lines

say "verify and stop"
finish
