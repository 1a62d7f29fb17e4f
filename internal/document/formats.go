package document

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxSpan is how many rows and columns a cell of a table spans at most; what it says is repeated in each.
const maxSpan = 100

// fromHTML returns the Markdown of a page, below its title, without scripts and styles, and without links that would run a script
// where the Markdown is shown.
func fromHTML(data []byte) ([]string, error) {
	text, err := decode(data, declared(data))
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the HTML cannot be read")
	}
	var inert []*html.Node
	var title, body *html.Node
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.DataAtom == atom.Template:
			inert = append(inert, n)
		case n.DataAtom == atom.Title && title == nil:
			title = n
		case n.DataAtom == atom.Body:
			body = n
		case n.DataAtom == atom.Table:
			bare(n)
		}
		attributes := len(n.Attr)
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			span, err := strconv.Atoi(a.Val)
			return !isAddress(a.Val) || (a.Key == "rowspan" || a.Key == "colspan") && (err != nil || span > maxSpan)
		})
		if len(n.Attr) < attributes && n.DataAtom == atom.A { // else it would become a link to nothing
			n.Data, n.DataAtom = atom.Span.String(), atom.Span
		}
	}
	for _, n := range inert {
		n.Parent.RemoveChild(n)
	}
	if title != nil && body != nil {
		title.Parent.RemoveChild(title)
		title.Data, title.DataAtom = atom.P.String(), atom.P
		body.InsertBefore(title, body.FirstChild)
	}
	to := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(
		table.WithSpanCellBehavior(table.SpanBehaviorMirror), table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true), table.WithSkipEmptyRows(true),
	)))
	cell := func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus { // of a table for the layout
		ctx.RenderChildNodes(ctx, w, n)
		_, _ = w.WriteString("\t")
		return converter.RenderSuccess
	}
	to.Register.RendererFor("td", converter.TagTypeInline, cell, converter.PriorityStandard)
	to.Register.RendererFor("th", converter.TagTypeInline, cell, converter.PriorityStandard)
	out, err := to.ConvertNode(doc)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the HTML cannot be read")
	}
	return []string{breaks.ReplaceAllString(string(out), " ")}, nil
}

// breaks are the line breaks in a cell of a table.
var breaks = regexp.MustCompile(` *(?:<br />)+`)

// bare makes what emphasizes or links a whole table plain: within it a table would not be one.
func bare(table *html.Node) {
	for n := range table.Ancestors() {
		switch n.DataAtom { //nolint:exhaustive // the others may have a table
		case atom.A, atom.B, atom.Strong, atom.Em, atom.I, atom.Del, atom.S, atom.Strike:
			n.Data, n.DataAtom = atom.Div.String(), atom.Div
		}
	}
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
	text, err := decode(data, nil)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true
	first, _, _ := strings.Cut(text, "\n")
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

// around are the parts of a DOCX whose text comes before that, and behind it.
var around = regexp.MustCompile(`^word/(?:(header)|footer|footnotes|endnotes)\d*\.xml$`)

// fromDOCX returns the paragraphs of a document, between its headers and its footers and footnotes, each text once. Of the archive
// only the parts with text are unpacked, and not more of them than the limit on text allows for their marks too.
func fromDOCX(data []byte, l Limits) ([]string, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the file is no DOCX, or it is cut off")
	}
	most := 4 * int64(l.Text)
	d := docx{most: most, left: most}
	pages, err := d.part(z, docxPart)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(err, fault.Invalid, "the file is no DOCX: it has no %s", docxPart)
	}
	if err != nil {
		return nil, err
	}
	var before, behind []string
	for _, f := range z.File {
		m := around.FindStringSubmatch(f.Name)
		if m == nil {
			continue
		}
		more, err := d.part(z, f.Name)
		if err != nil {
			return nil, err
		}
		text := strings.Join(more, "")
		switch {
		case strings.TrimSpace(text) == "" || slices.Contains(before, text) || slices.Contains(behind, text):
		case m[1] != "":
			before = append(before, text)
		default:
			behind = append(behind, text)
		}
	}
	pages[0] = strings.Join(before, "") + pages[0]
	pages[len(pages)-1] += strings.Join(behind, "")
	return pages, nil
}

// docx reads the parts of a document.
type docx struct {
	most  int64 // bytes that may be unpacked
	left  int64 // of them
	b     strings.Builder
	cells int  // of tables, within each other
	gap   bool // between two paragraphs of a cell
}

// part returns the text of a part by page. A row of a table is a line, with a tab behind each cell.
func (w *docx) part(z *zip.Reader, name string) (pages []string, err error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	limited := &io.LimitedReader{R: f, N: w.left + 1}
	d := xml.NewDecoder(limited)
	w.cells, w.gap = 0, false
	inText := false
	for {
		t, err := d.Token()
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Fallback" { // has what another element has, for older programs
			err = d.Skip()
		}
		switch {
		case limited.N <= 0:
			return nil, fault.New(fault.TooLarge, "the file unpacks to more than %d bytes", w.most)
		case errors.Is(err, io.EOF):
			pages, w.left = append(pages, w.b.String()), limited.N-1
			w.b.Reset()
			return pages, nil
		case err != nil:
			return nil, fault.Wrap(err, fault.Invalid, "the DOCX is damaged or encrypted")
		}
		switch t := t.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			if w.cells == 0 && t.Name.Local == "br" && hasAttr(t, "type", "page") {
				pages = append(pages, w.b.String())
				w.b.Reset()
			} else {
				w.start(t.Name.Local)
			}
		case xml.EndElement:
			inText = false
			w.end(t.Name.Local)
		case xml.CharData:
			if inText {
				w.write(string(t))
			}
		}
	}
}

func (w *docx) start(element string) {
	switch element {
	case "tc":
		w.cells++
	case "tab":
		w.write("\t")
	case "noBreakHyphen":
		w.write("-")
	case "br", "cr":
		w.line()
	}
}

func (w *docx) end(element string) {
	switch element {
	case "p", "tr":
		w.line()
	case "tc":
		w.cells, w.gap = w.cells-1, false
		w.b.WriteByte('\t')
	}
}

func (w *docx) write(s string) {
	if w.gap {
		w.b.WriteByte(' ')
		w.gap = false
	}
	w.b.WriteString(s)
}

// line ends a line, which in a cell is a space.
func (w *docx) line() {
	if w.cells > 0 {
		w.gap = true
	} else {
		w.b.WriteByte('\n')
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
