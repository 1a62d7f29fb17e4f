package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of decisions by rules.
const (
	sameMeaning   = 0.85 // share of common terms from which two facts say the same
	samePredicate = 0.6  // share of the shorter one's terms from which a negation is one of the other
	maxNegated    = 9    // terms of a fact above which a negation is one thing among others
	maxMerged     = 300  // characters of a merged memory
	maxCompared   = 1000 // characters of a text that is compared; a longer one stands by itself
)

// decide says what becomes of a fact, by comparing it with each memory that is
// similar: the same again is left, another value of what can have one only
// takes its place, more detail is merged in.
func decide(in mem0.DecideInput) mem0.FactDecision {
	if utf8.RuneCountInString(in.Fact) > maxCompared {
		return mem0.FactDecision{Operation: mem0.OpAdd}
	}
	fact := parseFact(in.Fact)
	type choice struct {
		op     mem0.Operation
		handle int
		text   string
	}
	var best *choice
	rank := map[mem0.Operation]int{mem0.OpNoop: 3, mem0.OpDelete: 2, mem0.OpUpdate: 1}
	for _, m := range in.Similar {
		if utf8.RuneCountInString(m.Content) > maxCompared {
			continue // a document, which says much beside
		}
		op, merged := compareClauses(fact, m.Content)
		if op != mem0.OpAdd && (best == nil || rank[op] > rank[best.op]) {
			best = &choice{op, m.Handle, merged}
		}
	}
	if best == nil {
		return mem0.FactDecision{Operation: mem0.OpAdd}
	}
	d := mem0.FactDecision{Operation: best.op, Target: &best.handle}
	if best.op != mem0.OpNoop {
		d.Text = &best.text
	}
	return d
}

// compareClauses decides about a fact and one memory, clause by clause where the
// memory has several: what the fact does not contradict stays in the text.
func compareClauses(fact factFrame, content string) (op mem0.Operation, merged string) {
	clauses := factClauses(content)
	if len(clauses) == 1 {
		old := parseFact(content)
		op, merged = compareFacts(fact, old)
		if kin := kinFact(&old); op == mem0.OpDelete && kin != "" && !fact.ended {
			merged = kin + " " + merged
		}
		return op, merged
	}
	op = mem0.OpAdd
	var kept []string
	for _, c := range clauses {
		o, t := compareFacts(fact, parseFact(c))
		switch {
		case o == mem0.OpNoop:
			return o, ""
		case o == mem0.OpDelete:
			op = o
		case o == mem0.OpUpdate && op == mem0.OpAdd:
			op, kept = o, append(kept, t)
		default:
			kept = append(kept, c)
		}
	}
	if op == mem0.OpDelete {
		kept = append(kept, fact.text)
	}
	between := " "
	if isHan(content) {
		between = ""
	}
	merged = strings.Join(kept, between)
	if op != mem0.OpAdd && utf8.RuneCountInString(merged) > maxMerged {
		return mem0.OpAdd, "" // both stay, which loses nothing
	}
	return op, merged
}

// compareFacts decides about a fact and one memory. The text is that of the memory
// as it should read.
func compareFacts(fact, old factFrame) (mem0.Operation, string) {
	common := 0
	for t := range fact.terms {
		if old.terms[t] {
			common++
		}
	}
	if fact.subject != old.subject {
		return mem0.OpAdd, ""
	}
	union := len(fact.terms) + len(old.terms) - common
	news := len(fact.terms) - common
	for _, s := range fact.slots {
		if slices.ContainsFunc(old.slots, s.excludes) {
			return mem0.OpDelete, fact.text
		}
	}
	sameVerb := fact.verb == old.verb
	if fact.cancels(old) {
		return mem0.OpDelete, fact.text
	}
	if fact.negated != old.negated {
		shorter, longer := min(len(fact.terms), len(old.terms)), max(len(fact.terms), len(old.terms))
		about := float64(common) >= samePredicate*float64(shorter) && longer <= maxNegated
		if calledOff.MatchString(fact.text) && !planned.MatchString(old.text) && !futureWords.MatchString(old.text) {
			about = false // only what was to be can be called off
		}
		if decidedNot.MatchString(fact.text) && !futureWords.MatchString(old.text) && !intention.MatchString(old.text) {
			about = false
		}
		if len(fact.canceledTrips) > 0 && beenOrLiked.MatchString(old.text) {
			about = false // a trip that is off says nothing of an earlier one, nor of a taste
		}
		if shorter > 0 && about && (fact.ended || sameVerb && fact.object == old.object) {
			return mem0.OpDelete, fact.text
		}
		return mem0.OpAdd, ""
	}
	if fact.folded == old.folded {
		return mem0.OpNoop, ""
	}
	if union == 0 || common == 0 {
		return mem0.OpAdd, ""
	}
	sameObject := fact.object == old.object
	switch {
	case float64(common) >= sameMeaning*float64(union), news == 0 && sameVerb && (common > 1 || sameObject):
		return mem0.OpNoop, ""
	case fact.figures != old.figures && fact.figures != "" && old.figures != "":
		return mem0.OpAdd, "" // it happened twice
	case !sameVerb || !sameObject:
		return mem0.OpAdd, ""
	case common == len(old.terms):
		return mem0.OpUpdate, fact.text
	case lastingVerbs[fact.verb]:
		if merged, ok := mergeFacts(old.text, fact.text); ok && utf8.RuneCountInString(merged) <= maxMerged {
			return mem0.OpUpdate, merged
		}
	}
	return mem0.OpAdd, ""
}

// lastingVerbs are verbs of what stays so; other facts tell what happened once.
var lastingVerbs = wordSet("like prefer hate job live has have own plai speak studi teach collect")

// mergeFacts joins two texts of which the new one repeats the beginning of the old;
// ok is false where it does not.
func mergeFacts(old, added string) (merged string, ok bool) {
	a, b := strings.Fields(old), strings.Fields(added)
	n := 0
	for n < len(a) && n < len(b) && strings.EqualFold(strings.Trim(a[n], ".,"), strings.Trim(b[n], ".,")) {
		n++
	}
	if n < 3 || n == len(b) {
		return "", false
	}
	return strings.TrimRight(old, ".。 ") + ", " + strings.Join(b[n:], " "), true
}

// factFrame is what the rules see of a fact.
type factFrame struct {
	text, folded  string
	subject       string // folded; "" not seen
	verb, object  string
	terms         map[string]bool // of meaning, without subject, negation and emphasis
	negated       bool
	ended         bool   // something was stopped or called off
	figures       string // the numbers of it: days, years, amounts
	slots         []slot
	canceledTrips []string // where somebody does not go after all
}

// slot is a relation that has one value at a time.
type slot struct {
	relation, value string
	negated         bool
}

// excludes tells that two values cannot both be true: two others of one
// relation, or one that is and is not.
func (s slot) excludes(o slot) bool {
	if s.relation != o.relation {
		return false
	}
	if s.value == o.value {
		return s.negated != o.negated
	}
	return !s.negated && !o.negated
}

// synonyms bring words of one meaning to one.
var synonyms = lookupByWord(map[string]string{
	"like":   "like love enjoy adore fond fan likes loves enjoys adores loved liked enjoyed adored liking loving enjoying adoring passionate enjoyment into",
	"prefer": "prefer prefers favourite favorite favorites favourites preferred",
	"hate":   "hate hates dislike dislikes detest loathe hated disliked",
	"live":   "live lives living lived reside resides residing resident based home",
	"mother": "mom mum mother mama mommy", "father": "dad father papa daddy", "child": "kid kids child children",
	"job": "job work works working worked employed career occupation profession", "film": "film films movie movies",
	"bike": "bike bikes bicycle bicycles cycling biking", "hike": "hike hikes hiking hiked", "purchase": "buy bought buys purchase purchased",
	"start": "start started begin began begun", "stop": "stop stopped quit cancel cancelled canceled cancels quitting",
	"travel": "travel travels travelled traveled travelling traveling trip trips journey journeys vacation vacations holiday holidays",
	"fly":    "fly flies flew flown flying flight flights", "drive": "drive drives drove driven driving", "run": "run runs ran running",
	"swim": "swim swims swam swimming", "marry": "marry marries married marriage wedding",
	"picture": "photo photos picture pictures", "big": "big large huge",
})

// emphasisWords says how much, and nothing else.
var emphasisWords = wordSet(`really very so much absolutely totally lot lots quite extremely super deeply truly greatly big huge always just also
	definitely pretty incredibly particularly especially actually something thing someone now currently these days still time favourite-thing
	person lover day days hobby`)

// negations turn a fact round.
var (
	negationWords = regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|anymore|any longer|never|not|cannot|stopped|quit|quits|gave up|given up|cancel(?:l?ed|s)?|called off|backed out|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't|won't|can't|couldn't|wouldn't|without)\b`)
	endingWords   = regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|any ?more|any longer|stopped|quits?|gave up|given up|cancel(?:l?ed|s)?|called off|backed out|decided (?:not to|against))\b`)
	clauseEnd     = regexp.MustCompile(`(?i)[,;.]\s|\s[–—-]\s|\s(?:but|because|and|so|since|while|when|that|which|who|if)\s`)
	hanNegation   = regexp.MustCompile(`不再|不是|不喜欢|不吃|不去|不想|不打算|不住|没有|没|不|取消了?|放弃了?|戒了?`)
)

// What was to be, and can be called off.
var (
	calledOff  = regexp.MustCompile(`(?i)\b(?:cancel(?:l?ed|s)?|called off|backed out)\b`)
	decidedNot = regexp.MustCompile(`(?i)\bdecided (?:not to|against)\b`)
	planned    = regexp.MustCompile(`(?i)\b(?:book(?:ed|s)?|reserved|scheduled|arranged|intends?|wants?|signed up|registered|joined|subscri\p{L}+|member(?:ship)?|has (?:an?|the|two|three)|got|bought|meeting|appointment|reservation|tickets?|flies|leaves)\b`)
)

// subjects of facts: a name, perhaps whose; or whoever it is that the memory is of.
var (
	englishSubject = regexp.MustCompile(`^((?:The user|The assistant|\p{Lu}[\p{L}-]*(?:['’]\p{Lu}[\p{L}-]*)?(?: \p{Lu}[\p{L}-]*){0,2})(?:'s (?:(?:older|younger|little|big|best|old|new|twin|ex|step|late|former|eldest|oldest|youngest) )*(?:` + kinWords + `)(?:[ -]in[ -]law)?(?: \p{Lu}[\p{L}’-]*)?)?)(?:\s|'s)`)
	hanSubject     = regexp.MustCompile(`^(用户(?:的(?:` + hanKin + `))?|\p{Han}{2,3}?(?:的(?:` + hanKin + `))?|[A-Za-z]+(?:的(?:` + hanKin + `))?)(?: ?(?:的|住|喜欢|爱|讨厌|不|没|搬|在|是|叫|打算|计划|准备|取消|有|去|吃|现在|今年|已|也|很|最|非常|真|特别|超|挺|姓|工作|结婚|单身|改|决定|从|上个?[月周]|前|昨|去年|刚|迁|移居|飞|要|想|会|将|放弃|热爱|酷爱|对|家|下个?[月周]|明|[一二三四五六七八九十]{1,2}月|\d))`)
)

// parseFact takes a fact apart.
func parseFact(s string) factFrame {
	f := factFrame{text: s, folded: text.Fold(strings.TrimRight(strings.TrimSpace(s), ".。!！ ")), terms: map[string]bool{}}
	var rest string
	if isHan(s) {
		plain := normalizeHanLiking(s)
		rest = plain
		if m := hanSubject.FindStringSubmatch(plain); m != nil {
			f.subject, rest = m[1], plain[len(m[1]):]
		}
		f.negated = hanNegation.MatchString(rest)
		f.ended = f.negated
		f.slots = hanSlots(rest)
		body := hanNormalizer.Replace(hanNegation.ReplaceAllString(rest, "、"))
		for _, t := range text.TermsIn(body, text.Chinese) {
			f.terms[t] = true
		}
		f.canceledTrips = hanCanceledTrips(rest)
	} else {
		plain := putSubjectFirst(s)
		rest = plain
		if m := englishSubject.FindStringSubmatch(leadingDate.ReplaceAllString(plain, "") + " "); m != nil {
			f.subject, rest = text.Fold(m[1]), strings.Replace(plain, m[1], "", 1)
		}
		rest = normalizeLiking(rest)
		f.canceledTrips = canceledTrips(rest)
		// A negation further on is of something else.
		head := clauseEnd.Split(rest, 2)[0]
		f.negated = negationWords.MatchString(head) && !isDoubleNegation(head)
		f.ended = endingWords.MatchString(head)
		f.slots = englishSlots(rest)
		f.verb, f.object = verbAndObject(rest)
		for _, w := range text.Words(negationWords.ReplaceAllString(idioms.ReplaceAllString(rest, " "), " ")) {
			if emphasisWords[w] || strings.Contains(f.subject, w) || text.IsStopWord(w, text.English) {
				continue
			}
			if c, ok := synonyms[w]; ok {
				w = c
			} else {
				w = text.Stem(w, text.English)
			}
			f.terms[w] = true
		}
	}
	f.figures = strings.Join(numbers.FindAllString(s, -1), " ")
	return f
}

func isDoubleNegation(s string) bool {
	return idioms.MatchString(s) && !negationWords.MatchString(idioms.ReplaceAllString(s, " "))
}

// auxiliaries stand before the verb that says what is done.
var auxiliaries = wordSet(`is was are has have had been be being does doesn't did didn't do don't not never no longer will won't would can can't could
	isn't wasn't hasn't haven't hadn't gonna going to just`)

// goingWords lead to what is done, and are not it.
var goingWords = wordSet("go going goes")

// verbAndObject gives the verb behind the subject, brought to one form, and the
// first word of content behind it.
func verbAndObject(rest string) (verb, object string) {
	words := slices.DeleteFunc(lowerWords(rest), func(w string) bool { return isAdverb(w) && w != "not" || emphasisWords[w] })
	i := 0
	for i+1 < len(words) && auxiliaries[words[i]] {
		next := words[i+1]
		if !auxiliaries[next] && !strings.HasSuffix(next, "ing") && !isPastForm(next) && !invariantVerbs[next] && (words[i] == "is" || words[i] == "was" || words[i] == "has" || words[i] == "have" || words[i] == "had") {
			break
		}
		i++
	}
	form := func(w string) string {
		if c := synonyms[w]; c != "" {
			return c
		}
		return text.Stem(w, text.English)
	}
	if i < len(words) {
		verb = form(words[i])
		if verb == "is" && i+2 < len(words) && (words[i+1] == "a" || words[i+1] == "into") && synonyms[words[min(i+2, len(words)-1)]] == "like" {
			verb, i = "like", i+2 // "is a fan of"
		}
		for _, w := range words[i+1:] {
			if !text.IsStopWord(w, text.English) && !goingWords[w] && form(w) != verb {
				return verb, form(w)
			}
		}
	}
	return verb, ""
}

// lookupByWord turns lists of words into a look-up of what they stand for.
func lookupByWord(lists map[string]string) map[string]string {
	m := map[string]string{}
	for k, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] = k
		}
	}
	return m
}
