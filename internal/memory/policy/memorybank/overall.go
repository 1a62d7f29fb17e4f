package memorybank

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// overallMaterial is all days as the prompts show them.
type overallMaterial struct {
	Person string            `json:"person"`
	Role   string            `json:"role,omitempty"`
	Meta   map[string]string `json:"meta,omitempty"`
	Lang   string            `json:"language,omitempty"` // that the setting asks for
	Chars  int               `json:"chars"`
	Days   []datedMaterial   `json:"days"`
}

type datedMaterial struct {
	Date string `json:"date"`
	Text string `json:"text"`
}

// summarizeOverall writes the shared history from the summaries of the days, and the
// portrait from their profiles. When an answer cannot be used the old note stays.
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
		days, err := dayNotes(ctx, d, part.kind, c.MaterialChars)
		if err != nil {
			return dec, err
		}
		old, exists, err := d.ByKey(ctx, part.kind, KeyOverall)
		if err != nil {
			return dec, err
		}
		if len(days) == 0 {
			if exists && old.Analyst != "" { // its days were deleted; a caller's own note stays
				dec.Deletes = append(dec.Deletes, old.ID)
			}
			continue
		}
		run := overallRun{p: p, d: d, c: c, o: &o, days: days, meta: meta, old: old}
		var n memory.Note
		if part.name == callHistory {
			n, err = run.history(ctx)
		} else {
			n, err = run.portrait(ctx)
		}
		switch {
		case errors.Is(err, memory.ErrBadAnswer):
			o.Reason = "an answer could not be used; the old text stays"
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

// overallRun is one run that writes the shared history or the portrait.
type overallRun struct {
	p    *Policy
	d    memory.Desk
	c    *Config
	o    *outcome
	days []memory.Note
	meta map[string]string
	old  memory.Note
}

func (r *overallRun) language() policy.Language {
	var all strings.Builder
	for i := range r.days {
		all.WriteString(r.days[i].Content)
		all.WriteByte('\n')
	}
	return r.c.language(all.String())
}

// person returns the name of the person; "": unknown.
func (r *overallRun) person() string {
	name := cmp.Or(r.c.UserName, r.meta["name"])
	for i := len(r.days) - 1; i >= 0 && name == ""; i-- {
		name, _ = r.days[i].Attributes[AttrPerson].(string)
	}
	return name
}

// material returns the days within so many characters, as a prompt shows them and as the
// input of the call. The oldest days are left out first.
func (r *overallRun) material(l policy.Language, chars int) (overallMaterial, OverallInput) {
	user := r.person()
	m := overallMaterial{Person: displayName(user, l, memory.RoleUser), Role: r.c.role(l), Meta: r.meta, Lang: r.c.askedLanguage(), Chars: r.c.OverallChars}
	in := OverallInput{User: user, Meta: r.meta, Role: r.c.role(l), Chars: r.c.OverallChars, Language: l}
	texts := make([]string, len(r.days))
	for i := range r.days {
		texts[i] = r.days[i].Content
	}
	from, texts := policy.FitChars(texts, chars)
	for i, t := range texts {
		date := dateOf(&r.days[from+i])
		m.Days = append(m.Days, datedMaterial{Date: date, Text: t})
		in.Days = append(in.Days, DatedText{Date: date, Text: t})
	}
	return m, in
}

// askDays makes a call about the days.
func askDays[T any](ctx context.Context, r *overallRun, name string, hasContent func(*T) bool) (T, memory.Analyst, error) {
	l := r.language()
	return askFor[T](ctx, r.p, r.d, r.c, r.o, question{
		name: name, language: l, check: policy.CheckContent(hasContent),
		material: func(chars int) (any, any, int) {
			m, in := r.material(l, chars)
			return m, in, len(m.Days)
		},
	})
}

func (r *overallRun) history(ctx context.Context) (memory.Note, error) {
	a, analyst, err := askDays(ctx, r, callHistory, func(s *History) bool { return !policy.IsBlank(s.Summary) })
	if err != nil {
		return memory.Note{}, err
	}
	return r.note(memory.KindSummary, policy.CleanLine(a.Summary, r.c.OverallChars), analyst), nil
}

func (r *overallRun) portrait(ctx context.Context) (memory.Note, error) {
	a, analyst, err := askDays(ctx, r, callPortrait, func(a *Portrait) bool { return !policy.IsBlank(a.Portrait) })
	if err != nil {
		return memory.Note{}, err
	}
	n := r.note(memory.KindProfile, policy.CleanLine(a.Portrait, r.c.OverallChars), analyst)
	reply := policy.CleanLine(a.ReplyStrategy, maxReplyChars)
	if reply == "" { // an empty answer deletes nothing
		reply, _ = r.old.Attributes[AttrReplyStrategy].(string)
	}
	if n.Content != "" {
		n.Attributes[AttrReplyStrategy] = reply
	}
	return n, nil
}

// note returns the next version of the history or the portrait; the zero note without
// content.
func (r *overallRun) note(kind memory.Kind, content string, analyst memory.Analyst) memory.Note {
	if content == "" {
		return memory.Note{}
	}
	n := policy.DerivedNote(r.d, r.old, kind, KeyOverall, content, analyst, memory.IDs(r.days))
	n.Attributes[AttrPeriod] = PeriodGlobal
	n.OccurredAt = r.days[len(r.days)-1].OccurredAt
	return n
}

// dayNotes returns the notes of a kind about days, by date: the newest ones that may have a place among so many characters. What a
// prompt never shows says nothing in the answer, and a long conversation costs no more than a short one.
func dayNotes(ctx context.Context, d memory.Desk, kind memory.Kind, chars int) ([]memory.Note, error) {
	all, err := d.All(ctx, kind, memory.ReadOptions{}) // which is kept: each new day looks at the days before
	if err != nil {
		return nil, err
	}
	days := make([]*memory.Note, 0, len(all))
	for _, n := range all {
		if dateOf(n) != "" {
			days = append(days, n)
		}
	}
	slices.SortFunc(days, func(a, b *memory.Note) int { return cmp.Compare(dateOf(a), dateOf(b)) })
	var out []memory.Note
	for _, n := range slices.Backward(days) {
		if chars < 0 {
			break // policy.FitChars leaves so many of each text
		}
		out = append(out, *n)
		chars -= min(policy.MinTextChars, utf8.RuneCountInString(n.Content))
	}
	slices.Reverse(out)
	return out, nil
}

// dateOf returns the date of a day's note; "" for another note.
func dateOf(n *memory.Note) string {
	date, ok := strings.CutPrefix(n.Key, dayKey(""))
	if !ok {
		return ""
	}
	return date
}

// metaProfile returns what a caller wrote about the person: the texts among the
// attributes of the profile KeyMeta.
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
