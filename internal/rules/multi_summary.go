package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
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
	var names []string
	texts := make([]string, len(handles)) // of each page, what names its topic
	for i, h := range handles {
		for _, m := range pages[h].Messages {
			if m.Name != "" && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
			sentences := utteredSentences(m.Content)
			if m.Role == memory.RoleAssistant { // what is asked names the topic, a long answer much beside it
				sentences = sentences[:min(len(sentences), maxLeadSentences)]
			}
			texts[i] += strings.Join(sentences, "\n") + "\n"
		}
	}
	t := memoryos.Theme{Keywords: sharedKeywords(texts, strings.Join(names, " ")), Pages: handles}
	t.Theme = text.Shorten(strings.Join(t.Keywords[:min(2, len(t.Keywords))], ", "), memoryos.MaxThemeChars)
	all := strings.Join(texts, "")
	if t.Theme == "" {
		t.Theme = text.Shorten(text.ExtractiveSentence(all), memoryos.MaxThemeChars)
	}
	var parts []string
	for _, h := range handles {
		if said := pageSummary(&pages[h], memoryos.MaxContentChars/len(handles)); said != "" && !slices.Contains(parts, said) {
			parts = append(parts, said)
		}
	}
	t.Content = text.Shorten(joinParts(parts, isHan(strings.Join(parts, ""))), memoryos.MaxContentChars)
	if t.Content == "" {
		t.Content = text.Shorten(strings.Join(strings.Fields(all), " "), memoryos.MaxContentChars)
	}
	if policy.IsEmptyAnswer(t.Content) { // someone said "None", or sent a smiley alone
		who := cmp.Or(strings.Join(names, ", "), string(memory.RoleUser))
		t.Content = text.Shorten(strings.TrimSpace(who+": "+t.Content), memoryos.MaxContentChars)
	}
	return t
}

// maxLeadSentences is how much of an answer names its topic.
const maxLeadSentences = 3

// sharedKeywords returns the keywords of several texts together; those of more texts come first.
func sharedKeywords(texts []string, names string) []string {
	found := keywords(strings.Join(texts, ""), names)
	folded := make([]string, len(texts))
	for i, t := range texts {
		folded[i] = text.Fold(t)
	}
	in := func(k string) int {
		n := 0
		for _, t := range folded {
			if strings.Contains(t, text.Fold(k)) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(found, func(a, b string) int { return in(b) - in(a) })
	topics := slices.DeleteFunc(slices.Clone(found), func(k string) bool {
		return !slices.ContainsFunc(text.Words(k), func(w string) bool { return !talkWords[w] })
	})
	if len(topics) > 0 {
		return topics
	}
	return found
}

// talkWords are words of talks, by which people address each other or speak about the talk itself. They name no
// topic.
var talkWords = wordSet(`mate guy buddy bro dude man boss friend friends ai assistant companion chat chatbot bot name hi hello bye thanks alright okay
	understood understand hear share hang stay touch ready answer answers question questions suggestion suggestions recommendation recommendations
	approach idea ideas problem problems issue issues thing things detail details information help continue start step steps next plan plans part parts
	goodness sakes reminder promise immediately perfect exactly absolutely awesome great glad luck ages option options example examples task tasks
	mas pak halo saya yang anda untuk dan ini itu`)

// pageSummary returns what a page says within so many characters: the facts of the people; what a person
// asked where there are none; and what was answered. An earlier summary, which nobody said, keeps its sentences.
func pageSummary(p *memoryos.CallPage, chars int) string {
	var said, more []string
	for i, u := range p.Messages {
		var facts []string
		switch u.Role {
		case memory.RoleUser:
			facts = personFacts(append(slices.Clone(p.Messages[:i]), u), memoryos.MaxKnowledge)
		case memory.RoleSystem:
			facts = text.Sentences(u.Content)
		case memory.RoleAssistant, memory.RoleDeveloper, memory.RoleTool: // are quoted
		}
		if len(facts) > 0 {
			said = append(said, facts...)
			continue
		}
		if quote := quoted(u); quote != "" && len(said) == 0 {
			said = append(said, quote)
		} else if quote != "" {
			more = append(more, quote)
		}
	}
	lang := languageOf(strings.Join(said, "") + strings.Join(more, ""))
	out := extractiveSummary(said, chars, lang)
	if left := chars - utf8.RuneCountInString(out) - 1; left >= minQuoteChars && len(more) > 0 {
		out = joinParts([]string{out, text.Shorten(more[0], left)}, lang == policy.Chinese)
	}
	return out
}

// minQuoteChars is the least room for what was answered.
const minQuoteChars = 60

// groupPages returns the handles of at most two groups of pages, each sorted, the group of the first page
// first.
func groupPages(pages []memoryos.CallPage) [][]int {
	var groups [][]int
	vectors := pageVectors(pages)
	likeness := pageLikeness(vectors)
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
		if len(groups) <= memoryos.MaxThemes && best < sameTopic && saysEnough(vectors, groups[0]) && saysEnough(vectors, groups[1]) {
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

// minThemeTerms is how many terms a group of pages has at least if it has a theme of its own: a page of small
// talk has none.
const minThemeTerms = 12

// saysEnough reports whether pages say enough for a theme.
func saysEnough(vectors []map[string]float64, group []int) bool {
	n := 0
	for _, i := range group {
		n += len(vectors[i])
	}
	return n >= minThemeTerms
}

// pageLikeness returns how alike each two pages are.
func pageLikeness(vectors []map[string]float64) [][]float64 {
	out := make([][]float64, len(vectors))
	for i := range out {
		out[i] = make([]float64, len(vectors))
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
