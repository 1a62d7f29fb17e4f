package postgres

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// nullTime returns a time where NULL is none.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(store.Micros(t))
}

// orNull returns NULL for the empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nullJSON returns a JSON text where NULL is none.
func nullJSON(m json.RawMessage) *string {
	if len(m) == 0 {
		return nil
	}
	return new(string(m))
}

// maxDim is how many dimensions fit in a page of 8 KiB beside the other columns of vectors, with
// names of embedders of up to 200 bytes.
const maxDim = 3900

// storable reports whether a column can hold the text. What cannot be stored is not found; the
// server would refuse the query.
func storable(s string) bool { return store.Text("", s) == nil }

// rev returns a revision as an integer; revisions compare as integers.
func rev(r memory.Revision) int64 { return int64(r) }

// params collects the arguments of a statement and numbers them.
type params struct{ args []any }

// add returns the placeholder of a further argument.
func (p *params) add(v any) string {
	p.args = append(p.args, v)
	return "$" + strconv.Itoa(len(p.args))
}

// ids is a list of ids as the driver takes it for uuid[].
type ids = []uuid.UUID

// uuidCodec writes and reads the 16 bytes of an id. The driver would go through its text, and each time first fail to send that.
type uuidCodec struct{ pgtype.UUIDCodec }

// registerIDs makes the driver use uuidCodec.
func registerIDs(m *pgtype.Map) {
	one := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	m.RegisterType(one)
	m.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: one}})
}

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return idPlan{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return idPlan{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

type idPlan struct{}

// Encode implements pgtype.EncodePlan.
func (idPlan) Encode(value any, buf []byte) ([]byte, error) {
	id := value.(uuid.UUID) //nolint:errcheck,forcetypeassert // the plan is of this type
	return append(buf, id[:]...), nil
}

// Scan implements pgtype.ScanPlan. As in uuid.UUID, NULL changes nothing.
func (idPlan) Scan(src []byte, target any) (err error) {
	if src != nil {
		*target.(*uuid.UUID), err = uuid.FromBytes(src) //nolint:errcheck,forcetypeassert // the plan is of this type
	}
	return err
}
