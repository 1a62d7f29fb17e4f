package amem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// evolveMaterial is the new note and its neighbors as the prompt of "evolve" shows them.
type evolveMaterial struct {
	MaxLinks  int                        `json:"max_links"`
	New       policy.DescribedMaterial   `json:"new_note"`
	Neighbors []policy.DescribedMaterial `json:"neighbours"`
}

// Decide decides about a note from its nearest notes: which links it gets, and which
// older notes change. For the first note of a collection no model is asked.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	if e.Kind != memory.EventNote {
		return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
	}
	return p.decideNote(ctx, d, e.Note)
}

func (p *Policy) decideNote(ctx context.Context, d memory.Desk, n memory.Note) (memory.Decision, error) {
	c, err := parseConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	if c.Split {
		parts, err := p.splitParts(ctx, d, &c, &n)
		if err != nil {
			return memory.Decision{}, err
		}
		if len(parts) == 2 {
			return splitNote(n, parts), nil
		}
	}
	near, err := d.Nearest(ctx, n, c.KNeighbors)
	if err != nil {
		return memory.Decision{}, fmt.Errorf("find neighbors: %w", err)
	}
	near = usableNeighbors(near, n.ID, c.KNeighbors)
	if len(near) == 0 {
		return memory.Decision{Note: n, Outcome: policy.Encode(&Outcome{Policy: "amem", Decision: decisionAlone})}, nil
	}
	call, err := p.evolveCall(ctx, d, &c, &n, near)
	if err != nil {
		return memory.Decision{}, err
	}
	answer, err := d.Ask(ctx, call)
	if errors.Is(err, memory.ErrBadAnswer) {
		o := Outcome{Policy: "amem", Decision: decisionUnevolved, Prompt: p.evolve.Version, Considered: consideredNotes(near)}
		return memory.Decision{Note: n, Outcome: policy.Encode(&o), Pending: "evolve: " + memory.ErrBadAnswer.Error()}, nil
	}
	if err != nil {
		return memory.Decision{}, fmt.Errorf("evolve: %w", err)
	}
	var evolution Evolution
	if err := json.Unmarshal(answer.JSON, &evolution); err != nil {
		return memory.Decision{}, fmt.Errorf("evolve: %w: %w", memory.ErrBadAnswer, err)
	}
	r := evolveRun{c: &c, note: n, near: near, answer: evolution}
	r.out = Outcome{
		Policy: "amem", Analyst: answer.Analyst, Model: answer.Model, Prompt: p.evolve.Version, Repaired: answer.Repaired,
		Confidence: confidence(&evolution), Considered: consideredNotes(near),
	}
	return r.decide(), nil
}

// usableNeighbors returns at most k neighbors, without the note itself and without
// repeats. A desk should not return these; no answer may depend on them.
func usableNeighbors(near []memory.Neighbor, self uuid.UUID, k int) []memory.Neighbor {
	seen := map[uuid.UUID]bool{self: true}
	out := make([]memory.Neighbor, 0, min(k, len(near)))
	for _, nb := range near {
		if len(out) < k && !seen[nb.Note.ID] {
			seen[nb.Note.ID] = true
			out = append(out, nb)
		}
	}
	return out
}

// evolveCall returns the call that shows a note with its neighbors and their links.
func (p *Policy) evolveCall(ctx context.Context, d memory.Desk, c *Config, n *memory.Note, near []memory.Neighbor) (memory.Call, error) {
	ids := make([]uuid.UUID, len(near))
	for i := range near {
		ids[i] = near[i].Note.ID
	}
	var linked map[uuid.UUID][]memory.Note
	if c.LinkedChars > 0 {
		var err error
		if linked, err = d.Linked(ctx, ids, c.KNeighbors); err != nil {
			return memory.Call{}, fmt.Errorf("read linked notes: %w", err)
		}
	}
	in := EvolveInput{
		New:       memory.Described{Handle: -1, Content: n.Content, Context: n.Context, Keywords: n.Keywords, Tags: n.Tags, Time: n.OccurredAt},
		Neighbors: make([]memory.Described, len(near)),
		MaxLinks:  c.MaxLinks,
	}
	m := evolveMaterial{
		MaxLinks: c.MaxLinks, New: policy.DescribeNote(in.New, c.PromptChars),
		Neighbors: make([]policy.DescribedMaterial, len(near)),
	}
	m.New.Time = policy.FormatMinute(n.OccurredAt)
	for i := range near {
		nb := &near[i].Note
		in.Neighbors[i] = memory.Described{
			Handle: i, Content: nb.Content, Context: nb.Context, Keywords: nb.Keywords, Tags: nb.Tags,
			Time: nb.OccurredAt, Score: near[i].Score, Linked: linkedTexts(linked[nb.ID], n.ID, c),
		}
		m.Neighbors[i] = policy.DescribeNote(in.Neighbors[i], c.NeighborChars)
		m.Neighbors[i].Handle, m.Neighbors[i].Time = &in.Neighbors[i].Handle, policy.FormatDay(nb.OccurredAt)
	}
	return p.evolve.Call(memory.Call{
		Name: "evolve", Input: in, Temperature: c.temperature(), MaxTokens: c.MaxTokens,
		Lenient: lenientEvolution, Check: policy.CheckTypes[Evolution], Collection: n.Collection,
	}, m, len(near))
}

// lenientEvolution also accepts truth values and numbers that are texts, and one action without a list.
func lenientEvolution(said string) json.RawMessage {
	v, _ := policy.FindJSON(said)
	object, _ := v.(map[string]any)
	plain := func(v any) any {
		s, is := v.(string)
		var x any
		if !is || json.Unmarshal([]byte(strings.ToLower(s)), &x) != nil {
			return v
		}
		return x
	}
	for _, name := range []string{"should_evolve", "confidence"} {
		if v, is := object[name]; is {
			object[name] = plain(v)
		}
	}
	if s, is := object["actions"].(string); is {
		object["actions"] = []string{s}
	}
	handles, _ := object["suggested_connections"].([]any)
	for i := range handles {
		handles[i] = plain(handles[i])
	}
	_, ok := object["should_evolve"].(bool)
	return policy.EncodeLenient(object, ok)
}

// linkedTexts returns the contents of at most k linked notes, each shortened.
func linkedTexts(notes []memory.Note, self uuid.UUID, c *Config) []string {
	var out []string
	for i := range notes {
		if len(out) == c.KNeighbors {
			break
		}
		if notes[i].ID != self {
			out = append(out, text.Shorten(notes[i].Content, c.LinkedChars))
		}
	}
	return out
}

// confidence returns the confidence that the answer states; nil when it states none
// in 0..1.
func confidence(e *Evolution) *float64 {
	if e.Confidence == nil || !(*e.Confidence >= 0 && *e.Confidence <= 1) {
		return nil
	}
	return e.Confidence
}

// evolveRun turns an answer of "evolve" into a decision within the limits.
type evolveRun struct {
	c      *Config
	note   memory.Note
	near   []memory.Neighbor
	answer Evolution
	out    Outcome
}

// decide returns the decision: changes above their gate are applied, others wait for review.
func (r *evolveRun) decide() memory.Decision {
	dec := memory.Decision{Note: r.note}
	if !r.answer.ShouldEvolve {
		r.out.Decision = policy.DecisionKeep
		dec.Outcome = policy.Encode(&r.out)
		return dec
	}
	links, tags := r.newLinksAndTags()
	changes := r.neighborChanges()
	var waiting []memory.ReviewChange
	if len(links) > 0 || tags != nil {
		if r.exceeds(r.c.StrengthenGate) {
			r.applyLinksAndTags(&dec, links, tags)
		} else {
			waiting = append(waiting, r.proposeLinksAndTags(links, tags))
		}
	}
	if len(changes) > 0 {
		if r.exceeds(r.c.ConfidenceGate) {
			r.applyNeighborChanges(&dec, changes)
		} else {
			for _, ch := range changes {
				r.out.addEffect(ch.Note, "proposed")
			}
			waiting = append(waiting, changes...)
		}
	}
	if len(waiting) > 0 {
		dec.Review = &memory.ReviewProposal{Confidence: valueOrZero(r.out.Confidence), Changes: waiting, Reason: r.reviewReason()}
	}
	switch {
	case dec.Evolved:
		r.out.Decision = decisionEvolve
	case dec.Review != nil:
		r.out.Decision = decisionReview
	default:
		r.out.Decision = policy.DecisionKeep
	}
	dec.Outcome = policy.Encode(&r.out)
	return dec
}

// exceeds reports whether the answer states a confidence above a gate.
func (r *evolveRun) exceeds(gate float64) bool {
	return r.out.Confidence != nil && *r.out.Confidence > gate
}

func (r *evolveRun) reviewReason() string {
	if r.out.Confidence == nil {
		return "the analyst stated no confidence"
	}
	return fmt.Sprintf("confidence %.2f is not above the gate", *r.out.Confidence)
}

func valueOrZero(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// newLinksAndTags returns the links and tags that the answer adds to the new note; nil
// tags mean no change.
func (r *evolveRun) newLinksAndTags() (links []memory.Link, tags []string) {
	if !slices.Contains(r.answer.Actions, "strengthen") {
		return nil, nil
	}
	seen := map[int]bool{}
	for _, h := range r.answer.SuggestedConnections {
		switch {
		case h < 0 || h >= len(r.near):
			r.out.Dropped.Handles++
		case seen[h]:
			r.out.Dropped.Repeats++
		case len(links) == r.c.MaxLinks:
			r.out.Dropped.OverLimit++
		default:
			seen[h] = true
			links = append(links, memory.Link{
				LinkID:     memory.LinkID{Source: r.note.ID, Target: r.near[h].Note.ID, Relation: memory.RelatedTo},
				Confidence: valueOrZero(r.out.Confidence),
			})
		}
	}
	if isSupplied(&r.note, "tags") {
		return links, nil // the caller's tags win
	}
	if t := policy.CleanTerms(r.answer.TagsToUpdate, r.c.MaxTags); len(t) > 0 && !policy.SameTerms(t, r.note.Tags) {
		tags = t
	}
	return links, tags
}

func (r *evolveRun) applyLinksAndTags(dec *memory.Decision, links []memory.Link, tags []string) {
	dec.Evolved = true
	dec.Links = links
	for _, l := range links {
		r.out.addEffect(l.Target, "linked")
	}
	if tags != nil {
		dec.Note.Tags = tags
		r.out.Tags = tags
	}
}

func (r *evolveRun) proposeLinksAndTags(links []memory.Link, tags []string) memory.ReviewChange {
	before, after := r.note, r.note
	if tags != nil {
		after.Tags = tags
	}
	for _, l := range links {
		r.out.addEffect(l.Target, "link proposed")
	}
	return memory.ReviewChange{Note: r.note.ID, Before: withoutVector(before), After: withoutVector(after), Links: links}
}

// neighborChanges returns the changes of neighbors that the answer asks for. Its i-th
// entry is about the i-th neighbor. A missing, empty or equal entry is not a change. Of
// too many changes those of the nearest neighbors are taken.
func (r *evolveRun) neighborChanges() []memory.ReviewChange {
	if !slices.Contains(r.answer.Actions, "update_neighbor") {
		return nil
	}
	longest := max(len(r.answer.NewContextNeighborhood), len(r.answer.NewTagsNeighborhood), len(r.answer.NewKeywordsNeighborhood))
	r.out.Dropped.Surplus = max(0, longest-len(r.near))
	order := make([]int, len(r.near))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.near[b].Score, r.near[a].Score) })
	var out []memory.ReviewChange
	for _, i := range order {
		before := r.near[i].Note
		after := before
		fields := r.setNeighborFields(i, &after)
		if len(fields) == 0 {
			continue
		}
		if len(out) == r.c.MaxNeighborChanges {
			r.out.Dropped.OverLimit++
			continue
		}
		r.out.setFields(before.ID, fields)
		out = append(out, memory.ReviewChange{Note: before.ID, Before: withoutVector(before), After: withoutVector(after)})
	}
	return out
}

// setNeighborFields sets what the answer says of the i-th neighbor and returns the
// names of the fields that change. Category and content are never changed.
func (r *evolveRun) setNeighborFields(i int, after *memory.Note) []string {
	var fields []string
	if i < len(r.answer.NewContextNeighborhood) {
		if s := policy.CleanLine(r.answer.NewContextNeighborhood[i], r.c.MaxContextChars); s != "" && !policy.SameLine(s, after.Context) {
			after.Context = s
			fields = append(fields, "context")
		}
	}
	if i < len(r.answer.NewTagsNeighborhood) {
		if t := policy.CleanTerms(r.answer.NewTagsNeighborhood[i], r.c.MaxTags); len(t) > 0 && !policy.SameTerms(t, after.Tags) {
			after.Tags = t
			fields = append(fields, "tags")
		}
	}
	if i < len(r.answer.NewKeywordsNeighborhood) {
		k := policy.CleanKeywords(r.answer.NewKeywordsNeighborhood[i], r.c.MaxKeywords, policy.SpeakerOf(after))
		if len(k) > 0 && !policy.SameTerms(k, after.Keywords) {
			after.Keywords = k
			fields = append(fields, "keywords")
		}
	}
	return fields
}

// applyNeighborChanges adds the changes to the decision and lists them for periodic
// review, since a changed old note is a risk at any confidence.
func (r *evolveRun) applyNeighborChanges(dec *memory.Decision, changes []memory.ReviewChange) {
	dec.Evolved = true
	for _, ch := range changes {
		put := r.near[slices.IndexFunc(r.near, func(nb memory.Neighbor) bool { return nb.Note.ID == ch.Note })].Note
		put.Context, put.Tags, put.Keywords = ch.After.Context, ch.After.Tags, ch.After.Keywords
		dec.Puts = append(dec.Puts, put)
		r.out.addEffect(ch.Note, "changed")
	}
	dec.Applied = &memory.ReviewProposal{
		Confidence: valueOrZero(r.out.Confidence), Changes: changes,
		Reason: fmt.Sprintf("%d older notes got a new description", len(changes)),
	}
}

// withoutVector returns a copy of a note for a proposal.
func withoutVector(n memory.Note) *memory.Note {
	n.Vector = nil
	return &n
}
