//go:build !race

package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// C142: files that are made to exhaust a parser end it, and not this process: a few bytes that unpack to gigabytes, pages
// that refer to themselves, entities that multiply or name a file of the system.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	pack := func(first, part string, parts int) string {
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		_, err := z.Write([]byte(first))
		for range parts {
			if err == nil {
				_, err = z.Write([]byte(part))
			}
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return packed.String()
	}
	shown := pack("BT /F1 12 Tf ", strings.Repeat("(aaaaaaaaaaaaaaaa) Tj ", 1000), 1000)
	zeros := pack("", strings.Repeat("\x00", 1<<20), 1000)
	form := stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>", "/X Do /X Do")
	one := string(pdfOf([]string{"Some text"}, ""))
	for name, c := range map[string]struct {
		media Media
		data  []byte
		l     Limits
		code  fault.Code
	}{
		"a PDF that unpacks to 22 MB": {PDF, pdfOf([]string{"x"}, "", shown), Limits{Memory: 512 << 20}, fault.TooLarge},
		"a PDF that unpacks to 1 GB":  {PDF, pdfOf([]string{"x"}, "", zeros), Limits{Memory: 512 << 20}, fault.TooLarge},
		"a form that shows itself":    {PDF, onePage("/Resources << /XObject << /X 6 0 R >> >>", helvetica, "/X Do", form), Limits{Memory: 512 << 20}, fault.TooLarge},
		"pages that are their own":    {PDF, []byte(strings.Replace(one, "/Kids [4 0 R]", "/Kids [2 0 R]", 1)), Limits{}, fault.Invalid},
		"pages that are twice theirs": {PDF, []byte(strings.Replace(one, "/Kids [4 0 R]", "/Kids [2 0 R 2 0 R]", 1)), Limits{}, fault.Invalid},
		"contents that are the page":  {PDF, []byte(strings.Replace(one, "/Contents 5 0 R", "/Contents 4 0 R", 1)), Limits{}, fault.Invalid},
		"a DOCX that unpacks to 9 MB": {DOCX, zipOf(t, "<w:document>"+strings.Repeat("<w:t>aaaaaaaaaaaaaaaa</w:t>", 300_000)), Limits{Text: 64 << 10}, fault.TooLarge},
		"entities that multiply":      {DOCX, zipOf(t, `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><w:document><w:t>&b;</w:t></w:document>`), Limits{}, fault.Invalid},
		"an entity that is a file":    {DOCX, zipOf(t, `<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:document><w:t>&a;</w:t></w:document>`), Limits{}, fault.Invalid},
		"parts that never close":      {DOCX, zipOf(t, strings.Repeat("<w:p>", 10_000)), Limits{}, fault.Invalid},
		"an encrypted DOCX":           {DOCX, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 encrypted"), Limits{}, fault.Invalid},
		"elements within each other":  {HTML, []byte(strings.Repeat("<div>", 100_000) + "x"), Limits{}, fault.Invalid},
		"a wide CSV":                  {CSV, []byte(strings.Repeat("name,", 2_000) + "\n" + strings.Repeat(strings.Repeat("v,", 2_000)+"\n", 100)), Limits{Text: 64 << 10}, fault.TooLarge},
	} {
		read := func(m Media, data []byte, l Limits) ([]string, error) { return Extract(m, data, l, DefaultCache()) }
		if c.l.Memory > 0 || c.l.Time > 0 {
			read = func(media Media, data []byte, l Limits) ([]string, error) {
				return parser.Parse(t.Context(), media, data, l)
			}
		}
		if _, err := read(c.media, c.data, c.l); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := parser.Parse(t.Context(), PDF, []byte(one), Limits{}); err != nil || got[0] != "Some text\n" {
		t.Errorf("after them: %q, %v", got, err)
	}
}
