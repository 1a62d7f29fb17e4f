package chat

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// Recall reads memory; *recall.Service implements it.
type Recall interface {
	Open(ctx context.Context, s tenant.Scope, ref string, asOf *memory.Revision, minRevision memory.Revision) (memory.View, error)
	Search(ctx context.Context, s tenant.Scope, v memory.View, q recall.Query) (recall.Result, error)
	Context(ctx context.Context, s tenant.Scope, v memory.View, q recall.ContextQuery) (recall.Context, error)
}

// Notes stores messages; *notes.Service implements it.
type Notes interface {
	CheckRoom(ctx context.Context, s tenant.Scope, c *memory.Collection, messages, bytes int64) error
	AddMessages(ctx context.Context, s tenant.Scope, ref string, in notes.NewMessages, r memory.Request) (notes.MessagesWritten, error)
}

// Deps are the dependencies of Service. Recall and Notes are required.
type Deps struct {
	Recall Recall
	Notes  Notes
	Models Models
	Clock  memory.Clock                        // nil: time.Now
	Log    *slog.Logger                        // nil: no logs
	Lost   func(context.Context, tenant.Scope) // called for each exchange that could not be stored; may be nil
}

// rememberFor is how long storing an exchange may take.
const rememberFor = 10 * time.Second

// Config holds the limits of chats.
type Config struct {
	Timeout      time.Duration // of an answer that is streamed, to its end; default 5 min
	WholeTimeout time.Duration // of one that is not; default Timeout
	Limits       Limits        // of requests in OpenAI's form
}

// Service answers from memory. It is safe for concurrent use.
type Service struct {
	recall Recall
	notes  Notes
	models Models
	clock  memory.Clock
	log    *slog.Logger
	lost   func(context.Context, tenant.Scope)
	cfg    Config

	replies   replies
	forms     learnedForms
	questions questions
	unstored  unstored
}

// timeout returns how long an answer may take.
func (s *Service) timeout(streamed bool) time.Duration {
	if streamed {
		return s.cfg.Timeout
	}
	return s.cfg.WholeTimeout
}

// New returns a Service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Recall == nil || deps.Notes == nil {
		return nil, fault.New(fault.Internal, "chat: recall and notes are required")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Minute)
	cfg.WholeTimeout = cmp.Or(cfg.WholeTimeout, cfg.Timeout)
	if cfg.Timeout < 0 || cfg.WholeTimeout < 0 || cfg.Limits.MaxChoices < 0 || cfg.Limits.MaxTokens < 0 {
		return nil, fault.New(fault.Internal, "chat: a setting is out of range")
	}
	s := &Service{recall: deps.Recall, notes: deps.Notes, models: deps.Models, clock: deps.Clock, log: deps.Log, lost: deps.Lost, cfg: cfg}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.lost == nil {
		s.lost = func(context.Context, tenant.Scope) {}
	}
	return s, nil
}

// Models returns the names of the models that callers may choose, the default first. Where AnyModel is set, all other
// names are valid too; see [Models.Has].
func (s *Service) Models() []string { return s.models.Names() }

// HasModel reports whether callers may choose a model by this name.
func (s *Service) HasModel(name string) bool { return s.models.Has(name) }

// pendingExchange is an exchange that will be stored.
type pendingExchange struct {
	service  *Service
	scope    tenant.Scope
	view     memory.View
	wanted   bool // the caller wants it, and may write notes
	question Turn
	asked    time.Time
	heard    *asked
	once     *memory.Idempotency // of the whole exchange; nil: none

	reply    string // "" is not stored
	answered time.Time
	recalled bool   // the reply was written from memory
	stored   func() // called when it is stored; nil: nothing waits for that
}

// newMemo returns the memo of a question. A caller who may not write notes, or has no room for them, is answered, but nothing
// is stored.
//
// What is remembered is without what was recalled, and without secrets, as the collection has it; Invalid when it refuses
// that of the question. The model reads what the caller sent.
func (s *Service) newMemo(ctx context.Context, scope tenant.Scope, v *memory.View, question Turn, turns []Turn, wanted bool) (pendingExchange, error) {
	may := tenant.Check(scope, tenant.NotesWrite) == nil
	if v.Collection.Shared() {
		may = may && tenant.Check(scope, tenant.BaseWrite) == nil
	}
	question.Content = recalled.Strip(question.Content)
	wanted = wanted && may && question.Content != ""
	m := pendingExchange{service: s, scope: scope, view: *v, wanted: wanted, question: question, asked: s.clock().UTC()}
	if !m.wanted {
		return m, nil
	}
	var err error
	if m.question.Content, err = v.Collection.ScreenText(ctx, "content", question.Content); err != nil {
		return m, err
	}
	err = s.notes.CheckRoom(ctx, scope, &v.Collection, 2, int64(len(m.question.Content)))
	if fault.Is(err, fault.QuotaExceeded) {
		s.log.WarnContext(ctx, "an exchange is not remembered", slog.String("collection", v.Collection.ID.String()), slog.Any("error", err))
		s.lost(ctx, scope)
		m.wanted = false
		return m, nil
	}
	if err != nil {
		return m, err
	}
	m.heard = &asked{collection: v.Collection.ID, text: strings.TrimSpace(question.Content), at: m.asked, alone: spoken(turns) == 1}
	s.questions.begin(m.heard)
	return m, nil
}

// await makes the next requests of the collection wait for the exchange. Call it before the client has the whole answer.
func (m *pendingExchange) await() {
	if m.wanted && m.stored == nil {
		m.stored = m.service.unstored.add(m.view.Collection.ID, m.service.clock())
	}
}

// end ends the exchange with a reply, of which "" is not stored.
func (m *pendingExchange) end(reply string) {
	m.await()
	m.reply, m.answered = reply, m.service.clock().UTC()
}

// keepQuestion stores the question of an answer that did not end: what the user said is said. The same question again, with nothing said
// in between, is the same message. What remember is called for later is not stored.
func (m *pendingExchange) keepQuestion(ctx context.Context) {
	m.once = nil // the answer is still to come
	m.end("")
	m.remember(ctx)
}

// remember stores the exchange. It ignores the end of the request's context and takes at most
// rememberFor. A failure is logged and counted, not returned: the answer is already sent.
func (m *pendingExchange) remember(ctx context.Context) {
	if !m.wanted || m.answered.IsZero() {
		return
	}
	defer m.stored()
	m.wanted = false
	log := m.service.log.With(slog.String("collection", m.view.Collection.ID.String()))
	log.DebugContext(ctx, "chat answered", slog.Duration("took", m.answered.Sub(m.asked)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberFor)
	defer cancel()
	transcript, programs := m.heard.transcript.Load(), m.heard.programs.Load()
	said := []notes.NewMessage{{
		Recalled: transcript, Transcript: programs, // nothing in it is new
		ID: m.question.ID, Role: memory.RoleUser, Name: m.question.Name, Session: m.question.Session,
		Content: storedText(m.question.Content, memory.RoleUser), OccurredAt: cmp.Or(m.question.OccurredAt, &m.asked),
	}}
	answer, _ := unsaid.Split(m.reply)
	reply := recalled.Strip(answer)
	if m.view.Collection.Secrets() != memory.SecretsKeep {
		reply, _ = secret.Redact(reply) // refusing it would lose the exchange
	}
	if reply = storedText(reply, memory.RoleAssistant); reply != "" {
		said = append(said, notes.NewMessage{
			Role: memory.RoleAssistant, Session: m.question.Session, Content: reply, OccurredAt: &m.answered, Recalled: m.recalled || transcript, Transcript: programs,
		})
		if m.question.OccurredAt != nil {
			said[1].OccurredAt = m.question.OccurredAt
		}
	}
	in := notes.NewMessages{Messages: said, OnDuplicate: memory.DuplicateKeep, Again: true}
	if m.heard.alone {
		in.Alone = m.asked
	}
	began := m.service.clock()
	if _, err := m.service.notes.AddMessages(ctx, m.scope, m.view.Collection.ID.String(), in, memory.Request{Idempotency: m.once}); err != nil {
		log.ErrorContext(ctx, "an exchange could not be remembered", slog.Any("error", err))
		m.service.lost(ctx, m.scope)
		return
	}
	log.DebugContext(ctx, "chat remembered", slog.Int("messages", len(said)), slog.Duration("took", m.service.clock().Sub(began)))
}

// context finds the context for a dialogue; q has what it asks besides.
func (s *Service) context(ctx context.Context, scope tenant.Scope, v memory.View, turns []Turn, q recall.ContextQuery) (recall.Context, error) {
	dialogue := dialogueQuery(turns)
	if len(dialogue) == 0 {
		return recall.Context{}, nil
	}
	q.Messages = dialogue
	return s.recall.Context(ctx, scope, v, q)
}
