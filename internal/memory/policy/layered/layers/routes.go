package layers

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Routes returns the operation that stores one item in the layers of a collection. What is in them is recalled as in every
// policy with layers.
func (l *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{"remember": l.remember}}
}

func wireRemembered(r *Remembered) wire.Remembered {
	out := wire.Remembered{
		Stored: []wire.StoredItem{}, Skipped: []wire.SkippedItem{}, Conflicts: []wire.TripleConflict{}, Ended: []wire.EndedTriple{}, Turn: wire.Optional(r.Turn),
		Revision: int64(r.Revision),
	}
	for _, s := range r.Stored {
		item := wire.StoredItem{Layer: wire.LayerName(s.Layer), Note: s.Note, Importance: s.Importance}
		if t := s.Triple; t != nil {
			item.Triple = &wire.Triple{Subject: t.Subject, Relation: t.Relation, Object: t.Object, Confidence: t.Confidence}
		}
		out.Stored = append(out.Stored, item)
	}
	for _, s := range r.Skipped {
		out.Skipped = append(out.Skipped, wire.SkippedItem{Layer: wire.LayerName(s.Layer), Reason: s.Reason, Note: s.Note})
	}
	position := func(p Position) wire.TriplePosition {
		return wire.TriplePosition{Note: p.Note, Object: p.Object, Confidence: p.Confidence}
	}
	for _, x := range r.Conflicts {
		out.Conflicts = append(out.Conflicts, wire.TripleConflict{Subject: x.Subject, Relation: x.Relation, Old: position(x.Old), New: position(x.New)})
	}
	for _, e := range r.Ends {
		out.Ended = append(out.Ended, wire.EndedTriple{Note: e.Note, Subject: e.Subject, Relation: e.Relation, Object: e.Object})
	}
	return out
}

// setEnd puts the time at which an item ends into its body, where that says it in seconds, too.
func (l *Service) setEnd(body map[string]any) error {
	var at *string
	var ttl *int64
	if text, ok := body["expires_at"].(string); ok {
		at = &text
	}
	if seconds, ok := body["ttl_seconds"].(json.Number); ok {
		n, err := seconds.Int64()
		if err != nil {
			return fault.InvalidField("ttl_seconds", "must be an integer")
		}
		ttl = &n
	}
	end, err := memory.ParseExpiry(at, ttl, l.Clock())
	if delete(body, "ttl_seconds"); !end.IsZero() {
		body["expires_at"] = end
	}
	return err
}

func (l *Service) remember(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	body, err := route.Bind[map[string]any](r)
	if err != nil {
		return route.Reply{}, err
	}
	if at, ok := body["occurred_at"].(string); ok {
		if body["occurred_at"], err = memory.ParseEventTime("occurred_at", at, l.Clock()); err != nil {
			return route.Reply{}, err
		}
	}
	if err := l.setEnd(body); err != nil {
		return route.Reply{}, err
	}
	content, _ := body["content"].(string)
	args, err := json.Marshal(body)
	if err != nil {
		return route.Reply{}, fault.Wrap(err, fault.Internal, "the task cannot be encoded")
	}
	r.EndTurn() // the policy may ask a model
	done, err := l.Remember(ctx, r.Scope, ref, args, int64(len(content)), r.Conditions)
	if err != nil {
		return route.Reply{}, err
	}
	r.Wrote(len(done.Stored))
	return route.Reply{Body: wireRemembered(&done), Revision: new(done.Revision)}, nil
}
