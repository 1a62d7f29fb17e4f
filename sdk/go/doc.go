// Package slipbox is a client of slipbox, a memory platform for LLM agents.
//
// Methods have the names of the contract's operations (/docs of a gateway), and take and return its
// types, which are generated. A collection is [Named] by its id or name, or is an [External], the
// application's own ids:
//
//	client, err := slipbox.New(slipbox.Config{})
//	nora := slipbox.External{User: new("nora@example.com")}
//	created, err := client.CreateNote(ctx, nora, slipbox.NoteInput{Content: "Nora lives in Oslo."}, slipbox.Create("mem0"))
//	found, err := client.Search(ctx, nora, slipbox.SearchRequest{Query: new("Where does Nora live?")})
//
// What the gateway refuses is a [*ProblemError], an answer that did not come or broke off a [*ConnectionError].
// 429, and 503 with Retry-After, are tried again as the gateway says. After a lost connection, 502 or 504
// only what may be repeated is: reads, and writes, because they carry an Idempotency-Key or set what they
// name. Listings are read over all pages. Unknown fields are ignored, unknown values of enumerations kept.
package slipbox
