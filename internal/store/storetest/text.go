package storetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// null is a text with the one character that not every engine can keep.
const null = "a\x00b"

func textCases() []testCase {
	return []testCase{
		{"NullInNotes", nullInNotes},
		{"NullElsewhere", nullElsewhere},
		{"NullInQuestions", nullInQuestions},
		{"NullFromOutside", nullFromOutside},
		{"Escapes", escapes},
	}
}

// nullInNotes: a note or a link with the character is refused by field, and
// the rest of its changeset can be written all the same.
func nullInNotes(t *testing.T, w *world) {
	c := w.collection("c")
	for _, refused := range []struct {
		field string
		note  memory.Note
	}{
		{"content", memory.Note{Content: null}},
		{"context", memory.Note{Context: null}},
		{"keywords", memory.Note{Keywords: []string{"a", null}}},
		{"tags", memory.Note{Tags: []string{null}}},
		{"category", memory.Note{Category: null}},
		{"key", memory.Note{Key: null}},
		{"kind", memory.Note{Kind: null}},
		{"attributes", memory.Note{Attributes: map[string]any{null: 1}}},
		{"attributes", memory.Note{Attributes: map[string]any{"k": null}}},
		{"attributes", memory.Note{Attributes: map[string]any{"k": []any{map[string]any{"deep": []any{"a", null}}}}}},
		{"attributes", memory.Note{Attributes: map[string]any{"k": map[string]any{null: nil}}}},
		{"attributes", memory.Note{Attributes: map[string]any{"k": json.RawMessage(`{"raw": "\u0000"}`)}}},
		{"attributes", memory.Note{Attributes: map[string]any{"k": `\` + null}}},
	} {
		head := w.head(c.ID)
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return second(tx.Put(w.ctx, refused.note)) })
		w.field(err, refused.field)
		if w.head(c.ID) != head {
			t.Errorf("a refused %s moved the head", refused.field)
		}
		var kept memory.Note
		w.write(c.ID, func(tx memory.Tx) (err error) {
			w.field(second(tx.Put(w.ctx, refused.note)), refused.field)
			kept, err = tx.Put(w.ctx, memory.Note{Content: "kept"})
			return err
		})
		got, ok := w.get(w.view(c.ID), kept.ID)
		w.isf(ok && got.Content == "kept", "what went with a refused %s is lost", refused.field)
	}
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	for field, l := range map[string]memory.Link{
		"relation":   {LinkID: memory.LinkID{Relation: null}},
		"attributes": {Attributes: map[string]any{"k": null}},
	} {
		l.Source, l.Target = a.ID, b.ID
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return second(tx.Link(w.ctx, l)) })
		w.field(err, field)
	}
}

func nullElsewhere(_ *testing.T, w *world) {
	create := func(c memory.Collection) error {
		return second(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: c}))
	}
	w.field(create(memory.Collection{Name: null}), "name")
	w.field(create(memory.Collection{Name: "x", DisplayName: null}), "display_name")
	w.field(create(memory.Collection{Name: "x", Metadata: map[string]any{"k": null}}), "metadata")
	w.field(create(memory.Collection{Name: "x", Metadata: map[string]any{null: "v"}}), "metadata")
	c := w.collection("c")
	update := func(fn func(*memory.Collection)) error {
		return second(w.UpdateCollection(w.ctx, w.all, c.ID, memory.AuditEntry{}, func(c *memory.Collection) error { fn(c); return nil }))
	}
	w.field(update(func(c *memory.Collection) { c.DisplayName = null }), "display_name")
	w.field(update(func(c *memory.Collection) { c.Metadata = map[string]any{"k": null} }), "metadata")
	w.field(w.Audit(w.ctx, w.all, memory.AuditEntry{Action: "x", Detail: map[string]any{"k": null}}), "detail")
	w.field(second(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "x", Detail: map[string]any{null: 1}}}},
		func(_ context.Context, tx memory.Tx) error { return second(tx.Put(w.ctx, memory.Note{})) })), "detail")
	w.isf(w.head(c.ID) == 0 && len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "x"}))(w.t)) == 0, "something refused was written")
	w.field(second(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: null})), "name")
	w.field(second(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: "x", DisplayName: null})), "display_name")
	w.field(second(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: null})), "name")
	w.field(w.CreateKey(w.ctx, w.all, auth.Key{ID: uuid.New(), Name: null}, memory.AuditEntry{}), "name")
	_, err := w.tryWrite(c.ID, func(tx memory.Tx) error {
		return second(tx.Enqueue(w.ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Trace: null}))
	})
	w.field(err, "trace")
	var r memory.Review
	w.write(c.ID, func(tx memory.Tx) (err error) {
		r, err = tx.OpenReview(w.ctx, memory.Review{Trigger: uuid.New()})
		return err
	})
	r.State, r.Reason = memory.ReviewRejected, null
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.UpdateReview(w.ctx, r) })
	w.field(err, "reason")
	_, err = w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Idempotency: &memory.Idempotency{Method: "POST", Path: "/p", Key: null}}, func(context.Context, memory.Tx) error { return nil })
	w.field(err, "Idempotency-Key")
}

// nullInQuestions: nothing has the character, so nothing is found.
func nullInQuestions(_ *testing.T, w *world) {
	c := w.collection("c")
	w.put(c.ID, memory.Note{Content: "x", Key: "k", Category: "a", Tags: []string{"a"}, Attributes: map[string]any{"k": "a"}, Vector: []float32{1, 0, 0, 0}})
	v := w.view(c.ID)
	w.refused(second(w.NoteByKey(w.ctx, w.all, v, memory.KindNote, null)), fault.NotFound)
	w.refused(second(w.ResolveCollection(w.ctx, w.all, null)), fault.NotFound)
	w.refused(second(w.OpenView(w.ctx, w.all, null, memory.At{})), fault.NotFound)
	w.refused(second(w.AgentByRef(w.ctx, w.all, null)), fault.NotFound)
	w.refused(second(w.TenantByName(w.ctx, w.op, null)), fault.NotFound)
	w.ok(saw(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Kinds: []memory.Kind{null}, States: []memory.State{null}})))
	w.ok(saw(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: null, Target: null})))
	_, found, err := w.Replayed(w.ctx, w.all, memory.Idempotency{Method: "POST", Path: "/p", Key: null})
	w.isf(err == nil && !found, "an answer under a key that cannot be: %t, %v", found, err)
	w.write(c.ID, func(tx memory.Tx) error {
		w.refused(second(tx.NoteByKey(w.ctx, memory.KindNote, null)), fault.NotFound)
		return nil
	})
	for _, field := range []string{"kind", "category", "tags", "keywords", "attributes.k", `attributes.a\u0000b`} {
		for _, op := range []string{"eq", "contains", "in"} {
			value := `"a\u0000b"`
			if op == "in" {
				value = "[" + value + "]"
			}
			e, err := filter.Parse([]byte(`{"field":"` + field + `","op":"` + op + `","value":` + value + `}`))
			if err != nil {
				continue // refused before it comes to a store
			}
			w.isf(len(must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Filter: e}))(w.t)) == 0, "%s %s found something", field, op)
			w.isf(len(must(w.Nearest(w.ctx, w.all, v, memory.NearestQuery{Vector: []float32{1, 0, 0, 0}, Filter: e}))(w.t)) == 0, "%s %s found something near", field, op)
			w.isf(len(must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Filter: filter.Not{Term: e}}))(w.t)) == 1, "not %s %s lost something", field, op)
		}
	}
}

// nullFromOutside: what others told, such as a model's endpoint, is kept
// without the character and without what is no text, so that a job can always
// be ended.
func nullFromOutside(_ *testing.T, w *world) {
	const told, kept = "said \x00 and \xff", "said \uFFFD and \uFFFD"
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.ok(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Error: told}))
	w.isf(must(w.Job(w.ctx, w.all, j.ID))(w.t).Error == kept, "released: %q", must(w.Job(w.ctx, w.all, j.ID))(w.t).Error)
	_, lease = w.claim(c.ID, memory.StagePrepare, 1)
	w.write(c.ID, func(tx memory.Tx) error {
		return tx.EndJob(w.ctx, j.ID, lease, memory.JobEnd{State: memory.JobFailed, Error: told})
	})
	w.isf(must(w.Job(w.ctx, w.all, j.ID))(w.t).Error == kept, "ended: %q", must(w.Job(w.ctx, w.all, j.ID))(w.t).Error)
	n := w.put(c.ID, memory.Note{Content: "x", State: memory.StatePending, Error: told})
	got, _ := w.get(w.view(c.ID), n.ID)
	w.isf(got.Error == kept && n.Error == kept, "a note that waits: %q, %q", got.Error, n.Error)
	w.clock.Advance(time.Minute)
}

// escapes: what only looks like the character is kept as it is.
func escapes(_ *testing.T, w *world) {
	c := w.collection("c")
	for _, s := range []string{`\u0000`, `\\u0000`, `\`, `\\`, `a\`, "\u0001", `"\u0000"`} {
		n := w.put(c.ID, memory.Note{Content: s, Tags: []string{s}, Attributes: map[string]any{s: s, "l": []any{s}}})
		got, ok := w.get(w.view(c.ID), n.ID)
		w.isf(ok && got.Content == s && got.Tags[0] == s && got.Attributes[s] == s, "%q did not survive: %+v", s, got)
	}
}
