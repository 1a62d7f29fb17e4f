package postgres

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestIDsAreBytes: an id is sent and read as its bytes, alone and in a list, and not by way of a text.
func TestIDsAreBytes(t *testing.T) { //nolint:paralleltest // it counts allocations
	m := pgtype.NewMap()
	registerIDs(m)
	id := uuid.New()
	buf := make([]byte, 0, 16)
	var value any = id
	if n := testing.AllocsPerRun(100, func() {
		if out, err := m.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, value, buf); err != nil || uuid.UUID(out) != id {
			t.Fatal(out, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations to send an id", n)
	}
	list := ids{id, uuid.Nil, uuid.New()}
	sent, err := m.Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var read ids
	if err := m.Scan(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, sent, &read); err != nil || len(read) != 3 || read[0] != id || read[2] != list[2] {
		t.Error(read, err)
	}
	one := id
	if err := m.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, nil, &one); err != nil || one != id {
		t.Error("NULL:", one, err)
	}
	text, err := m.Encode(pgtype.UUIDOID, pgtype.TextFormatCode, id, nil)
	if err != nil || string(text) != id.String() {
		t.Errorf("as a text %q, %v", text, err)
	}
}
