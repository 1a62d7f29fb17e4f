#!/usr/bin/env bash
# Customer service: what a customer said, newest first and with its dates, and what the house knows beside it. Card
# numbers are never stored. Without a model nothing is replaced: that he moved is shown before where he lived. A model also
# ends what is no longer true, and writes relations with their times. collection.json is its configuration: one collection
# for each customer.
#
#   make build && docs/examples/service/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)

say "start"
start

say "configure: facts and relations of one customer, and a handbook for all"
api POST /collections "@$here/collection.json" | field policy
api POST /collections '{"name": "handbook", "policy": "none"}' | field policy
api POST /collections/handbook/notes '{"content": "A kettle of the series K3 that leaks is replaced within two years, without a receipt."}' >/dev/null

say "first call"
api POST '/collections/customer-4711/messages?wait=evolved' '{"messages": [{"id": "call-1", "session": "call-1", "name": "Ben",
	"occurred_at": "2026-03-02T09:00:00Z", "user": "I live in Porto. I work at the Hotel Miramar. My kettle K3 leaks.", "assistant": "We will replace it."}]}' >"$data/learned.json"
first=$(grep -o '"revision":[0-9]*' "$data/learned.json" | tail -1 | grep -o '[0-9]*')
grep -o '"memory":"[^"]*"' "$data/learned.json" | sed 's/^"memory":"/  - /; s/"$//'

say "second call: he moved, and says a card number that nobody may store"
api POST '/collections/customer-4711/messages?wait=evolved' '{"messages": [{"id": "call-2", "session": "call-2", "name": "Ben",
	"occurred_at": "2026-03-20T09:00:00Z", "user": "I live in Lisbon now. My card is 4111 1111 1111 1111.", "assistant": "Thank you."}]}' >"$data/learned.json"
grep -o '"memory":"[^"]*"' "$data/learned.json" | sed 's/^"memory":"/  - /; s/"$//'
grep -i '^slipbox-redacted' "$data/headers"
api GET /collections/customer-4711/messages | show

say "where: what contradicts is found together, the newest first"
api POST /collections/customer-4711/search '{"query": "Where does Ben live?", "k": 2}' | show

say "then: what was known after the first call"
api POST /collections/customer-4711/search "{\"query\": \"Where does Ben live?\", \"k\": 2, \"as_of\": $first}" | show

say "answer: the rule of the house, and what the customer said"
api POST /collections/handbook/search '{"query": "leaking kettle K3", "k": 1}' | show
api POST /collections/customer-4711/context '{"query": "Where do we send the new kettle?", "token_budget": 200}' | lines

say "verify and stop"
finish
