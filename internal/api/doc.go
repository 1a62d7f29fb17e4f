// Package api is the HTTP edge: gin routes, wire types, middleware, the table
// from fault codes to statuses, and the reference page.
//
// Routes are mounted by the operationId of the contract (api/openapi.yaml), so
// no route can exist that is not documented, and a test names documented ones
// that do not exist. Every request is checked against the document before its
// handler runs; a handler returns an error and never writes a refusal itself.
//
// The package translates between JSON and the core. It holds no rule about
// notes, opens no transaction, and imports no store, queue or model.
package api
