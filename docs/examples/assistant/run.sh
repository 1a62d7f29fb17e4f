#!/usr/bin/env bash
# A personal assistant: two calls, remember and recall. It says what it keeps in which layer and what it does not keep
# and why, and shows what contradicts instead of choosing. Without a model it knows eight relations, by their published
# phrases (name, place, likes ...); a model knows any. The policy is layered, because that is what it is for; an
# assistant that acts by itself, with tools and events, is in ../agent. The working layer is small here, and a
# consolidation comes when it is asked for; leave the settings out for one after every fifth turn.
# collection.json is its configuration: one collection for each person.
#
#   make build && docs/examples/assistant/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)
aide=/collections/aide

# remember TEXT stores what the user says, and prints the layers that hold it and the reasons of the others.
remember() {
	api POST "$aide/remember" "{\"role\": \"user\", \"content\": \"$1\"}" >"$data/remembered.json"
	echo "  - $1"
	grep -o '"layer":"[a-z]*","note"\|"layer":"[a-z]*","reason":"[^"]*"' "$data/remembered.json" |
		sed 's/"layer":"\([a-z]*\)","note"/      \1/; s/"layer":"\([a-z]*\)","reason":"\([^"]*\)"/      not \1: \2/'
}
# recall QUESTION prints what is found, best first, with the layers that hold it.
recall() {
	api POST "$aide/recall" "{\"query\": \"$1\", \"combined\": true, \"k\": 3}" | sed 's/{"layer":/\n&/g' |
		sed -n 's/.*"layers":\["\([^]]*\)"\].*"content":"\([^"]*\)".*/  - \2 [\1]/p' | sed 's/","/, /g'
	echo
}
# facts prints what is known and how surely, one relation per line; "contested" are those that another one contradicts.
facts() {
	api GET "$aide/facts" | sed 's/{"/\n{"/g' |
		sed -n 's/.*"confidence":\([0-9.]*\),\("contested":true,\)\?.*"object":"\([^"]*\)".*"relation":"\([^"]*\)".*/  - \4: \3 (\1)\2/p' |
		sed 's/"contested":true,/ contested/'
	echo
}

say "start"
start

say "configure: three layers for one person"
api POST /collections "@$here/collection.json" | field policy

say "remember: which layer holds it, and which does not and why"
remember "My name is Nora Weiss and I am an architect."
remember "I live in Porto."
remember "Remember: no meetings before ten."
remember "What a gray day."
remember "I prefer the train to the plane."
remember "My dentist is Dr. Prado, Rua Augusta 12."

say "contradict: both are shown, the older one is less sure"
remember "I live in Lisbon."
facts

say "settle: what is said again holds"
remember "As I said, I live in Lisbon now."
remember "I live in Lisbon, near the river."
facts

say "recall: one answer from all layers"
recall "Where do I live?"
echo "About meetings:"
recall "What did I say about meetings?"

say "consolidate: what matters and was only in the working layer becomes an episode, once"
api POST "$aide/remember" '{"content": "The train to Lisbon leaves on Thursday at 6:40.", "layers": ["working"], "importance": 0.8}' >/dev/null
for _ in 1 2; do
	job=$(api POST "$aide/consolidate" | field id)
	for _ in $(seq 150); do
		api GET "/jobs/$job" >"$data/job.json"
		if grep -q '"state":"done"' "$data/job.json"; then break; fi
		sleep 0.1
	done
	grep -o '"copied":[0-9]*' "$data/job.json"
done
api GET "$aide/layers" | grep -o '"count":[0-9]*,"layer":"[a-z]*"'

say "answer: from memory, with what it rests on"
api POST "$aide/chat" '{"message": "Who is my dentist?", "remember": false}' >"$data/chat.json"
field reply <"$data/chat.json" | sed 's/\\n/\n/g'

say "verify and stop"
finish
