package notes

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Prepared are messages that are validated and embedded, for a transaction of the caller.
type Prepared struct{ w messageWriter }

// Prepare validates messages, checks the quotas and embeds them. Put writes them; no policy learns from
// them. events is how many of them start a job.
func (n *Service) Prepare(ctx context.Context, s tenant.Scope, c *memory.Collection, in []NewMessage, events int64) (*Prepared, error) {
	list, err := n.newMessages(ctx, s, c, in)
	if err != nil {
		return nil, err
	}
	if n.quota != nil && events > 0 {
		if err := n.quota.CheckJobs(ctx, s, events); err != nil {
			return nil, err
		}
	}
	if err := n.prepareMessages(ctx, s, c, list, false); err != nil {
		return nil, err
	}
	return &Prepared{messageWriter{n: n, s: s, c: c, list: list}}, nil
}

// PutDerived writes a note that is not a message, with its vector if the collection's embedder is fast, else
// with a job that makes it. The note comes from [Service.Embedded].
func (n *Service) PutDerived(ctx context.Context, s tenant.Scope, tx memory.Tx, note memory.Note) (memory.Note, error) {
	v := tx.View()
	out, err := tx.Put(ctx, note)
	if err != nil {
		return out, err
	}
	if j := noteJob(s, &v.Collection, &note, false); j != nil {
		j.Note = out.ID
		_, err = tx.Enqueue(ctx, *j)
	}
	return out, err
}

// Embedded returns a note with its vector, if the collection's embedder is fast.
func (n *Service) Embedded(ctx context.Context, s tenant.Scope, c *memory.Collection, note memory.Note) memory.Note {
	n.embedNotes(ctx, s, c, &note)
	return note
}

// Notes returns the notes that Put will write, for the caller to complete. A Vector stays right as long as
// the content does.
func (p *Prepared) Notes() []*memory.Note {
	out := make([]*memory.Note, len(p.w.list))
	for i, m := range p.w.list {
		out[i] = &m.note
	}
	return out
}

// Put writes the messages, and a job for each that has no vector yet. A message whose key is taken by one
// that says the same is not written again; by another one, it is Exists.
func (p *Prepared) Put(ctx context.Context, tx memory.Tx) ([]memory.Note, error) {
	w := p.w
	out, err := w.putMessages(ctx, tx)
	return out.Messages, err
}
