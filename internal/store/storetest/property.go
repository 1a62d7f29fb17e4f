package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// RandomHistories compares random histories of a tenant with a model. The model has a map of
// the visible notes for each revision of each collection; it has no layers, tombstones
// or intervals. Nothing happens concurrently.
func RandomHistories(t *testing.T, h Harness) {
	t.Helper()
	var runs atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t.Context(), rt, h, fmt.Sprint("run-", runs.Add(1)))
		m := &model{world: w, rt: rt, versions: map[memory.Version]string{}, ids: []uuid.UUID{uuid.MustParse("00000000-0000-7000-8000-00000000dead")}}
		m.add(w.collection("root"), nil, map[memory.Revision]*snapshot{0: newSnapshot()})
		rt.Repeat(map[string]func(*rapid.T){
			"write":  m.write,
			"write2": m.write, // makes writes twice as likely
			"fork":   func(rt *rapid.T) { m.fork(rt, m.pick(rt)) },
			"flat":   m.flatten,
			"copy":   m.copy,
			"delete": m.delete,
			"recall": m.recall,
			"":       m.check,
		})
		// Each step looked at a head and at the past. The end looks at all heads, and at a third of all else: another one in each run.
		third := memory.Revision(runs.Load() % 3)
		for _, c := range m.all {
			for at := c.first; at <= c.head; at++ {
				if at == c.head || at%3 == third {
					m.compare(c, at)
				}
			}
		}
		w.verify()
		w.noError(w.DeleteTenant(w.ctx, w.op, w.tenant.ID))
		w.noError(w.DeleteTenant(w.ctx, w.op, w.other.ID))
		w.verify()
	})
}

// modelNote has the compared fields of a note.
type modelNote struct {
	content, key, tag string
	kind              memory.Kind
	from              memory.Revision
	vector            bool
}

// snapshot is the content of a collection at a revision. It keeps links whose endpoints
// are deleted.
type snapshot struct {
	notes map[uuid.UUID]modelNote
	links map[memory.LinkID]float64
}

func newSnapshot() *snapshot {
	return &snapshot{notes: map[uuid.UUID]modelNote{}, links: map[memory.LinkID]float64{}}
}

func (s *snapshot) clone() *snapshot {
	return &snapshot{notes: maps.Clone(s.notes), links: maps.Clone(s.links)}
}

func (s *snapshot) byKey(kind memory.Kind, key string) (uuid.UUID, bool) {
	for id, n := range s.notes {
		if key != "" && n.key == key && n.kind == kind {
			return id, true
		}
	}
	return uuid.Nil, false
}

// visible returns the links whose endpoints exist.
func (s *snapshot) visible() map[memory.LinkID]float64 {
	out := map[memory.LinkID]float64{}
	for id, c := range s.links {
		_, from := s.notes[id.Source]
		_, to := s.notes[id.Target]
		if from && to {
			out[id] = c
		}
	}
	return out
}

type modelCollection struct {
	id          uuid.UUID
	name        string
	reads       *modelCollection // whose layer comes after its own; nil: none
	first, head memory.Revision  // the readable revisions
	at          map[memory.Revision]*snapshot
	usage       map[uuid.UUID]int64
}

// holdUse copies the use that another collection counted, where it has none of its own.
func (c *modelCollection) holdUse(of *modelCollection) {
	for id, n := range of.usage {
		if _, ok := c.usage[id]; !ok {
			c.usage[id] = n
		}
	}
}

// GoString shortens the output of rapid.
func (c *modelCollection) GoString() string { return c.name }

func (c *modelCollection) depth() int {
	if c.reads == nil {
		return 1
	}
	return 1 + c.reads.depth()
}

func (c *modelCollection) used(note uuid.UUID) int64 {
	if n, ok := c.usage[note]; ok || c.reads == nil {
		return n
	}
	return c.reads.used(note)
}

type model struct {
	*world
	rt       *rapid.T
	all      []*modelCollection
	ids      []uuid.UUID // of all notes that were ever written, in order of creation
	versions map[memory.Version]string
	made     int
}

func (m *model) add(c memory.Collection, parent *modelCollection, at map[memory.Revision]*snapshot) {
	m.all = append(m.all, &modelCollection{
		id: c.ID, name: c.Name, reads: parent, first: c.Floor, head: c.Head, at: at, usage: map[uuid.UUID]int64{},
	})
}

func (m *model) name() string {
	m.made++
	return fmt.Sprint("c", m.made)
}

func (m *model) pick(rt *rapid.T) *modelCollection {
	return rapid.SampledFrom(m.all).Draw(rt, "collection")
}

func (m *model) revision(rt *rapid.T, c *modelCollection) memory.Revision {
	return memory.Revision(rapid.Int64Range(int64(c.first), int64(c.head)).Draw(rt, "revision"))
}

// note picks the id of a note that was written at some time, or an id that was not.
func (m *model) note(rt *rapid.T) uuid.UUID {
	return m.ids[rapid.IntRange(0, len(m.ids)-1).Draw(rt, "note")]
}

func (m *model) write(rt *rapid.T) { m.writeTo(rt, m.pick(rt)) }

func (m *model) writeTo(rt *rapid.T, c *modelCollection) {
	next, made, logged := c.at[c.head].clone(), []uuid.UUID(nil), false
	abort := rapid.IntRange(0, 9).Draw(rt, "abort") == 0
	_, err := m.tryWrite(c.id, func(tx memory.Tx) error {
		for range rapid.IntRange(0, 4).Draw(rt, "operations") {
			switch rapid.SampledFrom([]string{"new", "put", "delete", "link", "unlink"}).Draw(rt, "operation") {
			case "new":
				if id := m.put(rt, tx, next, uuid.Nil); id != uuid.Nil {
					made, logged = append(made, id), true
				}
			case "put":
				if id := m.note(rt); m.put(rt, tx, next, id) != uuid.Nil {
					logged = true
				}
			case "delete":
				id := m.note(rt)
				err := tx.Delete(m.ctx, id)
				if _, ok := next.notes[id]; !ok {
					m.wantFault(err, fault.NotFound)
					continue
				}
				m.noError(err)
				delete(next.notes, id)
				logged = true
			case "link":
				logged = m.linkTo(rt, tx, next) || logged
			case "unlink":
				id := m.linkID(rt)
				ok, err := tx.Unlink(m.ctx, id)
				m.noError(err)
				_, want := next.visible()[id]
				m.assertf(ok == want, "unlink %v: %v, want %v", id, ok, want)
				if ok {
					delete(next.links, id)
					logged = true
				}
			}
		}
		if abort {
			return errOurs
		}
		return nil
	})
	if abort {
		m.wantFault(err, fault.Precondition)
		return
	}
	m.noError(err)
	m.ids = append(m.ids, made...)
	if logged {
		c.head++
		c.at[c.head] = next
	}
}

// put writes a note and returns its id, or the zero id when it was refused.
func (m *model) put(rt *rapid.T, tx memory.Tx, next *snapshot, id uuid.UUID) uuid.UUID {
	n := modelNote{
		content: strings.ReplaceAll(rapid.StringN(0, 6, -1).Draw(rt, "content"), "\x00", ""),
		key:     rapid.SampledFrom([]string{"", "", "k", "K"}).Draw(rt, "key"),
		tag:     rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "tag"),
		kind:    rapid.SampledFrom([]memory.Kind{memory.KindNote, memory.KindFact}).Draw(rt, "kind"),
		vector:  rapid.Bool().Draw(rt, "vector"),
		from:    tx.Revision(),
	}
	in := memory.Note{ID: id, Content: n.content, Key: n.key, Kind: n.kind}
	if n.tag != "" {
		in.Tags = []string{n.tag}
	}
	if n.vector {
		in.Vector = []float32{1, 0, 0, 0.5}
	}
	out, err := tx.Put(m.ctx, in)
	if other, taken := next.byKey(n.kind, n.key); taken && other != id {
		m.wantFault(err, fault.Exists)
		return uuid.Nil
	}
	m.noError(err)
	next.notes[out.ID] = n
	return out.ID
}

func (m *model) linkID(rt *rapid.T) memory.LinkID {
	return memory.LinkID{Source: m.note(rt), Target: m.note(rt), Relation: rapid.SampledFrom([]string{"related", "Related"}).Draw(rt, "relation")}
}

func (m *model) linkTo(rt *rapid.T, tx memory.Tx, next *snapshot) bool {
	l := memory.Link{LinkID: m.linkID(rt), Confidence: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "confidence")}
	changed, err := tx.Link(m.ctx, l)
	_, from := next.notes[l.Source]
	_, to := next.notes[l.Target]
	switch {
	case l.Source == l.Target:
		m.wantInvalid(err, "target")
		return false
	case !from || !to:
		m.wantFault(err, fault.NotFound)
		return false
	}
	m.noError(err)
	old, had := next.links[l.LinkID]
	m.assertf(changed == (!had || old != l.Confidence), "link %v changed: %v", l, changed)
	next.links[l.LinkID] = l.Confidence
	return changed
}

func (m *model) fork(rt *rapid.T, p *modelCollection) {
	at := m.revision(rt, p)
	f, err := m.world.fork(p.id, at, m.name())
	m.noError(err)
	history := map[memory.Revision]*snapshot{}
	for r := p.first; r <= at; r++ {
		history[r] = p.at[r]
	}
	m.add(f, p, history)
}

// flatten makes a lineage too deep, and flattens it.
func (m *model) flatten(rt *rapid.T) {
	if len(m.all) > 20 {
		return
	}
	c := m.pick(rt)
	for c.depth() <= memory.MaxLineage {
		m.fork(rt, c)
		c = m.all[len(m.all)-1]
		m.writeTo(rt, c)
	}
	m.noError(m.FlattenLineage(m.ctx, m.world.all, c.id))
	m.readLayers()
	m.assertf(c.depth() <= memory.MaxLineage, "%s still has %d layers", c.name, c.depth())
	for at := c.first; at <= c.head; at++ {
		m.compare(c, at)
	}
}

// readLayers follows what flattening did: a collection that no longer reads others holds what they counted.
func (m *model) readLayers() {
	before, next := map[*modelCollection]*modelCollection{}, map[*modelCollection]*modelCollection{}
	for _, c := range m.all {
		before[c] = c.reads
		if layers := m.view(c.id).Layers; len(layers) > 1 {
			next[c] = m.all[slices.IndexFunc(m.all, func(o *modelCollection) bool { return o.id == layers[1].Collection })]
		}
	}
	for c, reads := range next {
		m.assertf(reads != nil, "%s reads what is gone", c.name)
	}
	for _, c := range m.all {
		for p := before[c]; p != next[c]; p = before[p] {
			c.holdUse(p)
		}
		c.reads = next[c]
	}
}

func (m *model) copy(rt *rapid.T) {
	if len(m.all) > 12 {
		return
	}
	c := m.pick(rt)
	at := m.revision(rt, c)
	made := m.copyOf(m.viewAt(c.id, at), m.name(), rapid.IntRange(1, 5).Draw(rt, "batch"))
	// Links to an endpoint that is not visible are not copied.
	s := c.at[at].clone()
	s.links = s.visible()
	m.add(made, nil, map[memory.Revision]*snapshot{at: s})
	for id := range s.notes {
		if n := c.used(id); n > 0 {
			m.all[len(m.all)-1].usage[id] = n
		}
	}
}

func (m *model) delete(rt *rapid.T) {
	if len(m.all) < 3 {
		return
	}
	c := m.pick(rt)
	materialize := rapid.Bool().Draw(rt, "materialize")
	_, err := m.DeleteCollection(m.ctx, m.world.all, c.id, materialize, memory.AuditEntry{})
	var forks []*modelCollection
	for _, f := range m.all {
		if f.reads == c {
			forks = append(forks, f)
		}
	}
	if len(forks) > 0 && !materialize {
		m.wantFault(err, fault.HasForks)
		return
	}
	m.noError(err)
	for _, f := range forks {
		f.holdUse(c)
		f.reads = c.reads
	}
	m.all = slices.DeleteFunc(m.all, func(o *modelCollection) bool { return o == c })
	if rapid.Bool().Draw(rt, "remove") {
		for gone := false; !gone; {
			gone = must(m.RemoveRows(m.ctx, m.world.all, c.id, rapid.IntRange(1, 50).Draw(rt, "rows")))(m.t)
		}
	}
}

func (m *model) recall(rt *rapid.T) {
	c := m.pick(rt)
	at := m.revision(rt, c)
	id := m.note(rt)
	m.noError(m.AddUsage(m.ctx, m.world.all, m.viewAt(c.id, at), []memory.UsageDelta{{Note: id, Accesses: 1}}))
	if _, ok := c.at[at].notes[id]; ok {
		c.usage[id] = c.used(id) + 1
	}
}

// check runs after every step. It compares one collection at its head and at a random
// revision.
func (m *model) check(rt *rapid.T) {
	c := m.pick(rt)
	m.assertf(m.head(c.id) == c.head, "the head of %s is %d, want %d", c.name, m.head(c.id), c.head)
	if c.first > 0 {
		below := c.first - 1
		m.wantFault(errOf(m.OpenView(m.ctx, m.world.all, c.name, memory.At{AsOf: &below})), fault.RevisionGone)
	}
	m.compare(c, c.head)
	m.compare(c, m.revision(rt, c))
	m.compareTouched(rt)
}

func (m *model) compare(c *modelCollection, at memory.Revision) {
	want := c.at[at]
	v := m.viewAt(c.id, at)
	where := fmt.Sprintf("%s (depth %d) at %d of %d", c.name, c.depth(), at, c.head)

	ids := slices.SortedFunc(maps.Keys(want.notes), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	q := memory.NoteQuery{Limit: 3, ReadOptions: memory.ReadOptions{Vector: true}}
	var got []uuid.UUID
	var bytes int64
	for range len(ids) + 1 {
		page := must(m.ListNotes(m.ctx, m.world.all, v, q))(m.t)
		for i := range page {
			n := &page[i]
			got = append(got, n.ID)
			q.After = n.ID
			have := modelNote{content: n.Content, key: n.Key, kind: n.Kind, from: n.From, vector: n.Vector != nil}
			if len(n.Tags) > 0 {
				have.tag = n.Tags[0]
			}
			m.assertf(have == want.notes[n.ID], "%s: note %s is %+v, want %+v", where, n.ID, have, want.notes[n.ID])
			// No two contents share a version.
			show := fmt.Sprint(have)
			if earlier, ok := m.versions[n.Version()]; ok && earlier != show {
				m.t.Fatalf("%s: version %v is %s and was %s", where, n.Version(), show, earlier)
			}
			m.versions[n.Version()] = show
			bytes += int64(len(n.Content))
		}
		if len(page) < q.Limit {
			break
		}
	}
	m.assertf(slices.Equal(got, ids), "%s: lists %v, want %v", where, got, ids)
	reversed := must(m.ListNotes(m.ctx, m.world.all, v, memory.NoteQuery{Newest: true}))(m.t)
	slices.Reverse(reversed)
	m.assertf(slices.EqualFunc(reversed, ids, func(n memory.Note, id uuid.UUID) bool { return n.ID == id }), "%s: newest first", where)

	byID := must(m.Notes(m.ctx, m.world.all, v, m.ids, memory.ReadOptions{}))(m.t)
	m.assertf(len(byID) == len(ids), "%s: %d notes by id, want %d", where, len(byID), len(ids))
	for i := range byID {
		m.assertf(byID[i].Content == want.notes[byID[i].ID].content, "%s: note %s by id", where, byID[i].ID)
	}
	for _, kind := range []memory.Kind{memory.KindNote, memory.KindFact} {
		for _, key := range []string{"k", "K"} {
			n, err := m.NoteByKey(m.ctx, m.world.all, v, kind, key)
			if id, ok := want.byKey(kind, key); ok {
				m.assertf(err == nil && n.ID == id, "%s: key %s: %v, %v", where, key, n.ID, err)
			} else {
				m.wantFault(err, fault.NotFound)
			}
		}
	}

	links := want.visible()
	seen := map[memory.LinkID]float64{}
	for _, l := range m.links(v, m.ids...) {
		_, twice := seen[l.LinkID]
		m.assertf(!twice, "%s: link %v twice", where, l.LinkID)
		seen[l.LinkID] = l.Confidence
	}
	m.assertf(maps.Equal(seen, links), "%s: links %v, want %v", where, seen, links)

	n := must(m.Counts(m.ctx, m.world.all, v))(m.t)
	kinds, waiting := map[memory.Kind]int64{}, int64(0)
	for _, note := range want.notes {
		kinds[note.kind]++
		if !note.vector {
			waiting++
		}
	}
	m.assertf(n.Notes == int64(len(ids)) && n.Links == int64(len(links)) && maps.Equal(n.Kinds, kinds) && n.Pending == waiting && n.Bytes >= bytes,
		"%s: counts %+v, want %d notes, %d links, %v, %d waiting", where, n, len(ids), len(links), kinds, waiting)

	usage := must(m.Usage(m.ctx, m.world.all, v, m.ids))(m.t)
	for _, id := range m.ids {
		if _, ok := want.notes[id]; ok {
			m.assertf(usage[id].AccessCount == c.used(id), "%s: note %s was used %d times, want %d", where, id, usage[id].AccessCount, c.used(id))
		} else {
			m.assertf(usage[id] == memory.Usage{}, "%s: usage of a note that is not visible", where)
		}
	}
	if len(ids) > 0 {
		m.compareHistory(c, v, ids[len(ids)/2], where)
	}
}

// compareHistory checks that each entry of a note's history equals the note in the
// snapshot of that revision.
func (m *model) compareHistory(c *modelCollection, v memory.View, id uuid.UUID, where string) {
	last := v.At + 1
	for _, e := range must(m.History(m.ctx, m.world.all, v, id, 0, 0))(m.t) {
		m.assertf(e.Note.From < last, "%s: in the history %d follows %d", where, e.Note.From, last)
		last = e.Note.From
		s, ok := c.at[e.Note.From]
		if !ok {
			continue // a copy has versions from before its first revision
		}
		n, ok := s.notes[id]
		m.assertf(ok != e.Note.Deleted && n.content == e.Note.Content && (!ok || n.from == e.Note.From), "%s: history entry %+v, visible at that revision %+v", where, e.Note, n)
	}
}
