package clone

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Origin is what wrote the value of a field.
type Origin struct {
	memory.Changeset

	Agent string // of a merge: the name of the agent whose knowledge it brought; "": the collection had no agent
}

// Blame returns, for each field of a note that a view shows, what wrote its value (notes:read). A field that is empty since the
// first version has that of the first version.
func (c *Service) Blame(ctx context.Context, s tenant.Scope, v memory.View, note uuid.UUID) (map[string]Origin, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	shown, err := c.store.Notes(ctx, s, v, []uuid.UUID{note}, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if len(shown) == 0 {
		return nil, fault.Missing("note")
	}
	out := map[string]Origin{}
	var last *memory.HistoryEntry // the next version, and what wrote it
	for before := memory.Revision(0); ; {
		page, err := c.store.History(ctx, s, v, note, before, readBatch)
		if err != nil && (last == nil || !fault.Is(err, fault.NotFound)) {
			return nil, err
		}
		for i := range page {
			if last != nil {
				blame(out, &page[i].Note, last)
			}
			last, before = &page[i], page[i].Note.From
			if page[i].Note.Deleted {
				break // it began again
			}
		}
		if len(page) < readBatch || last.Note.Deleted {
			break
		}
	}
	if last != nil && !last.Note.Deleted {
		blame(out, nil, last)
	}
	return out, nil
}

// blame names the changeset of a version for the fields that it has changed, unless a later one did.
func blame(out map[string]Origin, before *memory.Note, e *memory.HistoryEntry) {
	var fields []string
	if before == nil || before.Deleted {
		fields = merge.AllFields(&e.Note)
	} else {
		fields = merge.Fields(before, &e.Note)
	}
	from := Origin{Changeset: e.Changeset}
	if e.Changeset.Cause == memory.CauseMerge {
		from.Agent = e.Note.Provenance.Agent
	}
	for _, f := range fields {
		if _, later := out[f]; !later {
			out[f] = from
		}
	}
}
