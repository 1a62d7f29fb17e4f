package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/test/must"
)

// Absent fields are absent: no optional field and no required list is null.
func TestNothingIsNull(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 30, 0, 123456789, time.FixedZone("", 3600))
	raw := must.Get(json.Marshal(wire.NoteCreated{Note: wire.Note{
		ID: uuid.Nil, Keywords: nonNilList[string](nil), Tags: nonNilList([]string{"a"}), Attributes: map[string]any{}, Links: nonNilList[wire.NoteLink](nil),
		Category: wire.Optional(""), Error: wire.Optional("why"), OccurredAt: wire.OptionalTime(time.Time{}), CreatedAt: wire.Time(at), UpdatedAt: *wire.OptionalTime(at),
	}}))(t)
	const want = `{"note":{"content":"","id":"00000000-0000-0000-0000-000000000000","kind":"","attributes":{},` +
		`"collection":"00000000-0000-0000-0000-000000000000","context":"","created_at":"2026-03-01T08:30:00.123456Z","error":"why","keywords":[],` +
		`"links":[],"revision":0,"state":"","tags":["a"],"updated_at":"2026-03-01T08:30:00.123456Z"},"revision":0}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}
