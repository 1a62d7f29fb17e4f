package api

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// wireNote renders a note with its outgoing links. usage may be nil. The vector is included only if
// embedding is set.
func wireNote(n *memory.Note, links []memory.Link, usage *memory.Usage, embedding bool) wire.Note {
	out := wire.Note{
		ID: n.ID, Collection: n.Collection, Kind: wire.Kind(n.Kind),
		Content: n.Content, Context: n.Context, Keywords: nonNilList(n.Keywords), Tags: nonNilList(n.Tags),
		Category: wire.Optional(n.Category), Attributes: nonNilObject(n.Attributes), Importance: new(n.Importance),
		OccurredAt: wire.OptionalTime(n.OccurredAt), ExpiresAt: wire.OptionalTime(n.ExpiresAt), CreatedAt: wire.Time(n.CreatedAt), UpdatedAt: wire.Time(n.UpdatedAt),
		Revision: int64(n.From), State: wire.NoteState(n.State), Error: wire.Optional(n.Error),
		Analyst: wire.Optional(wire.NoteAnalyst(n.Analyst)), Links: wireNoteLinks(links), Embedder: wire.Optional(n.Embedder),
		Provenance: wireProvenance(&n.Provenance),
	}
	if sure, ok := memory.ConfidenceOf(n); ok {
		out.Confidence = &sure
	}
	if n.Kind == memory.KindBlock {
		out.Attributes = nonNilObject(block.Shown(n.Attributes))
	}
	if embedding {
		out.Embedding = n.Vector
	}
	if usage != nil {
		out.Usage = &wire.NoteUsage{
			AccessCount: usage.AccessCount, LastAccess: wire.OptionalTime(usage.LastAccess), Strength: usage.CurrentStrength(),
		}
	}
	return out
}

func wireNoteView(v *recall.NoteView, embedding bool) wire.Note {
	return wireNote(&v.Note, v.Links, &v.Usage, embedding)
}

func wireNoteLinks(links []memory.Link) []wire.NoteLink {
	return each(links, func(l *memory.Link) wire.NoteLink {
		return wire.NoteLink{Target: l.Target, Relation: l.Relation, Confidence: l.Confidence}
	})
}

func wireLinks(links []memory.Link) []wire.Link {
	out := make([]wire.Link, 0, len(links))
	for _, l := range links {
		w := wire.Link{
			Source: l.Source, Target: l.Target, Relation: l.Relation, Confidence: l.Confidence,
			CreatedAt: wire.OptionalTime(l.CreatedAt),
		}
		if len(l.Attributes) > 0 {
			w.Attributes = l.Attributes
		}
		out = append(out, w)
	}
	return out
}

func wireProvenance(p *memory.Provenance) *wire.Provenance {
	if len(p.Sources) == 0 && p.Actor == "" && p.Agent == "" && p.Job == nil && !p.Stale {
		return nil
	}
	return &wire.Provenance{Sources: p.Sources, Actor: wire.Optional(p.Actor), Agent: wire.Optional(p.Agent), Job: p.Job, Stale: wire.Optional(p.Stale)}
}

func wireCollection(c *memory.Collection, counts *memory.Counts) wire.Collection {
	out := wire.Collection{
		ID: c.ID, Name: c.Name, DisplayName: wire.Optional(c.DisplayName), Agent: wire.Optional(c.AgentName),
		Policy: c.Policy, PolicyConfig: nonNilObject(decodeObject(c.PolicyConfig)), Embedder: c.Embedder,
		State: wire.Optional(wire.CollectionState(c.State)), Ephemeral: wire.Optional(c.Ephemeral),
		HeadRevision: int64(c.Head), FloorRevision: wire.Optional(int64(c.Floor)),
		ExpiresAt: wire.OptionalTime(c.ExpiresAt), CreatedAt: wire.Time(c.CreatedAt), UpdatedAt: wire.OptionalTime(c.UpdatedAt),
	}
	if len(c.Metadata) > 0 {
		out.Metadata = c.Metadata
	}
	if e := c.External; !e.IsZero() {
		out.External = &wire.External{User: wire.Optional(e.User), Agent: wire.Optional(e.Agent), App: wire.Optional(e.App), Run: wire.Optional(e.Run)}
	}
	if c.Parent != uuid.Nil {
		out.Parent = &wire.Layer{Collection: c.Parent, Revision: int64(c.ParentRevision)}
	}
	if counts != nil {
		out.Counts = &wire.Counts{
			Notes: counts.Notes, Links: counts.Links, Pending: counts.Pending, InReview: counts.InReview,
			Kinds: make(map[string]int64, len(counts.Kinds)),
		}
		for k, n := range counts.Kinds {
			out.Counts.Kinds[string(k)] = n
		}
	}
	return out
}

func wireLayers(layers []memory.Layer) []wire.Layer {
	return each(layers, func(l *memory.Layer) wire.Layer {
		return wire.Layer{Collection: l.Collection, Revision: int64(l.Bound)}
	})
}

func wireIndex(i recall.IndexState) *wire.IndexState {
	return &wire.IndexState{
		State: wire.IndexStateState(i.State), Revision: wire.Optional(int64(i.Revision)), Notes: wire.Optional(i.Notes), Bytes: wire.Optional(i.Bytes),
	}
}

func wireJobRef(j *memory.Job) *wire.JobRef {
	if j == nil {
		return nil
	}
	return &wire.JobRef{ID: j.ID, State: wire.JobState(j.State)}
}

// wireJob renders a job. The time of its next try is shown while it waits for it.
func wireJob(j *memory.Job, now time.Time) wire.Job {
	out := wire.Job{
		ID: j.ID, Kind: string(j.Kind), State: wire.JobState(j.Shown(now)), Collection: wire.Optional(j.Collection), Note: wire.Optional(j.Note),
		Attempts: j.Attempts, Losses: wire.Optional(j.Losses + max(0, j.Claims-1)), Error: wire.Optional(j.Error), Result: decodeObject(j.Result),
		CreatedAt: wire.Time(j.CreatedAt), FinishedAt: wire.OptionalTime(j.FinishedAt), WorkedMs: wire.Optional(j.Worked.Seconds() * 1000),
	}
	if j.Progress != nil {
		out.Progress = &wire.Progress{Done: j.Progress.Done, Total: j.Progress.Total}
	}
	if j.State == memory.JobQueued && j.NotBefore.After(now) {
		out.NextTryAt = wire.OptionalTime(j.NotBefore)
	}
	return out
}

func wireReview(r *memory.Review) wire.Review {
	out := wire.Review{
		ID: r.ID, Collection: r.Collection, State: wire.ReviewState(r.State), Confidence: r.Confidence,
		Changes: make([]wire.ReviewChange, 0, len(r.Changes)), Job: wire.Optional(r.Job), Trigger: wire.Optional(r.Trigger),
		Revision: wire.Optional(int64(r.Revision)), Reason: wire.Optional(r.Reason), Actor: wire.Optional(r.Actor),
		CreatedAt: wire.Time(r.CreatedAt), ClosedAt: wire.OptionalTime(r.ClosedAt),
	}
	if m := r.Merge(); m != nil {
		out.Merge = &wire.ViewRef{Collection: m.Collection, Revision: int64(m.Revision)}
	}
	for _, c := range r.Changes {
		change := wire.ReviewChange{Note: c.Note, Before: wireReviewedNote(c.Before, r), After: wireReviewedNote(c.After, r)}
		if len(c.Links) > 0 {
			change.Links = wireNoteLinks(c.Links)
		}
		if c.Call != nil {
			change.Call = &wire.ToolCall{Run: c.Call.Run, Tool: c.Call.Tool, Arguments: argumentsOf(c.Call), Answer: answerTo(c.Call)}
		}
		out.Changes = append(out.Changes, change)
	}
	return out
}

// wireReviewedNote renders a note as a review stores it. The links are passed separately, because a review
// stores only those that it adds.
func wireReviewedNote(n *memory.Note, r *memory.Review) *wire.Note {
	if n == nil {
		return nil
	}
	kept := *n
	if kept.Collection == uuid.Nil {
		kept.Collection = r.Collection
	}
	return new(wireNote(&kept, nil, nil, false))
}

// nonNilObject returns m, or an empty object: a required object is never null.
func nonNilObject(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// decodeObject decodes a stored JSON object with exact numbers; nil if it is not an object.
func decodeObject(raw json.RawMessage) map[string]any {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil
	}
	return m
}

// marshalObject encodes a free object of a request; nil if it is absent.
func marshalObject(field string, m map[string]any) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fault.InvalidField(field, "must be a JSON object")
	}
	return raw, nil
}

// objectPatch decodes a free object of a merge patch, with exact numbers.
func objectPatch(raw nullable.Nullable[json.RawMessage]) (out nullable.Nullable[map[string]any]) {
	if text, err := raw.Get(); err == nil {
		out.Set(decodeObject(text))
	} else if raw.IsNull() {
		out.SetNull()
	}
	return out
}
