package document

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// fromPDF returns the text of each page, line by line. PDFium reads it, as WebAssembly that sees the bytes of the file and
// nothing of the system.
func fromPDF(data []byte, l Limits, cache string) (pages []string, err error) {
	space := &memory{most: l.Memory / 3 * 2} // the rest is for the compiler, the file and the text
	defer func() {
		if err != nil && space.full {
			err = fault.New(fault.TooLarge, "reading the file took more than %d bytes of memory", l.Memory)
		}
	}()
	pool, err := startPDFium(space, cache)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the reader of PDFs did not start")
	}
	defer pool.Close() //nolint:errcheck // its memory is dropped
	p, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the reader of PDFs did not start")
	}
	doc, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return nil, fault.New(fault.Invalid, "the PDF is encrypted and opens with a password only; upload it without one")
	case errors.Is(err, pdferrors.ErrSecurity):
		return nil, fault.New(fault.Invalid, "the PDF is encrypted in a way that cannot be read; upload it without encryption")
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "the PDF is damaged or cut off")
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the PDF is damaged or cut off")
	}
	if count.PageCount > l.Pages {
		return nil, fault.New(fault.TooLarge, "the file has more than %d pages", l.Pages)
	}
	size, unknown, blank := 0, 0, true
	for i := range count.PageCount {
		text, bad, err := pageText(p, requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}})
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "page %d of the PDF is damaged", i+1)
		}
		if bad > maxUnknown {
			return nil, unknownText(i + 1)
		}
		if bad > 0 && unknown == 0 {
			unknown = i + 1
		}
		if size += len(text); size > l.Text {
			return nil, tooMuchText(l)
		}
		blank = blank && strings.TrimSpace(text) == ""
		pages = append(pages, text)
	}
	if blank && unknown > 0 {
		return nil, unknownText(unknown)
	}
	return pages, nil
}

// maxUnknown is how many characters a page may have if most are unknown, such as icons.
const maxUnknown = 100

func unknownText(page int) error {
	return fault.New(fault.Invalid, "the text of page %d of the PDF cannot be read: its fonts do not say which characters they show; "+
		"export the PDF again, or upload its text", page)
}

// pageText returns the text of a page. Where most of its characters are unknown, it returns how many there are instead.
func pageText(p pdfium.Pdfium, page requests.Page) (text string, unknown int, err error) {
	turned, err := p.FPDFPage_GetRotation(&requests.FPDFPage_GetRotation{Page: page})
	if err != nil {
		return "", 0, err
	}
	for rotation := turned.PageRotation; ; {
		t, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
		if err != nil {
			return "", 0, err
		}
		c := chars{Pdfium: p, page: t.TextPage}
		upright, err := c.sample()
		if err == nil && upright == rotation && c.unknown == 0 {
			var found *responses.FPDFText_GetText
			if found, err = p.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: t.TextPage, Count: c.count}); err == nil {
				text = joined(found.Text)
			}
		}
		_, e := p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: t.TextPage})
		if err = errors.Join(err, e); err != nil || upright == rotation {
			return text, c.unknown, err
		}
		// PDFium orders lines from the top to the bottom of the sheet.
		rotation = upright
		if _, err := p.FPDFPage_SetRotation(&requests.FPDFPage_SetRotation{Page: page, Rotate: rotation}); err != nil {
			return "", 0, err
		}
	}
}

// chars are the characters of a page.
type chars struct {
	pdfium.Pdfium
	page    references.FPDF_TEXTPAGE
	count   int
	unknown int // is count if most are unknown
}

// sample looks at some characters, and returns how the page would be turned if most of them were upright.
func (c *chars) sample() (enums.FPDF_PAGE_ROTATION, error) {
	n, err := c.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: c.page})
	if err != nil {
		return 0, err
	}
	c.count = n.Count
	var turns [4]int
	all, odd, unmapped := 0, 0, 0
	for i := 0; i < c.count; i += 1 + c.count/256 {
		code, err := c.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: c.page, Index: i})
		if err != nil {
			return 0, err
		}
		r := rune(code.Unicode) //nolint:gosec // a code unit
		if unicode.IsSpace(r) || r == softHyphen {
			continue
		}
		angle, err := c.FPDFText_GetCharAngle(&requests.FPDFText_GetCharAngle{TextPage: c.page, Index: i})
		if err != nil {
			return 0, err
		}
		turns[int(math.Round(float64(angle.CharAngle)*2/math.Pi)+4)%4]++
		has, err := c.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: c.page, Index: i})
		if err != nil {
			return 0, err
		}
		all++
		if has.HasUnicodeMapError {
			unmapped++
		}
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Co, r) {
			odd++
		}
	}
	// Codes without a meaning are mostly the numbers of glyphs, among them that of the space, which is a control character. Old
	// fonts have ASCII codes without saying so.
	if 2*odd > all || 2*unmapped > all && 20*odd > all {
		c.unknown = c.count
	}
	return enums.FPDF_PAGE_ROTATION(slices.Index(turns[:], slices.Max(turns[:]))), nil
}

// startPDFium starts PDFium with its memory. Its machine code is read from the cache or, where that has none, compiled, which
// takes two seconds, and kept there if it can be written.
func startPDFium(space experimental.MemoryAllocator, cache string) (pdfium.Pool, error) {
	cfg := webassembly.Config{
		Context: experimental.WithMemoryAllocator(context.Background(), space), MaxIdle: 1, MaxTotal: 1,
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	}
	if cache != "" {
		if kept, err := wazero.NewCompilationCacheWithDir(cache); err == nil {
			with := cfg
			with.RuntimeConfig = cfg.RuntimeConfig.WithCompilationCache(kept)
			if pool, err := webassembly.Init(with); err == nil {
				return pool, nil
			}
		}
	}
	return webassembly.Init(cfg)
}

// memory is what PDFium may use. It implements the allocator and its one allocation.
type memory struct {
	most  uint64
	bytes []byte
	full  bool // more was asked for
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most && len(m.bytes) > 0 {
		m.full = true
		return nil
	}
	m.bytes = append(m.bytes, make([]byte, size-uint64(len(m.bytes)))...)
	return m.bytes
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() { m.bytes = nil }

// What PDFium writes for a hyphen at the end of a line, in a text and as a single character.
const (
	hyphen     = '\uFFFE'
	softHyphen = '\x02'
)

// joined returns text with line ends of one kind, in which a word that a hyphen divides between two lines is one.
func joined(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\u00ad\n", string(hyphen)+"\n")
	parts := strings.Split(s, string(hyphen))
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			part = strings.TrimPrefix(part, "\n")
			if first := []rune(part[:min(len(part), 4)]); len(first) > 0 && !unicode.IsLower(first[0]) {
				b.WriteByte('-') // of a compound or a number, such as AES-256
			}
		}
		b.WriteString(part)
	}
	return b.String()
}
