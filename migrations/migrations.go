// Package migrations embeds the numbered SQL files of each engine. The same
// number means the same step in both folders. A released file is never edited.
//
// The package runs nothing and imports nothing of ours: internal/store runs the
// files for internal/store/sqlite and internal/store/postgres.
package migrations

import "embed"

// SQLite holds the folder "sqlite", Postgres the folder "postgres".
var (
	//go:embed sqlite/*.sql
	SQLite embed.FS
	//go:embed postgres/*.sql
	Postgres embed.FS
)
