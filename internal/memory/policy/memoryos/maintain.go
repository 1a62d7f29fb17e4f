package memoryos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// Bounds of one decision, so that its model calls stay within the budget of a job. The rest is a task of its own.
const (
	maxBatch    = 8  // pairs that leave the short tier
	maxQueue    = 16 // the same when all of it leaves together
	maxAnalyses = 10 // analyses of sessions
	maxRepairs  = 4  // sessions that are summed up again
	maxPages    = 20 // pages of one analysis
)

// run is one decision: what it has read, and what it changes.
type run struct {
	p   *Policy
	c   *Config
	d   memory.Desk
	now time.Time

	roster   *roster     // the sessions as they are stored
	opened   *[]*session // by their numbers: those that were looked at
	added    []*session  // new ones
	used     map[uuid.UUID]memory.Usage
	visited  []int                  // the numbers of sessions that were used, ascending
	pages    map[uuid.UUID]*midPage // those that were read or made, by first message
	dec      memory.Decision
	out      outcome
	stored   shelves           // all knowledge, if it was read
	known    map[string]*shelf // knowledge by whom it is about, as far as it was read
	analyses int
	later    bool // work is left for a task
	earlier  int  // moves of earlier tries, the first ones of out
	failed   []string

	asking sync.Mutex // guards out and failed while calls are made concurrently
}

// session is a session of the middle tier.
type session struct {
	note    *memory.Note // with its vector; others hold it while it is not owned
	owned   bool
	state   SessionState
	usage   memory.Usage
	isNew   bool
	changed bool
	gone    bool
	newest  []*midPage // pages that this decision added

	read *readSession // what the note said as it was read; of a new one nothing
}

// own returns the note of a session to be changed.
func (s *session) own() *memory.Note {
	if !s.owned {
		s.note, s.owned = new(s.note.Copy()), true
	}
	return s.note
}

// now returns what a session says as it is now.
func (s *session) now() *readSession {
	if s.isNew || s.changed {
		return newReadSession(s.note)
	}
	return s.read
}

// visited returns when it last got a page or was read.
func (s *session) visited() visit {
	last := s.read.visit
	if last.of != s.state.LastVisit {
		last = readVisit(s.state.LastVisit)
	}
	return last.orAccess(s.usage.LastAccess)
}

// midPage is a pair of the middle tier.
type midPage struct {
	first    uuid.UUID
	session  uuid.UUID
	state    PageState
	messages []memory.Note // as far as they were read, oldest first
	others   []uuid.UUID   // messages but the first, as far as they were looked for
	changed  bool
}

// pair is what a person said and what was answered, by its exchange.
type pair struct {
	turn     string
	messages []memory.Note // oldest first; with vectors when it leaves
}

// work is what a decision is about. An id that is not set is uuid.Nil.
type work struct {
	upTo    uuid.UUID       // newest message that may move
	changed uuid.UUID       // message that was changed, deleted or restored: the knowledge that comes from it becomes stale
	session uuid.UUID       // that was deleted or restored
	earlier json.RawMessage // result of earlier tries: their moves are not lost
}

// maintain moves the pairs up to a message that the short tier has no room for, analyzes the sessions that are hot, and
// evicts those that the middle tier has no room for.
func (p *Policy) maintain(ctx context.Context, d memory.Desk, c *Config, w work) (memory.Decision, error) {
	r := &run{p: p, c: c, d: d, now: d.Now(), pages: map[uuid.UUID]*midPage{}, known: map[string]*shelf{}}
	defer r.release()
	r.out.Moves = MovesOf(w.earlier)
	r.earlier = len(r.out.Moves)
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return r.markStale(ctx, w.changed) },
		func(ctx context.Context) error { return r.followSession(ctx, w.session) },
		r.loadSessions, r.repair, func(ctx context.Context) error { return r.migrate(ctx, w.upTo, w.changed != uuid.Nil) }, r.analyzeHot, r.evict, r.readChanged,
	} {
		if err := step(ctx); err != nil {
			return memory.Decision{}, err
		}
	}
	return r.decision(), nil
}

// readChanged reads the messages of pages that change and were not read: the engine writes no link to a note that the
// decision has not seen.
func (r *run) readChanged(ctx context.Context) error {
	var ids []uuid.UUID
	for _, id := range sortedPages(r.pages) {
		if pg := r.pages[id]; pg.changed && pg.messages == nil {
			ids = append(append(ids, pg.first), pg.others...)
		}
	}
	for batch := range slices.Chunk(ids, policy.PageSize) {
		if _, err := r.d.Notes(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// decision returns what the run changes.
func (r *run) decision() memory.Decision {
	for s := range r.looked() {
		if !s.changed || s.gone {
			continue
		}
		n := s.own()
		n.Attributes = s.state.attributes(n.Attributes)
		r.dec.Puts = append(r.dec.Puts, *n)
	}
	for _, id := range sortedPages(r.pages) {
		pg := r.pages[id]
		if s := r.sessionOf(pg.session); !pg.changed || s == nil || s.gone {
			continue
		}
		r.dec.Links = append(r.dec.Links, memory.Link{
			LinkID: memory.LinkID{Source: pg.session, Target: pg.first, Relation: RelPage}, Confidence: 1, Attributes: pg.state.attributes(),
		})
	}
	if r.later {
		r.dec.Follow = append(r.dec.Follow, maintainLater(""))
	}
	r.out.Decision = policy.DecisionKeep
	if len(r.out.Moves) > r.earlier {
		r.out.Decision, r.dec.Cause = "move", memory.CauseEvolve
	}
	if len(r.failed) > 0 {
		slices.Sort(r.failed)
		r.dec.Pending = "the model gave no usable answer to " + strings.Join(slices.Compact(r.failed), ", ")
	}
	slices.Sort(r.out.Unusable)
	r.out.Unusable = slices.Compact(r.out.Unusable)
	r.dec.Outcome = r.out.encode()
	return r.dec
}

func sortedPages(pages map[uuid.UUID]*midPage) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(pages), memory.CompareIDs)
}

// sessionOf returns a session; nil: there is none that can be read.
func (r *run) sessionOf(id uuid.UUID) *session {
	if k, found := r.roster.find(id); found {
		return r.open(k)
	}
	for _, s := range r.added {
		if s.note.ID == id {
			return s
		}
	}
	return nil
}

// open returns a session that is stored, by its number.
func (r *run) open(k int) *session {
	s := &(*r.opened)[k]
	if *s == nil {
		l := r.roster.at(k)
		*s = &session{note: l.note, state: l.read.state, usage: r.used[l.note.ID], read: l.read}
	}
	return *s
}

// looked returns the sessions that were looked at, by id, then new ones. The others are as they are stored.
func (r *run) looked() iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for _, of := range [][]*session{*r.opened, r.added} {
			for _, s := range of {
				if s != nil && !yield(s) {
					return
				}
			}
		}
	}
}

// release ends the use of the list of sessions and of knowledge: their room is used again.
func (r *run) release() {
	for _, of := range r.known {
		of.empty()
		r.p.shelves.Put(of)
	}
	if r.opened != nil {
		clear(*r.opened)
		r.p.spent.Put(r.opened)
	}
}

// loadSessions reads the sessions with their vectors and their use. Damaged ones are reported and left as they are.
func (r *run) loadSessions(ctx context.Context) error {
	all, err := r.d.AllRead(ctx, memory.KindSession, func(n *memory.Note) any { return newReadSession(n) }, sumRoster)
	if err != nil {
		return err
	}
	r.roster, _ = all.(*roster)
	for _, d := range r.roster.damaged {
		r.damage(d)
	}
	n := len(r.roster.ids)
	if r.opened, _ = r.p.spent.Get().(*[]*session); r.opened == nil || cap(*r.opened) < n {
		r.opened = new(make([]*session, n, n+n/4))
	}
	*r.opened = (*r.opened)[:n]
	if r.used, err = r.d.Usage(ctx, r.roster.ids); err != nil {
		return err
	}
	for id := range r.used {
		if k, found := r.roster.find(id); found {
			r.visited = append(r.visited, k)
		}
	}
	slices.Sort(r.visited)
	return nil
}

// move reports a move.
func (r *run) move(m Move) {
	m.At = memory.Instant(r.now)
	r.out.Moves = append(r.out.Moves, m)
}

// heat returns the heat of a session now.
func (r *run) heat(s *session) float64 {
	return r.c.Heat(s.state.Visits(s.usage), s.state.Interaction, s.visited().recency(r.now, r.c.Tau()))
}

// ask makes a call with the settings. usable is false when its answer cannot be used; an error is a failure of the
// transport, after which nothing is decided.
func (r *run) ask(ctx context.Context, c memory.Call, err error) (a memory.Answer, usable bool, _ error) {
	if err != nil {
		return a, false, err
	}
	c.Temperature, c.MaxTokens = policy.CallTemperature(r.c.Temperature), r.c.MaxTokens
	a, err = r.d.Ask(ctx, c)
	r.asking.Lock()
	defer r.asking.Unlock()
	switch {
	case errors.Is(err, memory.ErrBadAnswer):
		r.out.Unusable = append(r.out.Unusable, c.Name)
		return a, false, nil
	case err != nil:
		return a, false, fmt.Errorf("%s: %w", c.Name, err)
	}
	r.out.Analyst, r.out.Model, r.out.Repaired = a.Analyst, a.Model, r.out.Repaired || a.Repaired
	if !slices.Contains(r.out.Prompts, c.Version) {
		r.out.Prompts = append(r.out.Prompts, c.Version)
	}
	return a, true, nil
}

// calls returns the calls with the bound of the settings.
func (r *run) calls() *Calls { return r.p.calls.within(r.c.MaterialChars) }

// waiting returns the oldest pairs of the short tier up to a message, as many as one more than may leave it together.
// The oldest leave first, so that all after the newest one that left are in the short tier. Those before it, such as
// a restored message, are looked for when fully is set.
func (r *run) waiting(ctx context.Context, upTo uuid.UUID, fully bool) ([]pair, error) {
	var out []pair
	at := map[string]int{}
	q := memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Filter: InShortTier(), Limit: min(policy.PageSize, messagesPerPage*(r.c.ShortCapacity+maxBatch+2)),
	}
	if !fully {
		var err error
		if q.After, err = r.lastMoved(ctx); err != nil {
			return nil, err
		}
	}
	for n, err := range policy.EachNote(ctx, r.d, q) {
		if err != nil {
			return nil, err
		}
		if memory.CompareIDs(n.ID, upTo) > 0 {
			break
		}
		turn, _ := n.Attributes[memory.AttrTurn].(string)
		turn = cmp.Or(turn, n.ID.String())
		k, ok := at[turn]
		if !ok {
			if len(out) > r.c.ShortCapacity+maxBatch {
				break
			}
			k, at[turn], out = len(out), len(out), append(out, pair{turn: turn})
		}
		out[k].messages = append(out[k].messages, *n)
	}
	return out, nil
}

// lastMoved returns a message that has moved on, behind which all that wait are; uuid.Nil when none has. Sessions name
// their messages, so that the log is searched for it only while there is no session.
func (r *run) lastMoved(ctx context.Context) (uuid.UUID, error) {
	if last := r.lastPaged(); last != uuid.Nil {
		return last, nil
	}
	left, err := r.d.List(ctx, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Filter: filter.Not{Term: InShortTier()}, Newest: true, Limit: 1,
	})
	if err != nil || len(left) == 0 {
		return uuid.Nil, err
	}
	return left[0].ID, nil
}

// lastPaged returns the newest message that a session names; uuid.Nil when none does.
func (r *run) lastPaged() (last uuid.UUID) {
	see := func(id uuid.UUID) {
		if memory.CompareIDs(id, last) > 0 {
			last = id
		}
	}
	for i := range r.roster.leaves {
		of, from := r.roster.leaves[i].of, r.roster.from[i]
		opened := (*r.opened)[from : from+len(of.lines)]
		if !slices.ContainsFunc(opened, func(s *session) bool { return s != nil && s.owned }) {
			see(of.last)
			continue
		}
		for j, s := range opened {
			if s != nil && s.owned {
				see(lastOf(s.note.Provenance.Sources))
			} else {
				see(of.lines[j].read.last)
			}
		}
	}
	for _, s := range r.added {
		see(lastOf(s.note.Provenance.Sources))
	}
	return last
}

// callPage returns a pair as calls get it: what may be learned from.
func callPage(messages []memory.Note) CallPage {
	var out CallPage
	for i := range messages {
		u := memory.UtteranceOf(&messages[i])
		if u.Content = policy.WithoutRedacted(u.Content); u.Content != "" && memory.Learnable(&messages[i]) {
			out.Messages = append(out.Messages, u)
		}
	}
	return out
}

// meanVector returns the mean of the vectors of messages; nil if none has one.
func meanVector(messages []memory.Note) []float32 {
	var out []float32
	for i := range messages {
		v := messages[i].Vector
		if len(v) == 0 || out != nil && len(v) != len(out) {
			continue
		}
		if out == nil {
			out = make([]float32, len(v))
		}
		for j, x := range v {
			out[j] += x
		}
	}
	return out
}

// messagesOf reads the messages of an exchange that are in the middle tier, oldest first. The session of its page names them behind
// the first one; where it does not, they are looked for behind it.
func (r *run) messagesOf(ctx context.Context, turn string, pg *midPage) (out []memory.Note, err error) {
	if s := r.sessionOf(pg.session); s != nil {
		if i := slices.Index(s.note.Provenance.Sources, pg.first); i >= 0 {
			of := s.note.Provenance.Sources[i:]
			if out, err = r.d.Notes(ctx, of[:min(len(of), policy.PageSize)]); err != nil {
				return nil, err
			}
			out = slices.DeleteFunc(out, func(n memory.Note) bool { return n.Category != CategoryPage || n.Attributes[memory.AttrTurn] != turn })
			slices.SortFunc(out, func(a, b memory.Note) int { return memory.CompareIDs(a.ID, b.ID) })
			return out, nil
		}
	}
	return r.d.List(ctx, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, After: before(pg.first), Limit: policy.PageSize, ReadOptions: memory.ReadOptions{Vector: true},
		Filter: filter.And{filter.AttributeIs(memory.AttrTurn, turn), inMiddleTier()},
	})
}

// before returns the id before an id.
func before(id uuid.UUID) uuid.UUID {
	for i := range slices.Backward(id[:]) {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}
