package transfer

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxElement bounds what is decoded in one piece, in bytes: a conversation, a day of a channel.
const maxElement = 128 << 20

// section is a part of a text, which is closed with it.
type section struct {
	*io.SectionReader
	io.Closer
}

// part opens a part of a file; to -1 is its end.
func (r *reading) part(name string, from, to int64) (*section, error) {
	t, err := r.source.open(name)
	if err != nil {
		return nil, err
	}
	n := int64(1 << 62)
	if to >= 0 {
		n = to - from
	}
	return &section{io.NewSectionReader(t, from, n), t}, nil
}

// metered fails when more is read than an element may have.
type metered struct {
	io.Reader
	n int
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.n += n; m.n > maxElement {
		return 0, fault.New(fault.TooLarge, "one conversation of the export has more than %d MiB", maxElement>>20)
	}
	return n, err
}

// stream is a JSON text that is read element by element.
type stream struct {
	*json.Decoder

	meter *metered
	name  string
}

func newStream(in io.Reader, name string) *stream {
	meter := &metered{Reader: in}
	return &stream{json.NewDecoder(meter), meter, name}
}

// broken says what is wrong with a text that is not JSON, or not all of it.
func (s *stream) broken(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	wrong, typed := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return f
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(err, fault.Invalid, "%s is cut off: it can be read up to byte %d, so nothing of it is imported; export it again", s.name, s.InputOffset())
	case typed:
		return fault.Wrap(err, fault.Invalid, "%s has %q of another type than such an export has, near byte %d", s.name, wrong.Field, s.InputOffset())
	}
	return fault.Wrap(err, fault.Invalid, "%s is damaged near byte %d, so nothing of it is imported; export it again", s.name, s.InputOffset())
}

// elements calls each before every element of the list that comes next. each decodes it.
func (s *stream) elements(each func() error) error {
	if t, err := s.Token(); err != nil || t != json.Delim('[') {
		if err == nil {
			err = fault.New(fault.Invalid, "%s is not an export of this format: a list is missing near byte %d", s.name, s.InputOffset())
		}
		return s.broken(err)
	}
	for s.More() {
		s.meter.n = 0
		if err := each(); err != nil {
			return s.broken(err)
		}
	}
	_, err := s.Token()
	return s.broken(err)
}

// members calls each for the members of the object that comes next. each decodes the value, or skips it.
func (s *stream) members(each func(name string) error) error {
	if t, err := s.Token(); err != nil || t != json.Delim('{') {
		if err == nil {
			err = fault.New(fault.Invalid, "%s is not an export of this format: an object is missing near byte %d", s.name, s.InputOffset())
		}
		return s.broken(err)
	}
	for s.More() {
		name, err := s.Token()
		if err != nil {
			return s.broken(err)
		}
		text, _ := name.(string)
		if err := each(text); err != nil {
			return s.broken(err)
		}
	}
	_, err := s.Token()
	return s.broken(err)
}

// skip reads over a value without keeping it.
func (s *stream) skip() error {
	for depth := 0; ; {
		s.meter.n = 0
		t, err := s.Token()
		if err != nil {
			return s.broken(err)
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// end fails when something follows the value that was read.
func (s *stream) end() error {
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "%s has more after its end, near byte %d; export it again", s.name, s.InputOffset())
	}
	return nil
}

// stream reads a file as JSON, all of it.
func (r *reading) stream(name string, read func(s *stream) error) error {
	in, err := r.part(name, 0, -1)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	s := newStream(in, name)
	if err := read(s); err != nil {
		return err
	}
	return s.end()
}

// isList reports whether a file is a JSON list.
func (r *reading) isList(name string) bool {
	return strings.HasPrefix(strings.TrimSpace(r.source.head(name)), "[")
}

// list decodes the elements of a list one by one, with the position of each.
func list[T any](r *reading, name string, each func(v *T, from, to int64) error) error {
	return r.stream(name, func(s *stream) error { return decodeList(r, s, each) })
}

// decodeList is list for the list that comes next in a stream.
func decodeList[T any](r *reading, s *stream, each func(v *T, from, to int64) error) error {
	return s.elements(func() error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var raw json.RawMessage
		if err := s.Decode(&raw); err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		to := s.InputOffset()
		return each(&v, to-int64(len(raw)), to)
	})
}

// decodePart decodes one element, by its position.
func decodePart[T any](r *reading, name string, p piece) (v T, err error) {
	in, err := r.part(name, p.from, p.to)
	if err != nil {
		return v, err
	}
	defer func() { _ = in.Close() }()
	s := newStream(in, name)
	err = s.broken(s.Decode(&v))
	return v, err
}

// decodeFile decodes a small file; one that does not exist decodes to nothing.
func decodeFile[T any](r *reading, name string) (v T, err error) {
	if name == "" {
		return v, nil
	}
	return decodePart[T](r, name, piece{to: -1})
}

// begins reports whether a text is JSON whose beginning has these members, with any values.
func begins(head string, open byte, members ...string) bool {
	head = strings.TrimSpace(head)
	if head == "" || head[0] != open {
		return false
	}
	for _, m := range members {
		if !strings.Contains(head, `"`+m+`"`) {
			return false
		}
	}
	return true
}
