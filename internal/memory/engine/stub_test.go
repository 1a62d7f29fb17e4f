package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// stub is a policy that decides as a test says.
type stub struct {
	decide  func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error)
	prepare func(ctx context.Context, d memory.Desk, n memory.Note) (memory.Note, error)
}

func (*stub) Name() string { return "stub" }

func (*stub) Describe() memory.PolicyDescription {
	return memory.PolicyDescription{Name: "stub", Exchanges: true, Guided: true}
}

func (*stub) CheckConfig(json.RawMessage) error { return nil }

func (*stub) Reading(json.RawMessage) memory.Reading { return memory.Reading{} }

func (p *stub) Prepare(ctx context.Context, d memory.Desk, n memory.Note) (memory.Note, error) {
	if p.prepare == nil {
		return n, nil
	}
	return p.prepare(ctx, d, n)
}

func (p *stub) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	return p.decide(ctx, d, e)
}

// newStubWorld returns a world whose collection has a stub as its policy.
func newStubWorld(t *testing.T, o options) (*world, *stub) {
	t.Helper()
	p := &stub{}
	p.decide = func(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
		return memory.Decision{Note: e.Note}, nil
	}
	o.policy, o.policies = "stub", []memory.Policy{p}
	return newWorld(t, o), p
}

// say adds messages, by a user and an assistant in turn.
func (w *world) say(texts ...string) notes.MessagesWritten {
	w.t.Helper()
	return w.sayIn(w.c.ID, texts...)
}

func (w *world) sayIn(c uuid.UUID, texts ...string) notes.MessagesWritten {
	w.t.Helper()
	in := notes.NewMessages{OnDuplicate: memory.DuplicateKeep}
	for i, s := range texts {
		role := memory.RoleUser
		if i%2 == 1 {
			role = memory.RoleAssistant
		}
		in.Messages = append(in.Messages, notes.NewMessage{Role: role, Content: s})
	}
	out := must.Get(w.notes.AddMessages(w.t.Context(), w.s, c.String(), in, memory.Request{}))(w.t)
	return out
}

// task enqueues a policy job.
func (w *world) task(task memory.Task) {
	w.t.Helper()
	payload := must.Get(json.Marshal(task))(w.t)
	w.enqueueIn(w.c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask, Payload: payload})
}

func (w *world) enqueueIn(c uuid.UUID, j memory.Job) {
	w.t.Helper()
	must.Get(w.store.Write(w.t.Context(), w.s, c, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, j)
		return err
	}))(w.t)
}

// all lists the notes of some kinds in a collection, oldest first.
func (w *world) all(c uuid.UUID, kinds ...memory.Kind) []memory.Note {
	w.t.Helper()
	list := must.Get(w.store.ListNotes(w.t.Context(), w.s, w.view(c), memory.NoteQuery{Kinds: kinds, Limit: 10_000}))(w.t)
	return list
}

// jobsOf lists the jobs of a kind in a collection, oldest first.
func (w *world) jobsOf(c uuid.UUID, kind memory.JobKind) []memory.Job {
	w.t.Helper()
	list := must.Get(w.store.ListJobs(w.t.Context(), w.s, memory.JobQuery{Collection: c, Limit: 10_000}))(w.t)
	var out []memory.Job
	for _, j := range slices.Backward(list) {
		if j.Kind == kind {
			out = append(out, j)
		}
	}
	return out
}

// resultOf decodes the result of a job.
func resultOf[T any](t *testing.T, j *memory.Job) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(j.Result, &v); err != nil {
		t.Fatalf("result %s: %v", j.Result, err)
	}
	return v
}

// engineResult is the engine's part of a job's result.
type engineResult struct {
	Tries   int         `json:"tries"`
	Evolved bool        `json:"evolved"`
	LeftOut []uuid.UUID `json:"left_out"`
	Refused []struct {
		Part   string      `json:"part"`
		Kind   memory.Kind `json:"kind"`
		Reason string      `json:"reason"`
	} `json:"refused"`
	Calls map[string]struct {
		Calls            int   `json:"calls"`
		Requests         int   `json:"requests"`
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"calls"`
}
