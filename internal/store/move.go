package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/google/uuid"
)

// Mover exports and imports a whole store, row by row, in a form that no engine owns. It crosses
// tenants: it is for the operator's tools only.
type Mover interface {
	// Export calls fn for every row of one snapshot: tables in the order of Tables, rows in the
	// order of their keys. Running jobs are exported as waiting ones. fn may use a row until it
	// returns.
	Export(ctx context.Context, fn func(Row) error) error
	// Import stores the rows that next returns until io.EOF, in the same order, in one transaction:
	// all of them or, with any other error, none. A store that holds anything but signing keys is a
	// Conflict.
	Import(ctx context.Context, next func() (Row, error)) error
}

// Holds reports whether a store has the rows that next returns until io.EOF and no others, signing keys apart. Rows of both sides
// are compared after adjust has changed them.
func Holds(ctx context.Context, m Mover, next func() (Row, error), adjust func(Row)) (bool, error) {
	expected := func() (Row, error) {
		for {
			if r, err := next(); err != nil || r.Table.Name != "signing_keys" {
				return r, err
			}
		}
	}
	same := true
	err := m.Export(ctx, func(r Row) error {
		if r.Table.Name == "signing_keys" {
			return nil
		}
		r.requeue()
		want, err := expected()
		if err == nil {
			adjust(r)
			adjust(want)
			same, err = sameRow(r, want)
		}
		if err == nil && !same {
			err = io.EOF
		}
		same = same && err == nil
		return err
	})
	if !same || err != nil {
		return false, err
	}
	_, err = expected()
	return errors.Is(err, io.EOF), nil
}

// sameRow compares two rows as they are written to a file.
func sameRow(a, b Row) (bool, error) {
	if a.Table != b.Table {
		return false, nil
	}
	for i := range a.Values {
		x, errX := encodeValue(&a.Table.Columns[i], a.Values[i])
		y, errY := encodeValue(&a.Table.Columns[i], b.Values[i])
		if err := errors.Join(errX, errY); err != nil || !reflect.DeepEqual(x, y) {
			return false, err
		}
	}
	return true, nil
}

// Row is a row of a table.
type Row struct {
	Table *Table
	// Values of the columns, in their order; see Kind.
	Values []any
}

// Kind names the kind of values of a column.
type Kind string

// The kinds, with the Go type of a value. In an optional column, nil is none.
const (
	KindID     Kind = "id"     // uuid.UUID
	KindText   Kind = "text"   // string: UTF-8 without U+0000
	KindInt    Kind = "int"    // int64
	KindReal   Kind = "real"   // float64, finite
	KindBool   Kind = "bool"   // bool
	KindTime   Kind = "time"   // time.Time in UTC, in whole microseconds, of the years 0 to 9999
	KindEvent  Kind = "event"  // a time where 1970 is possible, in columns where other times keep 0 for none
	KindObject Kind = "object" // string: a JSON object; equal ones are the same text
	KindJSON   Kind = "json"   // string: any JSON, as it was written
	KindTexts  Kind = "texts"  // []string
	KindBytes  Kind = "bytes"  // []byte
	KindHalf   Kind = "half"   // []byte: a vector as Halves writes it
	KindCodes  Kind = "codes"  // []byte: token directions, see checkTokens
)

// Column is a column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// Table is a table of the schema.
type Table struct {
	Name    string
	Columns []Column
	// Key is how many of the first columns identify a row.
	Key int

	platform bool   // rows may have the zero tenant
	owner    string // the column with the id of a collection that must exist
	mentions string // the column with the id of a collection that may be gone
}

// Index returns the position of a column, -1 when there is none.
func (t *Table) Index(column string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == column {
			return i
		}
	}
	return -1
}

// Names lists the columns.
func (t *Table) Names() []string {
	out := make([]string, len(t.Columns))
	for i := range t.Columns {
		out[i] = t.Columns[i].Name
	}
	return out
}

// compare orders rows by their keys, texts and ids by their bytes.
func (t *Table) compare(a, b []any) int {
	for i := range t.Key {
		var c int
		switch x := a[i].(type) {
		case uuid.UUID:
			y, _ := b[i].(uuid.UUID)
			c = bytes.Compare(x[:], y[:])
		case string:
			y, _ := b[i].(string)
			c = strings.Compare(x, y)
		case int64:
			y, _ := b[i].(int64)
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// MoveSchema is the number of the newest migration, whose tables Tables lists. A test compares them
// with the schema of each engine.
const MoveSchema = 9

// Tables lists every table of the schema; a table that others refer to comes before them.
func Tables() []*Table { return tables }

// parseColumns parses columns from words "name:kind"; the kind of an optional column ends with "?".
func parseColumns(text string) []Column {
	words := strings.Fields(text)
	out := make([]Column, len(words))
	for i, w := range words {
		name, kind, _ := strings.Cut(w, ":")
		kind, optional := strings.CutSuffix(kind, "?")
		out[i] = Column{Name: name, Kind: Kind(kind), Optional: optional}
	}
	return out
}

var tables = []*Table{
	{Name: "tenants", Key: 1, Columns: parseColumns("id:id name:text state:text limits:object created_at:time allowed_hosts:text")},
	{Name: "signing_keys", Key: 1, Columns: parseColumns("kid:text public:bytes wrapped:bytes created_at:time retires_at:time? expires_at:time?")},
	{Name: "agents", Key: 2, Columns: parseColumns("tenant:id id:id name:text display_name:text created_at:time")},
	{Name: "api_keys", Key: 2, platform: true, Columns: parseColumns(`tenant:id id:id name:text prefix:text hash:bytes permissions:texts agent:id
 created_at:time expires_at:time? revoked_at:time? rotated_to:id external_user:text external_agent:text external_app:text external_run:text`)},
	{Name: "collections", Key: 2, Columns: parseColumns(`tenant:id id:id agent:id name:text display_name:text policy:text policy_config:json?
 embedder:text dim:int reembedded:id metadata:object? ephemeral:bool state:text parent:id parent_revision:int expires_at:time? created_at:time
 external_user:text external_agent:text external_app:text external_run:text fork_of:id fork_revision:int lineage:text words:text`)},
	{Name: "collection_heads", Key: 2, owner: "collection", Columns: parseColumns(`tenant:id collection:id head:int floor:int origin:int job_seq:int evolved_adds:int
 erase_epoch:int counted:bool v_notes:int v_links:int v_pending:int v_in_review:int v_bytes:int v_kinds:object s_notes:int s_links:int s_bytes:int s_hidden:int next_expiry:time? written_at:time`)},
	{Name: "changesets", Key: 3, owner: "collection", Columns: parseColumns(`tenant:id collection:id revision:int at:time actor:text job:id trigger:id cause:text
 undoes:int merged_from:json?`)},
	{Name: "notes", Key: 4, owner: "layer", Columns: append(parseColumns("tenant:id"), NoteColumns()...)},
	{Name: "links", Key: 6, owner: "layer", Columns: parseColumns(`tenant:id layer:id source:id relation:text target:id from_rev:int to_rev:int deleted:bool
 confidence:real attributes:object? created_at:time`)},
	{Name: "vectors", Key: 5, owner: "layer", Columns: parseColumns("tenant:id layer:id note:id from_rev:int embedder:text vec:half tokens:codes")},
	{Name: "usage", Key: 3, owner: "layer", Columns: parseColumns("tenant:id layer:id note:id access_count:int last_access:time? strength:real heat:real")},
	{Name: "jobs", Key: 2, mentions: "collection", Columns: parseColumns(`tenant:id id:id collection:id note:id kind:text stage:text state:text seq:int attempts:int
 payload:json? result:json? progress:json? error:text not_before:time? lease:id lease_until:time? created_at:time finished_at:time? claims:int losses:int alone:int trace:text
 awaits:id claimed_at:time? worked:int`)},
	{Name: "reviews", Key: 2, owner: "collection", Columns: parseColumns(`tenant:id id:id collection:id job:id trigger:id state:text confidence:real changes:json read:json
 revision:int reason:text actor:text created_at:time closed_at:time?`)},
	{Name: "attachments", Key: 3, owner: "collection", mentions: "home", Columns: parseColumns("tenant:id collection:id block:id home:id label:text mode:text at:time")},
	{Name: "snapshots", Key: 3, owner: "collection", Columns: parseColumns("tenant:id collection:id name:text revision:int created_at:time")},
	{Name: "tools", Key: 2, Columns: parseColumns("tenant:id id:id name:text spec:json created_at:time updated_at:time")},
	{Name: "webhooks", Key: 2, Columns: parseColumns("tenant:id id:id collection:id url:text events:json secrets:bytes created_at:time updated_at:time")},
	{Name: "deliveries", Key: 3, Columns: parseColumns(`tenant:id webhook:id id:id collection:id revision:int event:text state:text attempts:int status:int error:text
 created_at:time updated_at:time next_at:time?`)},
	{Name: "grants", Key: 2, Columns: parseColumns(`tenant:id id:id api_key:id agent:id client:text client_hash:bytes redirect:text resource:text permissions:texts
 external_user:text external_agent:text challenge:text code:bytes family:bytes refresh:bytes created_at:time used_at:time? expires_at:time`)},
	{Name: "audit", Key: 2, platform: true, Columns: parseColumns("tenant:id id:int at:time actor:text action:text target:text detail:object?")},
	{Name: "idempotency", Key: 5, platform: true, Columns: parseColumns(`tenant:id agent:id method:text path:text key:text body_hash:bytes ids:json? at:time`)},
	{Name: "model_use", Key: 4, platform: true, mentions: "collection", Columns: parseColumns(`tenant:id day:text collection:id purpose:text calls:int
 prompt_tokens:int completion_tokens:int`)},
	{Name: "spool", Key: 4, Columns: parseColumns("tenant:id job:id name:text part:int at:time data:bytes")},
}
