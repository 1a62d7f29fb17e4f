package memory

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AnswerIDs is stored under an idempotency key: the ids from which the answer is built again.
// Bodies and secrets are never stored.
type AnswerIDs struct {
	Collection uuid.UUID   `json:"collection,omitzero"` // that the request was about; zero: it created one
	Made       uuid.UUID   `json:"made,omitzero"`       // the collection that the request created
	Notes      []uuid.UUID `json:"notes,omitempty"`
	Revision   Revision    `json:"revision,omitzero"`
	Found      bool        `json:"found,omitempty"` // the note was there, and nothing was written
	Job        *uuid.UUID  `json:"job,omitempty"`   // the last one
	Jobs       []uuid.UUID `json:"jobs,omitempty"`  // of messages: all
}

// Raw encodes the ids for a store.
func (a AnswerIDs) Raw() json.RawMessage {
	b, err := json.Marshal(a)
	if err != nil { // ids and numbers always encode
		return json.RawMessage("{}")
	}
	return b
}

// AnswerFor decodes the ids that are stored for a request about a collection; zero is a request
// that creates a collection. IdempotencyReuse when the key was used with another collection, which
// then had the same name.
func (k *Idempotency) AnswerFor(collection uuid.UUID) (AnswerIDs, error) {
	var ids AnswerIDs
	if err := json.Unmarshal(k.IDs, &ids); err != nil {
		return ids, fault.Wrap(err, fault.Internal, "the stored answer cannot be decoded")
	}
	if ids.Collection != collection {
		return ids, fault.New(fault.IdempotencyReuse, "the idempotency key was used with an earlier collection of this name")
	}
	return ids, nil
}

// AnswerStore is what Once requires of a store.
type AnswerStore interface {
	Replayed(ctx context.Context, s tenant.Scope, k Idempotency) (Idempotency, bool, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (Job, error)
}

// OnceKey is the idempotency key of a request, and the collection that the request is about.
type OnceKey struct {
	Key        *Idempotency // nil: none was sent, and nothing is replayed
	Collection uuid.UUID    // as in AnswerFor
}

// Once calls write unless an answer is stored under the key. A stored answer is built again by
// replay, from its ids and from the job as it is now (nil: none, or removed). write returns the
// Replay of the store, since a concurrent request may have used the key.
//
// IdempotencyReuse when the key was used with another body or another collection, or when what the
// request made was deleted since.
func Once[A any](
	ctx context.Context, store AnswerStore, s tenant.Scope, k OnceKey,
	write func() (A, *Idempotency, error), replay func(ids AnswerIDs, job *Job) (A, error),
) (A, error) {
	var none A
	if k.Key != nil {
		seen, ok, err := store.Replayed(ctx, s, *k.Key)
		if err != nil {
			return none, err
		}
		if ok {
			return replayKept(ctx, store, s, k, seen, replay)
		}
	}
	out, seen, err := write()
	if err != nil {
		return none, err
	}
	if seen != nil {
		return replayKept(ctx, store, s, k, *seen, replay)
	}
	return out, nil
}

func replayKept[A any](
	ctx context.Context, store AnswerStore, s tenant.Scope, k OnceKey, seen Idempotency,
	replay func(ids AnswerIDs, job *Job) (A, error),
) (out A, err error) {
	ids, err := seen.AnswerFor(k.Collection)
	if err != nil {
		return out, err
	}
	var job *Job
	if ids.Job != nil {
		switch j, err := store.Job(ctx, s, *ids.Job); {
		case err == nil:
			job = &j
		case !fault.Is(err, fault.NotFound):
			return out, err
		}
	}
	out, err = replay(ids, job)
	if fault.Is(err, fault.NotFound) {
		return out, fault.New(fault.IdempotencyReuse, "what the request with this idempotency key made is deleted")
	}
	return out, err
}

// WrittenStore is what WrittenNotes requires of a store.
type WrittenStore interface {
	OpenView(ctx context.Context, s tenant.Scope, ref string, at At) (View, error)
	Notes(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID, o ReadOptions) ([]Note, error)
}

// WrittenNotes reads the notes of a stored answer at the revision of the write, or at the head when that revision is below the floor.
// What was deleted since is not told again: a deleted note is left out, and one from which a deletion took sentences is as it is now.
// NotFound when none is left.
func WrittenNotes(ctx context.Context, store WrittenStore, s tenant.Scope, ids AnswerIDs) (v View, notes []Note, err error) {
	head, err := store.OpenView(ctx, s, ids.Collection.String(), At{})
	if err != nil {
		return head, nil, err
	}
	current, err := store.Notes(ctx, s, head, ids.Notes, ReadOptions{})
	if err != nil {
		return head, nil, err
	}
	if len(current) == 0 && len(ids.Notes) > 0 {
		return head, nil, fault.Missing("note")
	}
	v, err = store.OpenView(ctx, s, ids.Collection.String(), At{AsOf: &ids.Revision})
	if fault.Is(err, fault.RevisionGone) {
		return head, current, nil
	}
	if err != nil {
		return v, nil, err
	}
	now := ByID(current)
	then, err := store.Notes(ctx, s, v, ids.Notes, ReadOptions{})
	for _, n := range then {
		switch is := now[n.ID]; {
		case is == nil:
		case strings.Contains(is.Content, secret.Mark(DeletedKind)):
			notes = append(notes, *is)
		default:
			notes = append(notes, n)
		}
	}
	return v, notes, err
}

// DeletedKind is the kind in the mark of a sentence that a deletion took out of a note.
const DeletedKind = "deleted"
