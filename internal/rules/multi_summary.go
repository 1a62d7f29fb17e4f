package rules

import (
	"math"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
)

// sameTopic is the likeness of two groups of pages from which they are about one theme: the cosine of
// their terms, where a term of every page weighs little, with nextTo for pages beside each other.
const (
	sameTopic = 0.12
	nextTo    = 0.04
)

// multiSummary finds at most two themes of pages. Pages that are most alike are joined until two groups are
// left, and these too if they are alike. A theme is named by its key phrases; its content is what the
// people said about it.
func (a *Analyst) multiSummary(in memoryos.ThemesInput) memoryos.ThemesAnswer {
	out := memoryos.ThemesAnswer{Themes: []memoryos.Theme{}}
	for _, group := range groupPages(in.Pages) {
		out.Themes = append(out.Themes, a.theme(in.Pages, group))
	}
	return out
}

// theme describes the pages with these handles.
func (a *Analyst) theme(pages []memoryos.CallPage, handles []int) memoryos.Theme {
	var messages []memory.Utterance
	var all strings.Builder
	var names []string
	for _, h := range handles {
		messages = append(messages, pages[h].Messages...)
		for _, m := range pages[h].Messages {
			if m.Name != "" && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
			for _, s := range utteredSentences(m.Content) {
				all.WriteString(s + "\n")
			}
		}
	}
	t := memoryos.Theme{Keywords: keywords(all.String(), strings.Join(names, " ")), Pages: handles}
	t.Theme = strings.Join(t.Keywords[:min(2, len(t.Keywords))], ", ")
	if t.Theme == "" {
		t.Theme = text.Shorten(text.ExtractiveSentence(all.String()), memoryos.MaxThemeChars)
	}
	said := saidAbout(messages)
	t.Content = extractiveSummary(said, memoryos.MaxContentChars, languageOf(strings.Join(said, "\n")))
	if t.Content == "" {
		t.Content = text.Shorten(strings.Join(strings.Fields(all.String()), " "), memoryos.MaxContentChars)
	}
	return t
}

// groupPages returns the handles of at most two groups of pages, each sorted, the group of the first page
// first.
func groupPages(pages []memoryos.CallPage) [][]int {
	var groups [][]int
	likeness := pageLikeness(pages)
	for i := range pages {
		groups = append(groups, []int{i})
	}
	for len(groups) > 1 {
		best, left, right := -1.0, 0, 1
		for i := range groups {
			for j := i + 1; j < len(groups); j++ {
				if s := likeness[i][j] / float64(len(groups[i])*len(groups[j])); s > best {
					best, left, right = s, i, j
				}
			}
		}
		if len(groups) <= memoryos.MaxThemes && best < sameTopic {
			break
		}
		for k := range groups {
			likeness[left][k] += likeness[right][k]
			likeness[k][left] = likeness[left][k]
		}
		groups[left] = append(groups[left], groups[right]...)
		groups = slices.Delete(groups, right, right+1)
		likeness = slices.Delete(likeness, right, right+1)
		for k := range likeness {
			likeness[k] = slices.Delete(likeness[k], right, right+1)
		}
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	return groups
}

// pageLikeness returns how alike each two pages are.
func pageLikeness(pages []memoryos.CallPage) [][]float64 {
	vectors := pageVectors(pages)
	out := make([][]float64, len(pages))
	for i := range out {
		out[i] = make([]float64, len(pages))
		for j := range i {
			out[i][j] = dot(vectors[i], vectors[j])
			if i-j == 1 {
				out[i][j] += nextTo
			}
			out[j][i] = out[i][j]
		}
	}
	return out
}

func dot(a, b map[string]float64) float64 {
	if len(b) < len(a) {
		a, b = b, a
	}
	terms := make([]string, 0, len(a))
	for t := range a {
		if b[t] != 0 {
			terms = append(terms, t)
		}
	}
	slices.Sort(terms) // a sum in another order is another sum
	sum := 0.0
	for _, t := range terms {
		sum += a[t] * b[t]
	}
	return sum
}

// pageVectors returns the weights of the terms of each page, with length 1.
func pageVectors(pages []memoryos.CallPage) []map[string]float64 {
	out := make([]map[string]float64, len(pages))
	names := map[string]bool{}
	for i := range pages {
		for _, m := range pages[i].Messages {
			for _, t := range text.Terms(m.Name) {
				names[t] = true
			}
		}
	}
	inPages := map[string]int{}
	for i := range pages {
		out[i] = map[string]float64{}
		for _, t := range text.Terms(pageText(&pages[i])) {
			if !names[t] && !text.IsSmallTalk(t) && !text.IsTimeWord(t) {
				out[i][t]++
			}
		}
		for t := range out[i] {
			inPages[t]++
		}
	}
	for _, v := range out {
		length := 0.0
		terms := make([]string, 0, len(v))
		for t := range v {
			terms = append(terms, t)
		}
		slices.Sort(terms)
		for _, t := range terms {
			v[t] = (1 + math.Log(v[t])) * math.Log(1+float64(len(pages))/float64(inPages[t]))
			length += v[t] * v[t]
		}
		for t := range v {
			v[t] /= math.Sqrt(length)
		}
	}
	return out
}
