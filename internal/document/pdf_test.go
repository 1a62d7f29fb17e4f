//go:build !race

package document

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// objectsPDF returns a PDF of objects, which are numbered from 1 in their order; the first is its catalog.
func objectsPDF(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, x := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", x)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

// stream returns an object with contents.
func stream(dict, contents string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(contents), dict, contents)
}

const (
	catalog   = "<< /Type /Catalog /Pages 2 0 R >>"
	helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
	toUnicode = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Own def /CMapType 2 def 1 begincodespacerange " +
		"<0000> <FFFF> endcodespacerange 1 beginbfrange <0000> <FFFF> <0000> endbfrange endcmap end end"
)

// onePage returns a PDF of one page with entries of its own, the font F1 (object 4), contents (object 5), and more objects from 6.
func onePage(entries, font, contents string, more ...string) []byte {
	page := "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R " + entries
	if !strings.Contains(entries, "/Resources") {
		page += " /Resources << /Font << /F1 4 0 R >> >>"
	}
	return objectsPDF(append([]string{catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page + " >>", font, stream("", contents)}, more...)...)
}

// wide returns a composite font whose codes are UTF-16, in a writing mode (H, V), and entries that say what codes mean.
func wide(mode, entries string) string {
	return "<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-" + mode + " " + entries + " /DescendantFonts [<< /Type /Font " +
		"/Subtype /CIDFontType2 /BaseFont /Own /DW 600 /FontDescriptor << /Type /FontDescriptor /FontName /Own /Flags 4 /FontBBox [0 -200 1000 800] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>"
}

// codes returns a text as the codes of such a font.
func codes(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, "%04X", u)
	}
	return "<" + b.String() + ">"
}

// reversed returns a text from its last character to its first, as a program writes Hebrew and Arabic from left to right.
func reversed(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// What producers of PDFs write, and what is read of it: pages with "|" between them.
func TestPDF(t *testing.T) {
	t.Parallel()
	show := func(operators string) []byte { return onePage("", helvetica, "BT /F1 12 Tf "+operators+" ET") }
	own := func(text string) []byte {
		return onePage("", wide("H", "/ToUnicode 6 0 R"), "BT /F1 12 Tf 72 700 Td "+codes(text)+" Tj ET", stream("", toUnicode))
	}
	form := func(contents string) []byte {
		return onePage("/Resources << /XObject << /X 6 0 R >> /Font << /F1 4 0 R >> >>", helvetica, "/X Do BT /F1 12 Tf 72 500 Td (below it) Tj ET",
			stream("/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /Y 7 0 R >> /Font << /F1 4 0 R >> >>", contents),
			stream("/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >>", "BT /F1 12 Tf 72 600 Td (within it) Tj ET"))
	}
	first := show("72 700 Td (The old text) Tj")
	revised := func() []byte {
		next := "5 0 obj\n" + stream("", "BT /F1 12 Tf 72 700 Td (The new text) Tj ET") + "\nendobj\n"
		at := bytes.LastIndex(first, []byte("xref\n0")) // of the revision before
		return fmt.Appendf(slices.Clone(first), "%sxref\n5 1\n%010d 00000 n \ntrailer\n<< /Size 6 /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n",
			next, len(first), at, len(first)+len(next))
	}
	file := func(name string) []byte {
		data := must.Get(os.ReadFile("testdata/" + name))(t)
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"lines by moves":             {show("12 TL 72 700 Td (of the memo) Tj T* (second line) Tj (third) '"), "of the memo\nsecond line\nthird\n"},
		"spaces by kerning":          {show("72 700 Td [(The)-333(lighthouse)-333(k)28(eep)-28(er)]TJ 0 -12 Td (sleeps.) Tj"), "The lighthouse keeper\nsleeps.\n"},
		"words by their places":      {show("1 0 0 1 72 700 Tm (The) Tj 1 0 0 1 95 700 Tm (warden) Tj 1 0 0 1 140 700 Tm (sleeps) Tj"), "The warden sleeps\n"},
		"cells of a table":           {show("1 0 0 1 72 700 Tm (Bolt M8) Tj 1 0 0 1 200 700 Tm (0.42) Tj 1 0 0 1 300 700 Tm (1200) Tj"), "Bolt M8 0.42 1200\n"},
		"columns":                    {show("72 700 Td (left one) Tj 0 -14 Td (left two) Tj 250 14 Td (right one) Tj 0 -14 Td (right two) Tj"), "left one\nleft two\nright one\nright two\n"},
		"hyphens at line ends":       {show("72 700 Td (a light-) Tj 0 -14 Td (house with AES-) Tj 0 -14 Td (256, well\\255) Tj 0 -14 Td (known -) Tj"), "a lighthouse with AES-256, wellknown -\n"},
		"invisible text over a scan": {show("3 Tr 72 700 Td (from a scan) Tj"), "from a scan\n"},
		"replaced text":              {show("72 700 Td /Span << /ActualText (real) >> BDC (xxxx) Tj EMC"), "real\n"},
		"forms":                      {form("BT /F1 12 Tf 72 700 Td (in a form) Tj ET /Y Do"), "in a form\nwithin it\nbelow it\n"},
		"ligatures":                  {onePage("", strings.Replace(helvetica, "/WinAnsiEncoding", "<< /Differences [1 /fi /fl /ffi] >>", 1), "BT /F1 12 Tf 72 700 Td (\\001ne \\002ow of o\\003ce) Tj ET"), "fine flow of office\n"},
		"Japanese, Adobe's codes":    {onePage("", strings.NewReplacer("Identity-H", "UniJIS-UCS2-H", "(Identity)", "(Japan1)").Replace(wide("H", "")), "BT /F1 12 Tf 72 700 Td "+codes("返品は三十日以内")+" Tj ET"), "返品は三十日以内\n"},
		"Korean, Adobe's codes":      {onePage("", strings.NewReplacer("Identity-H", "UniKS-UCS2-H", "(Identity)", "(Korea1)").Replace(wide("H", "")), "BT /F1 12 Tf 72 700 Td "+codes("환불 정책은")+" Tj ET"), "환불 정책은\n"},
		"Cyrillic and Greek":         {own("Смотритель маяка, η πολιτική"), "Смотритель маяка, η πολιτική\n"},
		"Hebrew with a number":       {own(reversed("ההחזרים תקפה 03 יום")), "ההחזרים תקפה 30 יום\n"},
		"Arabic in forms of display": {own(reversed("ﻣﺮﺣﺒﺎ ﺑﺎﻟﻌﺎﻟﻢ")), "مرحبا بالعالم\n"},
		"beyond the first plane":     {own("a lamp 💡 is 𝐁old"), "a lamp 💡 is 𝐁old\n"},
		"an icon beside words":       {own("\ue001 opens"), "\ue001 opens\n"},
		"empty pages between":        {pdfOf([]string{"one", "", "three"}, ""), "one\n||three\n"},
		"a wrong count of pages":     {[]byte(strings.Replace(string(pdfOf([]string{"one", "two"}, "")), "/Count 2", "/Count 2000000000", 1)), "one\n|two\n"},
		"bytes before the header":    {slices.Concat([]byte("\r\nHTTP/1.1 200 OK\r\n"), first), "The old text\n"},
		"bytes behind the end":       {slices.Concat(first, bytes.Repeat([]byte("\n"), 3_000)), "The old text\n"},
		"two revisions":              {revised(), "The new text\n"},
		"object streams, linearized": {file("packed.pdf"), "The beacon of Ostend burns from dusk.\nAsk Marit for the key.\n||The third page follows an empty one.\n"},
		"an owner's password":        {file("owner.pdf"), "The beacon of Ostend burns from dusk.\nAsk Marit for the key.\n||The third page follows an empty one.\n"},
	} {
		got, err := extract(PDF, c.data)
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, %v", name, strings.Join(got, "|"), err)
		}
	}
}

// Lines have their order on pages that are turned, and where the text on them is.
func TestTurnedPages(t *testing.T) {
	t.Parallel()
	for text, matrix := range []string{"1 0 0 1 100 500", "0 1 -1 0 300 100", "-1 0 0 -1 500 500", "0 -1 1 0 100 500"} {
		for page := range 4 {
			data := onePage(fmt.Sprintf("/Rotate %d", 90*page), helvetica, "BT /F1 12 Tf "+matrix+" Tm (the first) Tj 0 -14 Td (the second) Tj 0 -14 Td (the third) Tj ET")
			got, err := extract(PDF, data)
			if want := "the first\nthe second\nthe third\n"; err != nil || got[0] != want {
				t.Errorf("text turned by %d on a page turned by %d: %q, %v", 90*text, 90*page, got, err)
			}
		}
	}
}

// A PDF that cannot be read fails with the reason.
func TestUnreadablePDF(t *testing.T) {
	t.Parallel()
	glyphs := "BT /F1 12 Tf 72 700 Td <002B0048004F004F00520003003A00520055004F0047> Tj ET" // "Hello World", less 29
	locked := must.Get(os.ReadFile("testdata/locked.pdf"))(t)
	rc4 := must.Get(os.ReadFile("testdata/locked-rc4.pdf"))(t)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"numbers of glyphs":   {onePage("", wide("H", ""), glyphs), "do not say which characters"},
		"private characters":  {onePage("", wide("H", "/ToUnicode 6 0 R"), "BT /F1 12 Tf 72 700 Td "+codes(strings.Repeat("\ue001\ue002", 100))+" Tj ET", stream("", toUnicode)), "do not say which characters"},
		"no text":             {onePage("", helvetica, "0 0 100 100 re f"), "no text"},
		"locked by AES-256":   {locked, "password"},
		"locked by RC4":       {rc4, "password"},
		"an unknown security": {pdfOf([]string{"x"}, "/Encrypt << /Filter /Own /V 9 >>"), "encrypted"},
		"no objects":          {[]byte("%PDF-1.7 and nothing more"), "damaged or cut off"},
	} {
		if _, err := extract(PDF, c.data); !fault.Is(err, fault.Invalid) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder that cannot be written costs time, and nothing else.
func TestWithoutCache(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	if got, err := Extract(PDF, pdfOf([]string{"one"}, ""), Limits{}, file); err != nil || got[0] != "one\n" {
		t.Errorf("%q, %v", got, err)
	}
}
