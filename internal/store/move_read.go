package store

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// MoveReader reads what MoveWriter wrote, and trusts none of it: every value has the kind of its
// column, rows are in order and unique, and the rows of a tenant refer only to that tenant. The
// engine's constraints and Verify find everything else that is wrong.
type MoveReader struct {
	Header MoveHeader

	in    *bufio.Reader
	sum   hash.Hash
	long  []byte // of a line that is longer than the buffer
	lines int64
	next  int // the next table
	last  []any
	rows  map[string]int64
	check moveCheck
	err   error // the error of Next, which is final
}

var errForeign = errors.New("it begins with another line")

// NewMoveReader reads the header. A file that is not an export is Malformed; one of another version or
// schema is a Conflict that says what to do.
func NewMoveReader(r io.Reader) (*MoveReader, error) {
	m := &MoveReader{in: bufio.NewReaderSize(r, 1<<18), rows: map[string]int64{}, check: newMoveCheck()}
	line, err := m.readLine()
	h := &m.Header
	if err == nil {
		err = json.Unmarshal(line, h)
	}
	if err == nil && h.Format != moveFormat {
		err = errForeign
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Malformed, "this is no file that `gateway export` wrote")
	}
	switch {
	case h.Version > moveVersion || h.Schema > MoveSchema && h.Schema != lastUnreleased:
		return nil, fault.New(fault.Conflict, "the file was written by a newer build (%s, schema %d; this one knows schema %d): import it with that build, or upgrade this one first", h.Build, h.Schema, MoveSchema)
	case h.Version < moveVersion || h.Schema != MoveSchema: // older, also when its number is from before the first release
		return nil, fault.New(fault.Conflict, "the file was written by an older build (%s, schema %d; this one needs schema %d): upgrade the installation that it comes from first, then export again", h.Build, h.Schema, MoveSchema)
	}
	m.sum = moveSum(h)
	return m, nil
}

// Next returns the rows in the order of the file, and io.EOF after the last one if the file is
// complete and unchanged. A file that was truncated, damaged or changed is Malformed or Invalid.
func (m *MoveReader) Next() (Row, error) {
	if m.err != nil {
		return Row{}, m.err
	}
	r, err := m.read()
	m.err = err
	return r, err
}

func (m *MoveReader) read() (Row, error) {
	for {
		line, err := m.readLine()
		if err != nil {
			return Row{}, m.truncated(err)
		}
		if line[0] == '[' && m.next > 0 {
			m.sum.Write(line)
			return m.row(line)
		}
		if m.next == len(tables) {
			return Row{}, m.end(line)
		}
		m.sum.Write(line)
		if err := m.begin(line); err != nil {
			return Row{}, err
		}
	}
}

// truncated explains why a line is missing.
func (m *MoveReader) truncated(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Malformed, "the file is cut off after line %d: its last line is missing", m.lines)
	}
	return fault.Wrap(err, fault.Malformed, "the file cannot be read on after line %d", m.lines)
}

// readLine returns a line with its end; it is valid until the next call.
func (m *MoveReader) readLine() ([]byte, error) {
	line, err := m.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		m.long = append(m.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = m.in.ReadSlice('\n')
			if m.long = append(m.long, line...); len(m.long) > MaxMoveLine {
				return nil, fault.New(fault.TooLarge, "line %d is longer than %d bytes", m.lines+1, MaxMoveLine)
			}
		}
		line = m.long
	}
	if err != nil {
		return nil, err
	}
	m.lines++
	return line, nil
}

// begin reads the line that starts the next table.
func (m *MoveReader) begin(line []byte) error {
	t := tables[m.next]
	var head moveTable
	if err := json.Unmarshal(line, &head); err != nil {
		return fault.Wrap(err, fault.Malformed, "line %d is not readable", m.lines)
	}
	if head.Table != t.Name {
		return fault.New(fault.Invalid, "line %d has the table %q where %q is expected", m.lines, head.Table, t.Name)
	}
	if !slices.Equal(head.Columns, t.Names()) {
		return fault.New(fault.Invalid, "line %d: the table %s has other columns than this build knows", m.lines, t.Name)
	}
	m.next++
	m.last, m.rows[t.Name] = nil, 0
	return nil
}

func (m *MoveReader) row(line []byte) (Row, error) {
	t := tables[m.next-1]
	wrong := func(err error) (Row, error) {
		return Row{}, fault.Wrap(err, fault.Invalid, "line %d, a row of %s, is not usable", m.lines, t.Name)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return Row{}, fault.Wrap(err, fault.Malformed, "line %d, a row of %s, is not readable", m.lines, t.Name)
	}
	if len(raw) != len(t.Columns) {
		return wrong(fault.New(fault.Invalid, "it has %d values for %d columns", len(raw), len(t.Columns)))
	}
	r := Row{Table: t, Values: make([]any, len(raw))}
	for i := range raw {
		var err error
		if r.Values[i], err = decodeValue(&t.Columns[i], raw[i]); err != nil {
			return wrong(err)
		}
	}
	if m.last != nil && t.compare(m.last, r.Values) >= 0 {
		return wrong(fault.New(fault.Invalid, "it is there twice, or out of order"))
	}
	if err := m.check.row(r); err != nil {
		return wrong(err)
	}
	m.last = slices.Clone(r.Values[:t.Key])
	m.rows[t.Name]++
	r.requeue()
	return r, nil
}

// end checks the footer and returns io.EOF when it is right.
func (m *MoveReader) end(line []byte) error {
	var f moveFooter
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fault.Wrap(err, fault.Malformed, "line %d is not readable", m.lines)
	}
	if f.SHA256 != hex.EncodeToString(m.sum.Sum(nil)) || !maps.Equal(f.Rows, m.rows) {
		return fault.New(fault.Malformed, "the file is damaged or was changed: its content does not fit its last line")
	}
	switch _, err := m.in.ReadByte(); {
	case err == nil:
		return fault.New(fault.Malformed, "the file goes on after its last line")
	case !errors.Is(err, io.EOF): // such as a checksum of gzip
		return m.truncated(err)
	}
	return io.EOF
}
