package notes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// lineKind is what becomes of a line.
type lineKind int

const (
	lineKept lineKind = iota // a note with an id: stored as it was elsewhere
	lineNew                  // a note without one: added as a new note is
	lineSaid                 // a message, which has a role: added as messages are
)

// newLine is a line of a message or of a new note, decoded.
type newLine struct {
	at, line int
	kind     lineKind
	infer    *bool
	said     NewMessage
	note     NewNote
	links    []importLink
	warnings []string
}

// kindOf returns what becomes of a line. One that is not an object is refused as a note is.
func kindOf(raw []byte) lineKind {
	var m struct {
		ID   json.RawMessage `json:"id"`
		Role json.RawMessage `json:"role"`
	}
	switch err := json.Unmarshal(raw, &m); {
	case err != nil:
		return lineKept
	case m.Role != nil && !isNull(m.Role):
		return lineSaid
	case m.ID == nil || isNull(m.ID):
		return lineNew
	}
	return lineKept
}

// addNew adds the messages and new notes of a batch, which are of one kind.
func (im *Importer) addNew(ctx context.Context, lines []ImportLine, results []ImportResult) error {
	var batch []*newLine
	for i, l := range lines {
		in, err := im.decodeNew(l.Raw)
		if err != nil {
			results[i].Err = lineFault(err)
			continue
		}
		in.at, in.line = i, l.Line
		batch = append(batch, in)
	}
	for len(batch) > 0 {
		n := 1
		for n < len(batch) && sameChoice(batch[n].infer, batch[0].infer) {
			n++
		}
		add := im.addNotes
		if batch[0].kind == lineSaid {
			add = im.addMessages
		}
		err := storeWhatFits(batch[:n], func(part []*newLine) error { return add(ctx, part, results) },
			func(l *newLine, err error) { results[l.at].Err = lineFault(err) })
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

func sameChoice(a, b *bool) bool { return (a == nil || *a) == (b == nil || *b) }

// addMessages adds messages. A message that is refused fails alone.
func (im *Importer) addMessages(ctx context.Context, batch []*newLine, results []ImportResult) error {
	for len(batch) > 0 {
		in := NewMessages{Infer: batch[0].infer}
		for _, l := range batch {
			in.Messages = append(in.Messages, l.said)
		}
		out, _, err := im.notes.addMessages(ctx, im.scope, &im.collection, in, memory.Request{})
		if err == nil {
			for i, l := range batch {
				n := &out.Messages[i]
				results[l.at].ID, results[l.at].Revision, results[l.at].Created = n.ID, n.From, !out.Found[i]
				im.byLine[l.line-1] = n.ID
			}
			return nil
		}
		left := refusedAlone(batch, err, results)
		if len(left) == len(batch) {
			return err
		}
		batch = left
	}
	return nil
}

// refusedAlone sets a fault about single messages on their lines, and returns the others.
func refusedAlone(batch []*newLine, err error, results []ImportResult) (left []*newLine) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return batch
	}
	mine := make([][]fault.Field, len(batch))
	for _, field := range f.Fields {
		place, name, _ := strings.Cut(strings.TrimPrefix(field.Field, "messages."), ".")
		if i, err := strconv.Atoi(place); err == nil && i >= 0 && i < len(batch) {
			mine[i] = append(mine[i], fault.Field{Field: name, Reason: field.Reason})
		}
	}
	for i, l := range batch {
		if mine[i] == nil {
			left = append(left, l)
			continue
		}
		results[l.at].Err = &fault.Error{Code: f.Code, Message: mine[i][0].Field + ": " + mine[i][0].Reason, Fields: mine[i]}
	}
	return left
}

// addNotes adds notes that have no id, as a bulk does. Their links wait for the end: they may be to later lines.
func (im *Importer) addNotes(ctx context.Context, batch []*newLine, results []ImportResult) error {
	lines := make([]BulkLine, len(batch))
	for i, l := range batch {
		lines[i].Note = l.note
	}
	out, err := im.notes.AddMany(ctx, im.scope, im.collection.ID.String(), lines)
	if err != nil {
		return err
	}
	for i, l := range batch {
		r := &results[l.at]
		r.ID, r.Revision, r.Created, r.Err, r.Warnings = out[i].ID, out[i].Revision, out[i].Created, out[i].Err, l.warnings
		if fault.Is(r.Err, fault.QuotaExceeded) && !isFull(r.Err) {
			return r.Err // the job is tried again when there is room
		}
		if r.Err != nil {
			continue
		}
		im.byLine[l.line-1] = r.ID
		if len(l.links) > 0 {
			im.waiting = append(im.waiting, waitingLinks{line: l.line, note: r.ID, links: l.links})
		}
	}
	return nil
}

// decodeNew reads a line of a message or of a new note.
func (im *Importer) decodeNew(raw []byte) (*newLine, error) {
	m, err := decodeMembers(raw)
	if err != nil {
		return nil, err
	}
	out := &newLine{kind: kindOf(raw)}
	r := importReader{now: im.notes.now(&im.collection)}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		value := m[field]
		switch {
		case isNull(value):
		case field == "infer":
			out.infer = new(readMember[bool](&r.reader, field, wantBool, value))
		case out.kind == lineSaid:
			out.readSaid(&r, field, value)
		default:
			r.field(field, value)
		}
	}
	if r.usage != (importUsage{}) || r.history != nil || !r.created.IsZero() {
		r.Addf("id", "is required for a note with usage, history or created_at")
	}
	if e := &r.exported; e.state != "" || e.supplied != nil || e.analyst != "" || e.sources != nil || e.stale || e.agent != "" {
		r.Addf("id", "is required for a note with state, supplied, analyst or provenance")
	}
	if k := r.in.Kind; k != "" && k != memory.KindNote && k != memory.KindMessage {
		r.Addf("id", "is required for a note of the kind %s", k)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	out.note, out.links, out.warnings = r.in, r.links, r.warnings
	out.note.ID, out.note.Infer = uuid.Nil, out.infer
	return out, nil
}

// readSaid reads a field of a message.
func (l *newLine) readSaid(r *importReader, field string, raw json.RawMessage) {
	switch field {
	case "id":
		l.said.ID = readMember[string](&r.reader, field, wantText, raw)
	case "role":
		l.said.Role = memory.Role(readMember[string](&r.reader, field, wantText, raw))
	case "name":
		l.said.Name = readMember[string](&r.reader, field, wantText, raw)
	case "content":
		l.said.Content = readMember[string](&r.reader, field, wantText, raw)
	case "session":
		l.said.Session = readMember[any](&r.reader, field, "a string or a number", raw)
	case "attributes":
		l.said.Attributes = readMember[map[string]any](&r.reader, field, wantObject, raw)
	case "occurred_at":
		l.said.OccurredAt = new(r.time(field, raw))
	case "expires_at":
		l.said.ExpiresAt = new(r.time(field, raw))
	case "ttl_seconds":
		l.said.TTLSeconds = new(readMember[int64](&r.reader, field, wantInt, raw))
	default:
		r.Addf(field, "unknown field")
	}
}
