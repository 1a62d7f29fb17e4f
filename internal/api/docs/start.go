package main

import "html/template"

// docsStep is one step of the quick start. A test runs every Shell in order against a gateway.
type docsStep struct {
	Title string
	About template.HTML
	Shell string
}

var quickStart = []docsStep{
	{
		"Start a gateway", inline("`make run` starts one with a small demo and prints these two lines with a key that is valid for a day. " +
			"`gateway key create` creates further keys."),
		"export SLIPBOX_URL=http://127.0.0.1:8080\nexport SLIPBOX_KEY=${SLIPBOX_KEY:-sb_live_…}",
	},
	{
		"Create a collection", inline("A collection is an append-only log of notes. Its `policy` decides what happens to new ones; the default `amem` " +
			"describes and links them."),
		shellPost("/v1/collections", `{"name": "research"}`),
	},
	{
		"Add a note", inline("`wait=evolved` waits until the note is analyzed and linked. Without it the answer comes at once, and a job does the rest."),
		shellPost("/v1/collections/research/notes?wait=evolved", `{"content": "Ada moved to Lisbon in March and works on tide models."}`),
	},
	{
		"Search", inline("By words and by meaning. `expand_links` adds notes that are linked to the hits."),
		shellPost("/v1/collections/research/search", `{"query": "where does Ada live", "k": 3, "expand_links": 1}`),
	},
	{
		"Build a context", inline("One text for a prompt, within a token budget, with citations."),
		shellPost("/v1/collections/research/context", `{"query": "where does Ada live", "token_budget": 500}`),
	},
	{
		"Learn from a conversation", inline("With the policy `mem0`, facts are extracted from messages and kept up to date."),
		shellPost("/v1/collections", `{"name": "ada-facts", "policy": "mem0"}`) + "\n" +
			shellPost("/v1/collections/ada-facts/messages?wait=evolved",
				`{"messages": [{"role": "user", "name": "Ada", "content": "I live in Lisbon."}]}`) + "\n" +
			shellPost("/v1/collections/ada-facts/search", `{"query": "Where does Ada live?"}`),
	},
}

// shellPost is a POST by curl. Its body must not contain a single quote.
func shellPost(path, body string) string {
	return `curl -sS "$SLIPBOX_URL` + path + `" \` + "\n" +
		`  -H "Authorization: Bearer $SLIPBOX_KEY" \` + "\n" +
		`  -H "Content-Type: application/json" \` + "\n" +
		"  -d '" + body + "'"
}
