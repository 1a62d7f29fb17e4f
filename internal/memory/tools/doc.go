// Package tools keeps the tools of tenants, services that agents call over HTTP, and calls them.
//
// A tool is described by an administrator of the tenant: name, JSON schema of the arguments, address, headers, limits.
// Its secrets are encrypted before they are stored, belong to it alone, and are sent to its own address only. No answer,
// error or result has them: what a service sends back is searched for them first.
//
// Requests go through internal/outbound, which decides where they may go. What happens around a call (approval, rules,
// results that are committed) is the business of internal/memory/agent, which calls this package, as internal/api does.
package tools
