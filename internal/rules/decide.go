package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The bounds of decisions by rules.
const (
	// sameMeaning is the share of common terms from which two facts mean the same.
	sameMeaning = 0.85
	// samePredicate is the share of the shorter fact's terms that both must have for one to be
	// the negation of the other.
	samePredicate = 0.6
	// maxNegated is the number of terms above which a fact says more than what a negation denies.
	maxNegated = 9
	maxMerged  = 300 // characters of a merged memory
	// maxCompared is the number of characters above which a text is not compared with others.
	maxCompared = 1000
)

// decide decides what to do with a fact by comparing it with each similar memory. A repeat
// changes nothing, another value of a single-valued relation replaces the memory, and more detail
// is merged into it. Otherwise the fact is added.
func decide(in mem0.DecideInput) mem0.FactDecision {
	if utf8.RuneCountInString(in.Fact) > maxCompared {
		return mem0.FactDecision{Operation: mem0.OpAdd}
	}
	if _, _, said, ok := excerptParts(in.Fact); ok {
		return decideExcerpt(said, in.Similar)
	}
	fact := parseFact(in.Fact)
	var memories []parsedMemory
	for _, m := range in.Similar {
		if utf8.RuneCountInString(m.Content) <= maxCompared && !isExcerpt(m.Content) { // a document says much more than a fact
			memories = append(memories, parseMemory(m))
		}
	}
	if endsSeveral(&fact, memories) {
		return mem0.FactDecision{Operation: mem0.OpAdd}
	}
	type choice struct {
		op     mem0.Operation
		handle int
		text   string
	}
	var best *choice
	rank := map[mem0.Operation]int{mem0.OpNoop: 3, mem0.OpDelete: 2, mem0.OpUpdate: 1}
	for _, m := range memories {
		op, merged := compareClauses(fact, m)
		if op != mem0.OpAdd && (best == nil || rank[op] > rank[best.op]) {
			best = &choice{op, m.handle, merged}
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

// decideExcerpt adds what somebody says, unless the same words are known. No rule understands it, so it changes nothing.
func decideExcerpt(said string, known []memory.Described) mem0.FactDecision {
	for _, m := range known {
		if _, _, was, ok := excerptParts(m.Content); ok && text.Fold(was) == text.Fold(said) {
			return mem0.FactDecision{Operation: mem0.OpNoop, Target: &m.Handle}
		}
	}
	return mem0.FactDecision{Operation: mem0.OpAdd}
}

// parsedMemory is a memory with its clauses parsed.
type parsedMemory struct {
	handle  int
	content string
	whole   factFrame
	clauses []factFrame // at least one
}

func parseMemory(m memory.Described) parsedMemory {
	p := parsedMemory{handle: m.Handle, content: m.Content, whole: parseFact(m.Content)}
	clauses := factClauses(m.Content)
	if len(clauses) == 1 {
		clauses[0] = m.Content // as it is written
	}
	for _, c := range clauses {
		p.clauses = append(p.clauses, parseFact(c))
	}
	return p
}

// compareClauses compares a fact with one memory, clause by clause where the memory has several.
// The clauses that the fact does not contradict stay in the returned text.
func compareClauses(fact factFrame, old parsedMemory) (op mem0.Operation, merged string) {
	if now, _ := fact.changesValue(&old.whole); now != "" {
		return mem0.OpUpdate, now
	}
	if len(old.clauses) == 1 {
		only := old.clauses[0]
		op, merged = compareFacts(fact, only)
		if kin := kinFact(&only); op == mem0.OpDelete && kin != "" && !strings.Contains(fact.text, lastWord(strings.TrimSuffix(kin, "."))) {
			return mem0.OpUpdate, kin + " " + merged
		}
		return op, merged
	}
	op = mem0.OpAdd
	var kept []string
	for _, c := range old.clauses {
		o, t := compareFacts(fact, c)
		switch {
		case o == mem0.OpNoop:
			return o, ""
		case o == mem0.OpDelete:
			op = o
		case o == mem0.OpUpdate && op == mem0.OpAdd:
			op, kept = o, append(kept, t)
		default:
			kept = append(kept, c.text)
		}
	}
	if op == mem0.OpDelete {
		if len(kept) > 0 {
			op = mem0.OpUpdate
		}
		kept = append(kept, fact.text)
	}
	between := " "
	if isHan(old.content) {
		between = ""
	}
	merged = strings.Join(kept, between)
	if op != mem0.OpAdd && utf8.RuneCountInString(merged) > maxMerged {
		return mem0.OpAdd, "" // keeping both loses nothing
	}
	return op, merged
}

// compareFacts compares a fact with one memory. The returned text is the new text of the memory.
func compareFacts(fact, old factFrame) (mem0.Operation, string) {
	common := 0
	for t := range fact.terms {
		if old.terms[t] {
			common++
		}
	}
	if fact.hanEnds(&old) || fact.hanRetires(&old) {
		return mem0.OpDelete, fact.text
	}
	if ended, _ := fact.retires(&old); ended != "" {
		return mem0.OpDelete, fact.text
	}
	if fact.subject != old.subject {
		return mem0.OpAdd, ""
	}
	union := len(fact.terms) + len(old.terms) - common
	newTerms := len(fact.terms) - common
	for _, s := range fact.slots {
		if slices.ContainsFunc(old.slots, s.excludes) {
			return mem0.OpDelete, fact.text
		}
	}
	sameVerb := fact.verb == old.verb
	if fact.cancels(&old) || fact.endsHabit(&old) || fact.choosesInstead(&old) || fact.dropsIntention(&old) {
		return mem0.OpDelete, fact.text
	}
	if fact.negated != old.negated {
		shorter, longer := min(len(fact.terms), len(old.terms)), max(len(fact.terms), len(old.terms))
		sameMatter := float64(common) >= samePredicate*float64(shorter) && longer <= maxNegated
		if calledOff.MatchString(fact.text) && !planned.MatchString(old.text) && !futureWords.MatchString(old.text) {
			sameMatter = false // only a plan can be called off
		}
		if fact.endsOther(&old) {
			sameMatter = false
		}
		if decidedNot.MatchString(fact.text) && !futureWords.MatchString(old.text) && !intention.MatchString(old.text) {
			sameMatter = false
		}
		if fact.happenedOnce() && !futureWords.MatchString(old.text) && !planned.MatchString(old.text) {
			sameMatter = false // "didn't go to the gym yesterday" ends no habit
		}
		if isPartOfCompound(&fact, &old) {
			sameMatter = false
		}
		if len(fact.canceledTrips) > 0 && beenOrLiked.MatchString(old.text) {
			sameMatter = false // a canceled trip does not contradict an earlier trip or a liking
		}
		if shorter > 0 && sameMatter && (fact.ended || sameVerb && fact.object == old.object) {
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
	case float64(common) >= sameMeaning*float64(union), newTerms == 0 && sameVerb && (common > 1 || sameObject):
		return mem0.OpNoop, ""
	case fact.figures != old.figures && fact.figures != "" && old.figures != "":
		return mem0.OpAdd, "" // two events on different dates
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

// lastingVerbs are verbs of lasting states; facts with other verbs are single events.
var lastingVerbs = wordSet("like prefer hate job live has have own plai speak studi teach collect")

// mergeFacts joins two texts when the new one repeats at least the first three words of the old
// one; otherwise ok is false.
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

// factFrame is a parsed fact.
type factFrame struct {
	text, folded  string
	plain         string // the text with "their" for the subject's possessive
	subject       string // folded; "" if none was found
	rest          string // the text behind the subject
	verb, object  string
	terms         map[string]bool // content terms, without subject, negation and emphasis
	negated       bool
	ended         bool   // something was stopped or called off
	figures       string // all numbers of the text: days, years, amounts
	slots         []slot
	canceledTrips []string // places of trips that were called off
}

// slot is the value of a single-valued relation. negated means that the relation does not have
// this value.
type slot struct {
	relation, value string
	negated         bool
}

// excludes reports whether two values cannot both be true: two different values of one relation,
// or the same value affirmed and negated.
func (s slot) excludes(o slot) bool {
	if s.relation != o.relation {
		return false
	}
	if s.value == o.value {
		return s.negated != o.negated
	}
	return !s.negated && !o.negated
}

// synonyms maps words of one meaning to one of them.
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

// emphasisWords add emphasis and no content.
var emphasisWords = wordSet(`really very so much absolutely totally lot lots quite extremely super deeply truly greatly big huge always just also
	definitely pretty incredibly particularly especially actually something thing someone now currently these days still time favourite-thing
	person lover day days hobby`)

// negationWords matches words that negate a fact, endingWords those that say that something
// ended. clauseEnd matches the end of the first clause.
var (
	negationWords = regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|anymore|any longer|never|not|cannot|stopped|quit|quits|gave up|given up|cancel(?:l?ed|s)?|called off|backed out|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't|won't|can't|couldn't|wouldn't|without)\b`)
	endingWords   = regexp.MustCompile(`(?i)\b(?:no longer|not any ?more|any ?more|any longer|stopped|quits?|gave up|given up|cancel(?:l?ed|s)?|called off|backed out|decided (?:not to|against))\b`)
	clauseEnd     = regexp.MustCompile(`(?i)[,;.]\s|\s[–—-]\s|\s(?:but|because|and|so|since|while|when|that|which|who|if)\s`)
	hanNegation   = regexp.MustCompile(`不再|不是|不喜欢|不吃|不去|不想|不打算|不住|没有|没|不|取消了?|放弃了?|戒了?`)
)

// These match plans that were called off, decisions against something, and plans that can be
// called off.
var (
	calledOff  = regexp.MustCompile(`(?i)\b(?:cancel(?:l?ed|s)?|called off|backed out)\b`)
	decidedNot = regexp.MustCompile(`(?i)\bdecided (?:not to|against)\b`)
	planned    = regexp.MustCompile(`(?i)\b(?:book(?:ed|s)?|reserved|scheduled|arranged|intends?|wants?|signed up|registered|joined|subscri\p{L}+|member(?:ship)?|has (?:an?|the|two|three)|got|bought|meeting|appointment|reservation|tickets?|flies|leaves)\b`)
)

// The subjects of facts: a name, "the user" or "the assistant", or a relative of one of these.
var (
	englishSubject = regexp.MustCompile(`^((?:The user|The assistant|\p{Lu}[\p{L}-]*(?:['’]\p{Lu}[\p{L}-]*)?(?: \p{Lu}[\p{L}-]*){0,2})(?:'s (?:(?:older|younger|little|big|best|old|new|twin|ex|step|late|former|eldest|oldest|youngest) )*(?:` + kinWords + `)(?:[ -]in[ -]law)?(?: \p{Lu}[\p{L}’-]*)?)?)(?:\s|'s)`)
	hanKinSubject  = regexp.MustCompile(`^((?:用户|\p{Han}{2,3}?|[A-Za-z]+)的(?:` + hanKin + `))`)
	hanSubject     = regexp.MustCompile(`^(用户(?:的(?:` + hanKin + `))?|\p{Han}{2,3}?(?:的(?:` + hanKin + `))?|[A-Za-z]+(?:的(?:` + hanKin + `))?)(?: ?(?:的|住|喜欢|爱|讨厌|不|没|搬|在|是|叫|把|周[一二三四五六日末天]|养|办|订|抽|喝|打算|计划|准备|取消|有|去|吃|现在|今年|已|也|很|最|非常|真|特别|超|挺|姓|工作|结婚|单身|改|决定|每|常|经常|从|离|加入|入职|辞|戒|卖|上个?[月周]|前|昨|去年|刚|迁|移居|飞|要|想|会|将|放弃|热爱|酷爱|对|家|下个?[月周]|明|开|报|换|停|关|[一二三四五六七八九十]{1,3}[月日号]|\d))`)
)

// jointSubject matches the first of two subjects: "Paul and Ana got divorced" is about Ana too.
var jointSubject = regexp.MustCompile(`^((?:\p{Lu}[\p{L}-]*|(?:The user|\p{Lu}[\p{L}-]*)'s \p{Ll}+(?: \p{Lu}[\p{L}-]*)?) and )(?:[Tt]he user|\p{Lu}[\p{L}-]*) \p{Ll}`)

// hanEventNoun matches what takes place on a day, and is nobody's name.
var hanEventNoun = regexp.MustCompile(`^[^的]{1,3}(?:课|班|会|试|诊|术|礼|赛|展|检|训练|活动|航班|排练|演出|行程)$`)

// hanFactSubject returns whom a Chinese fact is about; "" if it does not say.
func hanFactSubject(s string) string {
	if m := hanKinSubject.FindString(s); m != "" {
		return m
	}
	if m := hanSubject.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// parseFact parses a fact.
func parseFact(s string) factFrame {
	f := factFrame{text: s, plain: s, folded: text.Fold(strings.TrimRight(strings.TrimSpace(s), ".。!！ ")), terms: map[string]bool{}}
	var rest string
	if isHan(s) {
		plain := normalizeHanLiking(s)
		if f.subject = hanFactSubject(plain); hanEventNoun.MatchString(f.subject) {
			f.subject = "" // "瑜伽课改到周五了"
		}
		rest = plain[len(f.subject):]
		f.negated = hanNegation.MatchString(rest)
		f.ended = f.negated
		f.slots = hanSlots(rest)
		body := hanNormalizer.Replace(hanNegation.ReplaceAllString(rest, "、"))
		for _, t := range text.TermsIn(body, text.Chinese) {
			f.terms[t] = true
		}
		f.canceledTrips = hanCanceledTrips(rest)
	} else {
		f.plain = withPronouns(s)
		plain := putSubjectFirst(f.plain)
		rest = plain
		if m := jointSubject.FindStringSubmatch(plain); m != nil {
			plain = strings.ToUpper(plain[len(m[1]):len(m[1])+1]) + plain[len(m[1])+1:]
			rest = plain
		}
		if m := englishSubject.FindStringSubmatch(leadingDate.ReplaceAllString(plain, "") + " "); m != nil {
			f.subject, rest = text.Fold(m[1]), strings.Replace(plain, m[1], "", 1)
		}
		rest = normalizeLiking(rest)
		f.canceledTrips = canceledTrips(rest)
		// A negation behind the first clause is about something else.
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
	f.rest = leadingDate.ReplaceAllString(rest, "")
	f.figures = strings.Join(numbers.FindAllString(s, -1), " ")
	return f
}

func isDoubleNegation(s string) bool {
	return idioms.MatchString(s) && !negationWords.MatchString(idioms.ReplaceAllString(s, " "))
}

// auxiliaries come before the main verb.
var auxiliaries = wordSet(`is was are has have had been be being does doesn't did didn't do don't not never no longer will won't would can can't could
	isn't wasn't hasn't haven't hadn't gonna going to just`)

// goingWords come before the main verb too, and are not taken for its object.
var goingWords = wordSet("go going goes")

// verbAndObject returns the main verb in a normal form, and the first content word behind it.
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

// lookupByWord inverts lists of words: it maps each word to the key of its list.
func lookupByWord(lists map[string]string) map[string]string {
	m := map[string]string{}
	for k, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] = k
		}
	}
	return m
}
