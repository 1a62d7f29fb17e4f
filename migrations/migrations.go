// Package migrations holds the numbered SQL of each engine, embedded. A number
// means the same step in every folder; a released file is never edited.
//
// The package runs nothing: internal/store does.
package migrations

import "embed"

// SQLite holds the folder "sqlite", Postgres the folder "postgres".
var (
	//go:embed sqlite/*.sql
	SQLite embed.FS
	//go:embed postgres/*.sql
	Postgres embed.FS
)
