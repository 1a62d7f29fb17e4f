package document

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Limits bound what one file may cost.
type Limits struct {
	Bytes  int64         `json:"bytes"`  // of the file; default 50 MiB
	Text   int           `json:"text"`   // bytes of the text; default 16 MiB
	Pages  int           `json:"pages"`  // default 5,000
	Memory uint64        `json:"memory"` // of the process that parses; default 768 MiB
	Time   time.Duration `json:"time"`   // default 60 s
}

// OrDefault returns the limits with defaults for those that are zero.
func (l Limits) OrDefault() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 50<<20), Text: cmp.Or(l.Text, 16<<20), Pages: cmp.Or(l.Pages, 5_000),
		Memory: cmp.Or(l.Memory, 768<<20), Time: cmp.Or(l.Time, 60*time.Second),
	}
}

// Media is a media type that can be read.
type Media string

// The media types.
const (
	Plain    Media = "text/plain"
	Markdown Media = "text/markdown"
	HTML     Media = "text/html"
	CSV      Media = "text/csv"
	PDF      Media = "application/pdf"
	DOCX     Media = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
)

// extensions are the media types by the ends of names.
var extensions = map[string]Media{
	".txt": Plain, ".text": Plain, ".log": Plain, ".md": Markdown, ".markdown": Markdown, ".html": HTML, ".htm": HTML, ".xhtml": HTML,
	".csv": CSV, ".pdf": PDF, ".docx": DOCX,
}

// MediaOf returns the media type of a file, from its name or, when that says nothing, from its first bytes.
// Unsupported for what cannot be read.
func MediaOf(name string, head []byte) (Media, error) {
	if m, ok := extensions[strings.ToLower(path.Ext(name))]; ok {
		return m, nil
	}
	start := strings.ToLower(string(bytes.TrimSpace(head[:min(len(head), 64)])))
	switch {
	case strings.HasPrefix(start, "%pdf-"):
		return PDF, nil
	case strings.HasPrefix(start, "<!doctype html"), strings.HasPrefix(start, "<html"):
		return HTML, nil
	case isText(head), isUTF16(head):
		return Plain, nil
	}
	return "", fault.New(fault.Unsupported, "the file is none of .txt, .md, .html, .csv, .docx and .pdf")
}

// isText reports whether the first part of a file is UTF-8 without control characters.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 && (len(head) >= utf8.UTFMax || utf8.FullRune(head)) {
			return false
		}
		if r < ' ' && !unicode.IsSpace(r) {
			return false
		}
		head = head[size:]
	}
	return true
}

// Extract returns the text of a file by page; formats without pages have one. Every line ends with "\n" and has no
// space behind it. Invalid with a sentence for the caller when the file cannot be read, TooLarge when it is
// over a limit. It is for [ServeChild]: it may hang, and grow. The cache is that of NewParser.
func Extract(media Media, data []byte, l Limits, cache string) (pages []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			pages, err = nil, fault.Wrap(fmt.Errorf("panic: %v", p), fault.Invalid, "the file is damaged")
		}
	}()
	l = l.OrDefault()
	if int64(len(data)) > l.Bytes {
		return nil, fault.New(fault.TooLarge, "the file has more than %d bytes", l.Bytes)
	}
	switch media {
	case Plain, Markdown:
		var text string
		text, err = decode(data, nil)
		pages = strings.Split(text, "\f")
	case HTML:
		pages, err = fromHTML(data)
	case CSV:
		pages, err = fromCSV(data, l)
	case DOCX:
		pages, err = fromDOCX(data, l)
	case PDF:
		pages, err = fromPDF(data, l, cache)
	default:
		return nil, fault.New(fault.Unsupported, "files of the type %q cannot be read", media)
	}
	if err != nil {
		return nil, err
	}
	size, blank := 0, true
	for i := range pages {
		pages[i] = clean(pages[i])
		size += len(pages[i])
		blank = blank && strings.TrimSpace(pages[i]) == ""
	}
	switch {
	case size > l.Text:
		return nil, tooMuchText(l)
	case len(pages) > l.Pages:
		return nil, fault.New(fault.TooLarge, "the file has more than %d pages", l.Pages)
	case blank:
		return nil, fault.New(fault.Invalid, "the file has no text; one that was scanned has only pictures of it")
	}
	return pages, nil
}

func tooMuchText(l Limits) error {
	return fault.New(fault.TooLarge, "the file has more than %d bytes of text", l.Text)
}

// maxLine is how many characters a line has before it continues in the next one.
const maxLine = 4_000

// clean returns text with line ends of one kind, without control characters, trailing spaces and more than one
// blank line in a row.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"), "\r", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u00a0':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
	var b strings.Builder
	blank := 1
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, " \t\n")
		if line == "" {
			if blank++; blank > 1 {
				continue
			}
		} else {
			blank = 0
		}
		for len(line) > maxLine {
			at := cutAt(line)
			b.WriteString(strings.TrimRight(line[:at], " \t") + "\n")
			line = strings.TrimLeft(line[at:], " \t")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// cutAt returns where a long line is cut: behind its last space below maxLine, or else between two characters.
func cutAt(line string) int {
	if at := strings.LastIndexAny(line[:maxLine], " \t"); at > 0 {
		return at
	}
	at := maxLine
	for !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}
