package notes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// messageWriter writes the messages of one call.
type messageWriter struct {
	n         *Service
	s         tenant.Scope
	c         *memory.Collection
	key       *memory.Idempotency
	with      memory.With
	list      []*message
	infer     bool
	find      bool // an exchange that is there already is not written again
	again     bool // as in NewMessages
	exchanges bool // the policy works on exchanges
	guidance  *memory.Guidance

	// joins is the exchange that the first messages belong to, found at the revision head. On the
	// last try it is used even if the head has changed.
	joins   uuid.UUID
	asked   memory.Note // the first message, asked before and not answered; zero: it was not, or the head has changed each time
	head    memory.Revision
	anyHead bool
}

func (w *messageWriter) write(ctx context.Context) (MessagesWritten, *memory.Idempotency, error) {
	for try := 1; ; try++ {
		w.anyHead = try == moveTries
		if err := w.findOpenExchange(ctx); err != nil {
			return MessagesWritten{}, nil, err
		}
		out, seen, err := w.writeOnce(ctx)
		if !errors.Is(err, errHeadMoved) {
			return out, seen, err
		}
	}
}

// findOpenExchange looks for the exchange that the first messages answer: the last one of the session, if a
// user spoke last in it. Or for the first message itself, if it is asked again.
func (w *messageWriter) findOpenExchange(ctx context.Context) error {
	w.joins, w.asked, w.head = uuid.Nil, memory.Note{}, -1
	i := slices.IndexFunc(w.list, func(m *message) bool { return m.role == memory.RoleUser || m.role == memory.RoleAssistant })
	if i < 0 || w.list[i].exchange != w.list[0].exchange {
		return nil
	}
	again := w.again && i == 0 && w.list[0].role == memory.RoleUser && w.list[0].note.Key == "" && !w.anyHead
	if w.list[i].role != memory.RoleAssistant && !again {
		return nil
	}
	newest, at, err := w.n.lastMessage(ctx, w.s, w.c, w.list[i], string(memory.RoleUser), string(memory.RoleAssistant))
	if err != nil {
		return err
	}
	w.head = at
	switch {
	case newest == nil || memory.UtteranceOf(newest).Role != memory.RoleUser:
	case !again:
		w.joins = turnOf(newest)
	case memory.IsDuplicate(newest, &w.list[0].note):
		w.asked = *newest
	}
	return nil
}

// clockSkew is how far the clocks of who asks and of who answers may be apart.
const clockSkew = time.Hour

// lastMessage returns the last message of a session that was said before one, or nil, and the revision at which it is read: what is
// imported belongs to what was said then, and not to what was said since. No roles: of any.
func (n *Service) lastMessage(
	ctx context.Context, s tenant.Scope, c *memory.Collection, m *message, roles ...string,
) (*memory.Note, memory.Revision, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return nil, 0, err
	}
	of := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Eq, Values: []filter.Value{m.session}}
	if m.session.Type == 0 {
		of.Op, of.Values = filter.Exists, nil // Want is false: notes without a session
	}
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Filter: of, ByTime: true, Newest: true, Limit: 1}
	if len(roles) > 0 {
		q.Filter = filter.And{of, filter.AttributeIs(memory.AttrRole, roles...)}
	}
	if at := m.note.OccurredAt; !at.IsZero() {
		q.After, q.AfterTime = uuid.Max, at.Add(clockSkew)
	}
	newest, err := n.store.ListNotes(ctx, s, v, q)
	if err != nil || len(newest) == 0 {
		return nil, v.At, err
	}
	return &newest[0], v.At, nil
}

// turnOf returns the exchange of a message; zero: none.
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
		if v := tx.View(); w.head >= 0 && v.At != w.head && !w.anyHead {
			return errHeadMoved
		}
		var err error
		if out, err = w.putMessages(ctx, tx); err != nil {
			return err
		}
		return w.with.Write(ctx, tx, out.Messages...)
	})
	if err != nil {
		return MessagesWritten{}, nil, err
	}
	out.Revision = written.Revision
	return out, written.Replay, nil
}

// putMessages writes the messages that do not exist yet, and their jobs.
func (w *messageWriter) putMessages(ctx context.Context, tx memory.Tx) (MessagesWritten, error) {
	out := MessagesWritten{Messages: make([]memory.Note, 0, len(w.list))}
	ids := memory.AnswerIDs{Collection: w.c.ID, Revision: tx.View().At}
	var said []memory.Note // new messages of the current exchange
	var turn uuid.UUID
	known, err := w.findRepeated(ctx, tx)
	if err != nil {
		return out, err
	}
	for i, m := range w.list {
		switch {
		case i == 0 && w.joins != uuid.Nil:
			turn = w.joins
		case i == 0 || m.exchange != w.list[i-1].exchange:
			turn = m.exchange
		}
		note, here, err := m.stored(ctx, tx, known[i], i)
		if err != nil {
			return out, err
		}
		if here {
			ids.Revision = max(ids.Revision, note.From)
			turn = cmp.Or(turnOf(&note), turn) // the messages that follow belong to its exchange
		} else {
			if note, err = m.putMessage(ctx, tx, turn); err != nil {
				return out, err
			}
			said = append(said, note)
			ids.Revision = tx.Revision()
		}
		out.Messages, out.Found, ids.Notes = append(out.Messages, note), append(out.Found, here), append(ids.Notes, note.ID)
		if i+1 < len(w.list) && w.list[i+1].exchange == m.exchange {
			continue
		}
		if err := w.enqueue(ctx, tx, said, &out); err != nil {
			return out, err
		}
		said = nil
	}
	if out.Job != nil {
		ids.Job, ids.Jobs = &out.Job.ID, out.Jobs
	}
	tx.Answer(ids.Raw())
	return out, nil
}

// findRepeated returns the stored messages of the exchanges that repeat stored ones, by their position in the list. Its
// other notes are zero.
func (w *messageWriter) findRepeated(ctx context.Context, tx memory.Tx) ([]memory.Note, error) {
	out := make([]memory.Note, len(w.list))
	out[0] = w.asked
	if !w.find {
		return out, nil
	}
	asked := make([]memory.Note, len(w.list))
	for i, m := range w.list {
		if asked[i] = m.note; asked[i].OccurredAt.IsZero() {
			asked[i].OccurredAt = tx.Now()
		}
	}
	same, err := tx.Duplicates(ctx, asked)
	if err != nil {
		return nil, err
	}
	for begin := 0; begin < len(w.list); {
		end := begin + 1
		for end < len(w.list) && w.list[end].exchange == w.list[begin].exchange {
			end++
		}
		repeated := true
		for i := begin; i < end; i++ {
			repeated = repeated && same[i].ID != uuid.Nil && w.list[i].note.Key == ""
		}
		if repeated {
			copy(out[begin:end], same[begin:end])
		}
		begin = end
	}
	return out, nil
}

// stored returns the message that is there already, which was found, or has the caller's id. It is kept as long as either would be.
func (m *message) stored(ctx context.Context, tx memory.Tx, found memory.Note, i int) (n memory.Note, here bool, err error) {
	if n, here = found, found.ID != uuid.Nil; !here {
		n, here, err = m.findExisting(ctx, tx, i)
	}
	if err == nil && here {
		n, err = keepLonger(ctx, tx, n, m.note.ExpiresAt)
	}
	return n, here, err
}

// findExisting looks up a message by the caller's id. Exists when it has another role or content.
func (m *message) findExisting(ctx context.Context, tx memory.Tx, i int) (n memory.Note, here bool, err error) {
	if m.note.Key == "" {
		return memory.Note{}, false, nil
	}
	n, err = tx.NoteByKey(ctx, memory.KindMessage, m.note.Key)
	switch {
	case fault.Is(err, fault.NotFound):
		return memory.Note{}, false, nil
	case err != nil:
		return memory.Note{}, false, err
	case m.saysSame(&message{note: n, role: memory.UtteranceOf(&n).Role}):
		return n, true, nil
	}
	return memory.Note{}, false, &fault.Error{
		Code: fault.Exists, Message: "another message has this id",
		Fields: []fault.Field{{Field: memory.ElementField("messages", i) + ".id", Reason: "is taken by a message with another role or content"}},
	}
}

func (m *message) putMessage(ctx context.Context, tx memory.Tx, turn uuid.UUID) (memory.Note, error) {
	put := m.note
	put.OwnAttributes()[memory.AttrTurn] = turn.String() // the closure may run twice
	if put.OccurredAt.IsZero() {
		put.OccurredAt = tx.Now()
	}
	tx.Fresh(put.ID)
	return tx.Put(ctx, put)
}

// enqueue adds the jobs for the new messages of one exchange.
func (w *messageWriter) enqueue(ctx context.Context, tx memory.Tx, said []memory.Note, out *MessagesWritten) error {
	var jobs []memory.Job
	switch {
	case len(said) == 0:
	case w.infer && w.exchanges:
		j := memory.Job{
			Tenant: w.s.Tenant(), Collection: w.c.ID, Note: said[len(said)-1].ID,
			Kind: memory.JobExchange, Stage: memory.StagePrepare, State: memory.JobQueued,
		}
		payload := memory.ExchangeJob{Guidance: w.guidance}
		for i := range said {
			payload.Messages = append(payload.Messages, said[i].ID)
		}
		if len(out.Jobs) > 0 {
			payload.After = out.Jobs[len(out.Jobs)-1]
		}
		var err error
		if j.Payload, err = json.Marshal(payload); err != nil {
			return fault.Wrap(err, fault.Internal, "the exchange cannot be encoded")
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
		out.Jobs = append(out.Jobs, j.ID)
	}
	return nil
}
