// Package layers is what callers do with a memory of several layers besides reading it: they remember an item immediately,
// in a request instead of a job, and are told what was stored, what was skipped and why. The policy decides; package
// engine applies it.
package layers

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what the service requires of a store.
type Store interface {
	memory.AnswerStore
	memory.WrittenStore
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Actor runs tasks of policies; *engine.Engine implements it.
type Actor interface {
	ActOnce(ctx context.Context, s tenant.Scope, ref string, t memory.Task, r memory.Request) (engine.Acted, error)
}

// Persons refuses what a second person says where a memory is of one; *notes.Service implements it.
type Persons interface {
	CheckPerson(ctx context.Context, s tenant.Scope, c *memory.Collection, field, name string) error
}

// Service remembers items. It is safe for concurrent use.
type Service struct {
	Store   Store
	Actor   Actor
	Persons Persons
	Quota   memory.Quota // nil: no quotas
	Clock   memory.Clock

	turns turns
}

// Position is one side of a conflict.
type Position = layered.Position

// Remembered is what was stored of an item. A repeated request has the stored notes as they were then, and
// neither what was skipped nor conflicts nor what ended.
type Remembered struct {
	Stored    []layered.Stored   `json:"stored"`
	Skipped   []layered.Skipped  `json:"skipped"`
	Conflicts []layered.Conflict `json:"conflicts"`
	Ends      []layered.Ended    `json:"ends"`
	Turn      int64              `json:"turn"`
	Revision  memory.Revision    `json:"-"`
}

// Remember stores an item (notes:write, and base:write on a shared base). args are those of the policy's task
// "remember", bytes is the size of its content. A policy without layers is Invalid; Conflict when other writes come in
// between again and again.
func (l *Service) Remember(ctx context.Context, s tenant.Scope, ref string, args json.RawMessage, bytes int64, r memory.Request) (Remembered, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return Remembered{}, err
	}
	c, err := l.Store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return Remembered{}, err
	}
	if l.Quota != nil {
		const copies = 2 // the item and its episode
		if err := l.Quota.CheckNotes(ctx, s, copies, copies*bytes); err != nil {
			return Remembered{}, err
		}
	}
	if err := l.checkPerson(ctx, s, &c, args); err != nil {
		return Remembered{}, err
	}
	if args, err = screen(ctx, &c, args); err != nil {
		return Remembered{}, err
	}
	end, err := l.turns.begin(ctx, c.ID)
	if err != nil {
		return Remembered{}, err
	}
	defer end()
	write := func() (Remembered, *memory.Idempotency, error) {
		acted, err := l.Actor.ActOnce(ctx, s, c.ID.String(), memory.Task{Name: layered.TaskRemember, Args: args}, r)
		if err != nil || acted.Replay != nil {
			return Remembered{}, acted.Replay, err
		}
		out := Remembered{Revision: acted.Revision}
		if err := json.Unmarshal(acted.Outcome, &out); err != nil {
			return out, nil, fault.Wrap(err, fault.Internal, "the policy's result cannot be decoded")
		}
		return out, nil, nil
	}
	return memory.Once(ctx, l.Store, s, memory.OnceKey{Key: r.Idempotency, Collection: c.ID}, write,
		func(ids memory.AnswerIDs, _ *memory.Job) (Remembered, error) { return l.replay(ctx, s, ids) })
}

// checkPerson refuses an item of a user whose name is not that of the person that the collection remembers.
func (l *Service) checkPerson(ctx context.Context, s tenant.Scope, c *memory.Collection, args json.RawMessage) error {
	var said struct {
		Role memory.Role `json:"role"`
		Name string      `json:"name"`
	}
	if err := json.Unmarshal(args, &said); err != nil {
		return fault.Wrap(err, fault.Internal, "the arguments of the task are not an object")
	}
	if said.Name == "" || said.Role != "" && said.Role != memory.RoleUser {
		return nil
	}
	return l.Persons.CheckPerson(ctx, s, c, "name", said.Name)
}

// screen applies the collection's setting for secrets, before a model or an embedder reads the item.
func screen(ctx context.Context, c *memory.Collection, args json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the arguments of the task are not an object")
	}
	for name, value := range fields {
		var err error
		if fields[name], err = c.ScreenJSON(ctx, name, value); err != nil {
			return nil, err
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the arguments of the task cannot be encoded")
	}
	return out, nil
}

// replay builds an answer again from the notes that it named.
func (l *Service) replay(ctx context.Context, s tenant.Scope, ids memory.AnswerIDs) (Remembered, error) {
	out := Remembered{Revision: ids.Revision}
	_, notes, err := memory.WrittenNotes(ctx, l.Store, s, ids)
	if err != nil {
		return out, err
	}
	for i := range notes {
		n := &notes[i]
		st := layered.Stored{Note: n.ID, Importance: n.Importance, Layer: layered.LayerOf(n)}
		if st.Layer == layered.Semantic {
			st.Triple = tripleOf(n)
		}
		if st.Layer != "" { // else it has left its layer, and the revision of the request is gone
			out.Stored = append(out.Stored, st)
		}
	}
	return out, nil
}

func tripleOf(n *memory.Note) *layered.Triple {
	t := &layered.Triple{}
	t.Subject, _ = n.Attributes[graph.AttrSubject].(string)
	t.Relation, _ = n.Attributes[graph.AttrRelation].(string)
	t.Object, _ = n.Attributes[graph.AttrObject].(string)
	t.Confidence, _ = n.Attributes[memory.AttrConfidence].(float64)
	return t
}
