package layered

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file takes triples from what a person says, by the published lists of phrases with their English
// forms. A phrase counts at the beginning of a clause, behind what may introduce it, and adverbs may be
// between its subject and its verb.

// RuleTriples returns the triples of a message by rules: at most maxTriples with the subject SubjectUser,
// one of the eight relations and ruleConfidence. Questions, and what somebody else than a person says, give
// none.
func RuleTriples(in TriplesInput) []Triple {
	out := []Triple{}
	if in.Message.Role != memory.RoleUser {
		return out
	}
	for _, sentence := range statements(in.Message.Content) {
		last := ruleFinding{}
		all := clauses(sentence)
		for i, c := range all {
			found := clauseTriple(c)
			if last.relation == relationName && found.relation == "" {
				found = jobBehindName(c)
			}
			last = found
			if found.relation == "" {
				continue
			}
			for _, object := range append([]string{found.object}, furtherObjects(&found, all[i:])...) {
				t := Triple{SubjectUser, found.relation, object, ruleConfidence}
				if len(out) < maxTriples && !repeats(out, t) {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

func repeats(all []Triple, t Triple) bool {
	for _, other := range all {
		if other.Relation == t.Relation && strings.EqualFold(other.Object, t.Object) {
			return true
		}
	}
	return false
}

// ruleFinding is what one clause says.
type ruleFinding struct {
	relation, object string
	accept           func(object string) (string, bool) // of the phrase, see there
}

// phrase is a phrase that states a relation. Its last group is where the object begins, up to the end of
// the clause. accept changes or refuses the object: nil accepts all.
type phrase struct {
	relation string
	form     *regexp.Regexp
	accept   func(object string) (string, bool)
}

// clause is a part of a sentence up to a punctuation mark. Open: nothing marks its end.
type clause struct {
	text string
	mark string // at its end
	open bool
}

// jobBehindName returns the job in a clause behind a name: "I'm Ana, a nurse.".
func jobBehindName(c clause) ruleFinding {
	m := jobInApposition.FindStringIndex(c.text)
	if m == nil {
		return ruleFinding{}
	}
	object := cleanObject(c.text[m[1]:], c.open)
	accept := acceptJob
	if isHan(object) {
		accept = acceptHanJob
	}
	if object, ok := accept(object); ok {
		return ruleFinding{relation: relationJob, object: object}
	}
	return ruleFinding{}
}

var jobInApposition = regexp.MustCompile(`(?i)^(?:an? |一名|一个|一位|是一?[名个位]?)`)

// clauseTriple returns what a clause says; no relation: nothing. The first phrase that fits wins: jobs come
// before names.
func clauseTriple(c clause) ruleFinding {
	phrases := englishPhrases
	if isHan(c.text) {
		phrases = hanPhrases
	}
	for i := range phrases {
		p := &phrases[i]
		m := p.form.FindStringIndex(c.text)
		if m == nil {
			continue
		}
		object := cleanObject(c.text[m[1]:], c.open)
		if object == "" {
			continue
		}
		if p.accept != nil {
			accepted, ok := p.accept(object)
			if !ok {
				continue
			}
			object = accepted
		}
		return ruleFinding{p.relation, object, p.accept}
	}
	return ruleFinding{}
}

// cleanObject returns the object of a triple: without particles and afterthoughts, at most
// openObjectChars of a clause that nothing ends; "" when it is too long, or names nothing.
func cleanObject(s string, open bool) string {
	s = strings.TrimSpace(s)
	if m := objectEnd.FindStringIndex(s); m != nil {
		s = s[:m[0]]
	}
	for {
		was := s
		s = strings.TrimRightFunc(strings.TrimSpace(s), func(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune(")）》”\"'", r) })
		s = afterthought.ReplaceAllString(s, "")
		if s == was {
			break
		}
	}
	if open && utf8.RuneCountInString(s) > openObjectChars {
		s = cutObject(s)
	}
	if s == "" || utf8.RuneCountInString(s) > maxObjectChars || pointsBack.MatchString(thisTime.ReplaceAllString(s, "")) || definiteThing(s) || vagueObject.MatchString(s) || addressesListener.MatchString(strings.ToLower(s)) {
		return ""
	}
	return s
}

// definiteThing reports whether an object is "the" and a thing that only the talk knows: "the plan", and not
// "the sea" or "the Alps".
func definiteThing(s string) bool {
	words := strings.Fields(s)
	if len(words) < 2 || !strings.EqualFold(words[0], "the") {
		return false
	}
	for _, w := range words[1:min(len(words), 4)] {
		if first, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(first) || commonlyKnown[strings.ToLower(strings.Trim(w, ".,"))] {
			return false
		}
	}
	return true
}

// cutObject returns the first openObjectChars characters of s, without a word that was cut.
func cutObject(s string) string {
	runes := []rune(s)
	cut := string(runes[:openObjectChars])
	if next := runes[openObjectChars]; unicode.IsLetter(next) && next < 0x2e80 {
		if at := strings.LastIndexByte(cut, ' '); at > 0 {
			cut = cut[:at]
		}
	}
	return strings.TrimSpace(cut)
}

// statements returns the sentences of a message that state something: no questions, no code, no lines
// that quote.
func statements(s string) []string {
	s = codeBlock.ReplaceAllString(s, "\n")
	s = strings.NewReplacer("’", "'", "‘", "'", "\u00a0", " ").Replace(s)
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, ">") {
			continue
		}
		for _, sentence := range text.Sentences(line) {
			if said := statement(sentence); said != "" {
				out = append(out, said)
			}
		}
	}
	return out
}

// statement returns a sentence without a question behind it ("I like tea, and you?"); "" when it is a
// question or a supposition as a whole.
func statement(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		m := askedBehind.FindStringIndex(s)
		if m == nil {
			return ""
		}
		s = s[:m[0]]
	}
	if hanAsks.MatchString(s) || supposes.MatchString(s) {
		return ""
	}
	return s
}

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?(?:```|$)")
	askedBehind = regexp.MustCompile(`(?i)\s*[,;，；]\s*(?:and |but |so )?(?:what about (?:you|yours)|how about (?:you|yours)|you|and you|do you|don't you|are you|aren't you|isn't (?:it|that)|is that|is it|right|ok(?:ay)?|can you|could you|would you|what|which|who|where|how|any|你呢|你们呢|您呢|对吧|好吗|好吧|可以吗|怎么样|你|有没有|能不能|是不是|什么|有什么|哪)[^,;，；]*[?？]$`)
	// hanAsks matches a Chinese question that has no question mark.
	hanAsks  = regexp.MustCompile(`(?:吗|么)[。!！~～…\s]*$|(?:叫|是|住在?|喜欢|做|会|在)(?:什么|谁|哪里?|哪儿)|(?:记得|知道)我(?:的名字|叫|是谁|喜欢|住)`)
	supposes = regexp.MustCompile(`(?i)^(?:(?:and|but|so|well|oh) )?(?:if|imagine|suppose|assume|let's say|what if|i wish|pretend|as if)\b|^(?:如果|假如|要是|假设|假装|万一|比如说?我)`)
)

// ownClause matches a conjunction in front of another statement of the person about themselves, and of a
// verb that continues one.
var (
	ownClause    = regexp.MustCompile(`(?i),? (?:and|but|so|because|although|though|while|since|however|plus) (i(?:'m|'ve|'d|'ll)?|my) `)
	sharedVerb   = regexp.MustCompile(`(?i),? (?:and|but) ((?:also |really |now |currently )*(?:work as|live in|love|like|enjoy|hate|dislike|prefer|don't like|do not like|can't stand))\s`)
	ownVerb      = regexp.MustCompile(enOpening + `i(?:'m| am)? ` + enAdverb + `(?:live|work|like|love|enjoy|hate|prefer|into|a|an|called|from|based)\b[^,.;!]*$`)
	hanOwnClause = regexp.MustCompile(`(?:而且|并且|但是|不过|可是|同时|所以|因为|也|还|但|和|又|，)(我)`)
	// hanSharedVerb matches a verb that continues what the person says about themselves.
	hanSharedVerb = regexp.MustCompile(`[，,、](?:也|还|更|同时也?)(不?喜欢|讨厌|擅长|爱|反感)`)
	clauseMark    = regexp.MustCompile("[,，。！!；;：:？?\n、…（(]|\\.(?:\\s|$)|\\s[–—-]+\\s|[–—]")
)

// clauses returns the parts of a sentence between punctuation marks and before conjunctions that begin
// another statement about the person.
func clauses(s string) []clause {
	s = ownClause.ReplaceAllString(s, ", $1 ")
	if m := sharedVerb.FindStringIndex(s); len(m) > 0 && ownVerb.MatchString(s[:m[0]]) {
		s = s[:m[0]] + sharedVerb.ReplaceAllString(s[m[0]:], ", I $1 ")
	}
	s = hanOwnClause.ReplaceAllString(s, "，$1")
	if strings.HasPrefix(s, "我") {
		s = hanSharedVerb.ReplaceAllString(s, "，我$1")
	}
	var out []clause
	for s != "" {
		end, next, open := len(s), len(s), true
		for _, m := range clauseMark.FindAllStringIndex(s, 64) {
			if isInside(s, m[0]) {
				continue
			}
			end, next, open = m[0], m[1], false
			break
		}
		if part := strings.TrimSpace(s[:end]); part != "" {
			out = append(out, clause{part, strings.TrimSpace(s[end:next]), open})
		}
		s = s[next:]
		if len(out) == 256 {
			break
		}
	}
	return out
}

// isInside reports whether the mark at a place of s is part of a word, a number or a title: "Dr. Berg",
// "3,000", "10:30".
func isInside(s string, at int) bool {
	if s[at] != '.' && s[at] != ',' && s[at] != ':' {
		return false
	}
	if at+1 < len(s) && at > 0 && unicode.IsDigit(rune(s[at-1])) && unicode.IsDigit(rune(s[at+1])) {
		return true
	}
	return s[at] == '.' && titleBefore.MatchString(s[:at])
}

var titleBefore = regexp.MustCompile(`(?:^|\s)(?:Dr|Mr|Mrs|Ms|St|Prof|Jr|Sr|[A-Z])$`)

// isHan reports whether a text has Chinese characters.
func isHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

var (
	// objectEnd matches where the object ends without punctuation.
	objectEnd = regexp.MustCompile(`(?i) (?:because|but|although|though|since|while|whenever|when|if|so that|so i|so we|as well as i|which|who|and (?:i|we|it|he|she|they|that|this|my|our|his|her|their|there|so|am|was|would|will|have|then))\b|因为|所以|但是|不过|而且|的时候`)
	// pointsBack matches a pronoun that only the talk explains.
	pointsBack = regexp.MustCompile(`(?i)\b(?:it|this|these|those|him|them|both of|such)\b`)
	// thisTime matches a span of time, which is no such pronoun.
	thisTime = regexp.MustCompile(`(?i)\bthis (?:year|month|week|summer|winter|spring|fall|autumn|season|semester|weekend)\b`)
	// commonlyKnown are things that "the" names for everybody.
	commonlyKnown = policy.WordSet(`ocean sea beach beaches outdoors mountains mountain countryside sun rain snow water gym piano guitar violin drums cello flute
		opera theater theatre cinema movies internet morning mornings evening evenings night summer winter autumn fall spring cold heat color colors arts city forest woods
		sky stars moon smell taste sound freedom harp saxophone trumpet bass country suburbs desert lake river park library zoo environment news weather market`)
	// afterthought matches words at the end of an object that are not part of it.
	afterthought = regexp.MustCompile(`(?i)(?:^|\s)(?:a lot|very much|so much|too|as well|either|right now|now|these days|at the moment|currently|though|actually|lol|haha|please|by the way|btw|the most|most|best|more than anything|at all|anymore|any more|today|instead|again|you know|of course|for sure)$|(?:啊|呀|呢|哦|吧|啦|哈|嘛|噢|呗|喔|诶|的说|哈哈+|了)$`)
	// vagueObject matches an object that names nothing without the words around it.
	vagueObject = regexp.MustCompile(`(?i)^(?:it|it's|that|that's|this|these|those|them|him|her$|you|your|yours|u|me|us|one|some|any|what|how|when|where|why|who|whether|there|here|everywhere|so|not|all|both|everything|anything|nothing|something|everyone|exist|clear|simple|to|in|a lot|very much)(?:[\s'].*)?$|^to (?:be|do|go|have|get|say|see|know|think|tell|ask|talk|make|try|hear) (?:it|that|this|so|you|them)\b|^to (?:see|hear|tell|ask|thank|help|talk to|meet|do|be|know)\b.*\b(?:you|your|it|that|this)\b|^(?:the|our|their|its|such an?|an?) (?:[\p{L}\d-]+ ){0,4}(?:ideas?|sounds?|thoughts?|look|one|same|other|direction|breakdowns?|updates?|plan|approach|design|layout|structure|way|point|parts?|concept|version|draft|framing|focus|loop|list|suggestions?|tips?|bit|stuff|detail|details|flow|setup|option|options|format|style|tone|logic|vibe|work|sentence|answer|wording|addition|fact)(?:\s.*)?$|(?:^|\s)(?:a|an|the|my|your|and|or|of|to|with|safe|better|more|very)$|^(?:你|您|他|她|它|这|那|什么|怎么|谁|哪|啥|自己$|吗|不|了$|的$|一下|一点|过$|着$)`)
)
