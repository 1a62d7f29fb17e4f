package layered

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Importance is how important an item is, with the rules that said so.
type Importance struct {
	Value float64          `json:"value"` // 0..1
	Rules []ImportanceRule `json:"rules"` // never nil
}

// ImportanceRule is a reason for importance.
type ImportanceRule string

// The rules of items, with what they add to baseImportance, and the rules of what is said in a chat.
const (
	RuleEmphasis   ImportanceRule = "emphasis"   // item +.3
	RulePreference ImportanceRule = "preference" // item +.2
	RuleTask       ImportanceRule = "task"       // item +.25
	RuleLength     ImportanceRule = "length"     // item +.15, above longItemChars
	RuleMemorize   ImportanceRule = "memorize"   // chat +.4: "remember", "my name is"
	RuleRequest    ImportanceRule = "request"    // chat +.2
	RulePersonal   ImportanceRule = "personal"   // chat +.2: who somebody is, likes, can, wants, where they live
	RuleEvent      ImportanceRule = "event"      // chat +.2: anything else that tells something
	RuleReply      ImportanceRule = "reply"      // .3: the answer to what was stored
)

// The constants of importance.
const (
	baseImportance  = 0.1
	replyImportance = 0.3 // of a reply to a message that was stored
	longItemChars   = 100
)

// The published word lists. Emphasis and memorize count in statements: a question whether somebody remembers asks to
// remember nothing.
var (
	emphasis   = regexp.MustCompile(`(?i)\b(?:important|critical|remember|must)\b|重要|关键|记住|务必|必须|绝对`)
	preference = regexp.MustCompile(`(?i)\b(?:prefer(?:s|red)?|likes?|loves?|hates?)\b|喜欢|偏好|习惯|讨厌|希望`)
	comparison = regexp.MustCompile(`(?i)\b(?:looks?|feels?|sounds?|seems?|tastes?) like\b`) // no preference
	task       = regexp.MustCompile(`(?i)\b(?:tasks?|goals?|missions?)\b|任务|目标是|需要你|请你`)
	memorize   = regexp.MustCompile(`(?i)\b(?:remember|my name is|important)\b|记住|我叫|我的名字|一定要|务必`)
	request    = regexp.MustCompile(`(?i)\b(?:help|please|tasks?)\b|帮忙|帮我|请|任务|需要`)
)

// tally adds up what rules say, in hundredths, so that sums are exact.
type tally struct {
	hundredths int
	rules      []ImportanceRule
}

// newTally returns the base that everything has.
func newTally() *tally { return &tally{10, []ImportanceRule{}} }

// add adds what a rule adds if it holds.
func (t *tally) add(holds bool, hundredths int, rule ImportanceRule) {
	if holds {
		t.hundredths += hundredths
		t.rules = append(t.rules, rule)
	}
}

// importance returns the sum, at most 1, and the rules that held.
func (t *tally) importance() Importance {
	return Importance{float64(min(t.hundredths, 100)) / 100, t.rules}
}

// itemImportance returns how important an item is: .1, +.3 for emphasis, +.2 for a preference, +.25 for
// a task and +.15 above longItemChars characters. A text of which a secret was redacted has the base alone: nobody is to
// treasure it.
func itemImportance(content string) Importance {
	t := newTally()
	if memory.Redacted(content) {
		return t.importance()
	}
	t.add(emphasis.MatchString(strings.Join(statements(content), "\n")), 30, RuleEmphasis)
	t.add(preference.MatchString(comparison.ReplaceAllString(content, "")), 20, RulePreference)
	t.add(task.MatchString(content), 25, RuleTask)
	t.add(utf8.RuneCountInString(content) > longItemChars, 15, RuleLength)
	return t.importance()
}

// chatImportance returns how important what a person says is: .1, +.4 for "remember" or a name, +.2 for a
// request, and +.2 for a statement about themselves (who they are, like, can and want, and where they live). Of what is none of
// these, +.2 for what tells something. A text of which a secret was redacted has the base alone.
func chatImportance(content string, tells func() bool) Importance {
	t := newTally()
	if memory.Redacted(content) {
		return t.importance()
	}
	stated := statements(content)
	t.add(memorize.MatchString(strings.Join(stated, "\n")), 40, RuleMemorize)
	t.add(request.MatchString(content), 20, RuleRequest)
	t.add(len(RuleTriples(TriplesInput{Message: memory.Utterance{Role: memory.RoleUser, Content: content}})) > 0, 20, RulePersonal)
	t.add(len(t.rules) == 0 && tells(), 20, RuleEvent)
	return t.importance()
}

// replyTo returns how important an assistant's reply is: replyImportance if what it answers was stored and it says
// something that was not said there, else baseImportance. So an acknowledgment is never kept.
func replyTo(inputStored bool, asked, reply string) Importance {
	if !inputStored || informative(strings.Join(statements(reply), "\n"), asked) < minReplyTerms {
		return Importance{baseImportance, []ImportanceRule{}}
	}
	return Importance{replyImportance, []ImportanceRule{RuleReply}}
}

// minReplyTerms is how many terms a reply adds that is not an acknowledgment.
const minReplyTerms = 4

// pairWeight is the weight of a pair of characters, as a term.
const pairWeight = .4

// leastWorth is the worth of a sentence, by package said, from which it is an episode. Facts are kept from a lower one: an
// episode too many hides others. What happened to somebody is one in any case.
const leastWorth = .4

// tells reports whether a person's words say that something happened, or state something worth keeping, in any language.
func (w *writer) tells(ctx context.Context, content string) bool {
	j, _ := policy.Weigh(ctx, w.d, content) // there is an answer in any case
	return j.Happened || j.Worth >= leastWorth
}

// informative counts the terms of a text that another does not have: no numbers, which may be a time or a code, and no
// words for times.
func informative(s, known string) (n float64) {
	words := slices.DeleteFunc(text.Words(s), func(w string) bool {
		return strings.ContainsFunc(w, unicode.IsNumber) || policy.IsTimeWord(w)
	})
	seen := text.TermSet(known)
	for _, t := range text.Terms(strings.Join(words, " ")) {
		if seen[t] {
			continue
		}
		seen[t] = true
		if text.IsPair(t) {
			n += pairWeight
		} else {
			n++
		}
	}
	return n
}
