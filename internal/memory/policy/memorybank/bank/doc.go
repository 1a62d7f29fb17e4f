// Package bank imports and exports a person's memory in the JSON format that
// MemoryBank (Zhong et al., AAAI 2024) uses and publishes:
//
//	{
//	  "name": "Ann",
//	  "history": {"2023-05-01": [{"query": "…", "response": "…",
//	    "memory_strength": 2, "last_recall_date": "2023-05-03", "memory_id": "…"}]},
//	  "summary": {"2023-05-01": {"content": "…", "memory_strength": 1, "last_recall_date": "…"}},
//	  "personality": {"2023-05-01": "…"},
//	  "overall_history": "…",
//	  "overall_personality": "…",
//	  "meta_information": {"name": "…", "personality": "…", "hobbies": "…", "speaking_style": "…"}
//	}
//
// It accepts banks with only dialogues, and banks that are summarized and partly
// forgotten: a turn may be a pair [query, response], a summary may be plain text,
// and strengths and ids may be absent. Unknown members are stored and exported
// again.
//
// The package owns the format only; notes, usage and tasks belong to the core.
// internal/api calls it. It reads and writes through the store contract of
// internal/memory.
package bank
