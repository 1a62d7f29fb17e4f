package memorybank

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// overallMaterial is the whole as the prompts show it.
type overallMaterial struct {
	Person string            `json:"person"`
	Role   string            `json:"role,omitempty"`
	Meta   map[string]string `json:"meta,omitempty"`
	Chars  int               `json:"chars"`
	Days   []datedMaterial   `json:"days"`
}

type datedMaterial struct {
	Date string `json:"date"`
	Text string `json:"text"`
}

// overall writes the shared history and the portrait anew from those of the
// days. Where an answer cannot be used the old one stays.
func (p *Policy) summarizeOverall(ctx context.Context, d memory.Desk, c *Config) (memory.Decision, error) {
	o := outcome{Decision: "keep"}
	var dec memory.Decision
	meta, err := metaProfile(ctx, d)
	if err != nil {
		return dec, err
	}
	for _, part := range []struct {
		kind memory.Kind
		name string
	}{{memory.KindSummary, callHistory}, {memory.KindProfile, callPortrait}} {
		days, err := dayNotes(ctx, d, part.kind)
		if err != nil {
			return dec, err
		}
		old, there, err := d.ByKey(ctx, part.kind, KeyOverall)
		if err != nil {
			return dec, err
		}
		if len(days) == 0 {
			if there && old.Analyst != "" { // what it was made of was deleted
				dec.Deletes = append(dec.Deletes, old.ID)
			}
			continue
		}
		w := overallRun{p: p, d: d, c: c, o: &o, days: days, meta: meta, old: old}
		var n memory.Note
		if part.name == callHistory {
			n, err = w.history(ctx)
		} else {
			n, err = w.portrait(ctx)
		}
		switch {
		case errors.Is(err, memory.ErrBadAnswer):
			o.Reason = "an answer could not be used; what was there stays"
		case err != nil:
			return memory.Decision{}, err
		case n.Content != "":
			dec.Puts = append(dec.Puts, n)
		}
	}
	if len(dec.Puts)+len(dec.Deletes) > 0 {
		o.Decision, dec.Cause = "summarize", memory.CauseSummarize
	}
	dec.Outcome = o.encode()
	return dec, nil
}

// whole is the shared history or the portrait in the making.
type overallRun struct {
	p    *Policy
	d    memory.Desk
	c    *Config
	o    *outcome
	days []memory.Note
	meta map[string]string
	old  memory.Note
}

func (w *overallRun) language() policy.Language {
	var all strings.Builder
	for i := range w.days {
		all.WriteString(w.days[i].Content)
		all.WriteByte('\n')
	}
	return w.c.language(all.String())
}

// person is whom it is about; "" unknown.
func (w *overallRun) person() string {
	name := cmp.Or(w.c.UserName, w.meta["name"])
	for i := len(w.days) - 1; i >= 0 && name == ""; i-- {
		name, _ = w.days[i].Attributes[AttrPerson].(string)
	}
	return name
}

// material gives the days within so many characters, the oldest left out first.
func (w *overallRun) material(l policy.Language, chars int) (overallMaterial, OverallInput) {
	user := w.person()
	m := overallMaterial{Person: displayName(user, l, memory.RoleUser), Role: w.c.role(l), Meta: w.meta, Chars: w.c.OverallChars}
	in := OverallInput{User: user, Meta: w.meta, Role: w.c.role(l), Chars: w.c.OverallChars, Language: l}
	texts := make([]string, len(w.days))
	for i := range w.days {
		texts[i] = w.days[i].Content
	}
	from, texts := policy.FitChars(texts, chars)
	for i, t := range texts {
		date := dateOf(&w.days[from+i])
		m.Days = append(m.Days, datedMaterial{Date: date, Text: t})
		in.Days = append(in.Days, DatedText{Date: date, Text: t})
	}
	return m, in
}

func (w *overallRun) history(ctx context.Context) (memory.Note, error) {
	l := w.language()
	raw, analyst, err := w.p.ask(ctx, w.d, w.c, w.o, l, callHistory, policy.CheckContent(func(s *History) bool { return !policy.IsBlank(s.Summary) }),
		func(chars int) (any, any, int) {
			m, in := w.material(l, chars)
			return m, in, len(m.Days)
		})
	if err != nil {
		return memory.Note{}, err
	}
	a, err := policy.DecodeAnswer[History](raw, callHistory)
	if err != nil {
		return memory.Note{}, err
	}
	return w.note(memory.KindSummary, policy.CleanLine(a.Summary, w.c.OverallChars), analyst), nil
}

func (w *overallRun) portrait(ctx context.Context) (memory.Note, error) {
	l := w.language()
	raw, analyst, err := w.p.ask(ctx, w.d, w.c, w.o, l, callPortrait, policy.CheckContent(func(a *Portrait) bool { return !policy.IsBlank(a.Portrait) }),
		func(chars int) (any, any, int) {
			m, in := w.material(l, chars)
			return m, in, len(m.Days)
		})
	if err != nil {
		return memory.Note{}, err
	}
	a, err := policy.DecodeAnswer[Portrait](raw, callPortrait)
	if err != nil {
		return memory.Note{}, err
	}
	n := w.note(memory.KindProfile, policy.CleanLine(a.Portrait, w.c.OverallChars), analyst)
	reply := policy.CleanLine(a.ReplyStrategy, maxReplyChars)
	if reply == "" { // an empty answer takes nothing away
		reply, _ = w.old.Attributes[AttrReplyStrategy].(string)
	}
	if n.Content != "" {
		n.Attributes[AttrReplyStrategy] = reply
	}
	return n, nil
}

// note is the next version of the whole; without content nothing is written.
func (w *overallRun) note(kind memory.Kind, content string, analyst memory.Analyst) memory.Note {
	if content == "" {
		return memory.Note{}
	}
	sources := make([]uuid.UUID, len(w.days))
	for i := range w.days {
		sources[i] = w.days[i].ID
	}
	n := policy.DerivedNote(w.d, w.old, kind, KeyOverall, content, analyst, sources)
	n.Attributes[AttrPeriod] = PeriodGlobal
	n.OccurredAt = w.days[len(w.days)-1].OccurredAt
	return n
}

// daysOf lists the notes of days of a kind by date.
func dayNotes(ctx context.Context, d memory.Desk, kind memory.Kind) ([]memory.Note, error) {
	var out []memory.Note
	err := policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{kind}}, func(n *memory.Note) {
		if dateOf(n) != "" {
			out = append(out, *n)
		}
	})
	slices.SortFunc(out, func(a, b memory.Note) int { return cmp.Compare(dateOf(&a), dateOf(&b)) })
	return out, err
}

// dateOf is the date of a day's note, "" for another note.
func dateOf(n *memory.Note) string {
	date, ok := strings.CutPrefix(n.Key, DayKey(""))
	if !ok {
		return ""
	}
	return date
}

// metaOf reads what a caller says of the person.
func metaProfile(ctx context.Context, d memory.Desk) (map[string]string, error) {
	n, ok, err := d.ByKey(ctx, memory.KindProfile, KeyMeta)
	if err != nil || !ok {
		return nil, err
	}
	out := map[string]string{}
	for name, v := range n.Attributes {
		if s, ok := v.(string); ok && !policy.IsBlank(s) {
			out[name] = s
		}
	}
	return out, nil
}
