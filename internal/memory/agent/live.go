package agent

import (
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Bounds of what is kept of runs that are said at this moment.
const (
	maxLiveRuns = 256      // in a process; beyond, the one that was said longest ago is dropped
	maxLiveText = 64 << 10 // bytes of one step
)

// live holds what the agents of this process's callers say at this moment, so that those who follow a run get it from
// its beginning on, whenever they come. It is a help for the eyes: what counts is committed.
type live struct {
	mu   sync.Mutex
	runs map[uuid.UUID]*spoken
	age  int64
}

// spoken is what was said of the current step of a run.
type spoken struct {
	step    int
	text    []byte
	undone  []undone
	round   int  // counts the texts
	broken  bool // pieces are missing: nothing more is added
	changed chan struct{}
	refs    int
	age     int64
}

// undone says that a text does not count.
type undone struct {
	round, step int
	why         string
}

// maxUndone is how many of them are kept.
const maxUndone = 16

func newLive() *live { return &live{runs: map[uuid.UUID]*spoken{}} }

// at returns what is kept of a run, and makes it.
func (l *live) at(run uuid.UUID) *spoken {
	l.age++
	s, ok := l.runs[run]
	if !ok {
		if len(l.runs) >= maxLiveRuns {
			l.drop()
		}
		s = &spoken{changed: make(chan struct{})}
		l.runs[run] = s
	}
	s.age = l.age
	return s
}

// drop forgets the run that was said longest ago and that nobody follows.
func (l *live) drop() {
	var oldest uuid.UUID
	for id, s := range l.runs {
		if s.refs == 0 && (oldest == uuid.Nil || s.age < l.runs[oldest].age) {
			oldest = id
		}
	}
	delete(l.runs, oldest)
}

// hear takes a piece.
func (l *live) hear(h memory.Heard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.at(h.Run)
	switch {
	case h.Why != "":
		s.next(h.Step, h.Why)
	case h.At == 0:
		if len(s.text) > 0 || s.step != h.Step {
			s.next(h.Step, "the step is done again")
		}
		s.text = append(s.text, h.Text...)
	case s.broken || s.step != h.Step || h.At != len(s.text) || len(s.text)+len(h.Text) > maxLiveText:
		s.broken = true
		return
	default:
		s.text = append(s.text, h.Text...)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// next begins another text. If it is of the same step, the one before does not count.
func (s *spoken) next(step int, why string) {
	if step == s.step {
		s.undone = append(s.undone[max(0, len(s.undone)-maxUndone+1):], undone{s.round, step, why})
	}
	s.step, s.text, s.broken = step, nil, false
	s.round++
}

// Listener follows what is said in a run. It is not for concurrent use.
type Listener struct {
	live  *live
	run   uuid.UUID
	step  int
	round int
	sent  int
}

// Listen returns a listener of a run, to be closed.
func (a *Service) Listen(run uuid.UUID) *Listener {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	s := a.live.at(run)
	s.refs++
	return &Listener{live: a.live, run: run, round: s.round, step: s.step}
}

// Next returns what was said since the last call: that what was returned before does not count (nil: it does), and the
// next piece. changed is closed when there is more.
func (l *Listener) Next() (restart *memory.Heard, piece memory.Heard, changed <-chan struct{}) {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	s := l.live.runs[l.run] // kept while somebody follows it
	if l.round != s.round {
		for _, u := range s.undone {
			if l.sent > 0 && u.round == l.round {
				restart = &memory.Heard{Run: l.run, Step: u.step, Why: u.why}
			}
		}
		l.round, l.step, l.sent = s.round, s.step, 0
	}
	piece = memory.Heard{Run: l.run, Step: s.step, At: l.sent, Text: string(s.text[l.sent:])}
	l.sent = len(s.text)
	return restart, piece, s.changed
}

// Close ends the listening.
func (l *Listener) Close() {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	if s := l.live.runs[l.run]; s.refs > 1 || len(s.text) > 0 {
		s.refs--
		return
	}
	delete(l.live.runs, l.run)
}

// Hear takes a piece that another process has sent, or this one.
func (a *Service) Hear(h memory.Heard) { a.live.hear(h) }

// speaker tells those who follow a run what is said in one of its steps.
type speaker struct {
	a    *Service
	run  uuid.UUID
	step int
	sent int
}

func (p *speaker) tell(h memory.Heard) {
	h.Run, h.Step = p.run, p.step
	if p.a.spread != nil {
		p.a.spread(h)
		return
	}
	p.a.live.hear(h)
}

// say tells the next piece.
func (p *speaker) say(text string) {
	p.tell(memory.Heard{At: p.sent, Text: text})
	p.sent += len(text)
}

// again takes back what was said.
func (p *speaker) again(why string) {
	if p.sent > 0 {
		p.tell(memory.Heard{Why: why})
		p.sent = 0
	}
}
