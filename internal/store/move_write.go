package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A moved store is a file of NDJSON. The first line is the header. Each table begins with a line
// that names the table and its columns; its rows follow, one array per line. The last line is the
// footer. The file has all tables, in the order of Tables, with rows in the order of their keys:
// two files of the same rows differ only in their headers.
const (
	moveFormat  = "slipbox-export"
	moveVersion = 1
	// MaxMoveLine bounds a line. Rows hold contents, documents and parts of imports, whose own
	// bounds are far lower.
	MaxMoveLine = 64 << 20
)

// MoveHeader is the first line.
type MoveHeader struct {
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	Schema    int64     `json:"schema"`
	Engine    string    `json:"engine"` // of the store that was exported
	CreatedAt time.Time `json:"created_at"`
	Build     string    `json:"build"`
}

// moveTable is the line before the rows of a table.
type moveTable struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// moveFooter is the last line.
type moveFooter struct {
	Rows map[string]int64 `json:"rows"`
	// SHA256 is the hash of the format, its version, the schema and all lines between header and
	// footer, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// moveSum returns the hash of a file, started with the relevant parts of its header.
func moveSum(h *MoveHeader) hash.Hash {
	sum := sha256.New()
	sum.Write(fmt.Appendf(nil, "%s %d %d\n", h.Format, h.Version, h.Schema))
	return sum
}

// MoveWriter writes the rows of a Mover to a file.
type MoveWriter struct {
	out  *bufio.Writer
	sum  hash.Hash
	line bytes.Buffer
	next int // the next table
	rows map[string]int64
}

// NewMoveWriter writes the header; engine and build describe the source.
func NewMoveWriter(w io.Writer, engine, build string, now time.Time) (*MoveWriter, error) {
	h := MoveHeader{Format: moveFormat, Version: moveVersion, Schema: MoveSchema, Engine: engine, CreatedAt: now.UTC().Truncate(time.Second), Build: build}
	m := &MoveWriter{out: bufio.NewWriterSize(w, 1<<18), sum: moveSum(&h), rows: map[string]int64{}}
	if err := m.put(h, false); err != nil {
		return nil, err
	}
	return m, nil
}

// Write writes a row. Rows come in the order of Export.
func (m *MoveWriter) Write(r Row) error {
	for m.next == 0 || tables[m.next-1] != r.Table {
		if m.next == len(tables) {
			return fault.New(fault.Internal, "a row of %s comes out of order", r.Table.Name)
		}
		if err := m.begin(); err != nil {
			return err
		}
	}
	r.requeue()
	values := make([]any, len(r.Values))
	for i, v := range r.Values {
		var err error
		if values[i], err = encodeValue(&r.Table.Columns[i], v); err != nil {
			return fault.Wrap(err, fault.Internal, "row %d of %s cannot be exported (key %v)", m.rows[r.Table.Name]+1, r.Table.Name, r.Values[:r.Table.Key])
		}
	}
	m.rows[r.Table.Name]++
	return m.put(values, true)
}

// begin writes the line that starts the next table.
func (m *MoveWriter) begin() error {
	t := tables[m.next]
	m.next++
	m.rows[t.Name] = 0
	return m.put(moveTable{Table: t.Name, Columns: t.Names()}, true)
}

// Close writes the footer. It does not close the underlying writer.
func (m *MoveWriter) Close() error {
	for m.next < len(tables) {
		if err := m.begin(); err != nil {
			return err
		}
	}
	if err := m.put(moveFooter{Rows: m.rows, SHA256: hex.EncodeToString(m.sum.Sum(nil))}, false); err != nil {
		return err
	}
	return writeError(m.out.Flush())
}

// writeError keeps an engine from taking the file's trouble for its own.
func writeError(err error) error {
	return fault.Wrap(err, fault.Unavailable, "the export cannot be written")
}

func (m *MoveWriter) put(v any, summed bool) error {
	m.line.Reset()
	e := json.NewEncoder(&m.line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	if m.line.Len() > MaxMoveLine {
		return fault.New(fault.TooLarge, "a row of %s takes %d bytes; at most %d can be moved", tables[max(m.next-1, 0)].Name, m.line.Len(), MaxMoveLine)
	}
	if summed {
		m.sum.Write(m.line.Bytes())
	}
	_, err := m.out.Write(m.line.Bytes())
	return writeError(err)
}
