// Package api is the HTTP edge: gin routes, wire types, middleware, the table from fault codes to
// statuses, and the reference page, which the command in docs writes.
//
// Routes are mounted by the operationId of the contract (api/openapi.yaml), so there is no
// undocumented route, and a test names documented routes that are missing. Every request is
// validated against the contract before its handler runs. A handler returns an error and never
// writes a refusal itself.
//
// The package translates between JSON and the core (internal/memory and its sub-packages,
// internal/clone, internal/tenant, internal/auth). It has no rules about notes, opens no
// transactions, and imports no store, queue or model. internal/app builds and serves it.
package api
