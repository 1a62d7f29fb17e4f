package memory

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AnswerIDs is what is kept under an idempotency key: the ids from which the
// answer is built again. Bodies and secrets are never kept.
type AnswerIDs struct {
	Collection uuid.UUID   `json:"collection,omitzero"` // that the request was about; zero: it made one from nothing
	Made       uuid.UUID   `json:"made,omitzero"`       // the collection that the request made
	Notes      []uuid.UUID `json:"notes,omitempty"`
	Revision   Revision    `json:"revision,omitzero"`
	Job        *uuid.UUID  `json:"job,omitempty"`
}

// Raw encodes the ids as a store keeps them.
func (a AnswerIDs) Raw() json.RawMessage {
	b, err := json.Marshal(a)
	if err != nil { // ids and numbers always marshal
		return json.RawMessage("{}")
	}
	return b
}

// AnswerFor decodes the ids that were kept for a request about a collection;
// zero is a request that makes one from nothing. IdempotencyReuse when the key
// was used with another collection, which had the same name then.
func (k *Idempotency) AnswerFor(collection uuid.UUID) (AnswerIDs, error) {
	var ids AnswerIDs
	if err := json.Unmarshal(k.IDs, &ids); err != nil {
		return ids, fault.Wrap(err, fault.Internal, "the kept answer cannot be read")
	}
	if ids.Collection != collection {
		return ids, fault.New(fault.IdempotencyReuse, "the idempotency key was used with an earlier collection of this name")
	}
	return ids, nil
}

// AnswerStore is what Once asks of a store.
type AnswerStore interface {
	Replayed(ctx context.Context, s tenant.Scope, k Idempotency) (Idempotency, bool, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (Job, error)
}

// OnceKey is the idempotency key of a request and what it was sent for.
type OnceKey struct {
	Key        *Idempotency // nil: none was sent, and nothing is replayed
	Collection uuid.UUID    // as in AnswerFor
}

// Once runs write unless an answer is kept under the key; then replay builds
// that answer again from its ids, with the job as it is now (nil: none, or
// gone). write returns what the store returned as Replay: the same request may
// have been written in between.
//
// IdempotencyReuse when the key was used with another body or another
// collection, or when what was made under it is deleted.
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
		return out, fault.New(fault.IdempotencyReuse, "what was made under the idempotency key is deleted")
	}
	return out, err
}
