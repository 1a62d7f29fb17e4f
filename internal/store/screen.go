package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ScreenSecrets returns a store that applies the collections' setting about secrets to every note, link and job that a
// transaction writes. Writers of texts that they compare or embed screen them before, so that nothing is
// left to be found here. A note that is changed here has no vector, and gets a job that embeds it.
//
// Where a collection refuses secrets, what a caller writes is refused (Invalid), and what a job writes is redacted.
func ScreenSecrets(s Store) Store { return &screening{s} }

type screening struct{ Store }

// Write implements memory.Writer.
func (t *screening) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error) {
	return t.Store.Write(ctx, s, collection, o, screened(ctx, o.Job, fn))
}

// screened returns a closure of a write whose texts are screened.
func screened(ctx context.Context, job uuid.UUID, fn func(ctx context.Context, tx memory.Tx) error) func(context.Context, memory.Tx) error {
	// The report is in the context of the request; a transaction may run in another one.
	return func(inner context.Context, tx memory.Tx) error {
		c := tx.View().Collection
		if job != uuid.Nil && c.Secrets() == memory.SecretsRefuse {
			c.PolicyConfig = nil // what a policy derives, or a model says, is redacted
		}
		return fn(inner, &screeningTx{Tx: tx, request: ctx, c: &c})
	}
}

// CreateCollection implements memory.CollectionStore.
func (t *screening) CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (memory.CollectionCreated, error) {
	seed := make([]memory.Note, len(c.Seed))
	for i, n := range c.Seed {
		changed, err := c.ScreenNote(ctx, &n)
		if err != nil {
			return memory.CollectionCreated{}, err
		}
		if changed {
			n.Embed(memory.Embedding{}, "")
		}
		seed[i] = n
	}
	c.Seed = seed
	if c.First != nil {
		c.First = &memory.FirstWrite{Options: c.First.Options, Do: screened(ctx, uuid.Nil, c.First.Do)}
	}
	return t.Store.CreateCollection(ctx, s, c)
}

type screeningTx struct {
	memory.Tx

	request context.Context //nolint:containedctx // a transaction may run in another context than the request
	c       *memory.Collection
}

// Put implements memory.Tx.
func (t *screeningTx) Put(ctx context.Context, n memory.Note) (memory.Note, error) {
	changed, err := t.c.ScreenNote(t.request, &n)
	if err != nil {
		return memory.Note{}, err
	}
	embedded := n.Vector != nil
	if changed {
		n.Embed(memory.Embedding{}, "")
	}
	n, err = t.Tx.Put(ctx, n)
	if err == nil && changed && embedded {
		_, err = t.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: memory.EmbedOnly()})
	}
	return n, err
}

// Link implements memory.Tx.
func (t *screeningTx) Link(ctx context.Context, l memory.Link) (bool, error) {
	if _, err := t.c.ScreenLink(t.request, &l); err != nil {
		return false, err
	}
	return t.Tx.Link(ctx, l)
}

// Enqueue implements memory.Tx.
func (t *screeningTx) Enqueue(ctx context.Context, j memory.Job) (memory.Job, error) {
	if j.Kind == memory.JobNote || j.Kind == memory.JobExchange { // ids only
		return t.Tx.Enqueue(ctx, j)
	}
	var err error
	if j.Payload, err = t.c.ScreenJSON(t.request, "content", j.Payload); err != nil {
		return memory.Job{}, err
	}
	return t.Tx.Enqueue(ctx, j)
}
