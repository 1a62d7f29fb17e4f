#!/usr/bin/env bash
# An agent that acts: what it must always see is in memory blocks, the rest is paged in by tools, and it answers events.
# Without a model it looks a question up and quotes what it finds; a model reasons, and calls its tools by itself.
# collection.json is its configuration: one collection for each agent.
#
#   make build && docs/examples/agent/run.sh
# shellcheck source=docs/examples/gateway.sh
. "$(dirname "$0")/../gateway.sh"
here=$(cd "$(dirname "$0")" && pwd)
aide=/collections/aide

say "start"
start

say "configure: an agent with a window, and what it always sees"
api POST /collections "@$here/collection.json" | field policy
api PUT "$aide/blocks/persona" '{"value": "I keep the calendar of Nora. I answer in one sentence."}' | field value
api POST "$aide/blocks/human/append" '{"text": "Nora Weiss, architect. No meetings before ten."}' | field value

say "remember: what does not have to be in view"
api POST "$aide/step" '{"tool": "archival_insert", "arguments": {"content": "The dentist of Nora is Dr. Prado, Rua Augusta 12.", "tags": ["health"]}}' >/dev/null
api POST "$aide/messages" '{"messages": [{"role": "user", "name": "Nora", "content": "My sister Anna visits in May."}]}' >/dev/null

say "page in: what a tool finds"
api POST "$aide/step" '{"tool": "archival_search", "arguments": {"query": "dentist"}}' | grep -o 'Dr\. Prado[^"\\]*'
api POST "$aide/step" '{"tool": "conversation_search", "arguments": {"query": "Anna"}}' | grep -o 'My sister[^"\\]*'

say "act: an event is answered, step by step"
api POST "$aide/events" '{"content": "Who is my dentist?", "wait": "done"}' >"$data/run.json"
field stop_reason <"$data/run.json"
field reply <"$data/run.json" | sed 's/\\n/\n/g'

say "context: tokens of the next prompt, by part"
api GET "$aide/context"

say "verify and stop"
finish
