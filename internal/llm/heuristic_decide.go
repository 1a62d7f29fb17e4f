package llm

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of decisions by rules.
const (
	sameMeaning   = 0.85 // share of common terms from which two facts say the same
	samePredicate = 0.6  // share of the shorter one's terms from which a negation is one of the other
	nearlyEqual   = 0.93 // similarity from which it is enough that nothing is new
	maxMerged     = 300  // characters of a merged memory
)

// decide says what becomes of a fact, by comparing it with each memory that is
// similar: the same again is left, another value of what can have one only
// takes its place, more detail is merged in.
func decide(in memory.DecideInput) memory.FactDecision {
	fact := readFact(in.Fact)
	type choice struct {
		op     memory.Operation
		handle int
		text   string
	}
	var best *choice
	rank := map[memory.Operation]int{memory.OpNoop: 3, memory.OpDelete: 2, memory.OpUpdate: 1}
	for _, m := range in.Similar {
		op, merged := compare(fact, readFact(m.Content), m.Score)
		if op != memory.OpAdd && (best == nil || rank[op] > rank[best.op]) {
			best = &choice{op, m.Handle, merged}
		}
	}
	if best == nil {
		return memory.FactDecision{Operation: memory.OpAdd}
	}
	d := memory.FactDecision{Operation: best.op, Target: &best.handle}
	if best.op != memory.OpNoop {
		d.Text = &best.text
	}
	return d
}

// compare decides about a fact and one memory. The text is that of the memory
// as it should read.
func compare(fact, old factFrame, score float64) (memory.Operation, string) {
	common := 0
	for t := range fact.terms {
		if old.terms[t] {
			common++
		}
	}
	if fact.subject != old.subject {
		return memory.OpAdd, ""
	}
	union := len(fact.terms) + len(old.terms) - common
	news := len(fact.terms) - common
	for _, s := range fact.slots {
		if slices.ContainsFunc(old.slots, s.excludes) {
			return memory.OpDelete, fact.text
		}
	}
	if fact.negated != old.negated {
		if shorter := min(len(fact.terms), len(old.terms)); shorter > 0 && float64(common) >= samePredicate*float64(shorter) {
			return memory.OpDelete, fact.text
		}
		return memory.OpAdd, ""
	}
	switch {
	case union == 0:
		if fact.folded == old.folded {
			return memory.OpNoop, ""
		}
		return memory.OpAdd, ""
	case news == 0, float64(common) >= sameMeaning*float64(union), score >= nearlyEqual && news == 0:
		return memory.OpNoop, ""
	}
	if fact.dated != old.dated && fact.dated != "" && old.dated != "" {
		return memory.OpAdd, "" // it happened twice
	}
	switch {
	case common == len(old.terms) && (common > 1 || fact.verb == old.verb && fact.object == old.object):
		return memory.OpUpdate, fact.text
	case fact.verb != "" && fact.verb == old.verb && common > 1 && fact.object != "" && fact.object == old.object:
		if merged := merge(old.text, fact.text); utf8.RuneCountInString(merged) <= maxMerged {
			return memory.OpUpdate, merged
		}
	}
	return memory.OpAdd, ""
}

// merge joins two texts of which the new one repeats the beginning of the old.
func merge(old, added string) string {
	a, b := strings.Fields(old), strings.Fields(added)
	n := 0
	for n < len(a) && n < len(b) && strings.EqualFold(strings.Trim(a[n], ".,"), strings.Trim(b[n], ".,")) {
		n++
	}
	if n >= 3 && n < len(b) {
		return strings.TrimRight(old, ".。 ") + ", " + strings.Join(b[n:], " ")
	}
	return old + " " + added
}

// factFrame is what the rules see of a fact.
type factFrame struct {
	text, folded string
	subject      string // folded; "" not seen
	verb, object string
	terms        map[string]bool // of meaning, without subject, negation and emphasis
	negated      bool
	dated        string // the numbers of it: days, years, amounts
	slots        []slot
}

// slot is a relation that has one value at a time.
type slot struct {
	relation, value string
	not             bool
}

// excludes tells that two values cannot both be true: two others of one
// relation, or one that is and is not.
func (s slot) excludes(o slot) bool {
	if s.relation != o.relation {
		return false
	}
	if s.value == o.value {
		return s.not != o.not
	}
	return !s.not && !o.not
}

// synonyms bring words of one meaning to one.
var synonyms = table(map[string]string{
	"like":   "like love enjoy adore fond fan likes loves enjoys loved liked enjoyed passionate enjoyment into",
	"prefer": "prefer prefers favourite favorite favorites favourites preferred",
	"hate":   "hate hates dislike dislikes detest loathe hated disliked",
	"live":   "live lives living lived reside resides residing resident based home",
	"mother": "mom mum mother mama mommy", "father": "dad father papa daddy", "child": "kid kids child children",
	"job": "job work works working worked employed career occupation profession", "film": "film films movie movies",
	"bike": "bike bikes bicycle bicycles cycling biking", "hike": "hike hikes hiking hiked", "purchase": "buy bought buys purchase purchased",
	"start": "start started begin began begun", "stop": "stop stopped quit cancel cancelled canceled cancels quitting",
	"vacation": "vacation holiday trip", "picture": "photo photos picture pictures", "big": "big large huge",
})

// emphasis says how much, and nothing else.
var emphasis = wordSet(`really very so much absolutely totally lot lots quite extremely super deeply truly greatly big huge always just also
	definitely pretty incredibly particularly especially actually something thing someone now currently these days still time favourite-thing
	person lover day days hobby`)

// negations turn a fact round.
var (
	negationWords = regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|anymore|any longer|never|not|cannot|stopped|quit|quits|gave up|given up|cancel(?:l?ed|s)?|called off|backed out|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't|won't|can't|couldn't|wouldn't|without)\b`)
	hanNegation   = regexp.MustCompile(`不再|不是|不喜欢|不吃|不去|不想|不打算|不住|没有|没|不|取消了?|放弃了?|戒了?`)
)

// subjects of facts: a name, perhaps whose; or whoever it is that the memory is of.
var (
	englishSubject = regexp.MustCompile(`^((?:The user|The assistant|\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*){0,2})(?:'s (?:(?:older|younger|little|big|best|old|new|twin|ex|step|late|former|eldest|oldest|youngest) )*[\p{Ll}-]+(?: (?:in law|\p{Lu}[\p{L}'’-]*))?)?)\s`)
	hanSubject     = regexp.MustCompile(`^(用户(?:的(?:` + hanKin + `))?|\p{Han}{2,3}?(?:的(?:` + hanKin + `))?|[A-Za-z]+)(?: ?(?:的|住|喜欢|爱|讨厌|不|没|搬|在|是|叫|打算|计划|准备|取消|有|去|吃|现在|今年|已|也|很|最|非常|真|特别|超|挺|姓|工作|结婚|单身|改|决定))`)
)

// readFact takes a fact apart.
func readFact(s string) factFrame {
	f := factFrame{text: s, folded: text.Fold(strings.TrimRight(strings.TrimSpace(s), ".。!！ ")), terms: map[string]bool{}}
	rest := s
	if isHan(s) {
		if m := hanSubject.FindStringSubmatch(s); m != nil {
			f.subject, rest = m[1], s[len(m[1]):]
		}
		f.negated = hanNegation.MatchString(rest)
		f.slots = hanSlots(rest)
		body := hanNormal.Replace(hanNegation.ReplaceAllString(rest, "、"))
		for _, t := range text.TermsIn(body, text.Chinese) {
			f.terms[t] = true
		}
	} else {
		if m := englishSubject.FindStringSubmatch(leadingDate.ReplaceAllString(s, "") + " "); m != nil {
			f.subject, rest = text.Fold(m[1]), strings.Replace(s, m[1], "", 1)
		}
		f.negated = negationWords.MatchString(rest) && !doubleNegation(rest)
		f.slots = englishSlots(rest)
		f.verb, f.object = verbAndObject(rest)
		for _, w := range text.Words(negationWords.ReplaceAllString(idioms.ReplaceAllString(rest, " "), " ")) {
			if emphasis[w] || strings.Contains(f.subject, w) || text.IsStopWord(w, text.English) {
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
	f.dated = strings.Join(numbers.FindAllString(s, -1), " ")
	return f
}

func doubleNegation(s string) bool {
	return idioms.MatchString(s) && !negationWords.MatchString(idioms.ReplaceAllString(s, " "))
}

// verbAndObject gives the first word behind the subject that bends, brought to
// one form, and the first word of content behind it.
func verbAndObject(rest string) (verb, object string) {
	for _, w := range lowerWords(rest) {
		if isAdverb(w) || emphasis[w] {
			continue
		}
		if verb == "" {
			if verb = synonyms[w]; verb == "" {
				verb = text.Stem(w, text.English)
			}
			continue
		}
		if text.IsStopWord(w, text.English) {
			continue
		}
		if object = synonyms[w]; object == "" {
			object = text.Stem(w, text.English)
		}
		return verb, object
	}
	return verb, ""
}

// table turns lists of words into a look-up of what they stand for.
func table(lists map[string]string) map[string]string {
	m := map[string]string{}
	for k, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] = k
		}
	}
	return m
}
