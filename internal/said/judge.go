package said

import (
	_ "embed" // names of signs
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Embed returns the vectors of texts by encoder.E5ForTalk, in order.
type Embed func(texts []string) ([][]float32, error)

// Bounds of what is judged by vectors.
const (
	mostJudged   = 400 // sentences in one call
	judgedLength = 400 // bytes of a sentence, its beginning
)

// Judge reads the kinds of sentences from their vectors. From then on, their worth knows what is supposed, handed over for work
// or said by somebody else. With an error, the sentences are unchanged.
func Judge(sentences []Sentence, embed Embed) error {
	var texts []string
	var takes []func(*Kinds) // of each of texts
	ask := func(text string, take func(*Kinds)) { texts, takes = append(texts, text), append(takes, take) }
	some := sentences[:min(len(sentences), mostJudged)]
	for i := range some {
		s := &some[i]
		ask(s.judged(), func(k *Kinds) { s.Kinds = k })
		if clause := s.clause(); clause != "" {
			ask(clause, func(k *Kinds) { s.opened = k })
		}
		if spelled := s.spelled(); spelled != "" {
			ask(spelled, func(k *Kinds) {
				if s.Kinds != nil && k != nil {
					s.Kinds.States = max(s.Kinds.States, k.States)
				}
			})
		}
	}
	if len(texts) == 0 {
		return nil
	}
	made, err := embed(texts)
	if err != nil || len(made) != len(texts) {
		return err
	}
	for i, take := range takes {
		take(KindsOf(texts[i], made[i]))
	}
	doubtSupposed(some, embed)
	markHanded(some)
	markQuoted(some)
	return nil
}

// doubtSupposed reads suppositions that end without a mark, as in a chat, again: with a full stop they are suppositions, too. Where that
// fails, they stay what they are.
func doubtSupposed(sentences []Sentence, embed Embed) {
	var texts []string
	var doubted []*Kinds
	for i := range sentences {
		s := &sentences[i]
		end, _ := utf8.DecodeLastRuneInString(s.Text)
		if s.Kinds == nil || s.Kinds.Supposed < LeastSupposed || unicode.IsPunct(end) || unicode.IsSymbol(end) {
			continue
		}
		stop := "."
		if end >= 0x2e80 && end < 0xac00 {
			stop = "。"
		}
		texts, doubted = append(texts, s.judged()+stop), append(doubted, s.Kinds)
	}
	if len(texts) == 0 {
		return
	}
	made, err := embed(texts)
	if err != nil || len(made) != len(texts) {
		return
	}
	for i, k := range doubted {
		if again := KindsOf(texts[i], made[i]); again != nil {
			k.Supposed = min(k.Supposed, again.Supposed)
		}
	}
}

// markQuoted marks the sentences that continue the words of somebody else. Behind the end of a quotation, the speaker continues.
func markQuoted(sentences []Sentence) {
	var lead *Sentence
	ended := false // nothing more belongs to it
	for i := range sentences {
		s := &sentences[i]
		switch {
		case s.Lead == "":
			lead, ended = s, false
		case lead == nil || lead.Turn != s.Turn || lead.Text != s.Lead:
		case !lead.isOfOthers() && !lead.handed:
			apart := s.endsLead(&sentences[i-1] == lead)
			if ended = ended || apart; ended {
				s.Lead, s.Apart = "", apart
			}
		case endsQuotation(s.Lead):
			s.Lead = ""
		default:
			s.ofOthers = true
		}
	}
}

// endsLead reports whether a sentence no longer belongs to what introduces the ones before: it begins a paragraph, and is neither the
// first behind that nor an item of a list, or what was introduced is left out.
func (s *Sentence) endsLead(first bool) bool {
	begin, _ := utf8.DecodeRuneInString(s.Text)
	return s.behind == paste || s.behind >= blank && !first && unicode.IsLetter(begin)
}

// endsQuotation reports whether a text ends with the end of a quotation.
func endsQuotation(s string) bool {
	end, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune(endQuotes, r) }))
	return strings.ContainsRune(endQuotes, end)
}

// judged returns the words of which the kinds are read: with what introduces them.
func (s *Sentence) judged() string {
	words := s.Text
	if strings.HasSuffix(s.Lead, ":") || strings.HasSuffix(s.Lead, "：") { // one with more behind it has introduced that
		words = s.Lead + " " + words
	}
	for len(words) > judgedLength {
		_, size := utf8.DecodeLastRuneInString(words[:judgedLength])
		words = words[:judgedLength-size]
	}
	return words
}

// clause returns the words of a sentence up to a colon that introduces the rest of it; "": there is none.
func (s *Sentence) clause() string {
	at := strings.IndexAny(s.Text, ":：")
	if at <= 0 || at > judgedLength || !introduces(s.Text) {
		return ""
	}
	_, size := utf8.DecodeRuneInString(s.Text[at:])
	if at+size == len(s.Text) {
		return ""
	}
	return s.Text[:at+size]
}

// spelled returns the words of a sentence with the names of its emoji, if one is between two words, where it may be the verb:
// "I 💔 winter". "": none is.
func (s *Sentence) spelled() string {
	if len(text.Signs(s.Text)) == 0 {
		return ""
	}
	var b strings.Builder
	begun, sign, between := false, false, false // a letter is before; a sign follows it; a letter follows that
	for _, r := range s.judged() {
		switch {
		case unicode.Is(unicode.So, r):
			sign = begun
			b.WriteString(" " + signNames()[r] + " ")
			continue
		case unicode.IsLetter(r):
			begun, between = true, between || sign
		case r == variation || r == joiner:
			continue
		}
		b.WriteRune(r)
	}
	if !between {
		return ""
	}
	return b.String()
}

// signs has the names of emoji and their like in Unicode, a line each, in small letters: all names would be a megabyte of the
// program.
//
//go:embed signs.txt
var signs string

// signNames returns the names of signs; "" of a rare one.
var signNames = sync.OnceValue(func() map[rune]string {
	out := map[rune]string{}
	for line := range strings.Lines(signs) {
		r, size := utf8.DecodeRuneInString(line)
		out[r] = strings.TrimSpace(line[size:])
	}
	return out
})

// variation is behind a sign that is shown as an emoji, joiner between signs that are shown as one.
const (
	variation = '\ufe0f'
	joiner    = '\u200d'
)

// handsOver reports whether a sentence hands a text over for work.
func (s *Sentence) handsOver() bool {
	return s.Kinds != nil && s.Kinds.Handed >= LeastHanded || s.opened != nil && s.opened.Handed >= LeastHanded
}

// markHanded marks the sentences that are handed over for work. They follow the sentence that does it, or are on the lines
// before it if nothing follows. Behind the end of a quotation in that sentence, the speaker continues.
func markHanded(sentences []Sentence) {
	for from := 0; from < len(sentences); {
		to := from + 1
		for to < len(sentences) && sentences[to].Turn == sentences[from].Turn {
			to++
		}
		markTurn(sentences[from:to])
		from = to
	}
}

func markTurn(turn []Sentence) {
	for i := range turn {
		if !turn[i].handsOver() {
			continue
		}
		handed, ends := turn[i:min(i+turn[i].part, len(turn))], turn[i].clause() != "" && endsQuotation(turn[i].Text)
		switch {
		case ends:
			handed = turn[i : i+1]
		case i == len(turn)-1 && i > 0 && turn[i].line != turn[i-1].line:
			handed = turn
		}
		for k := range handed {
			handed[k].handed = true
		}
		if !ends {
			return
		}
	}
}

// IsUntold reports whether somebody says a sentence without telling it: it is supposed, handed over for work, or the words of
// somebody else. Without vectors nothing is.
func (s *Sentence) IsUntold() bool {
	if s.Kinds == nil {
		return false
	}
	return s.handed || s.ofOthers || s.isOfOthers() || s.Kinds.Supposed >= LeastSupposed || s.opened != nil && s.opened.Supposed >= LeastSupposed
}

// isOfOthers reports whether a sentence is the words of somebody else, who says "I".
func (s *Sentence) isOfOthers() bool {
	return s.Kinds != nil && s.Kinds.Quoted >= LeastQuoted && s.hasWordsOfOthers()
}

// hasWordsOfOthers reports whether a sentence has a form in which words of somebody else are written.
func (s *Sentence) hasWordsOfOthers() bool {
	return s.Introduced() || strings.ContainsAny(s.Text, openQuotes+"\u2018'")
}

// Happened reports whether a sentence tells something that happened to somebody, or was done or decided. Without vectors nothing
// did.
func (s *Sentence) Happened() bool {
	return s.Kinds != nil && !s.Asks && !s.IsUntold() && s.Kinds.Happened >= LeastHappened
}

// Worth returns how likely a sentence states something worth keeping: by the head, and by its kinds if they are known.
func (s *Sentence) Worth() float64 {
	worth := head.worth(&s.features)
	if s.Kinds == nil {
		return worth
	}
	if s.IsUntold() || !strings.ContainsFunc(s.Text, unicode.IsLetter) {
		return 0
	}
	both := Both(worth, s.Kinds.States)
	if s.Happened() {
		both = max(both, s.Kinds.Happened)
	}
	return both
}

// HeadShare is the share of the head in the worth of a sentence, and bothBias what is added to it. Both were chosen so that, of writers
// from whom the head had not learned, no fewer sentences of facts have the least worth than by the head alone.
const (
	HeadShare = 0.5
	bothBias  = -0.6
)

// Both returns the worth of a sentence by the head and by what the network says that it states.
func Both(head, states float64) float64 {
	return 1 / (1 + math.Exp(-HeadShare*logit(head)-(1-HeadShare)*logit(states)-bothBias))
}

// logit is the inverse of the logistic function, bounded.
func logit(p float64) float64 {
	const bound = 1e-4
	p = min(max(p, bound), 1-bound)
	return math.Log(p / (1 - p))
}

// Most returns the most worth of any sentence that asks nothing, and whether one tells something that happened.
func Most(sentences []Sentence) (worth float64, happened bool) {
	for i := range sentences {
		if s := &sentences[i]; !s.Asks {
			worth, happened = max(worth, s.Worth()), happened || s.Happened()
		}
	}
	return worth, happened
}

// refusalAt is how many sentences of a text may be before its refusal is over, such as an apology.
const refusalAt = 2

// Refuses reports whether a text of a model is a refusal: it begins with one. Without vectors none does.
func Refuses(sentences []Sentence) bool {
	return slices.ContainsFunc(sentences[:min(len(sentences), refusalAt)], func(s Sentence) bool {
		return s.Kinds != nil && s.Kinds.Refused >= LeastRefused
	})
}
