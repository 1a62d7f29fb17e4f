package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Scanner is a row of a result. The rows of both drivers are Scanners.
type Scanner interface{ Scan(dest ...any) error }

// ScanOne scans a row of one column.
func ScanOne[V any](row Scanner) (v V, err error) {
	err = row.Scan(&v)
	return v, err
}

// Time returns a destination for a column of times: microseconds since 1970, where 0 is none, in
// the embedded engine; timestamps, where NULL is none, on Postgres.
func Time(t *time.Time) sql.Scanner { return timeColumn{t, false} }

type timeColumn struct {
	t     *time.Time
	event bool // 0 is 1970
}

// Scan implements sql.Scanner.
func (c timeColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.t = time.Time{}
	case int64:
		*c.t = time.Time{}
		if v != 0 || c.event {
			*c.t = time.UnixMicro(v).UTC()
		}
	case time.Time:
		*c.t = v.UTC()
	default:
		return fmt.Errorf("a time cannot be read from %T", src)
	}
	return nil
}

// JSON returns a destination for a column of JSON, which is decoded into a value; "" and NULL
// leave the value as it is. A *string gets the text.
func JSON(into any) sql.Scanner { return jsonColumn{into} }

type jsonColumn struct{ into any }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(src any) error {
	s, isText := c.into.(*string)
	if v, ok := src.(string); ok && isText {
		*s = v
		return nil
	}
	var text []byte
	switch v := src.(type) {
	case nil:
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("JSON cannot be read from %T", src)
	}
	if isText {
		*s = string(text)
		return nil
	}
	if len(text) == 0 {
		return nil
	}
	if raw, ok := c.into.(*json.RawMessage); ok {
		*raw = append(json.RawMessage(nil), text...)
		return nil
	}
	return json.Unmarshal(text, c.into)
}

// ObjectColumn returns a destination for a column of JSON objects, where "" and NULL are none.
func ObjectColumn(into *map[string]any) sql.Scanner { return objectColumn{into} }

type objectColumn struct{ into *map[string]any }

// Scan implements sql.Scanner.
func (c objectColumn) Scan(src any) (err error) {
	var text string
	if err := JSON(&text).Scan(src); err != nil {
		return err
	}
	*c.into, err = ObjectOf(text)
	return err
}
