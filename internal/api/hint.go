package api

import (
	"slices"

	"github.com/slipboxhq/slipbox/internal/wording"
)

// otherNames maps names that other memory systems use for a field to ours. A name helps only where
// the field exists: the body decides between several. Keys are written as wording.Plain writes them.
var otherNames = map[string][]string{
	"text": {"content"}, "memory": {"content"}, "data": {"content"}, "body": {"content"}, "message": {"content", "messages"},
	"metadata": {"attributes"}, "meta": {"attributes"}, "properties": {"attributes"}, "labels": {"tags"},
	"topk": {"k", "limit"}, "limit": {"k"}, "n": {"k", "limit"}, "nresults": {"k", "limit"}, "count": {"k", "limit"},
	"k": {"limit"}, "size": {"k", "limit"}, "pagesize": {"limit"}, "perpage": {"limit"},
	"q": {"query"}, "question": {"query"}, "prompt": {"query", "message"}, "filters": {"filter"}, "where": {"filter"},
	"threshold": {"min_score"}, "maxtokens": {"token_budget"}, "budget": {"token_budget"},
	"timestamp": {"occurred_at"}, "time": {"occurred_at"}, "date": {"occurred_at"}, "type": {"kind"},
	"ttl": {"ttl_seconds"}, "expiresin": {"ttl_seconds"},
	"title": {"display_name", "name"}, "label": {"display_name"}, "id": {"name"}, "collection": {"name"}, "config": {"policy_config"},
	"userid": {"user", "external"}, "user": {"external"}, "agentid": {"agent"}, "appid": {"app"}, "runid": {"run"},
	"sessionid": {"session"}, "thread": {"session"}, "threadid": {"session"}, "conversation": {"session"}, "conversationid": {"session"},
}

// unknownName words the refusal of a field or parameter that does not exist, and suggests the name
// that was probably meant, if any.
func unknownName(what, name string, valid []string) string {
	meant := suggest(name, valid)
	if meant == "" {
		return "unknown " + what
	}
	return "unknown " + what + "; did you mean `" + meant + "`?"
}

// suggest returns the valid name that name was probably meant to be: another system's name for it,
// the same letters in another case or without "_", or a near spelling. It returns "" without one.
func suggest(name string, valid []string) string {
	for _, ours := range otherNames[wording.Plain(name)] {
		if slices.Contains(valid, ours) {
			return ours
		}
	}
	return wording.Nearest(name, valid)
}
