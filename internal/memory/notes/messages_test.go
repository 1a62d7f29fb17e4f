package notes_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// talks is a policy that works on exchanges.
type talks struct{ policy.None }

func (talks) Name() string { return "talks" }

func (talks) Describe() memory.PolicyDescription {
	return memory.PolicyDescription{Name: "talks", Exchanges: true}
}

// room is a quota for a number of notes.
type room struct {
	mu    sync.Mutex
	notes int64
	spent bool // what was admitted is used up
	asked []int64
}

func (q *room) CheckNotes(_ context.Context, _ tenant.Scope, n, _ int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked = append(q.asked, n)
	if n > q.notes {
		return fault.Wrap(tenant.ErrNoteLimit, fault.QuotaExceeded, "no room")
	}
	if q.spent {
		q.notes -= n
	}
	return nil
}

func (*room) CheckJobs(context.Context, tenant.Scope, int64) error { return nil }

func (*room) CheckCollections(context.Context, tenant.Scope, bool) error { return nil }

// talk is a fixture with a policy that works on exchanges.
type talk struct {
	*fixture
	quota *room
}

func openTalk(t *testing.T) *talk {
	t.Helper()
	d := &talk{fixture: open(t), quota: &room{notes: 1000}}
	policies := must.Get(policies.All())(t)
	policies["talks"] = talks{}
	clock := func() time.Time { return d.now }
	d.notes = must.Get(notes.New(notes.Deps{
		Store: d.store, Embedders: d.embedders, Policies: policies, Clock: clock, Quota: d.quota,
	}, notes.Config{}))(t)
	d.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{
		Store: d.store, Agents: d.store, Embedders: d.embedders, Policies: policies, Clock: clock,
	}))(t)
	return d
}

func (d *talk) create(name, policy, embedder string) memory.Collection {
	d.t.Helper()
	v := must.Get(d.collections.Create(d.t.Context(), d.all, notes.CollectionInput{Name: name, Policy: policy, Embedder: embedder}, memory.Request{}))(d.t)
	return v.Collection
}

func (d *talk) say(c memory.Collection, list ...notes.NewMessage) notes.MessagesWritten {
	d.t.Helper()
	w := must.Get(d.notes.AddMessages(d.t.Context(), d.all, c.ID.String(), notes.NewMessages{Messages: list}, memory.Request{}))(d.t)
	return w
}

// exchanges returns the messages of each exchange job, in the order of the queue, as positions in
// messages.
func (d *talk) exchanges(c memory.Collection, messages []memory.Note) [][]int {
	d.t.Helper()
	jobs := must.Get(d.store.ListJobs(d.t.Context(), d.all, memory.JobQuery{Collection: c.ID, Limit: 200}))(d.t)
	slices.Reverse(jobs)
	out := [][]int{}
	for _, j := range jobs {
		var payload memory.ExchangeJob
		if j.Kind != memory.JobExchange || j.Stage != memory.StagePrepare {
			d.t.Errorf("a job is %+v", j)
		}
		d.must(json.Unmarshal(j.Payload, &payload))
		if j.Note != payload.Messages[len(payload.Messages)-1] {
			d.t.Errorf("the job is about %s of %v", j.Note, payload.Messages)
		}
		var at []int
		for _, id := range payload.Messages {
			at = append(at, slices.IndexFunc(messages, func(n memory.Note) bool { return n.ID == id }))
		}
		out = append(out, at)
	}
	return out
}

// turns returns the exchange of each message as a small number, in order of appearance.
func turns(messages []memory.Note) []int {
	seen := map[any]int{}
	var out []int
	for i := range messages {
		turn := messages[i].Attributes[memory.AttrTurn]
		if _, ok := seen[turn]; !ok {
			seen[turn] = len(seen)
		}
		out = append(out, seen[turn])
	}
	return out
}

func user(text string) notes.NewMessage { return notes.NewMessage{Content: text} }

func assistant(text string) notes.NewMessage {
	return notes.NewMessage{Role: memory.RoleAssistant, Content: text}
}

func by(role memory.Role, text string) notes.NewMessage {
	return notes.NewMessage{Role: role, Content: text}
}

func in(session any, m notes.NewMessage) notes.NewMessage {
	m.Session = session
	return m
}

func id(id string, m notes.NewMessage) notes.NewMessage {
	m.ID = id
	return m
}

func same(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal) }

// The messages of one call are one changeset, and each of their exchanges is one job.
func TestMessagesAreGroupedIntoExchanges(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		say   []notes.NewMessage
		turns []int
		jobs  [][]int
	}{
		"pairs":        {[]notes.NewMessage{user("a"), assistant("b"), user("c"), assistant("d")}, []int{0, 0, 1, 1}, [][]int{{0, 1}, {2, 3}}},
		"one-sided":    {[]notes.NewMessage{user("a")}, []int{0}, [][]int{{0}}},
		"answer alone": {[]notes.NewMessage{assistant("a"), user("b")}, []int{0, 1}, [][]int{{0}, {1}}},
		"two of one":   {[]notes.NewMessage{user("a"), user("b"), assistant("c"), assistant("d"), user("e")}, []int{0, 0, 0, 0, 1}, [][]int{{0, 1, 2, 3}, {4}}},
		"system first": {[]notes.NewMessage{by(memory.RoleSystem, "s"), user("a"), assistant("b")}, []int{0, 0, 0}, [][]int{{0, 1, 2}}},
		"tools": {
			[]notes.NewMessage{user("a"), assistant("call"), by(memory.RoleTool, "t"), assistant("b"), by(memory.RoleDeveloper, "d"), user("c")},
			[]int{0, 0, 0, 0, 0, 1},
			[][]int{{0, 1, 2, 3, 4}, {5}},
		},
		"system alone":   {[]notes.NewMessage{by(memory.RoleSystem, "s")}, []int{0}, [][]int{{0}}},
		"session change": {[]notes.NewMessage{in("a", user("a")), in("b", assistant("b")), in(2, user("c")), in(2.0, assistant("d")), in("2", user("e"))}, []int{0, 1, 2, 2, 3}, [][]int{{0}, {1}, {2, 3}, {4}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openTalk(t)
			c := d.create("talk", "talks", "")
			w := d.say(c, x.say...)
			if w.Revision != 1 || d.view(c).At != 1 {
				t.Errorf("revision is %d, head %d", w.Revision, d.view(c).At)
			}
			if got := turns(w.Messages); !slices.Equal(got, x.turns) {
				t.Errorf("exchanges are %v, want %v", got, x.turns)
			}
			if got := d.exchanges(c, w.Messages); !same(got, x.jobs) {
				t.Errorf("jobs are about %v, want %v", got, x.jobs)
			}
			for i := range w.Messages {
				turn, err := uuid.Parse(w.Messages[i].Attributes[memory.AttrTurn].(string))
				if err != nil || turn.Version() != 7 {
					t.Errorf("message %d has the exchange %v", i, w.Messages[i].Attributes)
				}
			}
			if w.Job == nil || w.Job.Note != w.Messages[len(w.Messages)-1].ID {
				t.Errorf("the job is %+v", w.Job)
			}
		})
	}
}

// Assistant messages at the start of a call answer the open exchange of their session only.
func TestAnswerJoinsWhatWaits(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	var all []memory.Note
	say := func(list ...notes.NewMessage) { all = append(all, d.say(c, list...).Messages...) }
	say(user("a"))                                                                         // 0
	say(in("s", user("b")))                                                                // 1
	say(by(memory.RoleTool, "t"))                                                          // 2: no user message to answer
	say(assistant("to a"), user("c"))                                                      // 0, 3
	say(in("s", assistant("to b")))                                                        // 1
	say(in("s", assistant("again")))                                                       // 4: b is answered
	say(in("other", assistant("to nobody")))                                               // 5
	say(by(memory.RoleTool, "result"), assistant("to c"))                                  // 3
	say(in("s", by(memory.RoleTool, "x")), in("s", user("d")), in("s", assistant("to d"))) // 6
	at := func(minute int, m notes.NewMessage) notes.NewMessage {
		t := time.Date(2023, 5, 1, 10, minute, 0, 0, time.UTC)
		m.OccurredAt = &t
		return m
	}
	say(user("e"))                           // 7
	say(at(10, user("f")))                   // 8: an import, in two calls
	say(at(11, assistant("to f")))           // 8, and not 7
	say(at(12, user("g")))                   // 9
	say(at(2, assistant("by a slow clock"))) // 9
	say(assistant("to e"))                   // 7
	want := []int{0, 1, 2, 0, 3, 1, 4, 5, 3, 3, 6, 6, 6, 7, 8, 8, 9, 9, 7}
	if got := turns(all); !slices.Equal(got, want) {
		t.Errorf("exchanges are %v, want %v", got, want)
	}
}

// C331, C092: a message keeps its fields, its time and its place in the conversation.
func TestMessageKeepsWhatIsGiven(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	at := time.Date(2023, 5, 1, 10, 0, 0, 0, time.FixedZone("", 7200))
	ends := at.AddDate(10, 0, 0)
	w := d.say(c, notes.NewMessage{
		ID: "m1", Role: memory.RoleAssistant, Name: "Ada", Content: "  hello\n", OccurredAt: &at, Session: json.Number("7"),
		Attributes: map[string]any{"mood": "fine"}, ExpiresAt: &ends, Recalled: true,
	}, user("x"))
	n, ok := d.read(c, w.Messages[0].ID)
	if !ok || n.Kind != memory.KindMessage || n.Key != "m1" || n.Content != "  hello\n" || !n.OccurredAt.Equal(at) || n.State != memory.StateRaw ||
		len(n.Vector) != 384 {
		t.Fatalf("got %+v", n)
	}
	delete(n.Attributes, memory.AttrTurn)
	raw := must.Get(json.Marshal(n.Attributes))(t)
	if string(raw) != `{"expires_at":"2033-05-01T08:00:00Z","mood":"fine","name":"Ada","recalled":true,"role":"assistant","session":7}` {
		t.Errorf("attributes are %s", raw)
	}
	if memory.Learnable(&n) || memory.UtteranceOf(&n).Name != "Ada" {
		t.Error("it can be learned from, or is not Ada's")
	}
	if m := w.Messages[1]; !m.OccurredAt.Equal(m.CreatedAt) || m.Attributes[memory.AttrRole] != "user" {
		t.Errorf("got %+v", m)
	}
	entries := must.Get(d.store.ListAudit(t.Context(), d.all, memory.AuditQuery{Action: "messages.create", Limit: 10}))(t)
	if len(entries) != 1 || entries[0].Target != c.ID.String() {
		t.Errorf("audit is %+v", entries)
	}
}

func TestMessagesAreRefused(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	many := make([]notes.NewMessage, memory.MaxMessages+1)
	for i := range many {
		many[i] = user("x")
	}
	for name, x := range map[string]struct {
		say   []notes.NewMessage
		code  fault.Code
		field string
	}{
		"none":              {nil, fault.Invalid, "messages"},
		"too many":          {many, fault.Invalid, "messages"},
		"blank":             {[]notes.NewMessage{user("x"), user(" \n")}, fault.Invalid, "messages.1.content"},
		"too long":          {[]notes.NewMessage{user(strings.Repeat("x", memory.MaxContentBytes+1))}, fault.Invalid, "messages.0.content"},
		"not utf8":          {[]notes.NewMessage{user("a\xff")}, fault.Malformed, "messages.0.content"},
		"role":              {[]notes.NewMessage{by("narrator", "x")}, fault.Invalid, "messages.0.role"},
		"name":              {[]notes.NewMessage{{Content: "x", Name: " "}}, fault.Invalid, "messages.0.name"},
		"long name":         {[]notes.NewMessage{{Content: "x", Name: strings.Repeat("n", 257)}}, fault.Invalid, "messages.0.name"},
		"session":           {[]notes.NewMessage{in([]any{}, user("x"))}, fault.Invalid, "messages.0.session"},
		"blank session":     {[]notes.NewMessage{in("", user("x"))}, fault.Invalid, "messages.0.session"},
		"huge session":      {[]notes.NewMessage{in(json.Number("1e999"), user("x"))}, fault.Invalid, "messages.0.session"},
		"long id":           {[]notes.NewMessage{id(strings.Repeat("i", 513), user("x"))}, fault.Invalid, "messages.0.id"},
		"reserved":          {[]notes.NewMessage{{Content: "x", Attributes: map[string]any{"turn": "t"}}}, fault.Invalid, "messages.0.attributes.turn"},
		"attributes":        {[]notes.NewMessage{{Content: "x", Attributes: map[string]any{"a": strings.Repeat("x", 17<<10)}}}, fault.Invalid, "messages.0.attributes"},
		"future":            {[]notes.NewMessage{{Content: "x", OccurredAt: new(d.now.Add(6 * time.Minute))}}, fault.Invalid, "messages.0.occurred_at"},
		"before 1900":       {[]notes.NewMessage{{Content: "x", OccurredAt: new(time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC))}}, fault.Invalid, "messages.0.occurred_at"},
		"expiry":            {[]notes.NewMessage{{Content: "x", ExpiresAt: new(time.Time)}}, fault.Invalid, "messages.0.expires_at"},
		"one id, two texts": {[]notes.NewMessage{id("a", user("x")), id("b", user("x")), id("a", user("y"))}, fault.Invalid, "messages.2.id"},
		"one id, two parts": {[]notes.NewMessage{id("a", user("x")), id("a", assistant("x"))}, fault.Invalid, "messages.1.id"},
	} {
		_, err := d.notes.AddMessages(t.Context(), d.all, "talk", notes.NewMessages{Messages: x.say}, memory.Request{})
		if !fault.Is(err, x.code) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.is(err, x.code, x.field)
	}
	_, err := d.notes.AddMessages(t.Context(), d.all, "talk", notes.NewMessages{Messages: []notes.NewMessage{by("narrator", "x")}}, memory.Request{})
	if err == nil || !strings.Contains(err.Error(), "user, assistant, system, developer or tool") {
		t.Errorf("the refusal %v does not list the roles", err)
	}
	list := notes.NewMessages{Messages: []notes.NewMessage{user("x")}}
	_, err = d.notes.AddMessages(t.Context(), d.scope(uuid.Nil, tenant.NotesRead), "talk", list, memory.Request{})
	d.is(err, fault.Forbidden)
	_, err = d.notes.AddMessages(t.Context(), d.scope(uuid.Nil, tenant.NotesWrite), "talk", list, memory.Request{})
	d.is(err, fault.Forbidden) // a shared base also requires base:write
	d.quota.notes = 1
	_, err = d.notes.AddMessages(t.Context(), d.all, "talk", notes.NewMessages{Messages: []notes.NewMessage{user("x"), user("y")}}, memory.Request{})
	d.is(err, fault.QuotaExceeded)
	if v := d.view(c); v.At != 0 {
		t.Errorf("something was written: head %d", v.At)
	}
}

// A message that exists is not written again, and the messages after it belong to its exchange.
func TestMessageTwice(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	first := d.say(c, id("1", user("a")), id("2", assistant("b")), id("3", user("c")))
	d.quota.asked = nil
	again := d.say(c, id("1", user("a")), id("2", assistant("b")), id("3", user("c")))
	for i := range first.Messages {
		if first.Messages[i].ID != again.Messages[i].ID {
			t.Errorf("message %d became another", i)
		}
	}
	if again.Job != nil || again.Revision != 1 || d.view(c).At != 1 || len(d.quota.asked) != 0 {
		t.Errorf("the repeat did something: %+v, room was asked for %v", again, d.quota.asked)
	}
	// Some clients send the whole conversation each time.
	more := d.say(c, id("1", user("a")), id("2", assistant("b")), id("3", user("c")), id("4", assistant("d")), id("5", user("e")))
	if got := turns(more.Messages); !slices.Equal(got, []int{0, 0, 1, 1, 2}) || d.view(c).At != 2 || !slices.Equal(d.quota.asked, []int64{2}) {
		t.Errorf("exchanges are %v, head %d, room asked for %v", got, d.view(c).At, d.quota.asked)
	}
	if got := d.exchanges(c, more.Messages); !same(got, [][]int{{0, 1}, {2}, {3}, {4}}) {
		t.Errorf("jobs are about %v", got)
	}
	twice := d.say(c, id("6", assistant("f")), id("6", assistant("f")))
	if twice.Messages[0].ID != twice.Messages[1].ID || d.view(c).At != 3 {
		t.Errorf("got %+v", twice)
	}
	for _, m := range []notes.NewMessage{id("1", user("other words")), id("1", assistant("a"))} { // the second has another role
		_, err := d.notes.AddMessages(t.Context(), d.all, "talk", notes.NewMessages{Messages: []notes.NewMessage{id("7", user("g")), m}}, memory.Request{})
		d.is(err, fault.Exists, "messages.1.id")
	}
	if n := d.view(c).At; n != 3 {
		t.Errorf("a refused call wrote: head %d", n)
	}
}

// An idempotency key returns the same messages, also if one of them was deleted.
func TestMessagesUnderAKey(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	list := notes.NewMessages{Messages: []notes.NewMessage{user("a"), assistant("b")}}
	req := memory.Request{Idempotency: &memory.Idempotency{Method: "POST", Path: "/m", Key: "k", BodyHash: [32]byte{1}}}
	first := must.Get(d.notes.AddMessages(t.Context(), d.all, "talk", list, req))(t)
	must.Get(d.notes.Delete(t.Context(), d.all, "talk", first.Messages[0].ID, memory.Request{}))(t)
	again := must.Get(d.notes.AddMessages(t.Context(), d.all, "talk", list, req))(t)
	if !again.Replayed || again.Revision != first.Revision || again.Job == nil || again.Job.ID != first.Job.ID ||
		again.Messages[0].ID != first.Messages[0].ID || again.Messages[1].Content != "b" || d.view(c).At != 2 {
		t.Errorf("replay is %+v", again)
	}
	other := *req.Idempotency
	other.BodyHash = [32]byte{2}
	_, err := d.notes.AddMessages(t.Context(), d.all, "talk", list, memory.Request{Idempotency: &other})
	d.is(err, fault.IdempotencyReuse)
}

// Concurrent calls write every message once, and answers find the open exchange.
func TestMessagesAtOnce(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			session := "s" + strconv.Itoa(i%4)
			ask := id(session+"?", in(session, user("a question")))
			answer := id(session+"!", in(session, assistant("an answer")))
			for _, m := range []notes.NewMessage{ask, answer} {
				if _, err := d.notes.AddMessages(t.Context(), d.all, "talk", notes.NewMessages{Messages: []notes.NewMessage{m}}, memory.Request{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	notes := must.Get(d.store.ListNotes(t.Context(), d.all, d.view(c), memory.NoteQuery{Limit: 100}))(t)
	in := map[any][]any{}
	for i := range notes {
		s := notes[i].Attributes[memory.AttrSession]
		in[s] = append(in[s], notes[i].Attributes[memory.AttrTurn])
	}
	if len(notes) != 8 || len(in) != 4 {
		t.Fatalf("%d messages of %d sessions", len(notes), len(in))
	}
	for s, turns := range in {
		if len(turns) != 2 || turns[0] != turns[1] {
			t.Errorf("session %v has the exchanges %v", s, turns)
		}
	}
}

// A fork sees its parent's messages, recognizes them, and answers them in its own log.
func TestMessagesOfAFork(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	base := d.create("base", "talks", "")
	asked := d.say(base, id("1", user("a")))
	made := must.Get(d.store.CreateCollection(t.Context(), d.all, memory.NewCollection{Collection: memory.Collection{Name: "fork", Policy: "talks", Parent: base.ID, ParentRevision: 1}}))(t)
	fork := made.Collection
	w := d.say(fork, id("1", user("a")), id("2", assistant("b")))
	if w.Messages[0].ID != asked.Messages[0].ID || !slices.Equal(turns(append(asked.Messages, w.Messages...)), []int{0, 0, 0}) {
		t.Errorf("got %+v", w.Messages)
	}
	joined := d.say(base, assistant("in the base"))
	if !slices.Equal(turns(append(joined.Messages, w.Messages...)), []int{0, 0, 0}) {
		t.Error("the base does not answer its own question")
	}
	if _, ok := d.read(base, w.Messages[1].ID); ok {
		t.Error("the base sees what its fork was told")
	}
	if _, ok := d.read(fork, joined.Messages[0].ID); ok {
		t.Error("the fork sees what its base was told later")
	}
}

// Every policy gets its kind of jobs; infer false enqueues none.
func TestMessagesForEveryPolicy(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	list := []notes.NewMessage{by(memory.RoleSystem, "be kind"), user("a"), assistant("b"), {Content: "from memory", Recalled: true}}
	kind := func(j *memory.Job) string { return string(j.Kind) + string(j.Payload) }
	const embed, note = `note{"embed_only":true}`, "note"
	for _, x := range []struct {
		name, policy, embedder string
		infer                  *bool
		jobs                   []string
	}{
		{"a", "talks", "", new(false), nil},
		{"b", "talks", "slow-3", new(false), []string{embed, embed, embed, embed}},
		{"c", memory.PolicyNone, "", nil, nil},
		{"d", memory.PolicyNone, "slow-3", nil, []string{embed, embed, embed, embed}},
		{"e", memory.PolicyAMEM, "", nil, []string{note, note}},
		{"f", memory.PolicyAMEM, "slow-3", nil, []string{embed, note, note, embed}},
		{"g", memory.PolicyAMEM, "", new(false), nil},
	} {
		c := d.create(x.name, x.policy, x.embedder)
		w := must.Get(d.notes.AddMessages(t.Context(), d.all, x.name, notes.NewMessages{Messages: list, Infer: x.infer}, memory.Request{}))(t)
		jobs := must.Get(d.store.ListJobs(t.Context(), d.all, memory.JobQuery{Collection: c.ID, Limit: 10}))(t)
		slices.Reverse(jobs)
		var got []string
		for i := range jobs {
			got = append(got, kind(&jobs[i]))
		}
		if !slices.Equal(got, x.jobs) || (w.Job == nil) != (len(jobs) == 0) || w.Job != nil && w.Job.ID != jobs[len(jobs)-1].ID {
			t.Errorf("%s: jobs are %v, want %v; answered %+v", x.name, got, x.jobs, w.Job)
		}
		if n, _ := d.read(c, w.Messages[1].ID); n.Content != "a" || (len(n.Vector) > 0) != (x.embedder == "") {
			t.Errorf("%s: got %+v", x.name, n)
		}
		if got := turns(w.Messages); !slices.Equal(got, []int{0, 0, 0, 1}) {
			t.Errorf("%s: exchanges are %v", x.name, got)
		}
	}
}

// A pair of 60 KiB is an exchange like any other, and 500 messages are one changeset.
func TestManyAndLongMessages(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	text := strings.Repeat("the kettle boiled over in the night; ", 60<<10/37)
	w := d.say(c, user(text), assistant(text))
	if got := d.exchanges(c, w.Messages); !same(got, [][]int{{0, 1}}) {
		t.Errorf("jobs are about %v", got)
	}
	if n, _ := d.read(c, w.Messages[1].ID); n.Content != text || len(n.Vector) != 384 {
		t.Error("the answer is not as it was given")
	}
	many := make([]notes.NewMessage, memory.MaxMessages)
	for i := range many {
		many[i] = user("message " + strconv.Itoa(i))
	}
	w = d.say(c, many...)
	if len(w.Messages) != memory.MaxMessages || w.Revision != 2 || w.Messages[499].Content != "message 499" || len(w.Messages[499].Vector) != 384 {
		t.Errorf("%d messages at %d", len(w.Messages), w.Revision)
	}
}

// What was recalled is not stored as what somebody said, for every policy; a message of nothing else stays, and nothing is
// learned from it. What tools say, and documents, stay as they are.
func TestRecalledIsNotStored(t *testing.T) {
	t.Parallel()
	d := openTalk(t)
	c := d.create("talk", "talks", "")
	const block = "<slipbox-memory>\nAda lives in Oslo.\n</slipbox-memory>"
	document, tool := `{"said": "a `+"<slipbox-memory>"+`"}`, "found "+block
	w := d.say(c, user("Where does Ada live?\n\n"+block), user(block), user(document), notes.NewMessage{Role: memory.RoleTool, Content: tool})
	for i, want := range []string{"Where does Ada live?", block, document, tool} {
		n, ok := d.read(c, w.Messages[i].ID)
		if !ok || n.Content != want || memory.Learnable(&n) != (i == 0 || i == 2) {
			t.Errorf("%d: %q, learnable %v", i, n.Content, memory.Learnable(&n))
		}
	}
}
