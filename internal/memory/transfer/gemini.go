package transfer

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// gemini reads what Google Takeout writes of Gemini, as JSON: what was asked, with a verb of Google before it, and the answer. Nothing
// says which questions were of one conversation, so a day is a session.
type gemini struct {
	files  []string
	before string // what questions begin with
}

const (
	promptedText = "Prompted " // in English
	maxAlike     = 8
)

type geminiActivity struct {
	Header   string   `json:"header"`
	Title    string   `json:"title"`
	Time     string   `json:"time"`
	Products []string `json:"products"`
	Answers  []struct {
		HTML string `json:"html"`
	} `json:"safeHtmlItem"`
}

// geminiName is a product: it is written in all languages with one of these.
var geminiName = regexp.MustCompile(`Gemini|Bard`)

func geminiFiles(s *Source) (out []string) {
	for _, name := range s.files {
		if strings.EqualFold(path.Ext(name), ".json") {
			if head := s.head(name); begins(head, '[', "header", "title", "time", "products") && geminiName.MatchString(head) {
				out = append(out, name)
			}
		}
	}
	return out
}

func isGemini(s *Source) bool { return len(geminiFiles(s)) > 0 }

// index lists the questions, and finds what all of them begin with, such as "Prompted": it differs by language.
func (t *gemini) index(r *reading) (pieces []piece, err error) {
	t.files = r.orFirst(geminiFiles(r.source))
	asked := 0
	for i, name := range t.files {
		err := list(r, name, func(a *geminiActivity, from, to int64) error {
			pieces = append(pieces, piece{unix(stamp(a.Time)), i, from, to})
			switch {
			case len(a.Answers) == 0 || !a.ours():
				return nil
			case asked == 0:
				t.before = a.Title
			}
			asked++
			for !strings.HasPrefix(a.Title, t.before) {
				t.before = t.before[:strings.LastIndexAny(t.before[:len(t.before)-1], " \u00a0:")+1]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if asked < maxAlike { // a few may begin alike by chance
		t.before = ""
	}
	if strings.HasPrefix(t.before, promptedText) || t.before == "" {
		t.before = promptedText
	}
	return pieces, nil
}

func (a *geminiActivity) ours() bool {
	return geminiName.MatchString(a.Header) || slices.ContainsFunc(a.Products, geminiName.MatchString)
}

func (t *gemini) read(r *reading, p piece) error {
	a, err := decodePart[geminiActivity](r, t.files[p.file], p)
	if err != nil {
		return err
	}
	asked, found := strings.CutPrefix(a.Title, t.before)
	if !a.ours() || !found && len(a.Answers) == 0 {
		r.left("notices of the program", 1)
		return nil
	}
	at := stamp(a.Time)
	m := message{id: a.Time, role: "user", session: "Gemini " + at.In(r.Zone).Format(time.DateOnly), at: at, text: asked}
	if err := r.message(m); err != nil {
		return err
	}
	for i, answer := range a.Answers {
		m.id, m.role, m.text = a.Time+"/answer"+strconv.Itoa(i+1), "assistant", textOf(answer.HTML)
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}

// lineTags begin a line in the text of a page.
var lineTags = []string{"p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "table", "ul", "ol", "hr"}

// textOf returns the words of a page.
func textOf(page string) string {
	var out strings.Builder
	silent := ""
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		name, _ := z.TagName()
		switch tag := string(name); kind { //nolint:exhaustive // a comment and a doctype have no words
		case html.ErrorToken:
			lines := strings.Split(out.String(), "\n")
			for i := range lines {
				lines[i] = strings.TrimSpace(lines[i])
			}
			return strings.TrimSpace(emptyLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n"))
		case html.TextToken:
			if silent == "" {
				out.WriteString(html.UnescapeString(string(z.Raw())))
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			switch {
			case tag == "style" || tag == "script" || tag == "title":
				silent = ""
				if kind == html.StartTagToken {
					silent = tag
				}
			case tag == "li" && kind == html.StartTagToken:
				out.WriteString("\n- ")
			case tag == "td" && kind == html.StartTagToken:
				out.WriteString(" ")
			case slices.Contains(lineTags, tag):
				out.WriteString("\n")
			}
		}
	}
}

var emptyLines = regexp.MustCompile(`\n{3,}`)
