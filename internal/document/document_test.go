package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

func TestMain(m *testing.M) {
	ServeChild() // the tests start this binary again to parse
	os.Exit(m.Run())
}

// pdfOf returns a PDF with a line of text on each page; trailer is added to its trailer. packed are compressed contents of
// the pages instead.
func pdfOf(lines []string, trailer string, packed ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids []string
	for i := range lines {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(lines))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, line := range lines {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		stream, how := "BT /F1 12 Tf 72 720 Td ("+line+") Tj ET", ""
		if i < len(packed) {
			stream, how = packed[i], " /Filter /FlateDecode"
		}
		object("<< /Length %d%s >>\nstream\n%s\nendstream", len(stream), how, stream)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, x := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", x)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, trailer, start)
	return b.Bytes()
}

// Each format in a process of its own, with what it may not contain.
func TestChild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		want string // pages with "|" between them
	}{
		"a.txt":  {[]byte("\xef\xbb\xbfone\r\ntwo  \n\n\n\nthree\x00"), "one\ntwo\n\nthree\n"},
		"b.md":   {[]byte("# Title\f\nnext"), "# Title\n|next\n"},
		"c.html": {[]byte("<title>x</title><h1>Title</h1><script>steal()</script><style>p{}</style><p>Some <b>bold</b> text"), "# Title\n\nSome **bold** text\n"},
		"d.csv":  {[]byte("name;city\nNora;Porto\nBo;\n"), "name, city\nname: Nora; city: Porto;\nname: Bo;\n"},
		"e.pdf":  {pdfOf([]string{"First page", "Second page"}, ""), "First page\n|Second page\n"},
	} {
		media, err := MediaOf(name, c.data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewParser(DefaultCache()).Parse(t.Context(), media, c.data, Limits{})
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, %v", name, strings.Join(got, "|"), err)
		}
	}
}

// What cannot be read says so; nothing crashes this process.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	pdf := pdfOf([]string{"Some text"}, "")
	for name, c := range map[string]struct {
		media Media
		data  []byte
		code  fault.Code
	}{
		"no UTF-8":      {Plain, []byte("\xff\xfe"), fault.Invalid},
		"blank":         {Markdown, []byte(" \n"), fault.Invalid},
		"cut PDF":       {PDF, pdf[:len(pdf)/2], fault.Invalid},
		"encrypted PDF": {PDF, pdfOf([]string{"x"}, "/Encrypt << /Filter /Standard /V 1 /R 2 /O (12345678901234567890123456789012) /U (12345678901234567890123456789012) /P -1 >> /ID [(a) (a)]"), fault.Invalid},
		"no PDF":        {PDF, []byte("%PDF-1.4"), fault.Invalid},
		"no DOCX":       {DOCX, []byte("PK"), fault.Invalid},
		"unknown":       {"image/png", []byte("x"), fault.Unsupported},
	} {
		if _, err := NewParser(DefaultCache()).Parse(t.Context(), c.media, c.data, Limits{}); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := bytes.Repeat([]byte("words and words\n"), 1000)
	for name, l := range map[string]Limits{"bytes": {Bytes: 10}, "text": {Text: 1000}, "memory": {Memory: 1 << 20}, "time": {Time: time.Nanosecond}} {
		if _, err := NewParser(DefaultCache()).Parse(t.Context(), Plain, text, l); !fault.Is(err, fault.TooLarge) {
			t.Errorf("over the limit of %s: %v", name, err)
		}
	}
	if _, err := NewParser(DefaultCache()).Parse(t.Context(), Plain, bytes.Repeat([]byte("a\f"), 100), Limits{Pages: 10}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("over the limit of pages: %v", err)
	}
}

// zipOf returns an archive with a DOCX's part of text.
func zipOf(t *testing.T, part string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(docxPart)
	if err == nil {
		_, err = w.Write([]byte(part))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Nothing of a page runs where its Markdown is shown.
func TestScripts(t *testing.T) {
	t.Parallel()
	page := `<h1 onclick="steal()">Title</h1><a href="javascript:steal()">one</a> <a href="JaVa&#9;Script:steal()">two</a> <a href=" data:text/html,<b>steal</b>">three</a>` +
		`<img src="x.png" onerror="steal()" alt="pic"><iframe src="steal"></iframe><svg><script>steal()</script></svg><template><p>steal</p></template><!-- steal -->` +
		`<script src="x">steal()</script ><style>steal{}</style><object data="steal"></object><a href="https://example.com/a:b">four</a>`
	got, err := Extract(HTML, []byte(page), Limits{}, "")
	if want := "# Title\n\none two three![pic](x.png)[four](https://example.com/a:b)\n"; err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("the text is %q (%v)", got, err)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{strings.Repeat("字", 5_000), strings.Repeat("word ", 3_000)} {
		got, err := Extract(Plain, []byte(line), Limits{}, "")
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.Lines(got[0]) {
			if len(part) > maxLine+1 {
				t.Errorf("a line has %d bytes", len(part))
			}
		}
		if squeeze := strings.NewReplacer("\n", "", " ", ""); squeeze.Replace(got[0]) != squeeze.Replace(line) {
			t.Error("the text has changed")
		}
	}
}
