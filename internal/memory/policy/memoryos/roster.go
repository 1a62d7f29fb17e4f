package memoryos

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// A decision compares all sessions, but few have changed since the one before. So what it compares is kept in columns, in leaves that
// are shared by all decisions between which their notes did not change: to read thousands of notes, each from its own place in memory,
// takes longer than to compare them.

// leaf is a run of notes of a kind, by id, and what was made of them. It is shared.
type leaf[L any] struct {
	notes []memory.ReadNote
	of    *L
}

// leafNotes is how many notes a new leaf has. One that has more than twice as many is split, and one with less than a quarter joins
// the next.
const leafNotes = 64

// regrow returns the leaves of a list. Those of an earlier list are used again where their notes did not change.
func regrow[L any](was []leaf[L], notes []memory.ReadNote, build func([]memory.ReadNote) *L) (out []leaf[L]) {
	add := func(part []memory.ReadNote) {
		part = slices.Clone(part) // without the others of its list
		out = append(out, leaf[L]{part, build(part)})
	}
	for i := range was {
		n, last := len(notes), i+1 == len(was)
		if end := was[i].notes[len(was[i].notes)-1].ID; !last {
			n, _ = slices.BinarySearchFunc(notes, end, func(n memory.ReadNote, id uuid.UUID) int { return cmp.Or(memory.CompareIDs(n.ID, id), -1) })
		}
		part := notes[:n]
		switch same := func(a, b memory.ReadNote) bool { return a.Note == b.Note }; {
		case slices.EqualFunc(part, was[i].notes, same):
			out = append(out, was[i])
		case n < leafNotes/4 && !last:
			continue // the next leaf has them
		case n > 2*leafNotes:
			for some := range slices.Chunk(part, leafNotes) {
				add(some)
			}
		case n > 0:
			add(part)
		}
		notes = notes[n:]
	}
	for some := range slices.Chunk(notes, leafNotes) {
		add(some)
	}
	return out
}

// roster is all sessions of a list but damaged ones, by id. It is shared.
type roster struct {
	leaves  []leaf[rosterLeaf]
	from    []int // of each leaf, how many sessions are before it
	ids     []uuid.UUID
	damaged []Damaged
}

// rosterLeaf is a run of sessions.
type rosterLeaf struct {
	ids     []uuid.UUID
	lines   []line
	vectors []memory.Measured
	marks   []uint64 // of their keywords
	damaged []Damaged

	last uuid.UUID // of all their sources
	torn bool      // one has to be summed up again
	due  bool      // one waits for its analysis
	warm int64     // the most pages since the last analysis, of those that have pages to be analyzed
}

// line is a session as it is stored.
type line struct {
	note *memory.Note
	read *readSession
	at   time.Time // of its last visit, as it says
}

// sumRoster returns the roster of a list. was is that of an earlier one; nil: none.
func sumRoster(was any, notes []memory.ReadNote) any {
	old, _ := was.(*roster)
	if old == nil {
		old = &roster{}
	}
	r := &roster{leaves: regrow(old.leaves, notes, newRosterLeaf)}
	n, same := 0, true
	for i := range r.leaves {
		of := r.leaves[i].of
		r.from, r.damaged = append(r.from, n), append(r.damaged, of.damaged...)
		end := n + len(of.ids)
		same, n = same && end <= len(old.ids) && slices.Equal(of.ids, old.ids[n:end]), end
	}
	if r.ids = old.ids; same && n == len(old.ids) {
		return r
	}
	r.ids = make([]uuid.UUID, 0, n)
	for i := range r.leaves {
		r.ids = append(r.ids, r.leaves[i].of.ids...)
	}
	return r
}

func newRosterLeaf(notes []memory.ReadNote) *rosterLeaf {
	k := len(notes)
	l := &rosterLeaf{ids: make([]uuid.UUID, 0, k), lines: make([]line, 0, k), vectors: make([]memory.Measured, 0, k), marks: make([]uint64, 0, k)}
	for _, n := range notes {
		s, _ := n.Read.(*readSession)
		if s.damage != nil {
			l.damaged = append(l.damaged, Damaged{n.ID, s.damage.Error()})
			continue
		}
		l.ids, l.lines = append(l.ids, n.ID), append(l.lines, line{n.Note, s, s.visit.at})
		l.vectors, l.marks = append(l.vectors, s.vector), append(l.marks, s.marks)
		l.torn = l.torn || s.torn
		if memory.CompareIDs(s.last, l.last) > 0 {
			l.last = s.last
		}
		if s.state.Fresh > 0 {
			l.due, l.warm = l.due || s.state.Due, max(l.warm, s.state.Interaction)
		}
	}
	return l
}

// at returns the line of a session, by its number.
func (r *roster) at(k int) *line {
	i, found := slices.BinarySearch(r.from, k)
	if !found {
		i--
	}
	for len(r.leaves[i].of.lines) == 0 { // all of it is damaged: the next leaf begins at the same number
		i++
	}
	return &r.leaves[i].of.lines[k-r.from[i]]
}

// find returns the number of a session.
func (r *roster) find(id uuid.UUID) (k int, found bool) {
	return slices.BinarySearchFunc(r.ids, id, memory.CompareIDs)
}

// shelf is knowledge about one person, oldest first.
type shelf struct {
	entries []*entry
	vectors []memory.Measured
	keys    []uint64 // hashes
	quoted  int
}

func newShelf(n int) *shelf {
	return &shelf{entries: make([]*entry, 0, n), vectors: make([]memory.Measured, 0, n), keys: make([]uint64, 0, n)}
}

func (s *shelf) add(e *entry) {
	s.entries, s.vectors, s.keys = append(s.entries, e), append(s.vectors, e.vector), append(s.keys, e.hash)
	if e.Analyst == memory.AnalystHeuristic {
		s.quoted++
	}
}

// has reports whether an entry has a key.
func (s *shelf) has(key string) bool {
	h := hashOf(key)
	for i, k := range s.keys {
		if k == h && s.entries[i].Key == key {
			return true
		}
	}
	return false
}

// drop removes the oldest entry.
func (s *shelf) drop() *entry {
	old := s.entries[0]
	s.entries[0], s.vectors[0] = nil, memory.Measured{} // room that is used again has nothing of it
	s.entries, s.vectors, s.keys = s.entries[1:], s.vectors[1:], s.keys[1:]
	if old.Analyst == memory.AnalystHeuristic {
		s.quoted--
	}
	return old
}

// filled returns how much of the capacity entries take.
func (s *shelf) filled() int { return len(s.entries) - s.quoted + (s.quoted+QuotedAs-1)/QuotedAs }

// empty removes all entries, and leaves their room.
func (s *shelf) empty() {
	clear(s.entries)
	clear(s.vectors)
	s.entries, s.vectors, s.keys, s.quoted = s.entries[:0], s.vectors[:0], s.keys[:0], 0
}

func hashOf(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return h.Sum64()
}

// shelves is all knowledge of a list, by whom it is about. It is shared.
type shelves []leaf[map[string]*shelf]

// sumShelves returns the shelves of a list. was are those of an earlier one; nil: none.
func sumShelves(was any, notes []memory.ReadNote) any {
	old, _ := was.(shelves)
	return shelves(regrow(old, notes, func(notes []memory.ReadNote) *map[string]*shelf {
		of := map[string]*shelf{}
		for _, n := range notes {
			e, _ := n.Read.(*entry)
			if of[e.of] == nil {
				of[e.of] = newShelf(len(notes))
			}
			of[e.of].add(e)
		}
		return &of
	}))
}

// of returns the knowledge about one person, without some notes, in the room of out.
func (s shelves) of(out *shelf, of string, without []uuid.UUID) *shelf {
	n := maxPages // room for what is learned
	for i := range s {
		if l := (*s[i].of)[of]; l != nil {
			n += len(l.entries)
		}
	}
	out.entries, out.vectors, out.keys = slices.Grow(out.entries, n), slices.Grow(out.vectors, n), slices.Grow(out.keys, n)
	for i := range s {
		l := (*s[i].of)[of]
		if l == nil {
			continue
		}
		if len(without) == 0 {
			out.entries, out.vectors, out.keys = append(out.entries, l.entries...), append(out.vectors, l.vectors...), append(out.keys, l.keys...)
			out.quoted += l.quoted
			continue
		}
		for _, e := range l.entries {
			if !slices.Contains(without, e.ID) {
				out.add(e)
			}
		}
	}
	return out
}
