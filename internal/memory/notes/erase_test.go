package notes_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// counting counts what is read of a store.
type counting struct {
	notes.Store
	rows, opened int // rows of logs and lists; collections
}

func (c *counting) OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error) {
	c.opened++
	return c.Store.OpenView(ctx, s, ref, at)
}

func (c *counting) counted(fn func(memory.LogRow) error) func(memory.LogRow) error {
	return func(r memory.LogRow) error { c.rows++; return fn(r) }
}

func (c *counting) Log(ctx context.Context, s tenant.Scope, v memory.View, layer int, after memory.Revision, embedder string, fn func(memory.LogRow) error) (memory.Revision, error) {
	return c.Store.Log(ctx, s, v, layer, after, embedder, c.counted(fn))
}

func (c *counting) LogBegun(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, kinds []memory.Kind, embedder string, fn func(memory.LogRow) error) error {
	return c.Store.LogBegun(ctx, s, v, after, kinds, embedder, c.counted(fn))
}

func (c *counting) ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error) {
	list, err := c.Store.ListNotes(ctx, s, v, q)
	if c.rows += len(list); err == nil && slices.Contains(q.Kinds, memory.KindMessage) && q.After == uuid.Nil { // no index leads to them
		var counts memory.Counts
		counts, err = c.Counts(ctx, s, v)
		c.rows += int(counts.Notes)
	}
	return list, err
}

func (c *counting) Changesets(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Changeset, error) {
	list, err := c.Store.Changesets(ctx, s, v, after, limit)
	c.rows += len(list)
	return list, err
}

func (c *counting) ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error) {
	list, err := c.Store.ListJobs(ctx, s, q)
	c.rows += len(list)
	return list, err
}

func (c *counting) Touched(ctx context.Context, s tenant.Scope, a, b memory.View) (memory.Touched, error) {
	t, err := c.Store.Touched(ctx, s, a, b)
	c.rows += len(t.Notes) + len(t.Links)
	return t, err
}

func (c *counting) Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) ([]memory.Link, error) {
	list, err := c.Store.Links(ctx, s, v, q)
	c.rows += len(list)
	return list, err
}

// counted returns a service whose reads are counted.
func (d *fixture) counted() (*notes.Service, *counting) {
	d.t.Helper()
	all := must.Get(policies.All())(d.t)
	c := &counting{Store: d.store}
	s := must.Get(notes.New(notes.Deps{Store: c, Embedders: d.embedders, Policies: all}, notes.Config{}))(d.t)
	return s, c
}

// graph writes entities, and an edge from one to each other.
func (d *fixture) graph(c memory.Collection, n int) {
	d.t.Helper()
	must.Get(d.store.Write(d.t.Context(), d.all, c.ID, memory.WriteOptions{Cause: memory.CauseEvolve}, func(ctx context.Context, tx memory.Tx) error {
		var first uuid.UUID
		for i := range n {
			put, err := tx.Put(ctx, memory.Note{Kind: memory.KindEntity, Key: fmt.Sprint("entity ", i), Content: fmt.Sprint("Entity ", i), OccurredAt: tx.Now(), State: memory.StateEvolved})
			if err != nil {
				return err
			}
			if i == 0 {
				first = put.ID
				continue
			}
			e := graph.Edge{Valid: true, ValidFrom: tx.Now(), CreatedAt: tx.Now(), UpdatedAt: tx.Now(), Mentions: 1}
			l := memory.Link{LinkID: memory.LinkID{Source: first, Relation: "knows", Target: put.ID}, Confidence: 1, Attributes: e.Attributes()}
			if _, err := tx.Link(ctx, l); err != nil {
				return err
			}
		}
		return nil
	}))(d.t)
}

// allPolicies are the names of all policies.
var allPolicies = []string{memory.PolicyNone, memory.PolicyAMEM, "mem0", "mem0g", "memorybank", "memoryos", "layered", memory.PolicyMemGPT}

// TestEraseReads: an erasure reads the log once, from where the note began.
func TestEraseReads(t *testing.T) {
	t.Parallel()
	for _, policy := range allPolicies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: policy, Policy: policy}, memory.Request{}))(t)
			const before, after = 400, 20
			d.graph(v.Collection, before)
			ids := make([]uuid.UUID, 0, before+after)
			for len(ids) < before+after {
				ids = append(ids, d.add(v.Collection, fmt.Sprint("said ", len(ids))).ID)
			}
			service, read := d.counted()
			must.Get(service.Erase(t.Context(), d.all, policy, ids[before], notes.TakeSentences, memory.Request{}))(t)
			if most := 4*after + memory.MaxPage; read.rows > most { // the log, what it touched, its changesets, and a page of their jobs
				t.Errorf("%d rows were read, more than %d", read.rows, most)
			}
		})
	}
}

// TestDeleteReads: the deletion of a note reads no more in a larger collection of notes.
func TestDeleteReads(t *testing.T) {
	t.Parallel()
	for _, policy := range allPolicies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			rows := func(size int) int {
				v := must.Get(d.collections.Create(t.Context(), d.all, notes.CollectionInput{Name: fmt.Sprint(policy, size), Policy: policy}, memory.Request{}))(t)
				var last memory.Note
				for i := range size {
					last = d.add(v.Collection, fmt.Sprint("said ", i))
				}
				service, read := d.counted()
				must.Get(service.Delete(t.Context(), d.all, v.Collection.ID.String(), last.ID, memory.Request{}))(t)
				return read.rows
			}
			if few, many := rows(5), rows(50); many > few {
				t.Errorf("%d rows were read of 5 notes, %d of 50", few, many)
			}
		})
	}
}

// TestEraseOpens: an erasure in a fork opens no relative that does not hold the note.
func TestEraseOpens(t *testing.T) {
	t.Parallel()
	d := open(t)
	base := d.collection("base")
	d.add(base, "shared")
	at := d.view(base).At
	fork := func(name string) memory.Collection {
		c := must.Get(d.store.CreateCollection(t.Context(), d.all, memory.NewCollection{Collection: memory.Collection{Name: name, Parent: base.ID, ParentRevision: at}}))(t)
		return c.Collection
	}
	opened := func(relatives int) int {
		for i := range relatives {
			d.add(fork(fmt.Sprint("relative ", relatives, " ", i)), "own")
		}
		f := fork(fmt.Sprint("fork ", relatives))
		service, read := d.counted()
		must.Get(service.Erase(t.Context(), d.all, f.ID.String(), d.add(f, "secret").ID, notes.TakeSentences, memory.Request{}))(t)
		return read.opened
	}
	if few, many := opened(0), opened(200); many > few {
		t.Errorf("%d collections were opened with 200 relatives, %d without", many, few)
	}
}
