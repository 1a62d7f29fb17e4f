package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Before the first release the schema had other steps, numbered 1 and 5 to 23, which became step 1: a database that has
// all of them is at step 1, and needs only its number.
const lastUnreleased = 23

// UnreleasedSteps is an expression over the table of applied steps: whether they are of that chain.
const UnreleasedSteps = "COUNT(CASE version_id WHEN 5 THEN 1 END) > COUNT(CASE version_id WHEN 2 THEN 1 END)"

// unreleased returns a Conflict that says what to do with a database of a build before the first release.
func (s Schema) unreleased() error {
	if s.Current != lastUnreleased {
		return fault.New(fault.Conflict, "the database is of a build before the first release, at its schema version %d of %d; run the last such build on it once, or begin with an empty database",
			s.Current, lastUnreleased)
	}
	return fault.New(fault.Conflict, "the database is of a build before the first release; start the gateway of this build once on its data directory, or run \"gateway migrate up\", to adopt it")
}

// adopt numbers a database of the last build before the first release as this build does.
func (m *Migrator) adopt(ctx context.Context) (err error) {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()

	for _, text := range []string{"DELETE FROM goose_db_version WHERE version_id > 1", "DELETE FROM " + CompatTable} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("adopt the schema: %w", err)
		}
	}
	return tx.Commit()
}
