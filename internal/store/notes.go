package store

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NoteReader says what to read with a version of a note.
type NoteReader struct {
	Collection uuid.UUID // shown as Note.Collection
	Embedder   string    // whose vectors to read; "": none
}

// newNoteReader returns the reader for notes of a collection.
func newNoteReader(c *memory.Collection, o memory.ReadOptions) NoteReader {
	r := NoteReader{Collection: c.ID}
	if o.Vector {
		r.Embedder = c.Embedder
	}
	return r
}

// NotePage asks for a bounded stretch of the visible notes.
type NotePage struct {
	NoteReader
	Lacks  string // only notes without a vector of this embedder; "": all
	Kinds  []memory.Kind
	States []memory.State
	Keyed  bool
	// Sources: only notes whose provenance names one of these, or has its text elsewhere; listNotes looks at it again. nil: all
	Sources []uuid.UUID
	Digests []int64     // only notes with one of these; nil: all
	Filter  filter.Expr // its exact part is a condition of the statement; nil: all
	Listed  bool        // of a list of messages: only those whose session is a list, for which there is an index
	After   uuid.UUID
	ByTime  bool
	Since   time.Time // with After, when ByTime
	// ByRevision is the order of the log; with After, Written is its place there.
	ByRevision bool
	Written    memory.Revision
	Newest     bool
	Limit      int // 0: all
}

// IsMessageList reports whether a page is of messages in the order of their times, for which there is an index. A page in
// the order of ids must not name its condition: by it all messages would be read, and sorted.
func (p *NotePage) IsMessageList() bool {
	return p.ByTime && len(p.Kinds) == 1 && p.Kinds[0] == memory.KindMessage
}

// Session returns the values of attributes.session that a list of messages asks for, one or several: for them there is an index. No
// value is a list of the messages without a session; ok is false when other sessions may be asked for, too. Of numbers the
// engines are sure to agree on whole ones.
func (p *NotePage) Session() (values []filter.Value, ok bool) {
	if !p.IsMessageList() {
		return nil, false
	}
	return sessionOf(p.Filter)
}

func sessionOf(e filter.Expr) (values []filter.Value, ok bool) {
	switch e := e.(type) {
	case filter.And:
		for _, term := range e {
			if values, ok = sessionOf(term); ok {
				return values, true
			}
		}
	case filter.Or:
		for _, term := range e {
			one, ok := sessionOf(term)
			if !ok || len(one) == 0 {
				return nil, false
			}
			values = append(values, one...)
		}
		return values, len(values) > 0
	case *filter.Leaf:
		switch {
		case e.Field != filter.Attributes || len(e.Path) != 1 || e.Path[0] != memory.AttrSession:
		case e.Op == filter.Exists:
			return nil, !e.Want
		case e.Op == filter.Eq || e.Op == filter.In:
			return e.Values, len(e.Values) > 0 && !slices.ContainsFunc(e.Values, func(v filter.Value) bool {
				whole := v.Type == filter.Number && v.Number == math.Trunc(v.Number) && math.Abs(v.Number) < 1<<53
				return !whole && (v.Type != filter.Text || strings.ContainsRune(v.Text, 0))
			})
		}
	}
	return nil, false
}

// IsOfRareKind reports whether a page is of one kind that is neither note nor message, in the order of ids: those have an index,
// whose condition is RareKinds.
func (p *NotePage) IsOfRareKind() bool {
	return len(p.Kinds) == 1 && p.Kinds[0] != memory.KindNote && p.Kinds[0] != memory.KindMessage && !p.ByTime && !p.ByRevision && !p.Keyed && len(p.States) == 0 && p.Digests == nil
}

// Steps reports whether a page goes from note to note: it is in the order of ids, and has no condition but that of an index in that order.
// Then only the newest version of each note is read, where there are many.
func (p *NotePage) Steps() bool {
	return p.Limit > 0 && !p.ByTime && !p.ByRevision && !p.Keyed && len(p.States) == 0 && p.Digests == nil && p.Sources == nil && p.Lacks == "" && p.Filter == nil &&
		(len(p.Kinds) == 0 || p.IsOfRareKind())
}

// Stretch is how many entries of an index a page that steps reads one after the other, before it steps from note to note: a step costs
// as much as many entries. Of several layers the end of the stretch is looked for first, which costs more, the longer it is.
func (p *NotePage) Stretch(layers int) int {
	if layers > 1 {
		return 4*p.Limit + 16
	}
	return 16*p.Limit + 16
}

// Begin is the id behind which a page in the order of ids begins.
func (p *NotePage) Begin() uuid.UUID {
	if p.After == uuid.Nil && p.Newest {
		return uuid.Max
	}
	return p.After
}

// End is the id before which a page in the order of ids ends.
func (p *NotePage) End() uuid.UUID {
	if p.Newest {
		return uuid.Nil
	}
	return uuid.Max
}

// RareKinds is the condition of the index of kinds that are neither note nor message.
const RareKinds = "n.bytes >= 0 AND n.kind NOT IN ('note', 'message')"

// derived reports whether a note has one of the wanted sources.
func (p *NotePage) derived(n *memory.Note) bool {
	return p.Sources == nil || slices.ContainsFunc(n.Provenance.Sources, func(id uuid.UUID) bool { return slices.Contains(p.Sources, id) })
}

// NoteRows are the rows of notes, of their vectors and their use.
type NoteRows interface {
	// NoteVersions returns, for every id that the layers hold at all, the version that decides, that
	// of the nearest layer. A tombstone means that the note is not visible.
	NoteVersions(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r NoteReader, ids []uuid.UUID) (map[uuid.UUID]NoteVersion, error)
	// NoteVersionByKey returns the visible note of a kind with a natural key; the empty key is of none.
	NoteVersionByKey(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r NoteReader, kind memory.Kind, key string) (n NoteVersion, ok bool, err error)
	// NoteVersionsByDigest returns the oldest visible note with each of the digests.
	NoteVersionsByDigest(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, r NoteReader, digests []int64) (map[int64]NoteVersion, error)
	// ListNotes reads a page. It may hold notes that do not match its filter, unless DecidesFilter.
	ListNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, p NotePage) ([]NoteVersion, error)
	// ExpiredNotes lists visible notes that expire between two times, both included, the earliest first.
	ExpiredNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, from, by time.Time, limit int) ([]Expiry, error)
	// DecidesFilter reports whether the engine's SQL decides a filter exactly.
	DecidesFilter(e filter.Expr) bool
	NoteWrites
	UsageRows
	LogRows
}

// UsageRows are the rows of the use of notes.
type UsageRows interface {
	// UsageOf returns the use of notes through the layers: the nearest layer that has a row decides.
	UsageOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error)
	// VisibleNotes returns true for each of the notes that is visible.
	VisibleNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, ids []uuid.UUID) (map[uuid.UUID]bool, error)
}

// LogRows read logs.
type LogRows interface {
	// LogPage lists up to limit versions of a layer that began, or only ended, after one revision and up to
	// another, in the order of From and id, after a place in that order.
	LogPage(ctx context.Context, tenantID uuid.UUID, r NoteReader, p LogPage) ([]NoteVersion, error)
	// NotesBegun lists the versions of notes that began in the first of the layers after one revision and up to another, in
	// the order of revision and id, without those that are tombstones of notes that were neither there nor erased. Limit 0: all.
	NotesBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, limit int) ([]NoteBegun, error)
	// LinksBegun is NotesBegun for links, in the order of revision, source, relation and target.
	LinksBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, limit int) ([]LinkBegun, error)
	// CountChangesets counts those of a span, of a cause, from one time on and before another, by day.
	CountChangesets(ctx context.Context, tenantID uuid.UUID, span memory.Span, cause memory.Cause, from, before time.Time) (map[string]int64, error)
	// ListMerges lists the changesets of a span that have MergedFrom and are not undone by one of it, newest first.
	ListMerges(ctx context.Context, tenantID uuid.UUID, span memory.Span) ([]memory.Changeset, error)
}

// LogPage asks for a stretch of the log of the layer NoteReader.Collection.
type LogPage struct {
	Ended     bool            // versions that ended after After and began before it; else those that began
	After, To memory.Revision // of the log
	From      memory.Revision // with Note: the place after which the page begins, not before After unless Ended
	Note      uuid.UUID
	Kinds     []memory.Kind // only these; none: all
	Limit     int
}

// visibleNotes returns the visible notes of ids, in their order.
func visibleNotes(ctx context.Context, q NoteRows, tenantID uuid.UUID, layers []memory.Layer, r NoteReader, ids []uuid.UUID) ([]memory.Note, error) {
	found, err := q.NoteVersions(ctx, tenantID, layers, r, ids)
	if err != nil {
		return nil, err
	}
	out := make([]memory.Note, 0, len(ids))
	for _, id := range ids {
		if n, ok := found[id]; ok && !n.Deleted {
			out = append(out, n.Note)
		}
	}
	return out, nil
}

func noteByKey(ctx context.Context, q NoteRows, tenantID uuid.UUID, layers []memory.Layer, r NoteReader, kind memory.Kind, key string) (memory.Note, error) {
	n, ok, err := q.NoteVersionByKey(ctx, tenantID, layers, r, kind, key)
	if err == nil && !ok {
		err = fault.Missing("note")
	}
	return n.Note, err
}

// Notes implements memory.Reader.
func (b *Base) Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) ([]memory.Note, error) {
		return visibleNotes(ctx, q, s.Tenant(), v.Layers, newNoteReader(&v.Collection, o), ids)
	})
}

// NoteByKey implements memory.Reader.
func (b *Base) NoteByKey(ctx context.Context, s tenant.Scope, v memory.View, kind memory.Kind, key string) (memory.Note, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (memory.Note, error) {
		return noteByKey(ctx, q, s.Tenant(), v.Layers, newNoteReader(&v.Collection, memory.ReadOptions{}), kind, key)
	})
}

// ListNotes implements memory.Reader. The part of a filter that SQL decides exactly as package
// filter does is a condition of the statement; every row is then matched by package filter itself.
func (b *Base) ListNotes(ctx context.Context, s tenant.Scope, v memory.View, nq memory.NoteQuery) (out []memory.Note, err error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	page := pageOf(&v.Collection, &nq)
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		out, err = listNotes(ctx, q, s.Tenant(), v.Layers, page)
		return err
	})
	return out, err
}

func pageOf(c *memory.Collection, q *memory.NoteQuery) NotePage {
	return NotePage{
		NoteReader: newNoteReader(c, q.ReadOptions), Kinds: q.Kinds, States: q.States, Keyed: q.Keyed, Sources: q.Sources, Digests: q.Digests, Lacks: q.Lacks, Filter: q.Filter,
		After: q.After, ByTime: q.ByTime, Since: q.AfterTime, ByRevision: q.ByRevision, Written: q.AfterRevision, Newest: q.Newest, Limit: q.Limit,
	}
}

func listNotes(ctx context.Context, q NoteRows, tenantID uuid.UUID, layers []memory.Layer, p NotePage) (out []memory.Note, err error) {
	out, err = readPages(ctx, q, tenantID, layers, p)
	if sessions, _ := p.Session(); err != nil || len(sessions) == 0 {
		return out, err
	}
	p.Listed = true
	listed, err := readPages(ctx, q, tenantID, layers, p)
	if len(listed) == 0 {
		return out, err
	}
	out = append(out, listed...)
	slices.SortFunc(out, func(a, b memory.Note) int {
		order := cmp.Or(a.OccurredAt.Compare(b.OccurredAt), memory.CompareIDs(a.ID, b.ID))
		if p.Newest {
			return -order
		}
		return order
	})
	out = slices.CompactFunc(out, func(a, b memory.Note) bool { return a.ID == b.ID })
	if p.Limit > 0 {
		out = out[:min(p.Limit, len(out))]
	}
	return out, err
}

func readPages(ctx context.Context, q NoteRows, tenantID uuid.UUID, layers []memory.Layer, p NotePage) (out []memory.Note, err error) {
	wanted := p.Limit
	for {
		if wanted > 0 && (p.Sources != nil || p.Filter != nil && !q.DecidesFilter(p.Filter)) {
			// Some rows will not match: read further than asked.
			p.Limit = min(max(2*p.Limit, 64), 4096)
		}
		rows, err := q.ListNotes(ctx, tenantID, layers, p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			p.After, p.Since, p.Written = rows[i].ID, rows[i].OccurredAt, rows[i].From
			if !rows[i].Matches(p.Filter) || !p.derived(&rows[i].Note) {
				continue
			}
			if out = append(out, rows[i].Note); wanted > 0 && len(out) == wanted {
				return out, nil
			}
		}
		if wanted <= 0 || len(rows) < p.Limit {
			return out, nil
		}
	}
}

// logBatch is how many versions are read at a time: no connection is held while the caller works on them. It begins
// with few: the caller works on them while more are read.
const (
	logBatch      = 1000
	firstLogBatch = 125
)

// Log implements memory.Reader. The head of the layer is read first; what is written later lies
// beyond it, so that batches need no common transaction.
func (b *Base) Log(ctx context.Context, s tenant.Scope, v memory.View, layer int, after memory.Revision, embedder string, fn func(memory.LogRow) error) (memory.Revision, error) {
	if err := v.Check(s); err != nil {
		return 0, err
	}
	if layer < 0 || layer >= len(v.Layers) {
		return 0, fault.New(fault.Internal, "the view has no layer %d", layer)
	}
	l := v.Layers[layer]
	r := NoteReader{Collection: l.Collection, Embedder: embedder}
	h, err := readTenant(ctx, b, s.Tenant(), func(ctx context.Context, q Session) (Head, error) { return q.Head(ctx, s.Tenant(), r.Collection) })
	if err != nil || after >= h.Revision {
		return h.Revision, err
	}
	l.Bound = h.Revision
	read := b.transactions.Reading
	if after == 0 || h.Revision-after > longLog {
		read = func(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, Session) error) error {
			return b.transactions.ReadingPast(ctx, tenantID, []memory.Layer{l}, fn)
		}
	}
	// Versions that only ended have a lower From than those that began: they come first.
	if after > 0 {
		if err := b.logPart(ctx, s, read, r, LogPage{Ended: true, After: after, To: h.Revision}, fn); err != nil {
			return 0, err
		}
	}
	if err := b.logPart(ctx, s, read, r, LogPage{After: after, To: h.Revision}, fn); err != nil {
		return 0, err
	}
	return h.Revision, nil
}

// LogBegun implements memory.Reader.
func (b *Base) LogBegun(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, kinds []memory.Kind, embedder string, fn func(memory.LogRow) error) error {
	if err := v.Check(s); err != nil {
		return err
	}
	r := NoteReader{Collection: v.Layers[0].Collection, Embedder: embedder}
	return b.logPart(ctx, s, b.transactions.Reading, r, LogPage{After: after, To: v.At, Kinds: kinds}, fn)
}

// longLog is from how many revisions on a log is read as the past: what was written a moment ago is not at another server yet.
const longLog = 1000

// reading is Reading or ReadingPast of Transactions.
type reading = func(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, Session) error) error

func (b *Base) logPart(ctx context.Context, s tenant.Scope, read reading, r NoteReader, p LogPage, fn func(memory.LogRow) error) error {
	if p.From, p.Limit = -1, firstLogBatch; !p.Ended {
		// One bound for the whole place: an index is entered where the page begins.
		p.From, p.Note = p.After, uuid.Max
	}
	for {
		var batch []NoteVersion
		err := read(ctx, s.Tenant(), func(ctx context.Context, q Session) (err error) {
			batch, err = q.LogPage(ctx, s.Tenant(), r, p)
			return err
		})
		if err != nil {
			return err
		}
		for i := range batch {
			row := memory.LogRow{Note: batch[i].Note}
			if batch[i].To <= p.To {
				row.To = batch[i].To
			}
			if err := fn(row); err != nil {
				return err
			}
		}
		if len(batch) < p.Limit {
			return nil
		}
		p.Limit = min(2*p.Limit, logBatch)
		p.From, p.Note = batch[len(batch)-1].From, batch[len(batch)-1].ID
	}
}

// ChangesetColumns are the columns of changesets that scanChangeset reads.
const ChangesetColumns = "collection, revision, at, actor, job, trigger, cause, undoes"

// Changesets returns those of a collection's own log after one revision and up to another.
func Changesets(ctx context.Context, q Conn, tenantID, collection uuid.UUID, after, to memory.Revision, n int) ([]memory.Changeset, error) {
	return collect(ctx, q, "SELECT "+ChangesetColumns+" FROM changesets WHERE tenant = $1 AND collection = $2 AND revision > $3 AND revision <= $4 ORDER BY revision"+atMost("$5"),
		[]any{tenantID, collection, int64(after), int64(to), Limit(n)}, scanChangeset)
}

func insertChangeset(ctx context.Context, q Conn, tenantID uuid.UUID, c *memory.Changeset) error {
	from := ""
	if c.MergedFrom != nil {
		var err error
		if from, err = Document("merged_from", c.MergedFrom); err != nil {
			return err
		}
	}
	return q.Later(ctx, "INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes, merged_from) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		tenantID, c.Collection, int64(c.Revision), c.At, c.Actor, c.Job, c.Trigger, string(c.Cause), int64(c.Undoes), json.RawMessage(from))
}

func scanChangeset(row Scanner) (c memory.Changeset, err error) {
	err = row.Scan(&c.Collection, &c.Revision, Time(&c.At), &c.Actor, &c.Job, &c.Trigger, &c.Cause, &c.Undoes)
	return c, err
}

// Changesets implements memory.Reader.
func (b *Base) Changesets(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Changeset, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) ([]memory.Changeset, error) {
		return Changesets(ctx, q, s.Tenant(), v.Collection.ID, after, v.At, limit)
	})
}

// CountChangesets implements memory.Reader.
func (b *Base) CountChangesets(ctx context.Context, s tenant.Scope, v memory.View, cause memory.Cause, from, to time.Time) (map[string]int64, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (map[string]int64, error) {
		span := memory.Span{Layer: v.Collection.ID, To: v.At}
		if v.Collection.Parent != uuid.Nil {
			span.After = v.Collection.ParentRevision // a flattened fork holds a copy of what was before it
		}
		return q.CountChangesets(ctx, s.Tenant(), span, cause, from, to)
	})
}

// Usage implements memory.Reader.
func (b *Base) Usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (map[uuid.UUID]memory.Usage, error) {
		out, err := q.UsageOf(ctx, s.Tenant(), v.Layers, ids)
		if err != nil || len(out) == 0 {
			return out, err
		}
		visible, err := q.VisibleNotes(ctx, s.Tenant(), v.Layers, slices.Collect(maps.Keys(out)))
		for id := range out {
			if !visible[id] {
				delete(out, id)
			}
		}
		return out, err
	})
}

// UsageColumns are the columns of usage u that ScanUsage reads.
const UsageColumns = "u.note, u.access_count, u.last_access, u.strength, u.heat"

// ScanUsage reads UsageColumns.
func ScanUsage(row Scanner) (note uuid.UUID, u memory.Usage, err error) {
	err = row.Scan(&note, &u.AccessCount, Time(&u.LastAccess), &u.Strength, &u.Heat)
	return note, u, err
}
