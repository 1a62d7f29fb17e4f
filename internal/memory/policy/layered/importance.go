package layered

import (
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
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
	RuleReply      ImportanceRule = "reply"      // .3: the answer to what was stored
)

// The constants of importance.
const (
	baseImportance  = 0.1
	replyImportance = 0.3 // of a reply to a message that was stored
	longItemChars   = 100
)

// The published word lists, extended by other forms of the words and of what they stand for.
var (
	emphasis = regexp.MustCompile(`(?i)\b(?:important(?:ly)?|critical(?:ly)?|crucial(?:ly)?|essential|vital|urgent(?:ly)?|must|(?:never|don't|do not) forget|keep in mind|bear in mind|at all costs|absolutely)\b` +
		`|重要|关键|记住|记得要|牢记|别忘|不要忘|务必|必须|绝对|一定要|千万`)
	remember = regexp.MustCompile(`(?i)\bremember(?:s|ed|ing)?\b`)
	// recollection matches that somebody remembers, or is asked whether: it is taken out before remember is looked for.
	recollection = regexp.MustCompile(`(?i)\b(?:(?:do|did|can|could|will|would) (?:you|u)(?: still| even| also)? remember|you remember|what (?:do|did|can) (?:you|i) remember|i (?:still |also |can |can't |cannot |don't |do not )*remember)\b`)

	preference = regexp.MustCompile(`(?i)\b(?:prefer(?:s|red|ence|ences|ring)?|likes|liked|lov(?:e|es|ed|ing)|hat(?:e|es|ed|ing)|dislik(?:e|es|ed)|enjoy(?:s|ed|ing)?|favou?rites?|fond of|can't stand|habits?)\b` +
		`|喜欢|偏好|偏爱|习惯|讨厌|希望|反感|热爱|最爱|爱好`)
	likeVerb = regexp.MustCompile(`(?i)(?:\b(?:i|we|you|they|don't|not|never|really|also|do|does|doesn't|did|didn't|to|who|people|always|still|and|all|both|would|'d|kids|children|parents|friends|men|women|users|most|many)|'d) like\b`)

	task = regexp.MustCompile(`(?i)\b(?:tasks?|goals?|missions?|assignments?|deadlines?|objectives?|to-?do|i need you to|your job is)\b|任务|目标|需要你|请你|使命|截止|待办`)

	memorize = regexp.MustCompile(`(?i)\b(?:my (?:full |first |real )?name(?:'s| is)|call me|important|(?:never|don't|do not) forget|keep in mind)\b|记住|我叫|我的名字|一定要|务必|别忘了|不要忘`)
	request  = regexp.MustCompile(`(?i)\b(?:help|please|pls|tasks?|can you|could you|would you|i need)\b|帮忙|帮我|请|任务|需要`)
	// asksMemory matches a question for what memorize matches.
	asksMemory = regexp.MustCompile(`(?i)\b(?:remember|know|recall|forget|forgot|what(?:'s| is| was)|tell me)\b[^.!]*\bmy (?:full |first |real )?name\b|(?:what|who)\b.*\bcall me\b|我叫(?:什么|啥)|我的名字(?:是什么|叫什么|是啥|吗)|(?:记得|知道|忘了?)我(?:叫|的名字)`)
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
	t.add(emphasis.MatchString(content) || isAskedToRemember(content), 30, RuleEmphasis)
	t.add(preference.MatchString(content) || likeVerb.MatchString(content), 20, RulePreference)
	t.add(task.MatchString(content), 25, RuleTask)
	t.add(utf8.RuneCountInString(content) > longItemChars, 15, RuleLength)
	return t.importance()
}

// isAskedToRemember reports whether a text asks to remember something.
func isAskedToRemember(content string) bool {
	return remember.MatchString(recollection.ReplaceAllString(content, ""))
}

// chatImportance returns how important what a person says is: .1, +.4 for "remember" or a name, +.2 for a
// request, and +.2 for a statement about themselves (who they are, like, can and want, and where they live). A text of which
// a secret was redacted has the base alone.
func chatImportance(content string) Importance {
	t := newTally()
	if memory.Redacted(content) {
		return t.importance()
	}
	t.add(memorize.MatchString(asksMemory.ReplaceAllString(content, "")) || isAskedToRemember(content), 40, RuleMemorize)
	t.add(request.MatchString(content), 20, RuleRequest)
	t.add(len(RuleTriples(TriplesInput{memory.Utterance{Role: memory.RoleUser, Content: content}})) > 0, 20, RulePersonal)
	return t.importance()
}

// replyTo returns how important an assistant's reply is: replyImportance if what it answers was stored, else
// baseImportance.
func replyTo(inputStored bool) Importance {
	if inputStored {
		return Importance{replyImportance, []ImportanceRule{RuleReply}}
	}
	return Importance{baseImportance, []ImportanceRule{}}
}
