package analyst

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/text"
)

// A page continues the one before it when the two are alike: by the cosine of their vectors, or by the share of
// the shorter one's terms that the other has. The longer the time between them, the more alike they must be. A page
// of few terms, soon after, is understood only with the page before it.
const (
	shortGap    = 30 * time.Minute
	middleGap   = 6 * time.Hour
	closeLike   = 0.3
	middleLike  = 0.45
	farLike     = 0.6
	sameTheme   = 0.12
	nextTo      = 0.04 // that pages beside each other are more alike
	minOfTheme  = 12   // terms of a theme of its own; small talk has fewer
	profileMost = 5    // sentences that an analysis adds to a profile
	replyMost   = 200  // characters of what an answer adds to a summary

	leastPortrait = 0.3 // worth of a sentence of a profile, which has room for few: more than that of a fact, where vectors tell it well
)

// tierCalls are the calls of MemoryOS.
func tierCalls() map[string]answerer {
	return map[string]answerer{
		memoryos.CallContinuity: reading(continues),
		memoryos.CallMeta:       answer(summarizeChain),
		memoryos.CallThemes:     answer(findThemes),
		memoryos.CallProfile:    reading(profile),
		memoryos.CallKnowledge:  reading(knowledge),
	}
}

func continues(r *reader, in memoryos.ContinuityInput) memoryos.Continuity {
	before, after := in.Previous.Messages, in.Next.Messages
	if len(before) == 0 || len(after) == 0 {
		return memoryos.Continuity{}
	}
	gap := after[0].Time.Sub(before[len(before)-1].Time).Abs()
	left, right := termSet(contents(before)), termSet(contents(after))

	limit := closeLike
	switch {
	case gap > middleGap:
		limit = farLike
	case gap > shortGap:
		limit = middleLike
	case !r.saysSomething(after):
		return memoryos.Continuity{Continuous: true}
	}
	return memoryos.Continuity{Continuous: max(in.Similarity, sharedShare(left, right)) >= limit}
}

// saysSomething reports whether a person says a sentence that is worth keeping.
func (r *reader) saysSomething(messages []memory.Utterance) bool {
	var texts []string
	for _, m := range byPersons(messages) {
		texts = append(texts, m.Content)
	}
	return slices.ContainsFunc(r.sentences(said.TurnsOf(texts)), func(s said.Sentence) bool { return s.Worth() >= leastWorth })
}

// byPersons returns the messages that persons said.
func byPersons(messages []memory.Utterance) (out []memory.Utterance) {
	for _, m := range messages {
		if m.Role == memory.RoleUser {
			out = append(out, m)
		}
	}
	return out
}

// sharedShare returns the share of the terms of the shorter list that the other has too, 0..1.
func sharedShare(a, b []string) float64 {
	if len(b) < len(a) {
		a, b = b, a
	}
	has := map[string]bool{}
	for _, t := range b {
		has[t] = true
	}
	shared := 0
	for _, t := range a {
		if has[t] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, len(a)))
}

// summarizeChain sums up the summary of a chain so far and the page that continues it.
func summarizeChain(in memoryos.MetaInput) memoryos.Meta {
	return memoryos.Meta{Meta: cmp.Or(summary(append([]string{in.Old}, ofPage(&in.Page)...), memoryos.MetaChars), firstOf(in.Page.Messages, memoryos.MetaChars))}
}

// ofPage returns what a page adds to a summary: what was said, and the sentence of the answers that says most. A
// message of the system is an earlier summary, which is made of such sentences.
func ofPage(p *memoryos.CallPage) []string {
	var earlier, replies []string
	var turns []memory.Utterance
	for _, u := range p.Messages {
		switch u.Role {
		case memory.RoleSystem:
			earlier = append(earlier, u.Content)
			continue
		case memory.RoleAssistant:
			if !isOwnReply(u.Content) {
				u.Name = replyMark
				replies = append(replies, stated(u)...)
			}
		case memory.RoleUser, memory.RoleDeveloper, memory.RoleTool: // as they are
		}
		turns = append(turns, u)
	}
	said := earlier
	if len(turns) > 0 {
		said = append(said, spoken(turns)...)
	}
	if !slices.ContainsFunc(turns, func(u memory.Utterance) bool { return u.Role == memory.RoleUser }) {
		return said
	}
	return append(said, strongest(replies, 1, replyMost)...)
}

// firstOf returns the beginning of what messages say.
func firstOf(messages []memory.Utterance, chars int) string {
	return text.Shorten(strings.Join(strings.Fields(contents(messages)), " "), chars)
}

// contents returns what messages say, a line for each.
func contents(messages []memory.Utterance) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content)
		b.WriteByte('\n')
	}
	return b.String()
}

// findThemes finds at most two themes of pages. Pages that share the rarest terms are joined until two groups are
// left, and these too if they are alike. What was said about a theme is quoted, and its key phrases name it.
func findThemes(in memoryos.ThemesInput) memoryos.ThemesAnswer {
	out := memoryos.ThemesAnswer{Themes: []memoryos.Theme{}}
	for _, group := range groupPages(in.Pages) {
		out.Themes = append(out.Themes, theme(in.Pages, group))
	}
	return out
}

// theme describes the pages with these handles.
func theme(pages []memoryos.CallPage, handles []int) memoryos.Theme {
	var texts, names []string
	var all []memory.Utterance
	for _, h := range handles {
		texts = append(texts, ofPage(&pages[h])...)
		for _, m := range pages[h].Messages {
			all, names = append(all, m), append(names, m.Name)
		}
	}
	topics := byPersons(all) // what is asked names the topic, an answer much beside it
	if len(topics) == 0 {
		topics = all
	}
	t := memoryos.Theme{Pages: handles, Content: summary(texts, memoryos.MaxContentChars)}
	if policy.IsEmptyAnswer(t.Content) { // somebody said "None", or sent a smiley alone
		t.Content = firstOf(all, memoryos.MaxContentChars)
	}
	t.Keywords = text.Keyphrases(contents(topics), memoryos.MaxKeywords, names...)
	if t.Keywords == nil {
		t.Keywords = []string{}
	}
	t.Theme = text.Shorten(cmp.Or(strings.Join(t.Keywords[:min(2, len(t.Keywords))], ", "), t.Content), memoryos.MaxThemeChars)
	return t
}

// groupPages returns the handles of at most two groups of pages, each sorted, the group of the first page first.
func groupPages(pages []memoryos.CallPage) [][]int {
	terms := pageTerms(pages)
	alike := likeness(terms)
	groups := make([][]int, len(pages))
	for i := range pages {
		groups[i] = []int{i}
	}
	enough := func(group []int) bool {
		n := 0
		for _, i := range group {
			n += len(terms[i])
		}
		return n >= minOfTheme
	}
	for len(groups) > 1 {
		left, right, best := closest(groups, alike)
		if len(groups) <= memoryos.MaxThemes && best < sameTheme && enough(groups[0]) && enough(groups[1]) {
			break
		}
		groups[left] = append(groups[left], groups[right]...)
		groups = slices.Delete(groups, right, right+1)
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	return groups
}

// closest returns the two groups that are most alike: by the mean of the likeness of their pages.
func closest(groups [][]int, alike [][]float64) (left, right int, best float64) {
	best = -1
	for i := range groups {
		for j := i + 1; j < len(groups); j++ {
			sum := 0.0
			for _, a := range groups[i] {
				for _, b := range groups[j] {
					sum += alike[a][b]
				}
			}
			if mean := sum / float64(len(groups[i])*len(groups[j])); mean > best {
				left, right, best = i, j, mean
			}
		}
	}
	return left, right, best
}

// pageTerms returns the terms of each page, without the names of the speakers.
func pageTerms(pages []memoryos.CallPage) [][]string {
	names := map[string]bool{}
	for i := range pages {
		for _, m := range pages[i].Messages {
			maps.Copy(names, text.TermSet(m.Name))
		}
	}
	out := make([][]string, len(pages))
	for i := range pages {
		out[i] = slices.DeleteFunc(termSet(contents(pages[i].Messages)), func(t string) bool { return names[t] || policy.IsTimeWord(t) })
	}
	return out
}

// likeness returns how alike each two pages are: the cosine of their terms, in which a term weighs the more the fewer
// pages have it.
func likeness(terms [][]string) [][]float64 {
	inPages := map[string]float64{}
	for _, list := range terms {
		for _, t := range list {
			inPages[t]++
		}
	}
	square := func(t string) float64 {
		w := math.Log(1 + float64(len(terms))/inPages[t])
		return w * w
	}
	out, length := make([][]float64, len(terms)), make([]float64, len(terms))
	for i, list := range terms {
		out[i] = make([]float64, len(terms))
		for _, t := range list {
			length[i] += square(t)
		}
		for j := range i {
			if shared := sharedWeight(list, terms[j], square); shared > 0 {
				out[i][j] = shared / math.Sqrt(length[i]*length[j])
			}
			if i-j == 1 {
				out[i][j] += nextTo
			}
			out[j][i] = out[i][j]
		}
	}
	return out
}

// sharedWeight returns the sum of the weights of the terms that are in both sets.
func sharedWeight(a, b []string, weight func(term string) float64) (sum float64) {
	for _, t := range a {
		if slices.Contains(b, t) {
			sum += weight(t)
		}
	}
	return sum
}

// profile adds to the profile what the person stated, each sentence behind its date; the oldest ones leave for
// want of room. It finds no dimensions: a level is a judgment. What a model found stays.
func profile(r *reader, in memoryos.ProfileInput) memoryos.Profile {
	lines := sentencesOf([]string{in.Old.Text})
	known := text.Normalize(in.Old.Text)
	for _, line := range strongest(r.datedStatements(in.Pages), profileMost, memoryos.MaxKnowledgeChars) {
		if !strings.Contains(known, text.Normalize(line)) {
			lines = append(lines, line)
		}
	}
	for len(lines) > 1 && utf8.RuneCountInString(join(lines)) > memoryos.MaxProfileChars {
		lines = lines[1:]
	}
	return memoryos.Profile{Dimensions: append([]memoryos.Dimension{}, in.Old.Dimensions...), Text: join(lines)}
}

// datedStatements returns what persons stated on pages that is worth keeping, each sentence behind its date.
func (r *reader) datedStatements(pages []memoryos.CallPage) (out []string) {
	for i := range pages {
		for _, u := range pages[i].Messages {
			if u.Role != memory.RoleUser {
				continue
			}
			for _, s := range r.sentences([]said.Turn{{Speaker: u.Name, Text: u.Content}}) {
				if !isOfPortrait(&s) {
					continue
				}
				u.Content = oneLine(s.Text)
				for _, line := range stated(u) {
					out = append(out, policy.FormatDay(u.Time)+": "+line)
				}
			}
		}
	}
	return out
}

// isOfPortrait reports whether a sentence is worth a line of a profile.
func isOfPortrait(s *said.Sentence) bool {
	if s.Kinds != nil {
		return s.Worth() >= leastPortrait
	}
	return s.Worth() >= leastWorth
}

// knowledge is what the person stated, as the facts of Mem0. What the assistant did is a judgment, and left out.
func knowledge(r *reader, in memoryos.KnowledgeInput) memoryos.Knowledge {
	var said []memory.Utterance
	for i := range in.Pages {
		for _, u := range in.Pages[i].Messages {
			if u.Role == memory.RoleUser {
				u.Name = cmp.Or(u.Name, in.Person)
			}
			said = append(said, u)
		}
	}
	facts := extract(r, mem0.ExtractInput{New: said, Max: memoryos.MaxKnowledge}).Facts
	return memoryos.Knowledge{User: append([]string{}, facts[:min(len(facts), memoryos.MaxKnowledge)]...), Assistant: []string{}}
}
