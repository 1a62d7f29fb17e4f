package amem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

type evolveMaterial struct {
	MaxLinks  int                        `json:"max_links"`
	Count     int                        `json:"count"`
	New       policy.DescribedMaterial   `json:"new_note"`
	Neighbors []policy.DescribedMaterial `json:"neighbours"`
}

// Decide looks at the nearest notes and decides on links and changes. The
// first note of a space has no neighbours and asks nobody.
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
		parts, err := p.splitParts(ctx, d, c, &n)
		if err != nil {
			return memory.Decision{}, err
		}
		if len(parts) == 2 {
			return splitNote(n, parts), nil
		}
	}
	near, err := d.Nearest(ctx, n, c.KNeighbors)
	if err != nil {
		return memory.Decision{}, fmt.Errorf("find neighbours: %w", err)
	}
	near = usableNeighbors(near, n.ID, c.KNeighbors)
	if len(near) == 0 {
		return memory.Decision{Note: n, Outcome: encodeOutcome(&Outcome{Policy: "amem", Decision: DecisionAlone})}, nil
	}
	call, err := p.evolveCall(ctx, d, c, &n, near)
	if err != nil {
		return memory.Decision{}, err
	}
	answer, err := d.Ask(ctx, call)
	if errors.Is(err, memory.ErrBadAnswer) {
		o := Outcome{Policy: "amem", Decision: DecisionUnevolved, Prompt: p.evolve.Version, Considered: consideredNotes(near)}
		return memory.Decision{Note: n, Outcome: encodeOutcome(&o), Pending: "evolve: " + memory.ErrBadAnswer.Error()}, nil
	}
	if err != nil {
		return memory.Decision{}, fmt.Errorf("evolve: %w", err)
	}
	var e Evolution
	if err := json.Unmarshal(answer.JSON, &e); err != nil {
		return memory.Decision{}, fmt.Errorf("evolve: %w: %w", memory.ErrBadAnswer, err)
	}
	j := evolveRun{c: c, note: n, near: near, answer: e}
	j.out = Outcome{
		Policy: "amem", Analyst: answer.Analyst, Model: answer.Model, Prompt: p.evolve.Version, Repaired: answer.Repaired,
		Confidence: confidence(e), Considered: consideredNotes(near),
	}
	j.out.addReflections(answer.JSON)
	return j.decide(), nil
}

// others drops what a desk must not give, so that no answer can rest on it:
// the note itself, repeats, more than k.
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

func (p *Policy) evolveCall(ctx context.Context, d memory.Desk, c Config, n *memory.Note, near []memory.Neighbor) (memory.Call, error) {
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
		MaxLinks:  c.MaxLinks, AppendContext: c.AppendContextChars,
	}
	m := evolveMaterial{
		MaxLinks: c.MaxLinks, Count: len(near), New: policy.DescribeNote(in.New, c.PromptChars),
		Neighbors: make([]policy.DescribedMaterial, len(near)),
	}
	for i := range near {
		nb := &near[i].Note
		in.Neighbors[i] = memory.Described{
			Handle: i, Content: nb.Content, Context: nb.Context, Keywords: nb.Keywords, Tags: nb.Tags,
			Time: nb.OccurredAt, Score: near[i].Score, Linked: linkedTexts(linked[nb.ID], n.ID, c),
		}
		m.Neighbors[i] = policy.DescribeNote(in.Neighbors[i], c.NeighborChars)
		m.Neighbors[i].Handle = &in.Neighbors[i].Handle
	}
	body, err := p.evolve.Render(m, len(near))
	if err != nil {
		return memory.Call{}, err
	}
	return memory.Call{
		Name: "evolve", Version: p.evolve.Version, System: p.evolve.System, Prompt: body, Schema: p.evolve.Schema, Input: in,
		Temperature: c.temperature(), MaxTokens: c.MaxTokens, Check: policy.CheckTypes[Evolution], Collection: n.Collection,
	}, nil
}

// linkedTexts gives the contents of at most k linked notes, each cut short.
func linkedTexts(notes []memory.Note, self uuid.UUID, c Config) []string {
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

// confidence gives what the answer states, nil when it states nothing usable.
func confidence(e Evolution) *float64 {
	if e.Confidence == nil || !(*e.Confidence >= 0 && *e.Confidence <= 1) {
		return nil
	}
	return e.Confidence
}

// judgement turns an answer into a decision within the limits.
type evolveRun struct {
	c      Config
	note   memory.Note
	near   []memory.Neighbor
	answer Evolution
	out    Outcome
}

func (j *evolveRun) decide() memory.Decision {
	dec := memory.Decision{Note: j.note}
	if !j.answer.ShouldEvolve {
		j.out.Decision = policy.DecisionKeep
		dec.Outcome = encodeOutcome(&j.out)
		return dec
	}
	links, tags := j.newLinksAndTags()
	changes := j.neighborChanges()
	var waiting []memory.ReviewChange
	if len(links) > 0 || tags != nil {
		if j.exceeds(j.c.StrengthenGate) {
			j.applyLinksAndTags(&dec, links, tags)
		} else {
			waiting = append(waiting, j.proposeLinksAndTags(links, tags))
		}
	}
	if len(changes) > 0 {
		if j.exceeds(j.c.ConfidenceGate) {
			j.applyNeighborChanges(&dec, changes)
		} else {
			for _, ch := range changes {
				j.out.addEffect(ch.Note, "proposed")
			}
			waiting = append(waiting, changes...)
		}
	}
	if len(waiting) > 0 {
		dec.Review = &memory.ReviewProposal{Confidence: valueOrZero(j.out.Confidence), Changes: waiting, Reason: j.reviewReason()}
	}
	switch {
	case dec.Evolved:
		j.out.Decision = DecisionEvolve
	case dec.Review != nil:
		j.out.Decision = DecisionReview
	default:
		j.out.Decision = policy.DecisionKeep
	}
	dec.Outcome = encodeOutcome(&j.out)
	return dec
}

func (j *evolveRun) exceeds(gate float64) bool {
	return j.out.Confidence != nil && *j.out.Confidence > gate
}

func (j *evolveRun) reviewReason() string {
	if j.out.Confidence == nil {
		return "the analyst stated no confidence"
	}
	return fmt.Sprintf("confidence %.2f is not above the gate", *j.out.Confidence)
}

func valueOrZero(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// strengthen reads which links and tags the new note is to get; nil tags mean
// no change.
func (j *evolveRun) newLinksAndTags() (links []memory.Link, tags []string) {
	if !slices.Contains(j.answer.Actions, "strengthen") {
		return nil, nil
	}
	seen := map[int]bool{}
	for _, h := range j.answer.SuggestedConnections {
		switch {
		case h < 0 || h >= len(j.near):
			j.out.Dropped.Handles++
		case seen[h]:
			j.out.Dropped.Repeats++
		case len(links) == j.c.MaxLinks:
			j.out.Dropped.OverLimit++
		default:
			seen[h] = true
			links = append(links, memory.Link{
				LinkID:     memory.LinkID{Source: j.note.ID, Target: j.near[h].Note.ID, Relation: memory.RelatedTo},
				Confidence: valueOrZero(j.out.Confidence),
			})
		}
	}
	if isSupplied(&j.note, "tags") {
		return links, nil // the caller's tags win
	}
	if t := policy.CleanTerms(j.answer.TagsToUpdate, j.c.MaxTags); len(t) > 0 && !policy.SameTerms(t, j.note.Tags) {
		tags = t
	}
	return links, tags
}

func (j *evolveRun) applyLinksAndTags(dec *memory.Decision, links []memory.Link, tags []string) {
	dec.Evolved = true
	dec.Links = links
	for _, l := range links {
		j.out.addEffect(l.Target, "linked")
	}
	if tags != nil {
		dec.Note.Tags = tags
		j.out.Tags = tags
	}
}

func (j *evolveRun) proposeLinksAndTags(links []memory.Link, tags []string) memory.ReviewChange {
	before, after := j.note, j.note
	if tags != nil {
		after.Tags = tags
	}
	for _, l := range links {
		j.out.addEffect(l.Target, "link proposed")
	}
	return memory.ReviewChange{Note: j.note.ID, Before: withoutVector(before), After: withoutVector(after), Links: links}
}

// updates reads the real changes of neighbours: the i-th answer belongs to the
// i-th neighbour, a missing or empty one keeps what that neighbour has, an
// equal one is no change, and of too many the nearest are taken.
func (j *evolveRun) neighborChanges() []memory.ReviewChange {
	if !slices.Contains(j.answer.Actions, "update_neighbor") {
		return nil
	}
	longest := max(len(j.answer.NewContextNeighborhood), len(j.answer.NewTagsNeighborhood), len(j.answer.NewKeywordsNeighborhood))
	j.out.Dropped.Surplus = max(0, longest-len(j.near))
	order := make([]int, len(j.near))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.near[b].Score, j.near[a].Score) })
	var out []memory.ReviewChange
	for _, i := range order {
		before := j.near[i].Note
		after := before
		fields := j.setNeighborFields(i, &after)
		if len(fields) == 0 {
			continue
		}
		if len(out) == j.c.MaxNeighborChanges {
			j.out.Dropped.OverLimit++
			continue
		}
		j.out.setFields(before.ID, fields)
		out = append(out, memory.ReviewChange{Note: before.ID, Before: withoutVector(before), After: withoutVector(after)})
	}
	return out
}

// rewrite sets what the answer says of the i-th neighbour and names the fields
// that really change. Category and content are never touched.
func (j *evolveRun) setNeighborFields(i int, after *memory.Note) []string {
	var fields []string
	if i < len(j.answer.NewContextNeighborhood) {
		if s := policy.CleanLine(j.answer.NewContextNeighborhood[i], j.c.MaxContextChars); s != "" && !policy.SameLine(s, after.Context) {
			after.Context = s
			fields = append(fields, "context")
		}
	}
	if i < len(j.answer.NewTagsNeighborhood) {
		if t := policy.CleanTerms(j.answer.NewTagsNeighborhood[i], j.c.MaxTags); len(t) > 0 && !policy.SameTerms(t, after.Tags) {
			after.Tags = t
			fields = append(fields, "tags")
		}
	}
	if i < len(j.answer.NewKeywordsNeighborhood) {
		k := policy.CleanKeywords(j.answer.NewKeywordsNeighborhood[i], j.c.MaxKeywords, policy.SpeakerOf(after))
		if len(k) > 0 && !policy.SameTerms(k, after.Keywords) {
			after.Keywords = k
			fields = append(fields, "keywords")
		}
	}
	return fields
}

// applyUpdates makes the changes and lists them for periodic review: whatever
// the confidence, a changed old note is a risk.
func (j *evolveRun) applyNeighborChanges(dec *memory.Decision, changes []memory.ReviewChange) {
	dec.Evolved = true
	for _, ch := range changes {
		put := j.near[slices.IndexFunc(j.near, func(nb memory.Neighbor) bool { return nb.Note.ID == ch.Note })].Note
		put.Context, put.Tags, put.Keywords = ch.After.Context, ch.After.Tags, ch.After.Keywords
		dec.Puts = append(dec.Puts, put)
		j.out.addEffect(ch.Note, "changed")
	}
	dec.Applied = &memory.ReviewProposal{
		Confidence: valueOrZero(j.out.Confidence), Changes: changes,
		Reason: fmt.Sprintf("%d older notes described anew", len(changes)),
	}
}

// bare is a snapshot for a proposal: without the vector.
func withoutVector(n memory.Note) *memory.Note {
	n.Vector = nil
	return &n
}
