#!/usr/bin/env bash
# Walks the path of a newcomer, and prints how long each step took: clone, build, serve, import an own history, ask, correct, ask
# again, and connect a client that knows nothing of slipbox. It fails where the path does. CONVERSATIONS=2000 adds so many older ones
# to the history, each of four messages; then the first right answer has to come within five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/steps.sh
source scripts/steps.sh
# shellcheck source=scripts/gateway.sh
source scripts/gateway.sh

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
me=nora@example.com
question="When do I fly to Lisbon?"
older=${CONVERSATIONS:-0}

# says WHAT TEXT fails when the text does not have the words.
says() {
	[[ $2 == *"$1"* ]] || { printf 'newcomer: no "%s" in: %s\n' "$1" "$2" >&2; return 1; }
}

# clone copies what a clone of this tree would have: what git ignores is not there.
clone() {
	mkdir "$tmp/clone" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$tmp/clone"
}

build() {
	(cd "$tmp/clone" && scripts/build.sh '' ./cmd/gateway ./cmd/slipbox)
	GATEWAY=$tmp/clone/bin/gateway SLIPBOX=$tmp/clone/bin/slipbox
}

# export_of_chatgpt packs what ChatGPT sends, the newest conversations first.
export_of_chatgpt() {
	python3 - "$older" internal/memory/transfer/testdata/chatgpt/conversations.json >"$tmp/conversations.json" <<-'END'
		import json, random, sys
		older, sample = int(sys.argv[1]), json.load(open(sys.argv[2]))
		pick = random.Random(7).choice
		things = "the kiln,a glaze,my bicycle,the invoice,our garden,a recipe,the lease,my thesis,the boiler,a playlist".split(",")
		says = "How do I repair {}?|Somebody asked me about {} in the morning.|I want to sell {} next week.|Is {} worth its price?".split("|")
		for n in range(older):
		    at, nodes, before = 1700000000 - 3600 * n, {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}, "root"
		    for i in range(4):
		        text = pick(says).format(pick(things)) + f" This is number {n} of {i}, and it has some words more than a short one."
		        message = {"id": f"{n}-{i}", "author": {"role": ("user", "assistant")[i % 2]}, "create_time": at + i,
		                   "content": {"content_type": "text", "parts": [text]}, "recipient": "all", "weight": 1.0}
		        nodes[str(i)] = {"id": str(i), "message": message, "parent": before, "children": [str(i + 1)] if i < 3 else []}
		        before = str(i)
		    sample.append({"title": f"Older {n}", "create_time": at, "conversation_id": f"old-{n}", "id": f"old-{n}", "current_node": before, "mapping": nodes})
		json.dump(sample, sys.stdout)
	END
	python3 -m zipfile -c "$tmp/export.zip" "$tmp/conversations.json"
}

login() {
	export SLIPBOX_URL=$url SLIPBOX_API_KEY=$key
	"$SLIPBOX" import "$tmp/export.zip" --user "$me" --create amem --dry-run >"$tmp/preview"
	says "\"messages\":$((5 + 4 * older))" "$(tr -d ' \n' <"$tmp/preview")"
}

# import brings the history in, beside what follows: the newest conversations are found while the older ones are read.
import() {
	"$SLIPBOX" import "$tmp/export.zip" --user "$me" --create amem --me Nora >"$tmp/imported" 2>"$tmp/progress" &
	importing=$!
	until ask 2>/dev/null; do
		kill -0 "$importing" 2>/dev/null || { wait "$importing" && ask; return; }
		sleep 0.2
	done
}

imported() {
	wait "$importing" && says "\"created\":$((5 + 4 * older))" "$(tr -d ' \n' <"$tmp/imported")"
}

ask() {
	"$SLIPBOX" search --user "$me" "$question" >"$tmp/hits"
	says Lisbon "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["hits"][0]["note"]["content"])' <"$tmp/hits")"
}

# api METHOD PATH BODY sends a request as a client of another program does.
api() {
	curl -fsS -X "$1" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$3" "$url$2"
}

correct() {
	local note
	note=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["hits"][0]["note"]["id"])' <"$tmp/hits")
	api PATCH "/v1/collections/by/notes/$note?user=nora%40example.com" '{"content": "I fly to Lisbon on the 3rd of November."}' >"$tmp/corrected"
	says "3rd of November" "$("$SLIPBOX" search --user "$me" "$question" -k 1)"
}

# connect_chat asks as OpenAI's clients do.
connect_chat() {
	says "3rd of November" "$(api POST /v1/chat/completions \
		'{"model": "slipbox@user=nora%40example.com", "messages": [{"role": "user", "content": "When do I fly to Lisbon?"}]}')"
}

# connect_mcp asks as clients of MCP do.
connect_mcp() {
	says '"tools"' "$(curl -fsS -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2025-06-18' -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' "$url/mcp")"
}

step "clone" clone
step "build" build
step "an export" export_of_chatgpt
step "serve" start_gateway
trap 'stop_gateway; rm -rf "$tmp"' EXIT
from=$SECONDS
step "see what is understood" login
step "import, until the first right answer" import
((SECONDS - from <= 300)) || { echo "the first right answer came $((SECONDS - from)) s after the export was there" >&2; exit 1; }
step "the rest of the import" imported
step "ask" ask
step "correct, and ask again" correct
step "connect a chat client" connect_chat
step "connect an MCP client" connect_mcp
stop_gateway
rm -rf "$tmp"
print_summary
printf '%d.%02d minutes from the clone to the last answer\n' $((SECONDS / 60)) $((SECONDS % 60 * 100 / 60))
