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
)

// factCalls are the calls of Mem0.
func factCalls() map[string]answerer {
	return map[string]answerer{
		"extract":   answer(extract),
		"decide":    answer(decide),
		"summarize": answer(summarize),
		"procedure": answer(summarize),
	}
}

// The worth from which a sentence is kept. Of the labeled sentences in files that the head did not learn from, this keeps
// nine of ten that are worth it, and fewer than half in all. What is missing cannot be found later; what is too
// much is only in the way. What follows a colon may be handed over for work, or be somebody else's words.
const (
	leastWorth           = 0.18
	leastWorthIntroduced = 0.35
)

// extract quotes the sentences of the exchange that state something. It understands none of them. What an assistant says
// is read only if facts about it are asked for.
func extract(in mem0.ExtractInput) mem0.Extraction {
	all := slices.Concat(in.Recent, in.New)
	turns := make([]said.Turn, len(all))
	for i, u := range all {
		turns[i] = said.Turn{Speaker: string(u.Role) + u.Name, Assistant: u.Role == memory.RoleAssistant && !in.OfAgent, Text: u.Content}
	}
	sentences := slices.DeleteFunc(said.Sentences(turns, len(in.Recent)), func(s said.Sentence) bool { return turns[s.Turn].Assistant })
	out := mem0.Extraction{Facts: []string{}}
	for _, q := range best(quotations(sentences), in.Max) {
		if q.turn > 0 && !isQuestion(q.before) && !sameTalk(&all[q.turn-1], &all[q.turn]) {
			q.before = ""
		}
		out.Facts = append(out.Facts, q.frame(&all[q.turn], in.Chars))
	}
	return out
}

// quotation is a sentence that is kept, with what is needed to understand it.
type quotation struct {
	turn, at int    // its turn, and its place in it
	before   string // of the turn before
	words    string
	worth    float64
}

// sameTalk reports whether a statement may explain the one after it: persons say both, within an hour. A question may come
// from anybody, and be answered later.
func sameTalk(before, after *memory.Utterance) bool {
	return before.Role == memory.RoleUser && after.Time.Sub(before.Time) <= time.Hour
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
		if s.Asks || seen[s.Text] || !strings.ContainsFunc(s.Text, unicode.IsLetter) {
			continue
		}
		seen[s.Text] = true
		worth := s.Worth()
		if worth < leastWorth || worth < leastWorthIntroduced && s.Introduced() {
			continue
		}
		q := quotation{turn: s.Turn, at: i, before: s.Before, words: s.Text, worth: worth}
		before := i - 1
		alone := s.Names() || before < 0 || sentences[before].Turn != s.Turn || sentences[before].IsWord()
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

// Marks of a quotation.
const (
	openMark, closeMark = "“", "”"
	answerMark          = closeMark + " – " // between a question and its answer
	saidMark            = ": " + openMark   // between who speaks and the words
)

// The bounds of a quotation, in characters.
const (
	maxSpeaker  = 60
	maxQuestion = 120
	leastQuoted = 80
)

// frame writes a quotation with who said it and when. It has no word of any language:
//
//	Nora, 2026-06-01: “I live in Berlin.”
//	“How often is she shod?” – Rory, 2026-06-01: “Every six weeks.”
//
// For somebody without a name there is only the date, and for an assistant its role, since a memory is about people.
// Every character of the words stays as it is. What is longer than the bound is cut, which an ellipsis shows.
func (q *quotation) frame(u *memory.Utterance, chars int) string {
	who := strings.ReplaceAll(oneLine(u.Name), saidMark, " ")
	if who == "" && u.Role == memory.RoleAssistant {
		who = string(u.Role)
	}
	head := u.Time.Format("2006-01-02") + saidMark
	if who != "" {
		head = cut(who, maxSpeaker) + ", " + head
	}
	words, question := oneLine(q.words), oneLine(q.before)
	if size := utf8.RuneCountInString; question != "" && size(question) <= maxQuestion &&
		(chars <= 0 || size(question)+size(head)+size(words)+len(answerMark) <= chars) {
		head = openMark + strings.ReplaceAll(question, answerMark, " ") + answerMark + head
	}
	if chars > 0 {
		words = cut(words, max(leastQuoted/2, chars-utf8.RuneCountInString(head)-1))
	}
	return head + words + closeMark
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

// quoted returns the words that a fact quotes, or the whole fact if it is no quotation.
func quoted(fact string) string {
	words, ok := strings.CutSuffix(fact, closeMark)
	if !ok {
		return fact
	}
	if strings.HasPrefix(words, openMark) {
		if _, behind, found := strings.Cut(words, answerMark); found {
			words = behind
		}
	}
	if _, behind, found := strings.Cut(words, saidMark); found {
		return behind
	}
	return fact
}
