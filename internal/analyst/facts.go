package analyst

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// factCalls are the calls of Mem0.
func factCalls() map[string]answerer {
	return map[string]answerer{
		"extract":   reading(extract),
		"decide":    answer(decide),
		"summarize": answer(summarize),
		"procedure": answer(summarize),
	}
}

// The worth from which a sentence is kept. Of the labeled sentences in files that the head did not learn from, more than
// nine of ten that are worth it have it. What is missing cannot be found later, and what is too much is only in the way: a
// search of LoCoMo's facts finds .81 of the evidence from a worth of .18 on, .86 from .12 on and .90 from .08 on.
// What follows a colon may be handed over for work, or be somebody else's words, which vectors tell.
const (
	leastWorth           = 0.16
	leastWorthIntroduced = 0.35
)

// extract quotes the sentences of the exchange that state something. It understands none of them. What an assistant says
// is read only if facts about it are asked for.
func extract(r *reader, in mem0.ExtractInput) mem0.Extraction {
	all := slices.Concat(in.Recent, in.New)
	turns := make([]said.Turn, len(all))
	for i, u := range all {
		turns[i] = said.Turn{Speaker: string(u.Role) + u.Name, Assistant: u.Role == memory.RoleAssistant && !in.OfAgent, Text: u.Content}
	}
	sentences := r.judged(slices.DeleteFunc(said.Sentences(turns, len(in.Recent)), func(s said.Sentence) bool { return turns[s.Turn].Assistant }))
	out := mem0.Extraction{Facts: []string{}}
	for _, q := range best(quotations(sentences), in.Max) {
		if q.turn > 0 && !said.Asks(q.before) {
			q.before = explains(&all[q.turn-1], &all[q.turn], q.before)
		}
		out.Facts = append(out.Facts, q.frame(&all[q.turn], in.Chars))
	}
	return out
}

// quotation is a sentence that is kept, with what is needed to understand it.
type quotation struct {
	turn, at int    // its turn, and its position in it
	before   string // of the turn before
	words    string
	worth    float64
}

// explains returns a statement as it explains the one after it: persons say both, within an hour. A question may come from anybody, and be
// answered later. What another person states has that name, or it would read as said by who speaks next.
func explains(before, after *memory.Utterance, words string) string {
	if words == "" || before.Name == "" || before.Role != memory.RoleUser || after.Time.Sub(before.Time) > time.Hour {
		return ""
	}
	return quote.Spoken(cut(oneLine(before.Name), maxSpeaker), words)
}

// maxJoined is how many bytes a quotation has at most when sentences that name nothing are joined to it: a character of a script
// without spaces says as much as three of another, and has as many bytes.
const maxJoined = 160

// hasRoom reports whether a sentence fits behind a quotation. A fragment always does.
func (q *quotation) hasRoom(s *said.Sentence) bool {
	return s.IsFragment() || len(q.words)+len(s.Text) <= maxJoined
}

// quotations returns the sentences that are worth keeping. One that names nothing is understood with the one before it, so
// they are one quotation. A fragment follows the sentence before it, and what a
// colon introduces behind what introduces it, since that may make them somebody else's words.
func quotations(sentences []said.Sentence) []quotation {
	var out []quotation
	seen := map[string]bool{}
	for i := range sentences {
		s := &sentences[i]
		if s.Asks || seen[s.Text] || !strings.ContainsFunc(s.Text, unicode.IsLetter) || memory.Redacted(s.Text) {
			continue // a quotation with a mark of a secret would be dropped with all that is joined to it
		}
		seen[s.Text] = true
		worth := s.Worth()
		if worth < leastWorth || worth < leastWorthIntroduced && s.Kinds == nil && s.Introduced() {
			if n := len(out); n > 0 && out[n-1].at == i-1 && out[n-1].turn == s.Turn && s.AnswersToo() {
				out[n-1].words, out[n-1].at = joined(out[n-1].words, s.Text), i // "Nuts. And milk."
			}
			continue
		}
		q := quotation{turn: s.Turn, at: i, before: s.Before, words: s.Text, worth: worth}
		before := i - 1
		alone := s.Names() || s.Apart || before < 0 || sentences[before].Turn != s.Turn || sentences[before].IsWord()
		if n := len(out); n > 0 && out[n-1].at == before && out[n-1].hasRoom(s) && (s.Lead != "" && out[n-1].turn == s.Turn || !alone) {
			last := &out[n-1]
			last.words, last.at, last.worth = joined(last.words, s.Text), i, max(last.worth, worth)
			continue
		}
		switch {
		case s.Lead != "":
			q.words = joined(s.Lead, s.Text)
		case !alone && s.IsFragment():
			q.words = joined(sentences[before].Text, s.Text)
		}
		out = append(out, q)
	}
	return out
}

// joined joins two sentences as their script does.
func joined(a, b string) string {
	if end, _ := utf8.DecodeLastRuneInString(a); strings.ContainsRune(wideEnds, end) {
		return a + b
	}
	return a + " " + b
}

// best returns the n quotations of most worth, in their order.
func best(all []quotation, n int) []quotation {
	if n <= 0 || len(all) <= n {
		return all
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b quotation) int { return cmp.Compare(b.worth, a.worth) })
	ranked = ranked[:n]
	slices.SortFunc(ranked, func(a, b quotation) int { return cmp.Compare(a.at, b.at) })
	return ranked
}

// The bounds of a quotation, in characters.
const (
	maxSpeaker  = 60
	maxQuestion = 120
	leastQuoted = 40
)

// frame writes a quotation with who said it and when. For somebody without a name there is only the date, and for an
// assistant its role, since a memory is about people. Every character of the words stays as it is. What is longer than
// the bound is cut, which an ellipsis shows.
func (q *quotation) frame(u *memory.Utterance, chars int) string {
	line := quote.Quotation{Speaker: cut(oneLine(u.Name), maxSpeaker), Day: u.Time.Format(time.DateOnly), Words: oneLine(q.words)}
	if line.Speaker == "" && u.Role == memory.RoleAssistant {
		line.Speaker = string(u.Role)
	}
	if before := oneLine(q.before); utf8.RuneCountInString(before) <= maxQuestion {
		line.Before = before
	}
	if chars <= 0 {
		return line.String()
	}

	if utf8.RuneCountInString(line.String()) > chars {
		line.Before = ""
	}
	line.Words = cut(line.Words, max(leastQuoted, chars-utf8.RuneCountInString(line.Head())-1))
	return line.String()
}

// oneLine returns a text with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens a text to so many characters.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRightFunc(string(r[:n-1]), unicode.IsSpace) + "…"
}
