// Package wire holds the bodies of the HTTP contract as Go types. They are
// generated from api/openapi.yaml by make generate; only this comment is
// written by hand. The package knows nothing of the core: the API's handlers
// translate.
package wire
