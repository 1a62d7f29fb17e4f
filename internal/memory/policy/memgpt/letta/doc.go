// Package letta imports and exports the memory of an agent as an agent file (.af), the JSON format in which Letta
// publishes agents (letta-ai/agent-file, and AgentFileSchema in letta-ai/letta):
//
//	{
//	  "agents": [{"id": "agent-0", "name": "…", "block_ids": ["block-0"], "tool_ids": ["tool-0"],
//	    "tool_rules": [{"tool_name": "…", "type": "max_count_per_step", "max_count_limit": 3}],
//	    "in_context_message_ids": ["message-0"],
//	    "messages": [{"id": "message-0", "role": "user", "content": [{"type": "text", "text": "…"}],
//	      "tool_calls": null, "tool_call_id": null, "tool_returns": [], "created_at": "2025-10-31T22:56:56Z"}],
//	    "metadata": {"slipbox": {…}}}],
//	  "blocks": [{"id": "block-0", "label": "human", "value": "…", "limit": 5000, "description": "…", "read_only": false}],
//	  "tools": [{"id": "tool-0", "name": "…", "json_schema": {…}}],
//	  "groups": [], "files": [], "sources": [], "mcp_servers": [], "metadata": {}, "created_at": "…"
//	}
//
// The older form, one agent with "core_memory" and "in_context_message_indices" at the top, is imported too.
//
// Blocks, messages with their calls of tools, the summary, tool rules and the names of tools are carried. What Letta has
// no place for (passages, ids and attributes of messages, the settings of the policy) is in the agent's metadata under
// "slipbox", so that an exported agent comes back as it was. Code of tools, secrets, models and files are not carried:
// the answer lists what was left out and why, and no value of a secret is kept or shown.
//
// The package owns the format only. Messages and passages of an import become lines of internal/memory/notes'
// imports, which a job writes. internal/api calls the package.
package letta
