package index

import (
	"bytes"
	"cmp"
	"time"
	"unsafe"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// labels are the fields of a record that most records of a layer share. A layer has each combination once.
type labels struct{ kind, category, agent, state string }

// lists are the fields of a record that many records lack.
type lists struct {
	tags, keywords []string
	attributes     map[string]any // never changed
}

// record returns what filters read of a row, which must not be changed. A tombstone has nothing.
func (e *entry) record() filter.Record {
	r := filter.Record{ID: e.note, Importance: e.importance, OccurredAt: e.at(), CreatedAt: time.UnixMicro(e.createdAt).UTC()}
	if l := e.labels; l != nil {
		r.Kind, r.Category, r.Agent, r.State = l.kind, l.category, l.agent, l.state
	}
	if l := e.lists; l != nil {
		r.Tags, r.Keywords, r.Attributes = l.tags, l.keywords, l.attributes
	}
	return r
}

// at returns when the note of a row occurred.
func (e *entry) at() time.Time { return time.UnixMicro(e.occurredAt).UTC() }

// compareTime compares rows by when their notes occurred, then by their ids.
func (e *entry) compareTime(o *entry) int {
	return cmp.Or(cmp.Compare(e.occurredAt, o.occurredAt), bytes.Compare(e.note[:], o.note[:]))
}

// attributes returns the attributes of a row, which must not be changed.
func (e *entry) attributes() map[string]any {
	if e.lists == nil {
		return nil
	}
	return e.lists.attributes
}

// setRecord sets the fields of a new row and returns the memory that they take, in bytes. The lists of the record become those
// of the row.
func (d *data) setRecord(e *entry, r *filter.Record) (bytes int64) {
	e.occurredAt, e.createdAt, e.importance = r.OccurredAt.UnixMicro(), r.CreatedAt.UnixMicro(), r.Importance
	bytes = d.label(e, labels{r.Kind, r.Category, r.Agent, r.State})
	if len(r.Tags)+len(r.Keywords)+len(r.Attributes) > 0 {
		e.lists = &lists{r.Tags, r.Keywords, r.Attributes}
		bytes += e.lists.size()
	}
	return bytes
}

// label sets the labels of a row, and returns the memory that they take, in bytes: none if another row has the same.
func (d *data) label(e *entry, of labels) (bytes int64) {
	if e.labels = d.labels[of]; e.labels != nil {
		return 0
	}
	e.labels = &of
	d.labels[of] = e.labels
	bytes = slotBytes(int64(unsafe.Sizeof(of))+8) + int64(unsafe.Sizeof(of))
	for _, s := range []string{of.kind, of.category, of.agent, of.state} {
		bytes += allocated(len(s))
	}
	return bytes
}

// size returns the memory of lists, with their strings.
func (l *lists) size() int64 {
	if l == nil {
		return 0
	}
	n := int64(unsafe.Sizeof(*l))
	for _, list := range [][]string{l.tags, l.keywords} {
		n += allocated(stringBytes * cap(list))
		for _, s := range list {
			n += allocated(len(s))
		}
	}
	if l.attributes != nil {
		n += jsonBytes(l.attributes)
	}
	return n
}
