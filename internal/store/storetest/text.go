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

// null is a text with the null character, which not every engine can store.
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

// nullInNotes: a note or link with the null character is refused and the field is named;
// the rest of its changeset can still be written.
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
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, refused.note)) })
		w.wantInvalid(err, refused.field)
		if w.head(c.ID) != head {
			t.Errorf("a refused %s moved the head", refused.field)
		}
		var stored memory.Note
		w.write(c.ID, func(tx memory.Tx) (err error) {
			w.wantInvalid(errOf(tx.Put(w.ctx, refused.note)), refused.field)
			stored, err = tx.Put(w.ctx, memory.Note{Content: "stored"})
			return err
		})
		got, ok := w.get(w.view(c.ID), stored.ID)
		w.assertf(ok && got.Content == "stored", "the rest of a changeset with a refused %s is lost", refused.field)
	}
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	for field, l := range map[string]memory.Link{
		"relation":   {LinkID: memory.LinkID{Relation: null}},
		"attributes": {Attributes: map[string]any{"k": null}},
	} {
		l.Source, l.Target = a.ID, b.ID
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return errOf(tx.Link(w.ctx, l)) })
		w.wantInvalid(err, field)
	}
}

func nullElsewhere(_ *testing.T, w *world) {
	create := func(c memory.Collection) error {
		return errOf(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: c}))
	}
	w.wantInvalid(create(memory.Collection{Name: null}), "name")
	w.wantInvalid(create(memory.Collection{Name: "x", DisplayName: null}), "display_name")
	w.wantInvalid(create(memory.Collection{Name: "x", Metadata: map[string]any{"k": null}}), "metadata")
	w.wantInvalid(create(memory.Collection{Name: "x", Metadata: map[string]any{null: "v"}}), "metadata")
	c := w.collection("c")
	update := func(fn func(*memory.Collection)) error {
		return errOf(w.UpdateCollection(w.ctx, w.all, c.ID, memory.AuditEntry{}, func(c *memory.Collection) error { fn(c); return nil }))
	}
	w.wantInvalid(update(func(c *memory.Collection) { c.DisplayName = null }), "display_name")
	w.wantInvalid(update(func(c *memory.Collection) { c.Metadata = map[string]any{"k": null} }), "metadata")
	w.wantInvalid(w.Audit(w.ctx, w.all, memory.AuditEntry{Action: "x", Detail: map[string]any{"k": null}}), "detail")
	w.wantInvalid(errOf(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "x", Detail: map[string]any{null: 1}}}},
		func(_ context.Context, tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{})) })), "detail")
	w.assertf(w.head(c.ID) == 0 && len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "x"}))(w.t)) == 0, "something refused was written")
	w.wantInvalid(errOf(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: null})), "name")
	w.wantInvalid(errOf(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: "x", DisplayName: null})), "display_name")
	w.wantInvalid(errOf(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: null})), "name")
	w.wantInvalid(w.CreateKey(w.ctx, w.all, auth.Key{ID: uuid.New(), Name: null}, memory.AuditEntry{}), "name")
	_, err := w.tryWrite(c.ID, func(tx memory.Tx) error {
		return errOf(tx.Enqueue(w.ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Trace: null}))
	})
	w.wantInvalid(err, "trace")
	var r memory.Review
	w.write(c.ID, func(tx memory.Tx) (err error) {
		r, err = tx.OpenReview(w.ctx, memory.Review{Trigger: uuid.New()})
		return err
	})
	r.State, r.Reason = memory.ReviewRejected, null
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.UpdateReview(w.ctx, r) })
	w.wantInvalid(err, "reason")
	_, err = w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Idempotency: &memory.Idempotency{Method: "POST", Path: "/p", Key: null}}, func(context.Context, memory.Tx) error { return nil })
	w.wantInvalid(err, "Idempotency-Key")
}

// nullInQuestions: a query with the null character finds nothing.
func nullInQuestions(_ *testing.T, w *world) {
	c := w.collection("c")
	w.put(c.ID, memory.Note{Content: "x", Key: "k", Category: "a", Tags: []string{"a"}, Attributes: map[string]any{"k": "a"}, Vector: []float32{1, 0, 0, 0}})
	v := w.view(c.ID)
	w.wantFault(errOf(w.NoteByKey(w.ctx, w.all, v, memory.KindNote, null)), fault.NotFound)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, null)), fault.NotFound)
	w.wantFault(errOf(w.OpenView(w.ctx, w.all, null, memory.At{})), fault.NotFound)
	w.wantFault(errOf(w.AgentByRef(w.ctx, w.all, null)), fault.NotFound)
	w.wantFault(errOf(w.TenantByName(w.ctx, w.op, null)), fault.NotFound)
	w.noError(noneVisible(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Kinds: []memory.Kind{null}, States: []memory.State{null}})))
	w.noError(noneVisible(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: null, Target: null})))
	_, found, err := w.Replayed(w.ctx, w.all, memory.Idempotency{Method: "POST", Path: "/p", Key: null})
	w.assertf(err == nil && !found, "an answer was found: %t, %v", found, err)
	w.write(c.ID, func(tx memory.Tx) error {
		w.wantFault(errOf(tx.NoteByKey(w.ctx, memory.KindNote, null)), fault.NotFound)
		return nil
	})
	for _, field := range []string{"kind", "category", "tags", "keywords", "attributes.k", `attributes.a\u0000b`} {
		for _, op := range []string{"eq", "contains", "icontains", "in"} {
			value := `"a\u0000b"`
			if op == "in" {
				value = "[" + value + "]"
			}
			e, err := filter.Parse([]byte(`{"field":"` + field + `","op":"` + op + `","value":` + value + `}`))
			if err != nil {
				continue // the parser refuses it
			}
			w.assertf(len(must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Filter: e}))(w.t)) == 0, "%s %s found something", field, op)
			w.assertf(len(must(w.Nearest(w.ctx, w.all, v, memory.NearestQuery{Vector: []float32{1, 0, 0, 0}, Filter: e}))(w.t)) == 0, "%s %s found a nearest note", field, op)
			w.assertf(len(must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Filter: filter.Not{Term: e}}))(w.t)) == 1, "not %s %s did not find the note", field, op)
		}
	}
}

// nullFromOutside: in error texts, for example of a model's endpoint, null characters and
// invalid UTF-8 are replaced, so that a job can always be ended.
func nullFromOutside(_ *testing.T, w *world) {
	const received, stored = "said \x00 and \xff", "said \uFFFD and \uFFFD"
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Error: received}))
	w.assertf(must(w.Job(w.ctx, w.all, j.ID))(w.t).Error == stored, "released: %q", must(w.Job(w.ctx, w.all, j.ID))(w.t).Error)
	_, lease = w.claim(c.ID, memory.StagePrepare, 1)
	w.write(c.ID, func(tx memory.Tx) error {
		return tx.EndJob(w.ctx, j.ID, lease, memory.JobEnd{State: memory.JobFailed, Error: received})
	})
	w.assertf(must(w.Job(w.ctx, w.all, j.ID))(w.t).Error == stored, "ended: %q", must(w.Job(w.ctx, w.all, j.ID))(w.t).Error)
	n := w.put(c.ID, memory.Note{Content: "x", State: memory.StatePending, Error: received})
	got, _ := w.get(w.view(c.ID), n.ID)
	w.assertf(got.Error == stored && n.Error == stored, "a pending note: %q, %q", got.Error, n.Error)
	w.clock.Advance(time.Minute)
}

// escapes: text that looks like an escaped null character is stored unchanged.
func escapes(_ *testing.T, w *world) {
	c := w.collection("c")
	for _, s := range []string{`\u0000`, `\\u0000`, `\`, `\\`, `a\`, "\u0001", `"\u0000"`} {
		n := w.put(c.ID, memory.Note{Content: s, Tags: []string{s}, Attributes: map[string]any{s: s, "l": []any{s}}})
		got, ok := w.get(w.view(c.ID), n.ID)
		w.assertf(ok && got.Content == s && got.Tags[0] == s && got.Attributes[s] == s, "%q is not read as it was written: %+v", s, got)
	}
}
