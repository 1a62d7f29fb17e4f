package mem0

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/parts"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// addMode says when an add is answered.
type addMode int

const (
	addLater addMode = iota // with an event, which tells later what was learned
	addV1                   // as async_mode says; by default, when it is done
	addNow                  // when it is done
)

type addBody struct {
	entity
	Messages       any            `json:"messages"`
	Filters        map[string]any `json:"filters"`
	Metadata       map[string]any `json:"metadata"`
	Infer          *bool          `json:"infer"`
	Timestamp      any            `json:"timestamp"`
	ExpirationDate *string        `json:"expiration_date"`
	AsyncMode      *bool          `json:"async_mode"`

	CustomInstructions string `json:"custom_instructions"`
	CustomCategories   any    `json:"custom_categories"`
	Includes           string `json:"includes"`
	Excludes           string `json:"excludes"`
}

// pending is the answer of an add that is not done.
type pending struct {
	Message string    `json:"message"`
	Status  string    `json:"status"`
	EventID uuid.UUID `json:"event_id"`
	Results []result  `json:"results"`
	Unread  int       `json:"unread,omitempty"` // messages and parts that were left out
	// Unguided is why the instructions of the add are not followed.
	Unguided string `json:"unguided,omitempty"`
}

// result is one change of what is known.
type result struct {
	ID       uuid.UUID `json:"id"`
	Memory   string    `json:"memory"`
	Event    string    `json:"event"`
	Previous *string   `json:"previous_memory"`
}

type results struct {
	Results  []result `json:"results"`
	Unread   int      `json:"unread,omitempty"`
	Unguided string   `json:"unguided,omitempty"`
}

// additions is a body with all its parts read.
type additions struct {
	ids      memory.External
	messages []notes.NewMessage
	occurred *time.Time
	expires  *time.Time
	metadata map[string]any
	guidance *memory.Guidance
	unread   int // messages and parts without a text
}

func (s *Service) add(mode addMode) route.Handler {
	return withBody(func(ctx context.Context, r *route.Request, body *addBody) (route.Reply, error) {
		in, err := body.read(s.Clock())
		if err != nil {
			return route.Reply{}, err
		}
		now := mode == addNow || mode == addV1 && (body.AsyncMode == nil || !*body.AsyncMode)
		infer := body.Infer == nil || *body.Infer
		var wait route.Wait
		if now && infer {
			// Before the write: a refused request writes nothing.
			var leave func()
			if wait, leave, err = r.Reserve(); err != nil {
				return route.Reply{}, err
			}
			defer leave()
		}
		c, end, err := s.home(ctx, r.Scope, in.ids)
		defer end()
		if err != nil {
			return route.Reply{}, err
		}
		if !infer {
			return s.addVerbatim(ctx, r, &c, &in)
		}
		w, err := s.Notes.AddMessages(ctx, r.Scope, c.ID.String(), notes.NewMessages{Messages: in.messages, Guidance: in.guidance}, r.Conditions)
		if err != nil {
			return route.Reply{}, err
		}
		if w.Job == nil { // all of it was there already, or nothing can be learned from it
			return ok(results{Results: []result{}, Unread: in.unread, Unguided: w.Unguided})
		}
		accepted := pending{
			Message: "Memory processing has been queued for background execution", Status: statusPending, EventID: w.Job.ID, Results: []result{},
			Unread: in.unread, Unguided: w.Unguided,
		}
		out, done := s.awaitLearned(ctx, r.Scope, wait, &w)
		if !done {
			return ok(accepted)
		}
		return ok(results{Results: out, Unread: in.unread, Unguided: w.Unguided})
	})
}

// awaitLearned waits until the messages are learned, and returns what was. done is false when nobody waits, when it takes longer,
// and on an error: the messages are written, so it is not one of the request.
func (s *Service) awaitLearned(ctx context.Context, scope tenant.Scope, wait route.Wait, w *notes.MessagesWritten) (out []result, done bool) {
	if wait == nil {
		return nil, false
	}
	job := *w.Job
	if !job.Ended() {
		var err error
		if job, err = wait(ctx, job.ID, max(0, len(w.Jobs)-1)); err != nil {
			return nil, false
		}
	}
	if !job.Ended() || !scope.Allows(tenant.NotesRead) {
		return nil, false
	}
	w.Unguided = cmp.Or(w.Unguided, memory.UnguidedOf(&job))
	out, err := s.learned(ctx, scope, w.Jobs)
	return out, err == nil
}

// home returns the collection of an entity, which the first addition creates. The caller calls done when it has added.
func (s *Service) home(ctx context.Context, scope tenant.Scope, ids memory.External) (c memory.Collection, done func(), err error) {
	home := homeOf(ids)
	c, err = s.Collections.ByExternal(ctx, scope, home)
	if fault.Is(err, fault.NotFound) {
		return s.Collections.Plan(ctx, scope, notes.Home{External: home}, policy, false)
	}
	return c, func() {}, err
}

// addVerbatim stores each message as a memory, as it is: all of them, or none.
func (s *Service) addVerbatim(ctx context.Context, r *route.Request, c *memory.Collection, in *additions) (route.Reply, error) {
	out := results{Results: []result{}, Unread: in.unread}
	var list []notes.NewNote
	for i := range in.messages {
		m := &in.messages[i]
		if m.Role == memory.RoleSystem || m.Role == memory.RoleDeveloper {
			continue
		}
		content := unsaid.Mark(m.Content, m.Role == memory.RoleAssistant)
		note := notes.NewNote{Kind: memory.KindFact, Content: content, Attributes: m.Attributes, OccurredAt: m.OccurredAt}
		note.Attributes[memory.AttrRole] = string(m.Role)
		if m.Name != "" {
			note.Attributes[memory.AttrName] = m.Name
		}
		note.ExpiresAt, note.Infer = m.ExpiresAt, new(false)
		list = append(list, note)
	}
	if len(list) == 0 {
		return ok(out)
	}
	written, err := s.Notes.AddAll(ctx, r.Scope, c.ID.String(), list)
	if err != nil {
		return route.Reply{}, err
	}
	for i := range written {
		event := string(memory.LearnedAdd)
		if written[i].Found {
			event = "NONE"
		}
		out.Results = append(out.Results, result{ID: written[i].Note.ID, Memory: written[i].Note.Content, Event: event})
	}
	return ok(out)
}

// learned returns what jobs that have ended changed, in their order.
func (s *Service) learned(ctx context.Context, scope tenant.Scope, jobs []uuid.UUID) ([]result, error) {
	out := []result{}
	for _, id := range jobs {
		job, err := s.Jobs.Job(ctx, scope, id)
		if err != nil {
			return nil, err
		}
		out = append(out, resultsOf(&job)...)
	}
	return out, nil
}

// resultsOf returns what a job changed. A memory that replaces another one is an update for mem0's clients, which
// know no other name for it.
func resultsOf(job *memory.Job) []result {
	out := []result{}
	for _, l := range memory.LearnedOf(job) {
		one := result{ID: l.Note, Memory: l.Memory, Event: string(l.Event)}
		if l.Event == memory.LearnedReplace {
			one.Event = string(memory.LearnedUpdate)
		}
		if l.Previous != "" {
			one.Previous = &l.Previous
		}
		out = append(out, one)
	}
	return out
}

// read checks the body.
func (b *addBody) read(now time.Time) (in additions, err error) {
	if in.ids, err = b.external(); err != nil {
		return in, err
	}
	if len(b.Filters) > 0 {
		c, err := parseFilters(b.Filters)
		if err != nil {
			return in, err
		}
		given, err := plainIDs(allOf{exactly(in.ids), c})
		if err != nil {
			return in, err
		}
		in.ids = given
	}
	if in.ids.IsZero() {
		return in, errNoEntity()
	}
	if b.Timestamp != nil {
		at, err := memory.TimeOf(b.Timestamp)
		if err != nil {
			return in, malformed("timestamp: %s", err)
		}
		in.occurred = &at
	}
	if b.ExpirationDate != nil {
		at, err := endOf(*b.ExpirationDate, now)
		if err != nil {
			return in, err
		}
		in.expires = &at
	}
	in.metadata = b.Metadata
	categories, err := categoriesOf(b.CustomCategories)
	if err != nil {
		return in, err
	}
	in.guidance = &memory.Guidance{
		Instructions: strings.TrimSpace(b.CustomInstructions), Includes: strings.TrimSpace(b.Includes), Excludes: strings.TrimSpace(b.Excludes),
		Categories: categories,
	}
	list, err := messagesOf(b.Messages)
	if err != nil {
		return in, err
	}
	for _, m := range list {
		in.message(m)
	}
	if len(in.messages) == 0 {
		return in, malformed("messages: at least one with a text is required")
	}
	return in, nil
}

// categoriesOf reads categories in the forms that mem0's programs write: names, or objects of names with descriptions.
func categoriesOf(v any) (out []memory.Category, err error) {
	bad := malformed("custom_categories: must be a list of names, or of objects {name: description}")
	switch v := v.(type) {
	case nil:
	case string:
		out = append(out, memory.Category{Name: strings.TrimSpace(v)})
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			description, ok := v[name].(string)
			if !ok && v[name] != nil {
				return nil, bad
			}
			out = append(out, memory.Category{Name: strings.TrimSpace(name), Description: strings.TrimSpace(description)})
		}
	case []any:
		for _, one := range v {
			list, err := categoriesOf(one)
			if err != nil || list == nil {
				return nil, bad
			}
			out = append(out, list...)
		}
	default:
		return nil, bad
	}
	return out, nil
}

// messagesOf returns the messages of a body in the forms that mem0 accepts: a text of the user's, one message, or a list.
func messagesOf(v any) ([]any, error) {
	switch v := v.(type) {
	case string:
		return []any{map[string]any{"role": "user", "content": v}}, nil
	case map[string]any:
		return []any{v}, nil
	case []any:
		return v, nil
	}
	return nil, malformed("messages: must be a list of messages")
}

// message adds what can be read of a message, and counts what cannot. The call of a tool has no text. What a tool answered,
// which some forms have among the parts of a user's message, is a message of its own.
func (in *additions) message(v any) {
	m := parts.Object(v)
	if m == nil {
		in.unread++
		return
	}
	read := parts.ReadMessage(m)
	role := memory.Role(cmp.Or(read.Role, string(memory.RoleUser)))
	if read.Named != "" || !read.Known {
		in.unread++
		return
	}
	in.unread += read.Unread
	at := cmp.Or(in.occurred, memory.SaidAt(read.At))
	in.put(role, read.Name, strings.TrimSpace(read.Text), at)
	in.put(memory.RoleTool, "", read.Tool, at)
}

func (in *additions) put(role memory.Role, name, content string, at *time.Time) {
	if content == "" {
		return
	}
	out := notes.NewMessage{
		Role: role, Name: name, Content: content, OccurredAt: at, ExpiresAt: in.expires, Attributes: attributesOf(in.ids),
	}
	if len(in.metadata) > 0 {
		out.Attributes[attrMetadata] = in.metadata
	}
	// Messages of different runs are different conversations.
	if in.ids.Run != "" && len(in.ids.Run) <= memory.MaxTermBytes && strings.TrimSpace(in.ids.Run) != "" {
		out.Session = in.ids.Run
	}
	in.messages = append(in.messages, out)
}

// endOf returns the time at which a memory with this last day expires.
func endOf(date string, now time.Time) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return day, malformed("expiration_date: must have the form YYYY-MM-DD")
	}
	end := day.AddDate(0, 0, 1)
	if !end.After(now) {
		return end, malformed("expiration_date: must not be in the past")
	}
	return end, nil
}

// lastDay is endOf reversed.
func lastDay(end time.Time) string { return end.UTC().Add(-time.Microsecond).Format(time.DateOnly) }

// number returns a json.Number that is a whole number in range, else def.
func number(v any, def, most int) int {
	n, ok := v.(json.Number)
	if !ok {
		return def
	}
	f, err := n.Float64()
	if err != nil || f < 1 {
		return def
	}
	return int(min(f, float64(most)))
}
