package memoryos

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of themes.
const (
	MaxThemes       = 2   // of one batch of pages
	MaxThemeChars   = 100 // of the name of a theme
	MaxContentChars = 800 // of what is said about it
	MaxKeywords     = 10  // of one theme
)

// ThemesInput is the input of "multi_summary".
type ThemesInput struct {
	Pages []CallPage // the handle of a page is its index
}

// ThemesAnswer is the answer of "multi_summary".
type ThemesAnswer struct {
	Themes []Theme `json:"themes"`
}

// Theme is one topic of a batch of pages, with the pages that are about it.
type Theme struct {
	Theme    string   `json:"theme"`
	Keywords []string `json:"keywords"`
	Content  string   `json:"content"` // what was said about it; the summary of a session
	Pages    []int    `json:"pages"`   // handles

	by memory.Analyst // whose theme it is
}

// Themes returns the call that sums up a batch of pages by topic.
func (c *Calls) Themes(in ThemesInput) (memory.Call, error) {
	type material struct {
		MaxThemes int            `json:"max_themes"`
		Chars     int            `json:"chars"`
		Pages     []pageMaterial `json:"pages"`
	}
	m := material{MaxThemes, MaxContentChars, c.pagesMaterial(in.Pages, true)}
	return c.build(CallThemes, m, len(m.Pages), in, lenientThemes, policy.CheckContent(func(a *ThemesAnswer) bool {
		for i := range a.Themes {
			if a.Themes[i].usable() {
				return true
			}
		}
		return false
	}))
}

func (t *Theme) usable() bool { return !policy.IsEmptyAnswer(t.Content) }

// ThemesRead is what can be used of the answer of "multi_summary".
type ThemesRead struct {
	Themes []Theme // 1 to MaxThemes, each page in at most one
	Rest   []int   // handles of the pages that no theme names: they belong to the most similar theme
}

// ReadThemes reads the answer of "multi_summary" about so many pages. A page belongs to the first
// theme that names it; handles that were not shown are dropped. With one theme all pages are its pages.
func ReadThemes(raw json.RawMessage, pages int) (ThemesRead, error) {
	var out ThemesRead
	a, err := policy.DecodeAnswer[ThemesAnswer](raw, CallThemes)
	if err != nil {
		return out, err
	}
	taken := make([]bool, pages)
	for _, t := range a.Themes {
		if len(out.Themes) == MaxThemes || !t.usable() {
			continue
		}
		t.Content = policy.CleanLine(t.Content, MaxContentChars)
		t.Theme = policy.CleanLine(t.Theme, MaxThemeChars)
		if t.Theme == "" {
			t.Theme = policy.CleanSentence(t.Content, MaxThemeChars)
		}
		t.Keywords = policy.CleanKeywords(t.Keywords, MaxKeywords, "")
		named := t.Pages
		t.Pages = []int{}
		for _, handle := range named {
			if handle >= 0 && handle < pages && !taken[handle] {
				taken[handle] = true
				t.Pages = append(t.Pages, handle)
			}
		}
		out.Themes = append(out.Themes, t)
	}
	for handle, is := range taken {
		switch {
		case is:
		case len(out.Themes) == 1:
			out.Themes[0].Pages = append(out.Themes[0].Pages, handle)
		default:
			out.Rest = append(out.Rest, handle)
		}
	}
	return out, nil
}

// generalTheme returns one theme with all pages, made of their own words, for when the answer of
// "multi_summary" cannot be used.
func generalTheme(pages []CallPage) Theme {
	var all strings.Builder
	t := Theme{Theme: "General", Pages: make([]int, len(pages)), by: memory.AnalystHeuristic}
	for i := range pages {
		t.Pages[i] = i
		for _, m := range pages[i].Messages {
			all.WriteString(m.Content + "\n")
		}
	}
	t.Keywords = policy.CleanKeywords(text.Keyphrases(all.String(), MaxKeywords), MaxKeywords, "")
	t.Content = policy.CleanLine(text.ExtractiveSentence(all.String()), MaxContentChars)
	if t.Content == "" {
		t.Content = policy.CleanLine(all.String(), MaxContentChars)
	}
	return t
}

// lenientThemes also accepts other names of the fields, keywords in one text, and pages as texts.
func lenientThemes(said string) json.RawMessage {
	answer := ThemesAnswer{Themes: []Theme{}}
	if object, is := findObject(said); is && policy.StringField(object, "content", "summary") != "" {
		answer.Themes = append(answer.Themes, themeFrom(object))
		return policy.EncodeLenient(answer, true)
	}
	ok := policy.EachEntry(said, []string{"themes", "topics", "summaries", "sessions", "segments"}, func(v any) {
		if object, is := v.(map[string]any); is {
			answer.Themes = append(answer.Themes, themeFrom(object))
		}
	})
	return policy.EncodeLenient(answer, ok)
}

// findObject returns the JSON object in a model's text.
func findObject(said string) (map[string]any, bool) {
	v, _ := policy.FindJSON(said)
	object, ok := v.(map[string]any)
	return object, ok
}

func themeFrom(object map[string]any) Theme {
	t := Theme{
		Theme:   policy.StringField(object, "theme", "topic", "title", "name"),
		Content: policy.StringField(object, "content", "summary", "description", "text"),
		Pages:   []int{}, Keywords: textList(policy.FirstValue(object, "keywords", "key_words", "keyphrases")),
	}
	pages, _ := policy.FirstValue(object, "pages", "page", "handles", "page_ids").([]any)
	for _, p := range pages[:min(len(pages), policy.MaxEntries)] {
		switch p := p.(type) {
		case float64:
			if p == math.Trunc(p) && math.Abs(p) < 1<<31 {
				t.Pages = append(t.Pages, int(p))
			}
		case string:
			if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(strings.ToLower(p), "page"))); err == nil {
				t.Pages = append(t.Pages, n)
			}
		}
	}
	return t
}

// textList returns the texts in a JSON value: a list, or one text with commas or lines.
func textList(v any) []string {
	out := []string{}
	switch v := v.(type) {
	case string:
		out = strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",;，、；\n", r) })
	case []any:
		for _, x := range v[:min(len(v), policy.MaxEntries)] {
			if s, is := x.(string); is {
				out = append(out, s)
			}
		}
	}
	return out
}
