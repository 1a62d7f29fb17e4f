package transfer

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Limits of a source.
const (
	maxFiles    = 200_000
	maxUnpacked = 4 << 30  // bytes of a file in a zip
	bombSize    = 64 << 20 // a file in a zip that unpacks to more is refused if it is packed more densely than bombRatio
	bombRatio   = 200
	maxInner    = 100      // zips in a zip
	sniffed     = 64 << 10 // bytes of a file by which its format is recognized
	maxText     = 16 << 20 // bytes of a text that is read in one piece
)

// Source is what a person has: a file, a zip or a folder.
type Source struct {
	name    string // of the file or folder, without its path
	files   []string
	fsys    fs.FS                // of a folder
	one     *os.File             // of a file
	zip     map[string]*zip.File // nil: no zip
	closers []io.Closer
	ready   map[string]string // by name: a file with the text in UTF-8
	plain   map[string]bool   // by name: it is UTF-8 itself
	temp    string            // folder of what was unpacked
	strange int               // names in a zip that point out of it, which are left out
}

// Open opens a file, a zip or a folder.
func Open(at string) (*Source, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f, err := os.Open(at)
		if err != nil {
			return nil, err
		}
		return FromFile(f, filepath.Base(at))
	}
	root, err := os.OpenRoot(at) // links out of the folder are not followed
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(at)
	if err != nil {
		return nil, err
	}
	s := &Source{name: filepath.Base(full), fsys: root.FS(), closers: []io.Closer{root}, ready: map[string]string{}, plain: map[string]bool{}}
	if err := s.walk(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// FromFile returns the source of a file, or of a zip. It closes the file.
func FromFile(f *os.File, name string) (*Source, error) {
	s := &Source{name: name, closers: []io.Closer{f}, ready: map[string]string{}, plain: map[string]bool{}}
	start := make([]byte, 4)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		s.Close()
		return nil, err
	}
	if string(start[:n]) == "PK\x03\x04" || string(start[:n]) == "PK\x05\x06" {
		err = s.openZip(f)
	} else {
		s.files, s.one, err = []string{name}, f, nil
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) openZip(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f, info.Size())
	if errors.Is(err, zip.ErrInsecurePath) {
		err = nil // such names are left out below, and nothing is written under a name of a zip
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "%s is a zip that is damaged or cut off; export it again", s.name)
	}
	s.zip = map[string]*zip.File{}
	if err := s.list(r, true); err != nil {
		return err
	}
	slices.Sort(s.files)
	return nil
}

// list adds the files of a zip. One that has zips alone, as Notion exports, is a wrapping of them.
func (s *Source) list(r *zip.Reader, outer bool) error {
	if len(r.File)+len(s.files) > maxFiles {
		return fault.New(fault.TooLarge, "%s has more than %d files", s.name, maxFiles)
	}
	wrapping := outer && len(r.File) > 0 && !slices.ContainsFunc(r.File, func(f *zip.File) bool { return !strings.EqualFold(path.Ext(f.Name), ".zip") })
	for _, file := range r.File {
		switch {
		case strings.HasSuffix(file.Name, "/"), hidden(file.Name):
		case !fs.ValidPath(file.Name) || strings.Contains(file.Name, `\`) || !file.Mode().IsRegular() || s.zip[file.Name] != nil:
			s.strange++
		case wrapping:
			if err := s.openInner(file); err != nil {
				return err
			}
		default:
			s.zip[file.Name] = file
			s.files = append(s.files, file.Name)
		}
	}
	return nil
}

// openInner adds the files of a zip in the zip.
func (s *Source) openInner(file *zip.File) error {
	s.zip[file.Name] = file
	defer delete(s.zip, file.Name)
	if size := file.UncompressedSize64; size > 2*file.CompressedSize64+1<<20 || len(s.closers) > maxInner { // zips are packed already
		return fault.New(fault.TooLarge, "%s unpacks to far more than it should; it is not an export", file.Name)
	}
	at, err := s.unpack(file.Name, nil)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, at)
	r, err := zip.NewReader(at, at.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return fault.Wrap(err, fault.Invalid, "%s in the zip is damaged or cut off; export it again", file.Name)
	}
	return s.list(r, false)
}

// hidden reports whether a file is one that programs keep for themselves.
func hidden(name string) bool {
	return strings.HasPrefix(name, "__MACOSX/") || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return len(part) > 1 && strings.HasPrefix(part, ".") && part != ".."
	})
}

func (s *Source) walk() error {
	return fs.WalkDir(s.fsys, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case hidden(at) && d.IsDir():
			return fs.SkipDir
		case hidden(at), !d.Type().IsRegular():
			return nil
		case len(s.files) == maxFiles:
			return fault.New(fault.TooLarge, "%s has more than %d files", s.name, maxFiles)
		}
		s.files = append(s.files, at)
		return nil
	})
}

// Zipped reports whether it is a zip.
func (s *Source) Zipped() bool { return s.zip != nil }

// Whole returns the text of the only file of a source, in UTF-8. TooLarge if it has more bytes than that.
func (s *Source) Whole(most int64) ([]byte, error) {
	if len(s.files) != 1 {
		return nil, fault.New(fault.Invalid, "%s has more than one file", s.name)
	}
	return s.text(s.files[0], most)
}

// text returns the text of a file. TooLarge if it has more bytes than that.
func (s *Source) text(name string, most int64) ([]byte, error) {
	in, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	raw, err := io.ReadAll(io.NewSectionReader(in, 0, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fault.New(fault.TooLarge, "%s has more than %d MiB; split it", name, most>>20)
	}
	return raw, err
}

// Close removes what was unpacked.
func (s *Source) Close() {
	for _, c := range s.closers {
		_ = c.Close()
	}
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}

// numberedName is a file's name with the number that a browser adds where there is a file of that name.
var numberedName = regexp.MustCompile(`^(.*\S) ?\(\d{1,2}\)((?:\.[^.]*)?)$`)

// unnumbered returns a name without such a number: it is of a newer export of the same.
func unnumbered(name string) string { return numberedName.ReplaceAllString(name, "$1$2") }

// stem returns a name without its ending and number.
func stem(name string) string {
	name = unnumbered(name)
	return strings.TrimSuffix(name, path.Ext(name))
}

// find returns the first file, from the top of the source, that has one of these names.
func (s *Source) find(names ...string) string {
	best := ""
	for _, at := range s.files {
		if slices.Contains(names, path.Base(at)) && (best == "" || strings.Count(at, "/") < strings.Count(best, "/")) {
			best = at
		}
	}
	return best
}

// has reports whether there is a file of this name beside another one.
func (s *Source) has(beside, name string) bool {
	_, found := slices.BinarySearch(s.files, path.Join(path.Dir(beside), name))
	return found
}

// head returns the beginning of a file, in UTF-8 as far as it goes.
func (s *Source) head(name string) string {
	f, err := s.raw(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	start, _ := io.ReadAll(io.LimitReader(f, sniffed))
	if e := encodingOf(start); e != nil {
		start, _ = io.ReadAll(transform.NewReader(bytes.NewReader(start), e.NewDecoder()))
	}
	return strings.ToValidUTF8(string(start), "")
}

// modified returns when a file was written; zero: unknown.
func (s *Source) modified(name string) time.Time {
	if s.zip != nil {
		return s.zip[name].Modified
	}
	stat := func() (fs.FileInfo, error) { return fs.Stat(s.fsys, name) }
	if s.one != nil {
		stat = s.one.Stat
	}
	info, err := stat()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (s *Source) raw(name string) (io.ReadCloser, error) {
	switch {
	case s.one != nil:
		at := io.NewSectionReader(s.one, 0, 1<<62)
		return struct {
			io.Reader
			shared
		}{at, shared{at}}, nil
	case s.zip == nil:
		return s.fsys.Open(name)
	}
	r, err := s.zip[name].Open()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "%s in the zip cannot be read: it is encrypted, or packed in a way that is not known", name)
	}
	return &unpacker{ReadCloser: r, file: s.zip[name]}, nil
}

// unpacker reads a file of a zip, and gives up when it is larger than an export is.
type unpacker struct {
	io.ReadCloser

	file *zip.File
	n    int64
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.n += int64(n)
	packed := max(1, int64(u.file.CompressedSize64)) //nolint:gosec // a size that lies only lowers the limit
	switch {
	case u.n > maxUnpacked, u.n > bombSize && u.n/packed > bombRatio:
		return 0, fault.New(fault.TooLarge, "%s unpacks to far more than it should; it is not an export", u.file.Name)
	case err != nil && !errors.Is(err, io.EOF):
		return n, fault.Wrap(err, fault.Invalid, "%s in the zip is damaged or cut off; export it again", u.file.Name)
	}
	return n, err
}

// text is a file in UTF-8 that is read at any position.
type text interface {
	io.ReaderAt
	io.Closer
}

// shared is a file that its source closes.
type shared struct{ io.ReaderAt }

func (shared) Close() error { return nil }

// open opens a file as text in UTF-8. What is packed or in another encoding is copied beside the system's temporary files first.
func (s *Source) open(name string) (text, error) {
	if at := s.ready[name]; at != "" {
		return os.Open(at)
	}
	from, err := s.raw(name)
	if err != nil {
		return nil, err
	}
	if at, ok := from.(text); ok && s.plain[name] {
		return at, nil
	}
	start, _ := io.ReadAll(io.LimitReader(from, sniffed))
	code := encodingOf(start)
	if code == nil {
		_, err = io.Copy(io.Discard, transform.NewReader(io.MultiReader(bytes.NewReader(start), from), encoding.UTF8Validator))
		if errors.Is(err, encoding.ErrInvalidUTF8) {
			code, err = charmap.Windows1252, nil // the superset of Latin-1 that programs mean by it
		}
	}
	if at, ok := from.(text); ok && code == nil && err == nil {
		s.plain[name] = true
		return at, nil
	}
	_ = from.Close()
	if err != nil {
		return nil, err
	}
	out, err := s.unpack(name, code)
	if err != nil {
		return nil, err
	}
	s.ready[name] = out.Name()
	return out, nil
}

// unpack writes a file as UTF-8 beside the system's temporary files, under a name of its own.
func (s *Source) unpack(name string, code encoding.Encoding) (*unpacked, error) {
	from, err := s.raw(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	var in io.Reader = from
	if code != nil {
		in = transform.NewReader(from, code.NewDecoder())
	}
	if s.temp == "" {
		if s.temp, err = os.MkdirTemp("", "slipbox-import-"); err != nil {
			return nil, err
		}
	}
	out, err := os.CreateTemp(s.temp, "text-")
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(out, in)
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return &unpacked{out, size}, nil
}

// unpacked is a file that was unpacked.
type unpacked struct {
	*os.File

	size int64
}

// bytes opens a file as it is, in any encoding.
func (s *Source) bytes(name string) (text, error) {
	if at := s.ready[rawMark+name]; at != "" {
		return os.Open(at)
	}
	from, err := s.raw(name)
	if err != nil {
		return nil, err
	}
	if at, ok := from.(text); ok {
		return at, nil
	}
	_ = from.Close()
	out, err := s.unpack(name, nil)
	if err != nil {
		return nil, err
	}
	s.ready[rawMark+name] = out.Name()
	return out, nil
}

// rawMark precedes the names of files that were unpacked as they are.
const rawMark = "\x00"

// encodingOf returns the encoding that the beginning of a file shows; nil: UTF-8, or one that shows nothing.
func encodingOf(start []byte) encoding.Encoding {
	if len(start) < 2 {
		return nil
	}
	zeros := [2]int{}
	for i, b := range start[:min(len(start), 512)] {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case bytes.HasPrefix(start, []byte{0xEF, 0xBB, 0xBF}):
		return unicode.UTF8BOM
	case bytes.HasPrefix(start, []byte{0xFF, 0xFE}), zeros[1] > 0 && zeros[0] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(start, []byte{0xFE, 0xFF}), zeros[0] > 0 && zeros[1] == 0:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}
