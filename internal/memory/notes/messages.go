package notes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NewMessage is a message as a caller gives it.
type NewMessage struct {
	ID         string      // the caller's; makes the message safe to send again; "" none
	Role       memory.Role // default user
	Name       string      // of who speaks; "" unknown
	Content    string      // required, with a character that is no white space
	OccurredAt *time.Time
	Session    any // text or a number; nil: none
	Attributes map[string]any
	ExpiresAt  *time.Time // what is learned from it ends then
	Recalled   bool       // written with recalled memories before it: nothing is learned from it
}

// NewMessages is what one call adds: messages in the order in which they were said.
type NewMessages struct {
	Messages []NewMessage
	Infer    *bool // default true; false stores them as given and asks no policy
}

// MessagesWritten is the answer of AddMessages.
type MessagesWritten struct {
	Messages []memory.Note // one for each message given, in that order; one that was here before as it is
	Revision memory.Revision
	Job      *memory.Job // the last one enqueued; nil: nothing is to be done
	Jobs     int         // that were enqueued; of an earlier answer it is not known
	Replayed bool        // an earlier answer under the same idempotency key
}

// AddMessages stores up to MaxMessages messages in one changeset, with their
// vectors when the collection's embedder is fast, and enqueues what its policy
// works on: a job for every exchange, or one for every message, or none.
//
// An exchange ends where a user speaks after an assistant, or the session
// changes. What an assistant says first in a call belongs to the last exchange
// of its session, when that waits for an answer. A message whose ID is there
// with the same role and content is not written again; with others it is
// Exists, naming "messages.<i>.id".
func (n *Service) AddMessages(ctx context.Context, s tenant.Scope, ref string, in NewMessages, r memory.Request) (MessagesWritten, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return MessagesWritten{}, err
	}
	k := memory.OnceKey{Key: r.Idempotency, Collection: c.ID}
	return memory.Once(ctx, n.store, s, k, func() (MessagesWritten, *memory.Idempotency, error) {
		return n.addMessages(ctx, s, &c, in, r.Idempotency)
	}, func(ids memory.AnswerIDs, job *memory.Job) (MessagesWritten, error) {
		return n.writtenMessages(ctx, s, ids, job)
	})
}

func (n *Service) addMessages(ctx context.Context, s tenant.Scope, c *memory.Collection, in NewMessages, key *memory.Idempotency) (MessagesWritten, *memory.Idempotency, error) {
	list, err := newMessages(in.Messages, n.clock(), s.Actor())
	if err != nil {
		return MessagesWritten{}, nil, err
	}
	if err := n.readyMessages(ctx, s, c, list); err != nil {
		return MessagesWritten{}, nil, err
	}
	w := &messageWriter{n: n, s: s, c: c, key: key, list: list, infer: in.Infer == nil || *in.Infer}
	if p, ok := n.policies.ByName(c.Policy); ok {
		w.exchanges = p.Describe().Exchanges
	}
	return w.write(ctx)
}

// writtenMessages builds an earlier answer again: the messages as they were at
// the write's revision; of those that are gone, the ids alone.
func (n *Service) writtenMessages(ctx context.Context, s tenant.Scope, ids memory.AnswerIDs, job *memory.Job) (MessagesWritten, error) {
	_, notes, err := n.writtenNotes(ctx, s, ids)
	if err != nil {
		return MessagesWritten{}, err
	}
	out := MessagesWritten{Revision: ids.Revision, Job: job, Replayed: true, Messages: make([]memory.Note, 0, len(ids.Notes))}
	for _, id := range ids.Notes {
		if i := slices.IndexFunc(notes, func(m memory.Note) bool { return m.ID == id }); i >= 0 {
			out.Messages = append(out.Messages, notes[i])
			continue
		}
		out.Messages = append(out.Messages, memory.Note{ID: id, Collection: ids.Collection, Kind: memory.KindMessage})
	}
	return out, nil
}

// message is a checked message on its way into the store.
type message struct {
	note    memory.Note
	session filter.Value // zero: none
	role    memory.Role
	fresh   uuid.UUID // of the exchange that it belongs to, unless that is there already
	known   bool      // it was here before the call
}

// newMessages checks messages, allots their ids and tells their exchanges apart.
func newMessages(in []NewMessage, now time.Time, actor string) ([]*message, error) {
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
		r.Under(list[i].read(&in[i], now, actor), "messages", i)
	}
	checkRepeatedIDs(&r, list)
	if err := r.Err(); err != nil {
		return nil, err
	}
	var exchange uuid.UUID
	begins := newExchanges(list)
	for i, m := range list {
		var err error
		if m.note.ID, err = uuid.NewV7(); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "no id could be made")
		}
		if begins[i] {
			if exchange, err = uuid.NewV7(); err != nil {
				return nil, fault.Wrap(err, fault.Internal, "no id could be made")
			}
		}
		m.fresh = exchange
	}
	return list, nil
}

// read checks one message; fields of a fault are its own.
func (m *message) read(in *NewMessage, now time.Time, actor string) error {
	var r memory.Validation
	m.role = in.Role
	if m.role == "" {
		m.role = memory.RoleUser
	}
	if !slices.Contains(memory.Roles(), m.role) {
		r.Addf("role", "must be one of %v", memory.Roles())
	}
	note := NewNote{Kind: memory.KindMessage, Key: in.ID, Content: in.Content, OccurredAt: in.OccurredAt, Attributes: map[string]any{}}
	for k, v := range in.Attributes {
		switch k {
		case memory.AttrRole, memory.AttrName, memory.AttrSession, memory.AttrTurn, memory.AttrRecall, memory.AttrExpires:
			r.Addf("attributes."+k, "is kept for what a message says of itself")
		}
		note.Attributes[k] = v
	}
	note.Attributes[memory.AttrRole] = string(m.role)
	note.Attributes[memory.AttrTurn] = uuid.Nil.String() // its place in the size; set when it is written
	if in.Name != "" {
		r.Label("name", in.Name)
		note.Attributes[memory.AttrName] = in.Name
	}
	if in.Session != nil {
		m.session = checkSession(&r, in.Session)
		note.Attributes[memory.AttrSession] = in.Session
	}
	if in.ExpiresAt != nil {
		at := memory.Instant(*in.ExpiresAt)
		if at.Before(memory.EarliestEvent) || at.Year() > 9999 {
			r.Addf("expires_at", "must lie between the years %d and 9999", memory.EarliestEvent.Year())
		}
		note.Attributes[memory.AttrExpires] = at.Format(time.RFC3339Nano)
	}
	if in.Recalled {
		note.Attributes[memory.AttrRecall] = true
	}
	var err error
	m.note, err = note.build(now, actor)
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

// checkSession checks the name or number of a session.
func checkSession(r *memory.Validation, v any) filter.Value {
	switch x := v.(type) {
	case string:
		r.Label("session", x)
		return filter.Value{Type: filter.Text, Text: x}
	case int:
		return filter.Value{Type: filter.Number, Number: float64(x)}
	case float64:
		r.Value("session", x, 1)
		return filter.Value{Type: filter.Number, Number: x}
	case json.Number:
		r.Value("session", x, 1)
		f, _ := x.Float64() // refused above where it is none
		return filter.Value{Type: filter.Number, Number: f}
	}
	r.Addf("session", "must be a text or a number")
	return filter.Value{}
}

// checkRepeatedIDs refuses an id that two different messages share.
func checkRepeatedIDs(r *memory.Validation, list []*message) {
	first := map[string]*message{}
	for i, m := range list {
		if m.note.Key == "" {
			continue
		}
		if other := first[m.note.Key]; other == nil {
			first[m.note.Key] = m
		} else if !other.says(m) {
			r.Addf(memory.ElementField("messages", i)+".id", "stands for another message of this call")
		}
	}
}

// says tells whether two messages are the same words of the same part.
func (m *message) says(o *message) bool { return m.role == o.role && m.note.Content == o.note.Content }

// newExchanges marks the messages that an exchange begins with: what a user
// says after an assistant, and the first of a session. What systems and tools
// say belongs to what is around it.
func newExchanges(list []*message) []bool {
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

// readyMessages finds which messages are here already, asks for room for the
// others, and embeds them. What it finds saves work; what counts is found under
// the lock.
func (n *Service) readyMessages(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message) error {
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
				m.known = true
			case !fault.Is(err, fault.NotFound):
				return err
			}
		}
	}
	var bytes int64
	var fresh []*message
	var texts []string
	for _, m := range list {
		if m.known {
			continue
		}
		bytes += m.note.Size()
		fresh, texts = append(fresh, m), append(texts, memory.EmbedText(&m.note))
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := n.checkQuota(ctx, s, int64(len(fresh)), bytes); err != nil {
		return err
	}
	embedding, cancel := n.patient(ctx)
	defer cancel()
	for i, e := range n.embed(embedding, s, c, texts) {
		if e.Vector != nil {
			fresh[i].note.Embed(e, c.Embedder)
		}
	}
	return nil
}

// messageWriter writes the messages of one call.
type messageWriter struct {
	n         *Service
	s         tenant.Scope
	c         *memory.Collection
	key       *memory.Idempotency
	list      []*message
	infer     bool
	exchanges bool // the policy decides by exchanges

	// The exchange that the first words join, and the head at which it was found; what was found at another head is
	// taken on the last try.
	joins uuid.UUID
	head  memory.Revision
	last  bool
}

func (w *messageWriter) write(ctx context.Context) (MessagesWritten, *memory.Idempotency, error) {
	for try := 1; ; try++ {
		w.last = try == moveTries
		if err := w.findOpen(ctx); err != nil {
			return MessagesWritten{}, nil, err
		}
		out, seen, err := w.writeOnce(ctx)
		if !errors.Is(err, errHeadMoved) {
			return out, seen, err
		}
	}
}

// findOpen looks for the exchange that waits for what the call begins with: the
// last one of the session, when a user spoke last in it.
func (w *messageWriter) findOpen(ctx context.Context) error {
	w.joins, w.head = uuid.Nil, -1
	i := slices.IndexFunc(w.list, func(m *message) bool { return m.role == memory.RoleUser || m.role == memory.RoleAssistant })
	if i < 0 || w.list[i].role != memory.RoleAssistant || w.list[i].fresh != w.list[0].fresh {
		return nil
	}
	v, err := w.n.store.OpenView(ctx, w.s, w.c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	session := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Eq, Values: []filter.Value{w.list[0].session}}
	if w.list[0].session.Type == 0 {
		session.Op, session.Values = filter.Exists, nil // Want false: none has one
	}
	spoke := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrRole}, Op: filter.In, Values: []filter.Value{
		{Type: filter.Text, Text: string(memory.RoleUser)}, {Type: filter.Text, Text: string(memory.RoleAssistant)},
	}}
	newest, err := w.n.store.ListNotes(ctx, w.s, v, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Filter: filter.And{session, spoke}, Newest: true, Limit: 1,
	})
	if err != nil {
		return err
	}
	w.head = v.At
	if len(newest) == 1 && memory.UtteranceOf(&newest[0]).Role == memory.RoleUser {
		w.joins = turnOf(&newest[0])
	}
	return nil
}

// turnOf gives the exchange of a message; zero: none.
func turnOf(n *memory.Note) uuid.UUID {
	text, _ := n.Attributes[memory.AttrTurn].(string)
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

func (w *messageWriter) writeOnce(ctx context.Context) (MessagesWritten, *memory.Idempotency, error) {
	var out MessagesWritten
	o := memory.WriteOptions{Cause: memory.CauseAdd, Idempotency: w.key, Audit: []memory.AuditEntry{audit("messages.create", w.c.ID, w.c)}}
	written, err := w.n.store.Write(ctx, w.s, w.c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if v := tx.View(); w.head >= 0 && v.At != w.head && !w.last {
			return errHeadMoved
		}
		var err error
		out, err = w.put(ctx, tx)
		return err
	})
	if err != nil {
		return MessagesWritten{}, nil, err
	}
	out.Revision = written.Revision
	return out, written.Replay, nil
}

// put writes what is not here yet, and the jobs for it.
func (w *messageWriter) put(ctx context.Context, tx memory.Tx) (MessagesWritten, error) {
	out := MessagesWritten{Messages: make([]memory.Note, 0, len(w.list))}
	ids := memory.AnswerIDs{Collection: w.c.ID, Revision: tx.View().At}
	var said []memory.Note // of the exchange at hand, what is new of it
	var turn uuid.UUID
	for i, m := range w.list {
		switch {
		case i == 0 && w.joins != uuid.Nil:
			turn = w.joins
		case i == 0 || m.fresh != w.list[i-1].fresh:
			turn = m.fresh
		}
		note, here, err := m.find(ctx, tx, i)
		if err != nil {
			return out, err
		}
		if here {
			// What follows it belongs to its exchange.
			if known := turnOf(&note); known != uuid.Nil {
				turn = known
			}
		} else {
			if note, err = m.put(ctx, tx, turn); err != nil {
				return out, err
			}
			said = append(said, note)
			ids.Revision = tx.Revision()
		}
		out.Messages, ids.Notes = append(out.Messages, note), append(ids.Notes, note.ID)
		if i+1 < len(w.list) && w.list[i+1].fresh == m.fresh {
			continue
		}
		if err := w.enqueue(ctx, tx, said, &out); err != nil {
			return out, err
		}
		said = nil
	}
	if out.Job != nil {
		ids.Job = &out.Job.ID
	}
	tx.Answer(ids.Raw())
	return out, nil
}

// find looks for a message by the caller's id. Found with other words or of
// another part it is Exists.
func (m *message) find(ctx context.Context, tx memory.Tx, i int) (n memory.Note, here bool, err error) {
	if m.note.Key == "" {
		return memory.Note{}, false, nil
	}
	n, err = tx.NoteByKey(ctx, memory.KindMessage, m.note.Key)
	switch {
	case fault.Is(err, fault.NotFound):
		return memory.Note{}, false, nil
	case err != nil:
		return memory.Note{}, false, err
	case m.says(&message{note: n, role: memory.UtteranceOf(&n).Role}):
		return n, true, nil
	}
	return memory.Note{}, false, &fault.Error{
		Code: fault.Exists, Message: "another message has this id",
		Fields: []fault.Field{{Field: memory.ElementField("messages", i) + ".id", Reason: "is taken by a message with another role or content"}},
	}
}

func (m *message) put(ctx context.Context, tx memory.Tx, turn uuid.UUID) (memory.Note, error) {
	put := m.note
	put.Attributes = maps.Clone(m.note.Attributes) // a closure may run twice
	put.Attributes[memory.AttrTurn] = turn.String()
	if put.OccurredAt.IsZero() {
		put.OccurredAt = tx.Now()
	}
	return tx.Put(ctx, put)
}

// enqueue makes the jobs that new messages of one exchange need.
func (w *messageWriter) enqueue(ctx context.Context, tx memory.Tx, said []memory.Note, out *MessagesWritten) error {
	var jobs []memory.Job
	switch {
	case len(said) == 0:
	case w.infer && w.exchanges:
		j := memory.Job{
			Tenant: w.s.Tenant(), Collection: w.c.ID, Note: said[len(said)-1].ID,
			Kind: memory.JobExchange, Stage: memory.StagePrepare, State: memory.JobQueued,
		}
		var payload memory.ExchangeJob
		for i := range said {
			payload.Messages = append(payload.Messages, said[i].ID)
		}
		var err error
		if j.Payload, err = json.Marshal(payload); err != nil {
			return fault.Wrap(err, fault.Internal, "the exchange cannot be kept")
		}
		jobs = append(jobs, j)
	default:
		for i := range said {
			if j := noteJob(w.s, w.c, &said[i], w.infer && memory.Learnable(&said[i])); j != nil {
				jobs = append(jobs, *j)
			}
		}
	}
	for i := range jobs {
		j, err := tx.Enqueue(ctx, jobs[i])
		if err != nil {
			return err
		}
		out.Job = &j
		out.Jobs++
	}
	return nil
}
