// Package tools keeps the tools of tenants: what an agent may call and its caller runs.
//
// A tool is described by an administrator of the tenant: name, what it does, and the JSON schema of its arguments. What
// happens around a call (the check of its arguments, rules, results that are committed) is the business of
// internal/memory/policy/memgpt/agent, which calls this package, as internal/api does. Nothing here sends a request.
package tools
