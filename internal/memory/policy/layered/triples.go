package layered

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file takes triples from what a person says, by the published lists of phrases with their English forms. A
// phrase counts at the beginning of a clause, with adverbs between its subject and its verb. What is said in another
// way, or in another language, gives none: it is found in the other layers.

// RuleTriples returns the triples of a message by rules: at most maxTriples with the subject SubjectUser, one of the
// eight relations and ruleConfidence. Questions, and what somebody else than a person says, give none.
func RuleTriples(in TriplesInput) []Triple {
	out := []Triple{}
	if in.Message.Role != memory.RoleUser {
		return out
	}
	seen := map[[2]string]bool{}
	greeted := greeting.MatchString(in.Message.Content)
	for _, sentence := range statements(in.Message.Content) {
		relation := ""
		for _, c := range clauses(sentence) {
			if relation != "" { // "我喜欢寿司，也喜欢火锅": the subject is that of the clause before
				c = sharedSubject.ReplaceAllString(c, "我$1")
			}
			var objects []string
			relation, objects = findRelation(c, greeted)
			for _, object := range objects {
				key := [2]string{relation, text.Fold(object)}
				if len(out) < maxTriples && !seen[key] {
					seen[key] = true
					out = append(out, Triple{SubjectUser, relation, object, ruleConfidence})
				}
			}
		}
		greeted = greeted && relation == "" && utf8.RuneCountInString(sentence) < 20
	}
	return out
}

// phrase is a phrase that states a relation. Its group is the object, up to the end of the clause. fits refuses an
// object that is of another kind; nil: it takes all.
type phrase struct {
	relation string
	form     *regexp.Regexp
	fits     func(object string) bool
}

// What may be before the subject of a clause, and between it and its verb.
const (
	opening = `(?i)^(?:(?:and|but|so|well|oh|ok|hi|hello|hey|yes|no|also|actually|now|currently|by the way|as I said|(?:please )?remember(?: that)?)[ ,]+)*`
	adverb  = `(?:(?:really|also|just|still|actually|currently|now|usually|mostly|always|do|only|most|especially|already|very much|not only) )*`
	hanOpen = `^(?:请?记住|你好|对了|其实|另外|而且|但是?|不过|现在|目前)*`
	hanAdv  = `(?:其实|真的|真|也|还是?|就|现在|目前|一直|平时|最|很|非常|特别|比较|超级?|都|挺|更|尤其|太|十分|确实)*`
)

func english(relation, form string, fits func(string) bool) phrase {
	return phrase{relation, regexp.MustCompile(opening + strings.ReplaceAll(form, "~", adverb) + `(.+)$`), fits}
}

func han(relation, form string, fits func(string) bool) phrase {
	return phrase{relation, regexp.MustCompile(hanOpen + strings.ReplaceAll(form, "~", hanAdv) + `\s*(.+)$`), fits}
}

// phrases are the published ones. The first that fits wins: jobs come before names, dislikes before likes.
var phrases = []phrase{
	english(relationDislikes, `i ~(?:don't|do not|never) ~(?:like|enjoy) `, isThing),
	english(relationDislikes, `i ~(?:dislike|hate|can't stand|cannot stand) `, isThing),
	english(relationAddress, `(?:you )?(?:(?:can|may|please|just) )*call me `, isName),
	english(relationJob, `i(?:'m| am)? ~work(?:ing)? as (?:an? |the )?`, nil),
	english(relationJob, `my (?:job|profession|occupation) is (?:being )?(?:an? |the )?`, nil),
	english(relationName, `my (?:full |real )?name(?:'s| is) `, isName),
	english(relationName, `i(?:'m| am) called `, isName),
	english(relationPlace, `my (?:home )?address is `, nil),
	english(relationPlace, `i ~live (?:in|at|near) `, isPlace),
	english(relationPlace, `i(?:'m| am) ~(?:based |living )?(?:in|at) `, isPlace),
	english(relationSkills, `i(?:'m| am) ~(?:good|great|skilled) at `, isThing),
	english(relationSkills, `my strengths? (?:is|are) `, isThing),
	{relationSkills, regexp.MustCompile(opening + `i can ` + adverb + `((?:speak|play|cook|swim|dance|sing|draw|paint|code|program|ski|sail|drive)\b.*)$`), isThing},
	english(relationGoals, `my goal is (?:to )?`, isThing),
	{relationGoals, regexp.MustCompile(opening + `i ` + adverb + `(?:hope|want) to ((?:achieve|reach|become) .+)$`), isThing},
	english(relationLikes, `i ~(?:like|love|enjoy|prefer) `, isThing),
	english(relationLikes, `my favou?rite [\p{L} ]{2,30}? (?:is|are) `, isThing),

	han(relationDislikes, `我~(?:不~喜欢|讨厌|反感)`, isHanThing),
	han(relationAddress, `(?:你|您|大家)?(?:可以|都|请|就)*(?:叫我|称呼我)(?:为|做|作)?`, isHanName),
	han(relationJob, `我~(?:是做|的工作是|的职业是)(?:一[名位个])?`, isHanThing),
	han(relationJob, `我~是一[名位]`, isHanThing),
	han(relationName, `我的名字(?:叫|是)`, isHanName),
	han(relationName, `我~叫做?`, isHanName),
	han(relationPlace, `我~(?:住在|的地址是)`, isHanThing),
	{relationPlace, regexp.MustCompile(hanOpen + `我` + hanAdv + `在(.{2,12}?)(?:工作|上班|上学|生活)$`), isHanThing},
	han(relationSkills, `我~(?:擅长|的强项是)`, isHanThing),
	{relationSkills, regexp.MustCompile(hanOpen + `我` + hanAdv + `会([说弹做写画唱跳打游滑修编].+)$`), isHanThing},
	han(relationGoals, `我~的目标是`, isHanThing),
	han(relationGoals, `我~(?:希望达到|想要?实现)`, isHanThing),
	{relationGoals, regexp.MustCompile(hanOpen + `我` + hanAdv + `想(成为.+)$`), isHanThing},
	han(relationLikes, `我~喜欢的[^，。]{1,8}?是`, isHanThing),
	han(relationLikes, `我~(?:喜欢|偏爱|更?倾向于|最爱)`, isHanThing),
}

var (
	greeting = regexp.MustCompile(`(?i)^\W*(?:hi|hello|hey)\b|^(?:你好|您好|大家好|嗨)`)
	// introduction is a name by which somebody introduces themselves: "Hi, I'm Ana!". Elsewhere it may be anything.
	introduction = phrase{relationName, regexp.MustCompile(opening + `i(?:'m| am) (.+)$`), isName}
	// hanIntroduction is the same in Chinese.
	hanIntroduction = phrase{relationName, regexp.MustCompile(hanOpen + `我是(.{2,4})$`), isHanName}

	// sharedSubject matches a clause that continues about the person.
	sharedSubject = regexp.MustCompile(`^((?:也|还|更)?(?:不?喜欢|讨厌|擅长|会)|是一[名位])`)

	codeBlock  = regexp.MustCompile("(?s)```.*?(?:```|$)")
	asks       = regexp.MustCompile(`[?？]\W*$|什么|[吗呢][。!！\s]*$|谁|哪`)
	supposes   = regexp.MustCompile(`(?i)^(?:if|imagine|suppose|what if|i wish)\b|^(?:如果|假如|要是|假设)`)
	ownClause  = regexp.MustCompile(`(?i),? (?:and|but|so|because) (i(?:'m)?|my) `)
	hanOwn     = regexp.MustCompile(`(?:而且|但是|不过|所以|因为|也|但)(我)`)
	clauseMark = regexp.MustCompile("[,，。！!；;：:？?\n…（(]+\\s*|\\.(?:\\s|$)|\\s[–—-]+\\s")
	afterward  = regexp.MustCompile(`(?i) (?:because|but|although|since|while|when|if|which|who|and (?:i|my|we|it|he|she|they)|now|today|currently|too|as well|very much|at the moment)\b.*$|(?:因为|但是|的时候|就行|就好|就可以|等等?).*$`)
	pronoun    = regexp.MustCompile(`(?i)^(?:it|this|that|these|those|them|him|her|you|how|what|when|if|the way|to be|not|a lot)\b|\b(?:you|your|it|this|that)\b`)
	hanPronoun = regexp.MustCompile(`^[你您它他她这那]|的$`)
	notHanName = regexp.MustCompile(`^[了他她它你您人车去来起过吃别不一]|[了着过来去]$|的`)
)

// statements returns the sentences of a message that state something: no questions, no suppositions, no code, no
// lines that quote.
func statements(s string) []string {
	s = strings.NewReplacer("’", "'", "‘", "'", "\u00a0", " ").Replace(codeBlock.ReplaceAllString(s, "\n"))
	var out []string
	for line := range strings.Lines(s) {
		if strings.HasPrefix(strings.TrimSpace(line), ">") {
			continue
		}
		for _, sentence := range text.Sentences(line) {
			if !asks.MatchString(sentence) && !supposes.MatchString(sentence) {
				out = append(out, sentence)
			}
		}
	}
	return out
}

// clauses returns the parts of a sentence between punctuation marks and before conjunctions that begin another
// statement about the person. The comma of a list is not an end of a clause.
func clauses(s string) []string {
	s = hanOwn.ReplaceAllString(ownClause.ReplaceAllString(s, ", $1 "), "，$1")
	if listed.MatchString(s) {
		s = strings.ReplaceAll(s, ", ", "、")
	}
	var out []string
	for _, c := range clauseMark.Split(s, 256) {
		if c = strings.TrimSpace(c); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// listed matches a sentence that ends with a list of short things: "tea, dark chocolate, and films".
var listed = regexp.MustCompile(`^[^,]+(?:, (?:\p{L}+ ?){1,2})*, (?:\p{L}+ ){0,2}\p{L}*,? ?(?:and|or) (?:\p{L}+ ?){1,2}[.!]?$`)

// listEnd matches what joins the last two of a list.
var listEnd = regexp.MustCompile(`、?\s*(?:\b(?:and|or)\b|以及|和)\s*`)

// findRelation returns what a clause says of the person; no relation: nothing.
func findRelation(c string, greeted bool) (relation string, objects []string) {
	all := phrases
	if greeted {
		all = append(slices.Clip(all), introduction, hanIntroduction)
	}
	for i := range all {
		p := &all[i]
		m := p.form.FindStringSubmatch(c)
		if m == nil {
			continue
		}
		parts := []string{m[1]}
		if strings.Contains(m[1], "、") {
			list := m[1]
			if at := listEnd.FindStringIndex(list); at != nil {
				list = list[:at[0]] + "、" + list[at[1]:]
			}
			parts = strings.Split(list, "、")
			if singleValued(p.relation) {
				parts = parts[:1]
			}
		}
		for _, part := range parts {
			if object := cleanObject(part); object != "" && (p.fits == nil || p.fits(object)) {
				objects = append(objects, object)
			}
		}
		if len(objects) > 0 {
			return p.relation, objects
		}
	}
	return "", nil
}

// cleanObject returns the object of a triple without what follows it, at most openObjectChars; "" when it is too
// long.
func cleanObject(s string) string {
	s = strings.TrimRightFunc(afterward.ReplaceAllString(s, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune(")）》\"'", r)
	})
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) > maxObjectChars {
		return ""
	}
	return text.Shorten(s, openObjectChars)
}

func isThing(o string) bool { return !pronoun.MatchString(o) }

func isHanThing(o string) bool { return !hanPronoun.MatchString(o) }

func isHanName(o string) bool { return utf8.RuneCountInString(o) <= 10 && !notHanName.MatchString(o) }

// isName reports whether an object is written as a name: at most four words, each with a capital.
func isName(o string) bool {
	words := strings.Fields(o)
	for _, w := range words {
		if first, _ := utf8.DecodeRuneInString(w); unicode.IsLower(first) {
			return false
		}
	}
	return len(words) <= 4
}

// isPlace reports whether an object begins with a word that is written as a name of more than capitals.
func isPlace(o string) bool {
	first, _, _ := strings.Cut(o, " ")
	return isProper(first)
}

// isProper reports whether a word begins with a capital and continues with small letters.
func isProper(w string) bool {
	first, n := utf8.DecodeRuneInString(w)
	next, _ := utf8.DecodeRuneInString(w[n:])
	return unicode.IsUpper(first) && unicode.IsLower(next)
}
