package bank

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// pageNotes is how many notes one read returns.
const pageNotes = 500

// Export returns the memory of a collection as one person's document (notes:read): the messages of
// users and assistants, by the days on which they were said, and their summaries. Strengths are
// included if they were imported or if the note was recalled. An imported document is exported with
// the same members and values, and what was learned since.
func (b *Service) Export(ctx context.Context, s tenant.Scope, ref string) ([]byte, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	v, err := b.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return nil, err
	}
	ex := exportRun{b: b, s: s, v: v, usage: map[uuid.UUID]memory.Usage{}}
	if err := ex.read(ctx); err != nil {
		return nil, err
	}
	out, err := json.Marshal(ex.person())
	return out, fault.Wrap(err, fault.Internal, "the memory cannot be encoded as JSON")
}

// exportRun is a running export.
type exportRun struct {
	b *Service
	s tenant.Scope
	v memory.View

	messages []memory.Note
	others   []memory.Note
	size     int64 // bytes of both
	usage    map[uuid.UUID]memory.Usage
}

func (ex *exportRun) read(ctx context.Context) error {
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindSummary, memory.KindProfile}, Limit: pageNotes}
	for page, err := range memory.NotePagesOf(ctx, ex.b.store, ex.s, ex.v, q) {
		if err != nil {
			return err
		}
		for i := range page {
			if err := ex.addNote(&page[i]); err != nil {
				return err
			}
		}
		used, err := ex.b.store.Usage(ctx, ex.s, ex.v, memory.IDs(page))
		if err != nil {
			return err
		}
		maps.Copy(ex.usage, used)
	}
	slices.SortStableFunc(ex.messages, func(a, b memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return nil
}

// maxExport bounds the texts of one document, in bytes, since the document is built in memory.
const maxExport = 64 << 20

// addNote adds a note to the document.
func (ex *exportRun) addNote(n *memory.Note) error {
	if ex.size += n.Size(); ex.size > maxExport {
		return fault.New(fault.Conflict, "the memory has more than %d MiB of text, too much for one document; page through messages, summaries and the profile instead", maxExport>>20)
	}
	if n.Kind == memory.KindMessage {
		ex.messages = append(ex.messages, *n)
	} else {
		ex.others = append(ex.others, *n)
	}
	return nil
}

// person returns the document.
func (ex *exportRun) person() map[string]any {
	history := ex.history()
	out := map[string]any{memberHistory: history}
	meta, given, fields := ex.meta(out, history)
	summary, personality := map[string]any{}, map[string]any{}
	overall, portrait := "", ""
	for i := range ex.others {
		n := &ex.others[i]
		date, daily := strings.CutPrefix(n.Key, dayPrefix)
		switch {
		case daily && n.Kind == memory.KindSummary:
			summary[date] = ex.dated(n, true)
		case daily:
			personality[date] = ex.dated(n, false)
		case n.Key == keyOverall && n.Kind == memory.KindSummary:
			overall = n.Content
		case n.Key == keyOverall:
			portrait = portraitText(n)
		}
	}
	put := func(member string, v any, empty bool) {
		if !empty || !given || slices.Contains(fields, member) {
			out[member] = v
		}
	}
	put(memberSummary, summary, len(summary) == 0)
	put(memberPersonality, personality, len(personality) == 0)
	put(memberOverall, overall, overall == "")
	put(memberPortrait, portrait, portrait == "")
	put(memberMeta, meta, len(meta) == 0)
	if len(ex.messages) == 0 && given && !slices.Contains(fields, memberHistory) {
		delete(out, memberHistory)
	}
	return out
}

// meta adds the name and the unknown members of the imported document to out, and returns the meta
// information. fields are the members that the imported document had; given reports whether there
// was one.
func (ex *exportRun) meta(out map[string]any, history map[string][]any) (meta map[string]any, given bool, fields []string) {
	meta = map[string]any{}
	name, form := "", map[string]any(nil)
	i := slices.IndexFunc(ex.others, func(n memory.Note) bool { return n.Kind == memory.KindProfile && n.Key == notes.KeyMeta })
	if i >= 0 {
		meta = maps.Clone(ex.others[i].Attributes)
		name, _ = meta[memberName].(string)
		form, given = meta[attrBank].(map[string]any)
		delete(meta, attrBank)
	}
	if s, ok := form[memberName].(string); ok {
		name = s
	}
	if more, ok := form[moreMember].(map[string]any); ok {
		maps.Copy(out, more)
	}
	for _, date := range stringList(form[silentMember]) {
		if history[date] == nil {
			history[date] = []any{}
		}
	}
	if name == "" {
		name = ex.speaker()
	}
	if name == "" {
		name = ex.v.Collection.DisplayName
	}
	if name == "" {
		name = ex.v.Collection.Name
	}
	out[memberName] = name
	return meta, given, stringList(form[fieldsMember])
}

// speaker returns the name in the person's newest message that has one.
func (ex *exportRun) speaker() string {
	for i := range slices.Backward(ex.messages) {
		if u := memory.UtteranceOf(&ex.messages[i]); u.Role == memory.RoleUser && u.Name != "" {
			return u.Name
		}
	}
	return ""
}

// stringList returns the strings of a list in attributes.
func stringList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// history groups the messages into turns, and the turns by day.
func (ex *exportRun) history() map[string][]any {
	type exchange struct {
		date        string
		notes       []*memory.Note
		query, said []string
	}
	var order []*exchange
	known := map[string]*exchange{}
	for i := range ex.messages {
		n := &ex.messages[i]
		role := memory.UtteranceOf(n).Role
		if role != memory.RoleUser && role != memory.RoleAssistant {
			continue
		}
		date := memory.Day(n.OccurredAt)
		turn, _ := n.Attributes[memory.AttrTurn].(string)
		e := known[date+turn]
		if e == nil || turn == "" {
			e = &exchange{date: date}
			order, known[date+turn] = append(order, e), e
		}
		e.notes = append(e.notes, n)
		if role == memory.RoleUser {
			e.query = append(e.query, n.Content)
		} else {
			e.said = append(e.said, n.Content)
		}
	}
	out := map[string][]any{}
	for _, e := range order {
		query, response := strings.Join(e.query, "\n"), strings.Join(e.said, "\n")
		more, _ := e.notes[0].Attributes[attrBank].(map[string]any)
		m := ex.fading(more, e.notes...)
		if more[formMember] == pairForm && len(m) == 0 {
			out[e.date] = append(out[e.date], []string{query, response})
			continue
		}
		m[memberQuery], m[memberResponse] = query, response
		out[e.date] = append(out[e.date], m)
	}
	return out
}

// fading returns the imported members of a memory. Its present strength is added if the strength
// was imported or the note was recalled.
func (ex *exportRun) fading(more map[string]any, notes ...*memory.Note) map[string]any {
	out := map[string]any{}
	for k, v := range more {
		if k != formMember {
			out[k] = v
		}
	}
	strength, recalled, used := 1.0, time.Time{}, false
	for _, n := range notes {
		u, ok := ex.usage[n.ID]
		if !ok {
			continue
		}
		used = true
		strength = max(strength, u.CurrentStrength())
		if u.LastAccess.After(recalled) {
			recalled = u.LastAccess
		}
	}
	if used {
		out[memberStrength] = integerOrFloat(strength)
		if !recalled.IsZero() {
			out[memberRecalled] = recalled.UTC().Format(time.DateOnly)
		}
	}
	return out
}

// integerOrFloat returns a number as an integer if it is one.
func integerOrFloat(x float64) any {
	if x == math.Trunc(x) {
		return int64(x)
	}
	return x
}

// dated returns a day's summary or personality. A summary is an object, unless it was imported as a
// text and has no other members; a personality is a text, unless it was imported as an object.
func (ex *exportRun) dated(n *memory.Note, object bool) any {
	more, imported := n.Attributes[attrBank].(map[string]any)
	m := map[string]any{}
	if object || imported && more[formMember] != textForm {
		m = ex.fading(more, n)
	}
	events, _ := n.Attributes[attrEvents].([]any)
	plain := more[formMember] == textForm || !object && !imported
	if plain && len(m) == 0 && len(events) == 0 {
		return n.Content
	}
	m[memberContent] = n.Content
	if len(events) > 0 {
		m[memberEvents] = events
	}
	return m
}

// portraitText returns the portrait with its reply strategy, which the format has in one text.
func portraitText(n *memory.Note) string {
	reply, _ := n.Attributes[attrReply].(string)
	if reply == "" {
		return n.Content
	}
	if l, _ := text.Guess(n.Content); l == text.Chinese {
		return n.Content + " 回复策略：" + reply
	}
	return n.Content + " Reply strategy: " + reply
}
