// Package bank brings a person's memory in and out in the JSON form in which
// MemoryBank (Zhong et al., AAAI 2024) keeps and publishes it:
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
// It takes a bank that was only spoken to, and one that was summed up and half
// forgotten: a turn may also be a pair [query, response], a summary a plain
// text, strengths and ids may be absent. What a document has beyond the form is
// kept, and given back with it.
//
// The package owns the form alone. Notes, usage and tasks are those of the core.
package bank
