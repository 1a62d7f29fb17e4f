package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Fill writes a random history into an empty store. It writes rows of every table, with
// the values that engines store in different ways.
func Fill(t *testing.T, h Harness, seed uint64) {
	t.Helper()
	f := &filler{world: newWorld(t.Context(), t, h, "filled"), rng: rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // reproducible
	f.access()
	f.history()
	f.jobs()
	f.ledger()
	f.verify()
}

type filler struct {
	*world
	rng   *rand.Rand
	bases []uuid.UUID
	notes []uuid.UUID
}

func pick[T any](f *filler, from ...T) T { return from[f.rng.IntN(len(from))] }

func (f *filler) text() string {
	return pick(f, "", " ", "plain", "Zoë's “ferry” <b>&amp;</b>\n\tleaves \\ at /nine/", "日本語のメモ", "مرحبا", "😀 \u2028 \u00a0 \u001f", "null", `{"a":1}`, "{}", "[]", "''; --", "Straße", "e\u0301")
}

func (f *filler) texts() []string {
	out := make([]string, f.rng.IntN(4))
	for i := range out {
		out[i] = f.text()
	}
	return out
}

func (f *filler) object() map[string]any {
	out := map[string]any{}
	for range f.rng.IntN(4) {
		out[f.text()] = pick[any](f,
			nil, true, "", f.text(), 0.0, -0.5, 1.0, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.25,
			json.Number("9007199254740993"), json.Number("-9223372036854775808"), json.Number("123456789012345678901234567890"), json.Number("1e400"),
			[]any{1.0, "two", nil, []any{}, map[string]any{}}, map[string]any{"b": 1.0, "a": map[string]any{"ä": false}},
		)
	}
	return out
}

func (f *filler) time() time.Time {
	return pick(f, time.Time{}, time.Unix(0, 0).UTC(), time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 7_000, time.FixedZone("", 3600)))
}

func (f *filler) access() {
	f.noError(errOf(f.CreateTenant(f.ctx, f.op, tenant.Tenant{Name: "limited", Limits: tenant.Limits{Notes: 1 << 60, ModelTokensPerDay: 1}, AllowedHosts: "example.com,*.example.org:8443"})))
	suspended := must(f.CreateTenant(f.ctx, f.op, tenant.Tenant{Name: "suspended"}))(f.t)
	suspended.State = tenant.Suspended
	f.noError(errOf(f.UpdateTenant(f.ctx, f.op, suspended)))
	f.noError(errOf(f.CreateAgent(f.ctx, f.all, tenant.Agent{Name: "carol", DisplayName: "Каrol <&>"})))
	f.noError(errOf(f.EnsureAgent(f.ctx, f.foreign, "alice")))
	next := uuid.Must(uuid.NewV7())
	f.noError(f.CreateKey(f.ctx, f.all, auth.Key{ID: next, Name: f.text(), Prefix: "sb_live_a", Hash: [32]byte{1, 255}}, memory.AuditEntry{Action: "key.create", Detail: f.object()}))
	f.noError(f.CreateKey(f.ctx, f.all, auth.Key{
		ID: uuid.Must(uuid.NewV7()), Prefix: "sb_live_b", Permissions: []tenant.Permission{tenant.NotesRead, tenant.Clone}, Agent: f.alice.ID,
		ExpiresAt: f.clock.Now().Add(time.Hour), RevokedAt: f.clock.Now(), RotatedTo: next,
		Limit: tenant.Limit{User: "Ида <&> 日本", Agent: "chat", App: "an app", Run: "1"},
	}, memory.AuditEntry{}))
	f.noError(f.CreateOperatorKey(f.ctx, f.op, auth.Key{ID: uuid.Must(uuid.NewV7()), Name: "platform"}))
	for i := range 3 {
		f.noError(f.AddSigningKey(f.ctx, auth.SigningKey{KID: fmt.Sprint("K-", i), Public: []byte{0, byte(i)}, Wrapped: []byte{}, CreatedAt: f.clock.Now()}, newestKID(f), time.Hour))
	}
}

func newestKID(f *filler) string {
	for _, k := range must(f.SigningKeys(f.ctx))(f.t) {
		return k.KID
	}
	return ""
}

// history creates collections, forks and copies, and writes, changes, deletes and links
// notes in them.
func (f *filler) history() {
	f.bases = append(f.bases, f.collection("base").ID, f.collectionOf(f.alice.ID, "own").ID)
	full := must(f.CreateCollection(f.ctx, f.all, memory.NewCollection{
		Collection: memory.Collection{
			Name: "full", DisplayName: "全 <full>", Policy: "amem", PolicyConfig: json.RawMessage(`{"max_links": 2, "b":1.0 }`), Metadata: f.object(),
			ExpiresAt: f.clock.Now().Add(time.Hour), External: memory.External{User: "auth0|日本", Agent: "a/b", App: "../x", Run: "'"},
		},
		Audit: memory.AuditEntry{Action: "collection.create"},
	}))(f.t).Collection
	f.bases = append(f.bases, full.ID)
	for i := range 40 {
		c := f.bases[f.rng.IntN(len(f.bases))]
		switch f.rng.IntN(8) {
		case 0:
			if len(f.bases) < 8 {
				if fork, err := f.fork(c, memory.Revision(f.rng.Int64N(int64(f.head(c))+1)), fmt.Sprint("fork", i)); err == nil {
					f.bases = append(f.bases, fork.ID)
				}
			}
		case 1:
			f.noError(f.AddUsage(f.ctx, f.all, f.view(c), []memory.UsageDelta{{Note: f.note(), Accesses: 3}}))
		default:
			f.changeset(c)
		}
	}
	f.attach(f.block("blocks", "team “é”"), full.ID, memory.AttachRW)
	f.attach(f.block("blocks", "rules"), f.bases[0], memory.AttachRO)
	f.tool("bare")
	ferry := ownTool("ferry")
	ferry.Spec.Description = "Zoë's “ferry”"
	made := must(f.CreateOwnTool(f.ctx, f.all, ferry, memory.AuditEntry{}))(f.t)
	must(f.CreateSnapshot(f.ctx, f.all, memory.Snapshot{Collection: full.ID, Name: "before “é”", Revision: full.Floor}, memory.AuditEntry{}))(f.t)
	f.noError(f.AttachOwnTool(f.ctx, f.all, full.ID, made.ID, memory.AuditEntry{}))
	hook := f.webhook(full.ID)
	f.webhook(f.bases[0])
	f.noError(f.PutDelivery(f.ctx, f.all, memory.Delivery{
		ID: uuid.New(), Webhook: hook.ID, Collection: full.ID, Revision: 1, Event: "note.added", State: memory.DeliveryDead, Attempts: 3, Error: f.text(), CreatedAt: f.clock.Now(), UpdatedAt: f.clock.Now(),
	}))
	f.grant(f.aliceS, f.key(f.aliceS))
	f.changeset(full.ID)
	f.copyOf(f.view(f.bases[0]), "copied", 3)
	deleted := f.collection("gone")
	f.add(deleted.ID, "in a collection that is being removed")
	f.noError(errOf(f.DeleteCollection(f.ctx, f.all, deleted.ID, false, memory.AuditEntry{Action: "collection.delete"})))
	f.noError(errOf(f.CreateCollection(f.ctx, f.foreign, memory.NewCollection{Collection: memory.Collection{Name: "base", Ephemeral: true}})))
}

func (f *filler) note() uuid.UUID {
	if len(f.notes) == 0 {
		return uuid.Nil
	}
	return f.notes[f.rng.IntN(len(f.notes))]
}

func (f *filler) changeset(c uuid.UUID) {
	vectors := must(f.ResolveCollection(f.ctx, f.all, c.String()))(f.t).Embedder != ""
	_, err := f.Write(f.ctx, f.all, c, memory.WriteOptions{
		Cause: memory.CauseAdd, Job: uuid.New(), Trigger: f.note(),
		Audit:       []memory.AuditEntry{{Action: "note.create", Target: f.text(), Detail: f.object()}},
		Idempotency: &memory.Idempotency{Method: "POST", Path: pick(f, "/a", "/B", "/é"), Key: uuid.NewString(), BodyHash: [32]byte{9}, IDs: json.RawMessage(`["x", 1.0]`)},
	}, func(ctx context.Context, tx memory.Tx) error {
		for range 1 + f.rng.IntN(4) {
			n := memory.Note{
				Content: f.text(), Context: f.text(), Category: f.text(), Keywords: f.texts(), Tags: f.texts(), Attributes: f.object(), Importance: pick(f, 0, 1, 0.1, 1.0/3),
				OccurredAt: f.time(), ExpiresAt: pick(f, time.Time{}, f.clock.Now().Add(time.Hour)), Kind: pick(f, memory.KindNote, memory.KindFact), State: pick(f, memory.StateRaw, memory.StateEvolved, memory.StatePending),
				Error: f.text(), Supplied: pick(f, nil, []string{"tags"}),
				Provenance: memory.Provenance{Actor: f.text(), Agent: f.text(), Stale: f.rng.IntN(2) == 0, Sources: pick(f, nil, []uuid.UUID{f.note()})},
			}
			if f.rng.IntN(4) == 0 {
				n.Key = uuid.NewString()
			}
			if vectors && f.rng.IntN(3) > 0 {
				n.Vector = []float32{pick[float32](f, -1, 0.1, 6e-8), pick[float32](f, 2, 65504), pick[float32](f, 0, 0.333), float32(f.rng.NormFloat64())}
				n.Tokens = tokens(f.rng.IntN(4), f.rng.IntN(256))
			}
			if f.rng.IntN(3) == 0 {
				n.ID = f.note() // a new version, or a copy-up into a fork
			}
			out, err := tx.Put(ctx, n)
			if err != nil {
				return err
			}
			f.notes = append(f.notes, out.ID)
			if f.rng.IntN(4) == 0 {
				if err := tx.SetUsage(ctx, out.ID, memory.Usage{AccessCount: f.rng.Int64N(9), LastAccess: pick(f, time.Time{}, f.clock.Now()), Strength: 0.5, Heat: 1e-9}); err != nil {
					return err
				}
			}
			other := f.note()
			seen, err := tx.Notes(ctx, []uuid.UUID{other}, memory.ReadOptions{})
			if err != nil {
				return err
			}
			if len(seen) == 1 && other != out.ID {
				l := memory.Link{LinkID: memory.LinkID{Source: out.ID, Target: other, Relation: pick(f, "related", "Related", "é")}, Confidence: f.rng.Float64(), Attributes: f.object()}
				if _, err := tx.Link(ctx, l); err != nil {
					return err
				}
				if f.rng.IntN(4) == 0 {
					if err := tx.Delete(ctx, other); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	f.noError(err)
}

// jobs creates jobs in every state, and the parts of an import.
func (f *filler) jobs() {
	c := f.bases[0]
	for i := range 8 {
		f.job(c, memory.Job{
			Kind: memory.JobImport, Stage: memory.StageTask, Payload: pick(f, nil, json.RawMessage(`{"b": 1, "a": "\u0000 <é>" }`)), NotBefore: pick(f, time.Time{}, f.clock.Now().Add(-time.Hour)),
			Trace: pick(f, "", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), Note: pick(f, uuid.Nil, f.note()),
		})
		leased, lease := f.claim(c, memory.StageTask, 1)
		if len(leased) == 0 {
			continue
		}
		f.noError(f.PutPart(f.ctx, f.all, leased[0].ID, memory.SpoolBody, i, []byte(f.text())))
		f.noError(f.PutPart(f.ctx, f.all, leased[0].ID, memory.SpoolResults, 0, []byte{0, 1, 2, 255, byte(i)}))
		f.noError(f.SetProgress(f.ctx, f.all, leased[0].ID, lease, memory.Progress{Done: 1, Total: 3}))
		if end := []memory.JobState{"", memory.JobDone, memory.JobDead, memory.JobFailed, memory.JobQueued, "", memory.JobCanceled, ""}[i]; end != "" {
			f.noError(f.ReleaseJob(f.ctx, f.all, leased[0].ID, lease, memory.JobEnd{State: end, Result: json.RawMessage(`{"n": 1}`), Error: f.text(), Attempts: i, NotBefore: f.clock.Now().Add(time.Minute)}))
		}
	}
}

func (f *filler) ledger() {
	c := f.bases[0]
	before := f.put(c, memory.Note{Content: "before", Attributes: f.object()})
	after := before
	after.Content = f.text()
	for i := range 4 {
		f.write(c, func(tx memory.Tx) error {
			r, err := tx.OpenReview(f.ctx, memory.Review{
				Trigger: before.ID, Confidence: f.rng.Float64(), Reason: f.text(), Read: pick(f, nil, []memory.Version{before.Version()}),
				Changes: pick(f, nil, []memory.ReviewChange{{Note: before.ID, Before: &before, After: &after}}),
			})
			if err == nil && i > 1 {
				r.State, r.Actor = memory.ReviewRejected, f.text()
				err = tx.UpdateReview(f.ctx, r)
			}
			return err
		})
	}
	f.noError(f.AddModelUse(f.ctx, f.all, []memory.ModelUse{
		{Collection: c, Purpose: "analyze", Day: "2026-11-20", Calls: 1, PromptTokens: 1 << 40}, {Purpose: "embed", Day: "2026-11-21", Calls: 1},
	}))
	f.noError(f.Audit(f.ctx, f.foreign, memory.AuditEntry{Action: "a", Target: f.text(), Detail: f.object()}))
}
