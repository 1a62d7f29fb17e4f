package notes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// NewMessage is a message as a caller sends it.
type NewMessage struct {
	ID         string      // the caller's id; makes sending the message again safe; "": none
	Role       memory.Role // "": memory.RoleUser
	Name       string      // of the speaker; "": unknown
	Content    string      // required, not blank
	OccurredAt *time.Time
	Session    any // text or number; nil: none
	Attributes map[string]any
	ExpiresAt  *time.Time // when it ends, and what is learned from it; nil: never
	TTLSeconds *int64     // the same, from now on; not beside ExpiresAt
	Recalled   bool       // written with recalled memories in the prompt: nothing is learned from it
	Transcript bool       // of a program's request about what was said, see [memory.Transcripts]; Recalled is set too
}

// NewMessages is the input of AddMessages, in the order in which the messages were said.
type NewMessages struct {
	Messages []NewMessage
	Infer    *bool // nil: true; false stores the messages without running the policy
	// OnDuplicate applies to exchanges whose messages have no ID; "": memory.DuplicateReturn.
	OnDuplicate memory.OnDuplicate
	// Again takes a first message of a user that repeats the last one of its session, which has no answer, for that one: what answers
	// it belongs to it.
	Again    bool
	Guidance *memory.Guidance // what is to be learned from these messages; nil: what the policy learns by itself
	// Alone is when a request came that the messages are all of, with its answer; zero: there was more, or it is not known. A transcript in
	// it may be a program's.
	Alone time.Time
}

// MessagesWritten is the result of AddMessages.
type MessagesWritten struct {
	Found    []bool        // of each message: it was there before
	Messages []memory.Note // one per message of the input, in its order; existing ones unchanged
	Revision memory.Revision
	Job      *memory.Job // the last one enqueued; nil: none
	Jobs     []uuid.UUID // all that were enqueued, in order
	Replayed bool        // an earlier answer under the same idempotency key
	Unguided string      // why the guidance is not followed; "": it is, or its job says why not
}

// AddMessages stores up to MaxMessages messages in one changeset, with their vectors if the
// collection's embedder is fast. It enqueues the jobs of the policy: one per exchange, one per
// message, or none.
//
// An exchange ends where a user speaks after an assistant, or where the session changes. Assistant
// messages at the start of a call belong to the last exchange of their session if that has no
// answer yet. A message whose ID exists with the same role and content is not written again; with
// another role or content it is Exists, naming "messages.<i>.id". An exchange that repeats, message for message,
// what the collection has (memory.IsDuplicate) is not written again. One new message makes all of it new: what "Yes."
// means depends on what it answers.
func (n *Service) AddMessages(ctx context.Context, s tenant.Scope, ref string, in NewMessages, r memory.Request) (MessagesWritten, error) {
	return memory.Again(func() (MessagesWritten, error) {
		c, err := n.resolveWritable(ctx, s, ref)
		if err != nil {
			return MessagesWritten{}, err
		}
		k := memory.OnceKey{Key: r.Idempotency, Collection: c.ID}
		return memory.Once(ctx, n.store, s, k, func() (MessagesWritten, *memory.Idempotency, error) {
			return n.addMessages(ctx, s, &c, in, r)
		}, func(ids memory.AnswerIDs, job *memory.Job) (MessagesWritten, error) {
			return n.writtenMessages(ctx, s, ids, job)
		})
	}, r.Idempotency)
}

func (n *Service) addMessages(ctx context.Context, s tenant.Scope, c *memory.Collection, in NewMessages, q memory.Request) (MessagesWritten, *memory.Idempotency, error) {
	var r memory.Validation
	checkOnDuplicate(&r, in.OnDuplicate)
	if err := r.Err(); err != nil {
		return MessagesWritten{}, nil, err
	}
	guidance, err := screenGuidance(ctx, c, in.Guidance)
	if err != nil {
		return MessagesWritten{}, nil, err
	}
	list, err := n.newMessages(ctx, s, c, in.Messages)
	if err != nil {
		return MessagesWritten{}, nil, err
	}
	if err := n.markQuoted(ctx, s, c, list, in.Alone); err != nil {
		return MessagesWritten{}, nil, err
	}
	w := &messageWriter{
		n: n, s: s, c: c, key: q.Idempotency, with: q.With, list: list, infer: in.Infer == nil || *in.Infer, find: in.OnDuplicate != memory.DuplicateKeep,
		again: in.Again,
	}
	if err := n.prepareMessages(ctx, s, c, list, w.infer); err != nil {
		return MessagesWritten{}, nil, err
	}
	guided := false
	if p, ok := n.policies.ByName(c.Policy); ok {
		d := p.Describe()
		w.exchanges, guided = d.Exchanges, d.Guided
	}
	if err := n.checkPersons(ctx, s, c, list); err != nil {
		return MessagesWritten{}, nil, err
	}
	if guided {
		w.guidance = guidance
	}
	out, seen, err := w.write(ctx)
	if guidance != nil && !guided {
		out.Unguided = fmt.Sprintf("the policy %s learns by its own rules", c.Policy)
	}
	return out, seen, err
}

// screenGuidance checks the guidance of an add, and applies the collection's setting about secrets to it; nil: none.
func screenGuidance(ctx context.Context, c *memory.Collection, g *memory.Guidance) (*memory.Guidance, error) {
	if g.IsZero() {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(g)
	if err == nil {
		raw, err = c.ScreenJSON(ctx, "guidance", raw)
	}
	if err != nil {
		return nil, err
	}
	out := new(memory.Guidance)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the guidance cannot be encoded")
	}
	return out, nil
}

// checkPersons refuses user messages of a second name, where the policy remembers one person.
func (n *Service) checkPersons(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message) error {
	if p, ok := n.policies.ByName(c.Policy); !ok || !p.Reading(c.PolicyConfig).OnePerson {
		return nil
	}
	person := ""
	for i, m := range list {
		name, _ := m.note.Attributes[memory.AttrName].(string)
		if m.role != memory.RoleUser || name == "" {
			continue
		}
		if person == "" {
			if err := n.CheckPerson(ctx, s, c, memory.ElementField("messages", i)+".name", name); err != nil {
				return err
			}
			person = name
		}
		if !text.Same(name, person) {
			return secondPerson(memory.ElementField("messages", i)+".name", person)
		}
	}
	return nil
}

// CheckPerson returns Invalid, naming a field, if the collection's policy remembers one person and the
// collection has messages of a user of another name.
func (n *Service) CheckPerson(ctx context.Context, s tenant.Scope, c *memory.Collection, field, name string) error {
	if p, ok := n.policies.ByName(c.Policy); !ok || !p.Reading(c.PolicyConfig).OnePerson {
		return nil // an import asks here directly
	}
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	named, err := n.store.ListNotes(ctx, s, v, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Newest: true, Limit: 1,
		Filter: filter.And{
			filter.AttributeIs(memory.AttrRole, string(memory.RoleUser)),
			&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrName}, Op: filter.Exists, Want: true},
		},
	})
	if err != nil || len(named) == 0 {
		return err
	}
	if person, _ := named[0].Attributes[memory.AttrName].(string); !text.Same(person, name) {
		return secondPerson(field, person)
	}
	return nil
}

// secondPerson returns the fault for a message of another person than the collection's.
func secondPerson(field, person string) error {
	return fault.InvalidField(field, "must be %q: the policy of this collection keeps the memory of one person; use another collection for another person, or the role assistant", person)
}

// writtenMessages builds a stored answer again: the messages as they were at the revision of the
// write, and only the ids of deleted ones.
func (n *Service) writtenMessages(ctx context.Context, s tenant.Scope, ids memory.AnswerIDs, job *memory.Job) (MessagesWritten, error) {
	_, notes, err := memory.WrittenNotes(ctx, n.store, s, ids)
	if err != nil {
		return MessagesWritten{}, err
	}
	out := MessagesWritten{Revision: ids.Revision, Job: job, Jobs: ids.Jobs, Replayed: true, Messages: make([]memory.Note, 0, len(ids.Notes))}
	at := make(map[uuid.UUID]int, len(notes))
	for i := range notes {
		at[notes[i].ID] = i
	}
	for _, id := range ids.Notes {
		if i, ok := at[id]; ok {
			out.Messages = append(out.Messages, notes[i])
			continue
		}
		out.Messages = append(out.Messages, memory.Note{ID: id, Collection: ids.Collection, Kind: memory.KindMessage})
	}
	return out, nil
}

// message is a validated message that will be written.
type message struct {
	note     memory.Note
	session  filter.Value // zero: none
	role     memory.Role
	exchange uuid.UUID // id of its exchange, unless the exchange exists
	exists   bool      // it existed before the call
}

// newMessages validates messages, applies the collection's setting about secrets to them, allocates their ids and groups
// them into exchanges.
func (n *Service) newMessages(ctx context.Context, s tenant.Scope, c *memory.Collection, in []NewMessage) ([]*message, error) {
	var r memory.Validation
	switch {
	case len(in) == 0:
		r.Addf("messages", "at least one is required")
	case len(in) > memory.MaxMessages:
		r.Addf("messages", "at most %d; there are %d", memory.MaxMessages, len(in))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	list := make([]*message, len(in))
	for i := range in {
		list[i] = &message{}
		err := list[i].validate(&in[i], n.now(c), s.Actor())
		if err == nil {
			err = c.ScreenKey("id", in[i].ID)
		}
		if err == nil {
			_, err = c.ScreenNote(ctx, &list[i].note)
		}
		r.AddUnder(err, "messages", i)
	}
	if len(r.Fields) == 0 {
		r.Add(n.screenHalves(ctx, s, c, list))
	}
	checkRepeatedIDs(&r, list)
	if err := r.Err(); err != nil {
		return nil, err
	}
	var exchange uuid.UUID
	begins := exchangeStarts(list)
	for i, m := range list {
		var err error
		if m.note.ID, err = uuid.NewV7(); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		if begins[i] {
			if exchange, err = uuid.NewV7(); err != nil {
				return nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
			}
		}
		m.exchange = exchange
	}
	return list, nil
}

// validate validates one message. The fields of a fault are relative to the message.
func (m *message) validate(in *NewMessage, now time.Time, actor string) error {
	var r memory.Validation
	m.role = cmp.Or(memory.RoleOf(string(in.Role)), memory.RoleUser)
	if !slices.Contains(memory.Roles(), m.role) {
		r.Addf("role", "must be one of %s", wording.Or(memory.Roles()...))
	}
	content, known := ownWords(in, m.role)
	note := NewNote{Kind: memory.KindMessage, Key: in.ID, Content: content, OccurredAt: in.OccurredAt, ExpiresAt: in.ExpiresAt, TTLSeconds: in.TTLSeconds, Attributes: map[string]any{}}
	for k, v := range in.Attributes {
		switch k {
		case memory.AttrRole, memory.AttrName, memory.AttrSession, memory.AttrTurn, memory.AttrRecall, memory.AttrExpires, memory.AttrDigest:
			r.Addf("attributes."+k, "is reserved for the field of that name")
		}
		note.Attributes[k] = v
	}
	note.Attributes[memory.AttrRole] = string(m.role)
	note.Attributes[memory.AttrTurn] = uuid.Nil.String() // a placeholder that counts for the size; set when it is written
	if in.Name != "" {
		r.Label("name", in.Name)
		note.Attributes[memory.AttrName] = in.Name
	}
	if in.Session != nil {
		m.session = checkSession(&r, in.Session)
		note.Attributes[memory.AttrSession] = in.Session
	}
	if in.Recalled || known {
		note.Attributes[memory.AttrRecall] = true
	}
	if in.Transcript {
		note.Attributes[memory.AttrTranscript] = true
	}
	var err error
	m.note, err = note.build(now, actor, false)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, x := range f.Fields {
			if x.Field == "key" {
				x.Field = "id"
			}
			r.Fields = append(r.Fields, x)
		}
		r.Malformed = r.Malformed || f.Code == fault.Malformed
	}
	return r.Err()
}

// ownWords returns a message without what was recalled in it. One that has nothing else stays, and known says so. Documents
// and what tools say are kept as they are.
func ownWords(in *NewMessage, role memory.Role) (content string, known bool) {
	spoken := role == memory.RoleUser || role == memory.RoleAssistant
	if !spoken || !recalled.Within(in.Content) || json.Valid([]byte(in.Content)) {
		return in.Content, false
	}
	if own := recalled.Strip(in.Content); own != "" {
		return own, false
	}
	return in.Content, true
}

// checkSession validates the name or number of a session.
func checkSession(r *memory.Validation, v any) filter.Value {
	switch x := v.(type) {
	case string:
		r.Label("session", x)
	case int, float64, json.Number:
		r.Value("session", x, 1)
	default:
		r.Addf("session", "must be a string or a number")
		return filter.Value{}
	}
	session, _ := filter.Scalar(v) // a number out of range was refused above
	return session
}

// checkRepeatedIDs refuses an id that is used by two different messages.
func checkRepeatedIDs(r *memory.Validation, list []*message) {
	first := map[string]*message{}
	for i, m := range list {
		if m.note.Key == "" {
			continue
		}
		if other := first[m.note.Key]; other == nil {
			first[m.note.Key] = m
		} else if !other.saysSame(m) {
			r.Addf(memory.ElementField("messages", i)+".id", "is the id of another message of this call")
		}
	}
}

// saysSame reports whether two messages have the same role and content.
func (m *message) saysSame(o *message) bool {
	return m.role == o.role && o.note.Repeats(m.note.Content)
}

// exchangeStarts marks the messages that begin an exchange: a user message after an assistant's, and
// the first of a session. Messages of systems and tools belong to the exchange around them.
func exchangeStarts(list []*message) []bool {
	begins := make([]bool, len(list))
	answered := false
	for i, m := range list {
		switch {
		case i == 0 || m.session != list[i-1].session:
			begins[i], answered = true, false
		case answered && m.role == memory.RoleUser:
			begins[i], answered = true, false
		}
		answered = answered || m.role == memory.RoleAssistant
	}
	return begins
}

// prepareMessages finds the messages that exist, checks the quotas for the others, and embeds them. It
// only saves work: the lookup under the lock decides.
func (n *Service) prepareMessages(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message, infer bool) error {
	if slices.ContainsFunc(list, func(m *message) bool { return m.note.Key != "" }) {
		v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.note.Key == "" {
				continue
			}
			switch _, err := n.store.NoteByKey(ctx, s, v, memory.KindMessage, m.note.Key); {
			case err == nil:
				m.exists = true
			case !fault.Is(err, fault.NotFound):
				return err
			}
		}
	}
	var bytes int64
	var fresh []*memory.Note
	for _, m := range list {
		if !m.exists {
			bytes += m.note.Size()
			fresh = append(fresh, &m.note)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := n.checkQuota(ctx, s, int64(len(fresh)), bytes); err != nil {
		return err
	}
	if infer {
		// One job each at most: a policy may learn from whole exchanges.
		if err := n.checkJobs(ctx, s, c, int64(len(fresh))); err != nil {
			return err
		}
	}
	n.Embed(ctx, s, c, fresh)
	return nil
}
