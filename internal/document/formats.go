package document

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// fromHTML returns the Markdown of a page, without scripts and styles, and without links that would run a script where the
// Markdown is shown.
func fromHTML(data []byte) ([]string, error) {
	text, err := plain(data)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(strings.NewReader(strings.Join(text, "")))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the HTML cannot be read")
	}
	var inert []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Template {
			inert = append(inert, n)
		}
		attributes := len(n.Attr)
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return !isAddress(a.Val) })
		if len(n.Attr) < attributes && n.DataAtom == atom.A { // else it would become a link to nothing
			n.Data, n.DataAtom = atom.Span.String(), atom.Span
		}
	}
	for _, n := range inert {
		n.Parent.RemoveChild(n)
	}
	out, err := htmltomarkdown.ConvertNode(doc)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the HTML cannot be read")
	}
	return []string{string(out)}, nil
}

// isAddress reports whether the value of an attribute may be a link: it is relative, or of a scheme that runs nothing.
// Browsers ignore control characters and spaces in a scheme.
func isAddress(value string) bool {
	scheme, _, ok := strings.Cut(value, ":")
	if !ok {
		return true
	}
	scheme = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, scheme))
	return scheme != "javascript" && scheme != "vbscript" && scheme != "data"
}

// fromCSV returns a line for each row, which names each value by its column: a row is then understood by itself.
func fromCSV(data []byte, l Limits) ([]string, error) {
	text, err := plain(data)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(strings.Join(text, "")))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true
	first, _, _ := strings.Cut(text[0], "\n")
	if strings.Count(first, ";") > strings.Count(first, ",") {
		r.Comma = ';'
	} else if strings.Count(first, "\t") > strings.Count(first, ",") {
		r.Comma = '\t'
	}
	var names []string
	var b strings.Builder
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return []string{b.String()}, nil
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the CSV cannot be read: %v", err)
		}
		if names == nil {
			names = append([]string{}, row...)
			b.WriteString(strings.Join(row, ", ") + "\n")
			continue
		}
		for i, v := range row {
			v = strings.ReplaceAll(strings.TrimSpace(v), "\n", " ")
			if v == "" {
				continue
			}
			if i < len(names) && strings.TrimSpace(names[i]) != "" {
				v = strings.TrimSpace(names[i]) + ": " + v
			}
			b.WriteString(v + "; ")
		}
		b.WriteString("\n")
		if b.Len() > l.Text {
			return nil, tooMuchText(l)
		}
	}
}

// docxPart is the part of a DOCX that has the text.
const docxPart = "word/document.xml"

// fromDOCX returns the paragraphs of a document. Of the archive only the part with the text is unpacked, and not
// more of it than the limit on text allows for its marks too.
func fromDOCX(data []byte, l Limits) ([]string, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the file is no DOCX, or it is cut off")
	}
	f, err := z.Open(docxPart)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the file is no DOCX: it has no %s", docxPart)
	}
	defer f.Close() //nolint:errcheck // it was read
	most := 4 * int64(l.Text)
	limited := &io.LimitedReader{R: f, N: most + 1}
	d := xml.NewDecoder(limited)
	d.Strict = true
	var pages []string
	var b strings.Builder
	inText := false
	for {
		t, err := d.Token()
		if limited.N <= 0 {
			return nil, fault.New(fault.TooLarge, "the file unpacks to more than %d bytes", most)
		}
		if errors.Is(err, io.EOF) {
			return append(pages, b.String()), nil
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the DOCX is damaged or encrypted")
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = true
			case "tab":
				b.WriteByte('\t')
			case "br":
				if hasAttr(t, "type", "page") {
					pages = append(pages, b.String())
					b.Reset()
				} else {
					b.WriteByte('\n')
				}
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "p", "tr":
				b.WriteByte('\n')
			case "tc":
				b.WriteByte('\t')
			}
		case xml.CharData:
			if inText {
				b.Write(t)
			}
		}
	}
}

func hasAttr(e xml.StartElement, name, value string) bool {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Value == value {
			return true
		}
	}
	return false
}
