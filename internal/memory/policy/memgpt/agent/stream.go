package agent

import (
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Bounds of what is kept of the runs that are generated now.
const (
	maxLiveRuns = 256      // in a process; beyond, the one that changed longest ago is dropped
	maxLiveText = 64 << 10 // bytes of one step
)

// streams holds the text of the steps that are generated now, so that those who follow a run get it from its beginning,
// whenever they come. It is for display only: what counts is committed.
type streams struct {
	mu   sync.Mutex
	runs map[uuid.UUID]*runStream
	age  int64
}

// runStream is the text of the current step of a run, as far as it has come.
type runStream struct {
	step    int
	text    []byte
	resets  []reset
	round   int  // counts the texts
	broken  bool // pieces are missing: nothing more is added
	changed chan struct{}
	refs    int
	age     int64
}

// reset says that a text does not count.
type reset struct {
	round, step int
	why         string
}

// maxResets is how many of them are kept.
const maxResets = 16

func newStreams() *streams { return &streams{runs: map[uuid.UUID]*runStream{}} }

// of returns the stream of a run, and creates it.
func (l *streams) of(run uuid.UUID) *runStream {
	l.age++
	s, ok := l.runs[run]
	if !ok {
		if len(l.runs) >= maxLiveRuns {
			l.drop()
		}
		s = &runStream{changed: make(chan struct{})}
		l.runs[run] = s
	}
	s.age = l.age
	return s
}

// drop forgets the run that changed longest ago, of those that nobody follows.
func (l *streams) drop() {
	var oldest uuid.UUID
	for id, s := range l.runs {
		if s.refs == 0 && (oldest == uuid.Nil || s.age < l.runs[oldest].age) {
			oldest = id
		}
	}
	delete(l.runs, oldest)
}

// receive adds a delta.
func (l *streams) receive(h memory.RunDelta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of(h.Run)
	switch {
	case h.Reset != "":
		s.next(h.Step, h.Reset)
	case h.Offset == 0:
		if len(s.text) > 0 || s.step != h.Step {
			s.next(h.Step, "the step is done again")
		}
		s.text = append(s.text, h.Text...)
	case s.broken || s.step != h.Step || h.Offset != len(s.text) || len(s.text)+len(h.Text) > maxLiveText:
		s.broken = true
		return
	default:
		s.text = append(s.text, h.Text...)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// next begins another text. If it is of the same step, the one before does not count.
func (s *runStream) next(step int, why string) {
	if step == s.step {
		s.resets = append(s.resets[max(0, len(s.resets)-maxResets+1):], reset{s.round, step, why})
	}
	s.step, s.text, s.broken = step, nil, false
	s.round++
}

// Listener follows the text that is generated in a run. It is not for concurrent use.
type Listener struct {
	streams *streams
	run     uuid.UUID
	round   int
	sent    int
}

// Listen returns a listener of a run, to be closed.
func (a *Service) Listen(run uuid.UUID) *Listener {
	a.streams.mu.Lock()
	defer a.streams.mu.Unlock()
	s := a.streams.of(run)
	s.refs++
	return &Listener{streams: a.streams, run: run, round: s.round}
}

// Next returns what came since the last call: that what was returned before does not count (nil: it does), and the next
// delta. changed is closed when there is more.
func (l *Listener) Next() (restart *memory.RunDelta, piece memory.RunDelta, changed <-chan struct{}) {
	l.streams.mu.Lock()
	defer l.streams.mu.Unlock()
	s := l.streams.runs[l.run] // kept while somebody follows it
	if l.round != s.round {
		for _, u := range s.resets {
			if l.sent > 0 && u.round == l.round {
				restart = &memory.RunDelta{Run: l.run, Step: u.step, Reset: u.why}
			}
		}
		l.round, l.sent = s.round, 0
	}
	piece = memory.RunDelta{Run: l.run, Step: s.step, Offset: l.sent, Text: string(s.text[l.sent:])}
	l.sent = len(s.text)
	return restart, piece, s.changed
}

// Close ends the listening.
func (l *Listener) Close() {
	l.streams.mu.Lock()
	defer l.streams.mu.Unlock()
	if s := l.streams.runs[l.run]; s.refs > 1 || len(s.text) > 0 {
		s.refs--
		return
	}
	delete(l.streams.runs, l.run)
}

// Receive adds a delta that a process has published, this one or another.
func (a *Service) Receive(h memory.RunDelta) { a.streams.receive(h) }

// publisher sends the text of one step of a run to those who follow it.
type publisher struct {
	a    *Service
	run  uuid.UUID
	step int
	sent int
}

func (p *publisher) publish(h memory.RunDelta) {
	h.Run, h.Step = p.run, p.step
	if p.a.publish != nil {
		p.a.publish(h)
		return
	}
	p.a.streams.receive(h)
}

// delta sends the next piece.
func (p *publisher) delta(text string) {
	p.publish(memory.RunDelta{Offset: p.sent, Text: text})
	p.sent += len(text)
}

// reset takes back what was sent.
func (p *publisher) reset(why string) {
	if p.sent > 0 {
		p.publish(memory.RunDelta{Reset: why})
		p.sent = 0
	}
}
