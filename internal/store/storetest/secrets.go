package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/store"
)

func secretCases() []testCase {
	return []testCase{
		{"Modes", secretModes},
		{"Jobs", secretsOfJobs},
	}
}

const (
	told   = "My password is hunter2x9."
	marked = "My password is [redacted: password]."
)

// guarded returns the store behind the setting about secrets, and a collection with it.
func (w *world) guarded(mode memory.Secrets) (store.Store, memory.Collection) {
	w.t.Helper()
	s := store.ScreenSecrets(w.Store)
	made := must(s.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: "secrets-" + string(mode), Policy: "none", PolicyConfig: json.RawMessage(`{"secrets":"` + string(mode) + `"}`), Embedder: embedder, Dim: dim},
	}))(w.t)
	return s, made.Collection
}

// secretModes: what a transaction writes is redacted, refused or kept as the collection says; a note that changes has no vector
// and gets a job that embeds it, and what was redacted is reported (C262).
func secretModes(_ *testing.T, w *world) {
	for mode, want := range map[memory.Secrets]string{memory.SecretsRedact: marked, memory.SecretsKeep: told, memory.SecretsRefuse: ""} {
		s, c := w.guarded(mode)
		ctx, report := secret.WithReport(w.ctx)
		var n, plain memory.Note
		var link memory.LinkID
		_, err := s.Write(ctx, w.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) (err error) {
			if plain, err = tx.Put(ctx, memory.Note{Content: "plain", Vector: []float32{1, 0, 0, 0}}); err != nil {
				return err
			}
			n, err = tx.Put(ctx, memory.Note{
				Content: told, Context: told, Category: told, Keywords: []string{"a", told}, Tags: []string{told},
				Attributes: map[string]any{"deep": []any{map[string]any{"said": told}}, "n": 1.0}, Vector: []float32{1, 0, 0, 0},
			})
			if err != nil {
				return err
			}
			link = memory.LinkID{Source: n.ID, Target: plain.ID, Relation: "related"}
			_, err = tx.Link(ctx, memory.Link{LinkID: link, Confidence: 1, Attributes: map[string]any{"why": told}})
			return err
		})
		if mode == memory.SecretsRefuse {
			w.wantFault(err, fault.Invalid)
			w.assertf(w.view(c.ID).At == 0 && !strings.Contains(err.Error(), "hunter2"), "refused as a whole: %v", err)
			continue
		}
		w.noError(err)
		v := w.view(c.ID)
		read := must(w.Notes(w.ctx, w.all, v, []uuid.UUID{n.ID}, memory.ReadOptions{Vector: true}))(w.t)[0]
		w.assertf(read.Content == want && read.Context == want && read.Category == want && read.Keywords[1] == want && read.Tags[0] == want && reflect.DeepEqual(read.Attributes["deep"], []any{map[string]any{"said": want}}) && read.Attributes["n"] == 1.0, "%s: %+v", mode, read)
		w.assertf((len(read.Vector) == 0) == (mode == memory.SecretsRedact), "%s: the vector of the text before is gone: %v", mode, read.Vector)
		w.assertf((len(report.Kinds()) == 1) == (mode == memory.SecretsRedact), "%s: reported %v", mode, report.Kinds())
		links := must(w.Links(w.ctx, w.all, v, memory.LinkQuery{Notes: []uuid.UUID{n.ID}}))(w.t)
		w.assertf(len(links) == 1 && links[0].Attributes["why"] == want, "%s: links %+v", mode, links)
	}
}

// secretsOfJobs: a job of a collection that refuses secrets does not fail over what a model says; it is redacted.
func secretsOfJobs(_ *testing.T, w *world) {
	s, c := w.guarded(memory.SecretsRefuse)
	job := uuid.New()
	var n memory.Note
	_, err := s.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd, Job: job}, func(ctx context.Context, tx memory.Tx) (err error) {
		n, err = tx.Put(ctx, memory.Note{Content: told})
		return err
	})
	w.noError(err)
	w.assertf(n.Content == marked, "a job wrote %q", n.Content)
}
