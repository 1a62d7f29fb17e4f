package recall

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// exportPage is how many notes an export holds in memory.
const exportPage = 100

// Export passes all notes of a view to each, oldest id first, with all of their outgoing links. It holds a page of them in
// memory. An error of each ends it.
func (r *Service) Export(ctx context.Context, s tenant.Scope, v memory.View, each func(*NoteView) error) error {
	if err := checkRead(s, &v); err != nil {
		return err
	}
	for page, err := range memory.NotePagesOf(ctx, r.store, s, v, memory.NoteQuery{Limit: exportPage}) {
		if err != nil {
			return err
		}
		ids := memory.IDs(page)
		links, err := r.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing, Limit: math.MaxInt32})
		if err != nil {
			return err
		}
		used, err := r.store.Usage(ctx, s, v, ids)
		if err != nil {
			return err
		}
		of := make(map[uuid.UUID][]memory.Link, len(page))
		for _, l := range links {
			of[l.Source] = append(of[l.Source], l)
		}
		for i := range page {
			if err := each(&NoteView{Note: page[i], Links: of[page[i].ID], Usage: used[page[i].ID]}); err != nil {
				return err
			}
		}
	}
	return nil
}
