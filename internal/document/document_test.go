package document

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// parser is one for all tests, as a program has one for all files.
var parser = NewParser(DefaultCache())

// extract reads a file in this process, with the machine code that other tests compiled.
func extract(media Media, data []byte) ([]string, error) {
	return Extract(media, data, Limits{}, DefaultCache())
}

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
		"c.html": {[]byte("<title>x</title><h1>Title</h1><script>steal()</script><style>p{}</style><p>Some <b>bold</b> text"), "x\n\n# Title\n\nSome **bold** text\n"},
		"d.csv":  {[]byte("name;city\nNora;Porto\nBo;\n"), "name, city\nname: Nora; city: Porto;\nname: Bo;\n"},
		"e.pdf":  {pdfOf([]string{"First page", "Second page"}, ""), "First page\n|Second page\n"},
	} {
		media := must.Get(MediaOf(name, c.data))(t)
		got, err := parser.Parse(t.Context(), media, c.data, Limits{})
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, %v", name, strings.Join(got, "|"), err)
		}
	}
}

// Texts in the encoding that their first bytes or their heads name are read; what names none and is not UTF-8 is refused, with
// what to do.
func TestEncodings(t *testing.T) {
	t.Parallel()
	wide := func(order binary.AppendByteOrder, s string) []byte {
		var out []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	for name, c := range map[string]struct {
		media Media
		data  []byte
		want  string // "": refused
	}{
		"UTF-16, little end first":   {Plain, wide(binary.LittleEndian, "Ольга 💡\r\nis here"), "Ольга 💡\nis here\n"},
		"UTF-16, big end first":      {Markdown, wide(binary.BigEndian, "# Ольга"), "# Ольга\n"},
		"a table as Unicode text":    {CSV, wide(binary.LittleEndian, "name\tcity\nOlga\tRīga\n"), "name, city\nname: Olga; city: Rīga;\n"},
		"half a character":           {Plain, append(wide(binary.LittleEndian, "Olga"), 'x'), ""},
		"a page in Latin-1":          {HTML, []byte("<meta charset='iso-8859-1'><p>caf\xe9"), "café\n"},
		"a page in an older form":    {HTML, []byte("<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'><p>\xcc\xe0\xff\xea"), "Маяк\n"},
		"a page in Shift JIS":        {HTML, []byte("<meta charset='shift_jis'><p>\x93\xfa\x96\x7b"), "日本\n"},
		"a page in ISO-2022-JP":      {HTML, []byte("<meta charset='iso-2022-jp'><p>\x1b$BF|K\\\x1b(B"), "日本\n"},
		"XHTML in Latin-1":           {HTML, []byte("<?xml version='1.0' encoding='ISO-8859-1'?><html><body>caf\xe9</body></html>"), "café\n"},
		"UTF-8 that says otherwise":  {HTML, []byte("<meta charset='iso-8859-1'><p>café"), "café\n"},
		"a page that names nothing":  {HTML, []byte("<p>caf\xe9 au lait"), ""},
		"a page that is not in it":   {HTML, []byte("<meta charset='utf-8'><p>caf\xe9 au lait"), ""},
		"a text in Latin-1":          {Plain, []byte("Le caf\xe9 est ferm\xe9."), ""},
		"a table in Windows-1252":    {CSV, []byte("Name;Stadt\nM\xfcller;K\xf6ln\n"), ""},
		"a text with other controls": {Plain, []byte("one\x01two"), "onetwo\n"},
	} {
		got, err := extract(c.media, c.data)
		switch {
		case c.want == "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "save it as UTF-8")):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.want != "" && (err != nil || got[0] != c.want):
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if m, err := MediaOf("export", wide(binary.LittleEndian, "Olga")); m != Plain {
		t.Errorf("UTF-16 without a known name is %q (%v)", m, err)
	}
}

// The cells of a row stay apart, and rows too.
func TestTables(t *testing.T) {
	t.Parallel()
	word := func(rows string) string {
		return "<w:document><w:tbl>" + rows + "</w:tbl><w:p><w:t>after</w:t></w:p></w:document>"
	}
	for name, c := range map[string]struct {
		media Media
		data  []byte
		want  string
	}{
		"a header":                 {HTML, []byte("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"), "| A | B |\n|---|---|\n| 1 | 2 |\n"},
		"none":                     {HTML, []byte("<table><tr><td>1<td>2<tr><td>3<td>4</table>"), "| 1 | 2 |\n|---|---|\n| 3 | 4 |\n"},
		"cells over rows, columns": {HTML, []byte("<table><tr><th>Item<th colspan=2>Price<tr><td rowspan=2>Bolt<td>1<td>2<tr><td>3<td>4</table>"), "| Item | Price | Price |\n|---|---|---|\n| Bolt | 1 | 2 |\n| Bolt | 3 | 4 |\n"},
		"cells over everything":    {HTML, []byte("<table><tr><td rowspan=99999999 colspan=99999999>a<td>b</table>"), "| a | b |\n|---|---|\n"},
		"lines in a cell":          {HTML, []byte("<table><tr><td>a<br>b<td><p>c<p>d</table>"), "| a b | c d |\n|---|---|\n"},
		"within emphasis":          {HTML, []byte("<b><table><tr><td>1<td>2<tr><td>3<td>4</table></b>"), "| 1 | 2 |\n|---|---|\n| 3 | 4 |\n"},
		"for the layout":           {HTML, []byte("<table role=presentation><tr><td>1<td>2<tr><td>3<td>4</table>"), "1\t2\n\n3\t4\n"},
		"within each other":        {HTML, []byte("<table><tr><td><table><tr><td>a<td>b</table><td>2<tr><td>3<td>4</table>"), "| a | b |\n|---|---|\n\n\t2\n\n3\t4\n"},
		"of Word": {DOCX, zipOf(t, word("<w:tr><w:tc><w:p><w:t>City</w:t></w:p></w:tc><w:tc><w:p><w:t>Price</w:t></w:p></w:tc></w:tr>"+
			"<w:tr><w:tc><w:p><w:t>Lyon</w:t></w:p><w:p><w:t>Part-Dieu</w:t></w:p></w:tc><w:tc><w:p><w:t>42 euros</w:t></w:p></w:tc></w:tr>")),
			"City\tPrice\nLyon Part-Dieu\t42 euros\nafter\n"},
	} {
		got, err := extract(c.media, c.data)
		if err != nil || got[0] != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Of a DOCX the headers, footers and footnotes are read, and each text once.
func TestDOCX(t *testing.T) {
	t.Parallel()
	para := func(s string) string { return "<w:p><w:t>" + s + "</w:t></w:p>" }
	data := zipOf(t, "<w:document>"+para("first")+`<w:br w:type="page"/><mc:AlternateContent><mc:Choice>`+para("a box")+"</mc:Choice><mc:Fallback>"+para("a box")+
		"</mc:Fallback></mc:AlternateContent></w:document>", "word/header1.xml", "<w:hdr>"+para("letterhead")+"</w:hdr>", "word/header2.xml", "<w:hdr>"+para("letterhead")+
		"</w:hdr>", "word/footer1.xml", "<w:ftr>"+para("imprint")+"</w:ftr>", "word/footnotes.xml", "<w:footnotes>"+para("a note")+"</w:footnotes>", "word/comments.xml", "<w:comments>"+para("no")+"</w:comments>")
	got, err := extract(DOCX, data)
	if want := "letterhead\nfirst\n|a box\nimprint\na note\n"; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%q, %v", got, err)
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
		if _, err := parser.Parse(t.Context(), c.media, c.data, Limits{}); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := bytes.Repeat([]byte("words and words\n"), 1000)
	for name, l := range map[string]Limits{"bytes": {Bytes: 10}, "text": {Text: 1000}, "memory": {Memory: 1 << 20}, "time": {Time: time.Nanosecond}} {
		if _, err := parser.Parse(t.Context(), Plain, text, l); !fault.Is(err, fault.TooLarge) {
			t.Errorf("over the limit of %s: %v", name, err)
		}
	}
	if _, err := parser.Parse(t.Context(), Plain, bytes.Repeat([]byte("a\f"), 100), Limits{Pages: 10}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("over the limit of pages: %v", err)
	}
}

// zipOf returns an archive with a DOCX's part of text, and others by their names.
func zipOf(t *testing.T, part string, others ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for of := range slices.Chunk(append([]string{docxPart, part}, others...), 2) {
		w, err := z.Create(of[0])
		if err == nil {
			_, err = w.Write([]byte(of[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
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
		got := must.Get(Extract(Plain, []byte(line), Limits{}, ""))(t)
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
