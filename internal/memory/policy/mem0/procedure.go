package mem0

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// recordTasks returns the task that writes the record of an exchange's session.
func recordTasks(x *exchange) []memory.Follow {
	if len(x.messages) == 0 {
		return nil
	}
	return []memory.Follow{{Task: memory.Task{Name: TaskProcedure, Key: sessionName(x.session)}}}
}

// sessionName returns a session as keys hold it; "none" for messages without a session.
func sessionName(session any) string {
	if session == nil || session == "" {
		return "none"
	}
	return fmt.Sprint(session)
}

// procedureMaterial is a session as the prompt of "procedure" shows it.
type procedureMaterial struct {
	MaxChars  int                 `json:"max_chars"`
	OldRecord string              `json:"old_record"`
	Steps     []utteranceMaterial `json:"steps"`
}

// writeRecord writes the record of a session: from the last record and the messages since,
// or from all messages if the last record is stale.
func (p *Policy) writeRecord(ctx context.Context, d memory.Desk, c *Config, session string) (memory.Decision, error) {
	if err := requireKey(TaskProcedure, session); err != nil {
		return memory.Decision{}, err
	}
	key := KeyProcedure + session
	old, _, err := d.ByKey(ctx, memory.KindSummary, key)
	if err != nil {
		return memory.Decision{}, fmt.Errorf("read the record: %w", err)
	}
	stale := old.Provenance.Stale
	if stale {
		old.Content, old.Attributes, old.Provenance.Sources = "", nil, nil
	}
	out := Outcome{Policy: p.Name(), Decision: decisionSummary, Summary: &SummaryOutcome{Mode: memoryProcedural}}
	steps, err := sessionSteps(ctx, d, session, &old)
	if err != nil {
		return memory.Decision{}, err
	}
	// The oldest messages come first; those that do not fit wait for the next call.
	m := procedureMaterial{MaxChars: c.SummaryChars, OldRecord: old.Content, Steps: []utteranceMaterial{}}
	in := SummarizeInput{Old: old.Content, Chars: c.SummaryChars, Language: languageOf(steps)}
	chars, taken := 0, 0
	for i := range steps {
		u := memory.UtteranceOf(&steps[i])
		u.Content = text.Shorten(u.Content, c.MessageChars)
		if taken == maxSteps {
			break
		}
		if chars += len(u.Content); taken > 0 && chars > memory.MaxContentBytes {
			break
		}
		taken++
		m.Steps = append(m.Steps, newUtteranceMaterial(u, 0))
		in.Memories = append(in.Memories, fmt.Sprintf("%s: %s", u.Role, u.Content))
	}
	out.Summary.Memories = taken
	if taken == 0 && stale {
		out.Summary.Kept = "all that was said was deleted"
		return memory.Decision{Deletes: []uuid.UUID{old.ID}, Cause: memory.CauseSummarize, Outcome: policy.Encode(&out)}, nil
	}
	if taken == 0 {
		out.Summary.Kept = "nothing was said since"
		return memory.Decision{Outcome: policy.Encode(&out)}, nil
	}
	answer, a, err := askFor[Summary](ctx, c, d, question{
		name: "procedure", prompt: &p.prompts.procedure, material: m, count: taken, input: in, check: policy.CheckContent(hasSummary),
	})
	if errors.Is(err, memory.ErrBadAnswer) {
		out.Summary.Kept = "the answer could not be used"
		return memory.Decision{Outcome: policy.Encode(&out)}, nil
	}
	if err != nil {
		return memory.Decision{}, err
	}
	sources := slices.Clone(old.Provenance.Sources)
	for i := range taken {
		sources = append(sources, steps[i].ID)
	}
	sources = sources[max(0, len(sources)-maxStepSources):]
	n := policy.DerivedNote(d, old, memory.KindSummary, key, policy.CleanLine(answer.Summary, c.SummaryChars), a.Analyst, sources)
	n.Context = memory.DefaultContext
	last := &steps[taken-1]
	n.OccurredAt = last.OccurredAt
	n.Attributes[attrUpto] = last.ID.String()
	if s, ok := last.Attributes[memory.AttrSession]; ok {
		n.Attributes[memory.AttrSession] = s
	}
	dec := memory.Decision{Puts: []memory.Note{n}, Cause: memory.CauseSummarize}
	if taken < len(steps) {
		dec.Follow = []memory.Follow{{Task: memory.Task{Name: TaskProcedure, Key: session}}}
	}
	out.addFollows(dec.Follow...)
	dec.Outcome = policy.Encode(&out)
	return dec, nil
}

// Bounds of one record.
const (
	maxSteps       = 500    // messages that one call sees
	maxStepSources = 10_000 // newest messages that a record names as its sources
)

// sessionFilter returns the condition for messages of a session, given as keys hold it.
func sessionFilter(session string) filter.Expr {
	is := filter.AttributeReads(memory.AttrSession, session)
	if session == sessionName(nil) {
		return filter.Or{is, &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Exists}, filter.AttributeIs(memory.AttrSession, "")}
	}
	return is
}

// sessionSteps returns the messages of a session after its record, oldest first. It stops
// when there are more than one call sees.
func sessionSteps(ctx context.Context, d memory.Desk, session string, old *memory.Note) ([]memory.Note, error) {
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindNote}, Filter: sessionFilter(session)}
	if id, err := uuid.Parse(fmt.Sprint(old.Attributes[attrUpto])); err == nil {
		q.After = id
	}
	var out []memory.Note
	for n, err := range policy.EachNote(ctx, d, q) {
		if err != nil {
			return nil, fmt.Errorf("read the session: %w", err)
		}
		m := *n
		if sessionName(m.Attributes[memory.AttrSession]) != session || !memory.Learnable(&m) {
			continue
		}
		if m.Content = recalled.Strip(m.Content); m.Content != "" {
			out = append(out, m)
		}
		if len(out) > maxSteps {
			break
		}
	}
	return out, nil
}
