// Package mcp serves the Model Context Protocol over the HTTP API: each call of a tool, each resource and each
// prompt becomes a request of the API, made in this process as the same caller. Validation, scopes, quotas,
// reviews and audit are therefore those of the API, and an argument has the name of the field that it becomes.
//
// The package owns the list of tools, their schemas, and how answers are shown to a model: content first, at most
// [MaxTokens] tokens. It knows neither services nor stores; of the core it uses the words of addresses alone.
// Package api mounts it at /mcp and tells it what the contract says of an operation; the command `gateway mcp`
// relays standard input and output to that route.
package mcp
