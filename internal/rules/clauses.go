package rules

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file splits sentences that state several facts, so that a later fact can contradict one of
// them without the others.

var (
	// newSubjectClause matches the beginning of a clause with a subject of its own.
	newSubjectClause = regexp.MustCompile(`(?:(?:,|\s[–—-]|—)?\s(?:and|but)(?: also| now| then)?|;|,)\s+(?:I|I'm|I've|I'd|I'll|we|we're|we've|we'd|we'll|my|My|our|Our)\s`)
	// sharedSubjectClause matches the beginning of a clause about the subject of the clause
	// before. It takes only verbs of lasting states, since events in a row are one story.
	sharedSubjectClause = regexp.MustCompile(`,?\s(?:and|but) (?:also |now |still |currently |really )?(?:live in|work (?:as|at|for|in)|(?:like|love|hate|dislike|prefer|study|speak|own) (?:to|my|the|an?|\p{L}+ing|\p{L}+s)|have (?:a|an|two|three|four|five)|am|don't|do not)\b`)
	// speakerSubject matches a clause whose subject is the speaker. takesSecondVerb matches one
	// in which a verb behind "and" may belong to something else, as in "I want to read and live
	// in Rome".
	speakerSubject   = regexp.MustCompile(`^(?:I|I'm|I've) `)
	takesSecondVerb  = regexp.MustCompile(`(?i)\b(?:to \p{Ll}|can|can't|could|couldn't|will|won't|would|should|might|may|must|let|lets|make|makes|made|help|helps|helped|who|that|which|used|see|saw|watch|hear|(?:he|she|they|you|it|friends|people|kids|children)$)|'(?:d|ll)\b`)
	clauseConnective = regexp.MustCompile(`^(?:(?:,|\s[–—-]|—)?\s(?:and|but)|;|,)\s+`)

	// openSubordinate matches a clause that is subordinate, or holds a subordinate clause, which
	// the words behind it may continue.
	openSubordinate = regexp.MustCompile(`(?i)^(?:when|while|since|after|before|because|if|as|although|though|even|once|until|unless|whenever|whether|that|what|how|why|where|who|the (?:way|more|day|time|moment|fact|reason))\b|` +
		`\b(?:when|if|whether|until|unless|whenever|while|where|how|why|what|so that|such that|so \p{L}+ that|said|says|told|tells|asked|hope|hoping|wish|think|thought|believe|dream(?:ed|ing)? (?:of|that)|realized|knew|know|both|between|either|neither)\b`)
	subordinators = regexp.MustCompile(`(?i)\b(?:because|since|as|so|though|although|after|before|once|than)\b`)
	// unmetIntent matches an intention that a following "but" takes back.
	unmetIntent = regexp.MustCompile(`(?i)\b(?:wanted|planned|tried|hoped|meant|intended|supposed|almost|nearly|would|could|might|thought|was going|were going|'d)\b`)
	// backReference matches words that refer to something in the clause before.
	backReference = regexp.MustCompile(`(?i)\b(?:he|she|they|him|his|her|hers|their|theirs|them|it|its|it's|he's|she's|they're|there|then|one|ones|another|others?|both|either|neither|too|else|same|instead|such|together|(?:this|these|those) \p{L}+s|(?:that|this|these|those)(?:$|[.,;!]| (?:is|was|were|made|has|had|to|for|at|in|on|with|because|so|as|and|but|when|way|one|place|spot|kind|sort|experience|thing)))\b`)
	// speakerVerb matches a verb of the speaker, otherSubjectVerb one of another subject.
	speakerVerb      = regexp.MustCompile(`(?:^|\s)(?:I|[Ww]e)(?:'m|'ve|'re|'d|'ll)? \p{Ll}`)
	infinitives      = regexp.MustCompile(`(?i)\bto \p{L}+`)
	otherSubjectVerb = regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|had|can|will|helps|helped|makes|made|gave|gives|lives?|works?|got|gets|went|came|took|takes|loves?|likes?|won|sent|plays?|\p{L}{3,}ed)\b`)
)

// clause is a part of a sentence that is a fact by itself. said is its text in the first person.
type clause struct{ said, fact string }

// sentenceFacts returns the facts of a sentence in the first person. The sentence is split only
// where each part is a fact. A part that is no fact, or that depends on the part before, stays
// with that part.
func sentenceFacts(s, name string, saidAt time.Time) []string {
	whole := englishFact(s, name, saidAt, false)
	if whole == "" {
		return nil
	}
	s = stripFiller(s)
	parts := []clause{{s, whole}}
	// No sentence worth keeping has more parts.
	for range 4 {
		last := parts[len(parts)-1]
		left, right, ok := splitClause(last.said, name, saidAt)
		if !ok {
			break
		}
		parts = append(parts[:len(parts)-1], left, right)
	}
	var out []string
	for _, p := range parts {
		for _, fact := range splitEvent(p.fact) {
			out = append(out, grammar.Statements(fact)...)
		}
	}
	return out
}

// secondState matches what happened to somebody and what they do since then.
var secondState = regexp.MustCompile(`^(\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?) ((?:just |recently |finally )?(\p{Ll}+) .+?),? (?:and|but) (?:now |currently )?((?:works (?:at|for|as|in)|lives in|studies) .+)$`)

// twoStates matches two things that hold of one person.
var twoStates = regexp.MustCompile(`^((?:\p{Lu}[\p{L}'-]+|The user)(?:'s (?:\p{Ll}+ ){0,2}\p{Ll}+)?(?: \p{Lu}[\p{L}-]+)?) (` + stateVerb + ` [^,;]+?),? and (?:also )?((?:works|lives|drives|owns|speaks) .+)$`)

const stateVerb = `(?:works|lives|plays|has|studies|teaches|drives|sings|owns|speaks)`

// splitEvent splits "Ana left Siemens and works at BMW now", which is of an event and of what holds, and "Ana works at BMW
// and lives in Rome".
func splitEvent(fact string) []string {
	if m := twoStates.FindStringSubmatch(fact); len(m) > 0 && !openSubordinate.MatchString(m[2]) {
		return []string{formatSentence(m[1] + " " + m[2]), m[1] + " " + m[3]}
	}
	m := secondState.FindStringSubmatch(fact)
	if len(m) == 0 || openSubordinate.MatchString(m[2]) {
		return []string{fact}
	}
	if verb := m[3]; !isPastForm(verb) && (!invariantVerbs[verb] || isModal(verb)) {
		return []string{fact}
	}
	return []string{formatSentence(m[1] + " " + m[2]), m[1] + " " + m[4]}
}

// clauseJoint matches what separates two clauses, and the subject of the second. subordinate matches
// the beginning of a clause that the next one completes.
var (
	clauseJoint = regexp.MustCompile(`(?:\s*;\s+|\s+[–—-]+\s+|\s*—\s*|,?\s+(?:but|and|so|yet|plus)\s+(?:also |now |then |still )?|,\s+)` +
		`(I|I'm|I've|I'd|I'll|[Ww]e|we're|we've|we'd|we'll|[Mm]y|[Oo]ur|he|she|they|it|he's|she's|it's|they're|that|that's|this|there|there's|you|your|you're|\p{Lu}\p{Ll}+)\s`)
	subordinate = regexp.MustCompile(`(?i)^(?:when|while|since|after|before|because|if|as|although|though|even|once|until|unless|whenever|whether|what|how|why|where|who|in case|had i|were i|suppose|supposing|provided|assuming|imagine)\b`)
)

// clausesOf returns the main clauses of a sentence, each with the subordinate clauses before it; nil if
// it is one clause, or asks something.
func clausesOf(s string) []string {
	s = stripFiller(s)
	if strings.ContainsAny(s, "?\"()") || injectedInstructions.MatchString(s) || len(s) > maxFactRunes {
		return nil
	}
	var out []string
	start := 0
	completed := false // a main clause follows the subordinate one at the beginning
	supposed := conditional.MatchString(s)
	for _, m := range clauseJoint.FindAllStringSubmatchIndex(s, 8) {
		left := s[start:m[0]]
		if subordinate.MatchString(left) && !completed {
			completed = true
			continue
		}
		if joint := s[m[0]:m[2]]; supposed && start == 0 && !strings.Contains(joint, "but") && !strings.Contains(joint, ";") {
			continue // it holds under the same condition
		}
		if hasVerb(left) && (hasVerb(s[m[2]:]) || hasFiniteVerb(grammar.English(s[m[2]:]))) {
			out, start, completed = append(out, left), m[2], false
		}
	}
	if start == 0 {
		return nil
	}
	return append(out, s[start:])
}

// splitClause splits a sentence at the first place where both sides are facts.
func splitClause(s, name string, saidAt time.Time) (left, right clause, ok bool) {
	if strings.ContainsAny(s, `"()`) {
		return left, right, false
	}
	type cut struct {
		at, to int
		owned  bool // the right half names its subject
	}
	var cuts []cut
	for _, m := range newSubjectClause.FindAllStringIndex(s, 8) {
		cuts = append(cuts, cut{m[0], m[0] + len(clauseConnective.FindString(s[m[0]:])), true})
	}
	for _, m := range sharedSubjectClause.FindAllStringIndex(s, 8) {
		cuts = append(cuts, cut{m[0], m[0] + len(clauseConnective.FindString(s[m[0]:])), false})
	}
	slices.SortFunc(cuts, func(a, b cut) int { return a.at - b.at })
	for _, c := range cuts {
		joint := s[c.at:c.to]
		left, right = clause{said: s[:c.at]}, clause{said: s[c.to:]}
		if !c.owned {
			if !speakerSubject.MatchString(left.said) || takesSecondVerb.MatchString(left.said) {
				continue
			}
			right.said = "I " + right.said
		}
		if !independentClauses(left.said, right.said, joint) {
			continue
		}
		left.fact, right.fact = englishFact(left.said, name, saidAt, false), englishFact(right.said, name, saidAt, false)
		if left.fact != "" && right.fact != "" {
			return left, right, true
		}
	}
	return left, right, false
}

// independentClauses reports whether each of two halves of a sentence can be understood without
// the other. joint is what separates them.
func independentClauses(left, right, joint string) bool {
	word := strings.Trim(joint, " ,;–—-")
	comma := strings.HasPrefix(joint, ",") || strings.HasPrefix(joint, ";")
	switch {
	case openSubordinate.MatchString(left), !comma && subordinators.MatchString(left), word == "but" && unmetIntent.MatchString(left):
		return false
	case !hasVerb(left), !hasVerb(right):
		return false // "my husband and I"
	case word == "" && joint[0] == ',' && !selfWords[strings.ToLower(firstWord(left))]:
		return false // "Growing up, I …"
	case word == "" && joint[0] == ',' && strings.Contains(left, ","):
		return false
	}
	if near := left[strings.LastIndex(left, ",")+1:]; !comma && !hasVerb(near) {
		return false // "…, my friends and I"
	}
	if at := backReference.FindStringIndex(right); len(at) > 0 && !antecedent.MatchString(right[:at[0]]) {
		return false
	}
	// A time at the beginning holds for everything that happened then.
	words := lowerWords(left)
	return selfWords[words[0]] || !clauseOpeners[words[0]] && !text.IsTimeWord(words[0]) || !startsInPast(right)
}

// hasVerb reports whether a clause has a verb with a subject.
func hasVerb(s string) bool {
	return speakerVerb.MatchString(s) || otherSubjectVerb.MatchString(infinitives.ReplaceAllString(s, " "))
}

func firstWord(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// startsInPast reports whether a clause begins with a past form.
func startsInPast(s string) bool {
	words := lowerWords(s)
	return slices.ContainsFunc(words[:min(len(words), 5)], func(w string) bool {
		return isPastForm(w) || clippedPast[w] || invariantVerbs[w] && !isModal(w)
	})
}

// hanClauseStart matches the places where a Chinese sentence begins to say something else about
// the speaker. The others are the counterparts of the English expressions above.
var (
	hanClauseStart     = regexp.MustCompile(`[，,；;、]?(?:并且|而且|但是|但|不过|同时|另外|还有)?我|(?:并且|而且|[，,；;](?:也|还|并且|而且|但是|但|不过|同时|现在|目前|平时)*)(?:住在|现居|来自|喜欢|最喜欢|讨厌|不喜欢|不吃|是一?[名位个]|在\p{Han}{1,10}(?:工作|上班|上学|读书)|今年[\d一二三四五六七八九十百]+岁|养了?一|对\p{Han}{1,6}过敏|不再|每?(?:周|星期)[一二三四五六日天](?:早上|晚上|上午|下午|中午)?\p{Han})`)
	hanConnective      = regexp.MustCompile(`^[，,；;、]?(?:也|还|并且|而且|但是|但|不过|同时|另外|还有)*`)
	hanSpeakerSubject  = regexp.MustCompile(`^我(?:[周每]|叫|是|住|吃|喜欢|最喜欢|在|今年|有|的名字|现在|不|爱|已|搬|养|来自|对|讨厌)`)
	hanOpenSubordinate = regexp.MustCompile(`因为|由于|所以|如果|当|的时候|以后|之前|之后|虽然|为了|觉得|希望|想|说|认为|让|不但|不仅|既|本来|原来|打算|计划|准备|一边`)
	hanBackReference   = regexp.MustCompile(`^我?(?:很|非常|特别|太|也|都|就|才|又|一起)?(?:它|他|她|那|这|开心|高兴|就|才|觉得|也是|都)|它|他们|她们|那里|那儿|这个|那个`)
)

// hanSentenceFacts is sentenceFacts for Chinese.
func hanSentenceFacts(s, name string, saidAt time.Time) []string {
	s = hanWithoutFeeling(s)
	if hanUnclear(s) {
		return nil
	}
	whole := hanFact(s, name, saidAt)
	if whole == "" {
		if found := hanClauseFacts(s, name, saidAt); len(found) > 0 {
			return found
		}
		return hanOwnClauses(s, name, saidAt)
	}
	rest := strings.TrimSpace(s)
	var out []string
	for range 4 {
		left, right, ok := splitHanClause(rest, name, saidAt)
		if !ok {
			break
		}
		out, rest = append(out, left), right
	}
	var statements []string
	for _, fact := range append(out, hanFact(rest, name, saidAt)) {
		statements = append(statements, grammar.Statements(fact)...)
	}
	return statements
}

// hanCondition matches a clause that only the next one completes.
var hanCondition = regexp.MustCompile(`如果|要是|假如|假设|万一|要不是|虽然|因为|由于|当.+(?:的时候|时)$|只要|除非|为了`)

// hanClauseFacts returns the facts of the clauses of a sentence that has none as a whole, because one of
// them supposes something.
func hanClauseFacts(s, name string, saidAt time.Time) []string {
	clauses := hanClauseEnd.Split(s, 8)
	if len(clauses) < 2 || strings.ContainsAny(s, "你您") || hanQuestion.MatchString(s) || injectedInstructions.MatchString(s) {
		return nil
	}
	var out []string
	open := false // the clause belongs to the one before it
	for i, clause := range clauses {
		clause = strings.TrimSpace(clause)
		belongs := open
		open = hanCondition.MatchString(clause)
		clause = clause[len(hanConnective.FindString(clause)):]
		if belongs || open || !strings.HasPrefix(clause, "我") && !hanOwnKin.MatchString(clause) || hanBackReference.MatchString(clause) {
			continue
		}
		same := []string{clause}
		for _, more := range clauses[i+1:] {
			isOfSame := hanAgeOnly.MatchString(more) || startsPredicate(grammar.Chinese(more), false)
			if !hanSaysMore(more) || !isOfSame || hanCondition.MatchString(more) {
				break
			}
			same = append(same, more)
		}
		if fact := hanFact(strings.Join(same, "，"), name, saidAt); fact != "" {
			out = append(out, grammar.Statements(fact)...)
		}
	}
	return out
}

// hanAgeOnly matches a clause that says how old somebody is.
var hanAgeOnly = regexp.MustCompile(`^(?:今年|快|刚|已经|都)*[一二三四五六七八九十百\d]+(?:岁半?)?了?[。！!]*$`)

// hanVisit matches the end of a plan to see the listener, hanClauseEnd what separates clauses.
var (
	hanVisit     = regexp.MustCompile(`(?:来|去)?(?:看|找|见|陪|拜访)(?:你|您)们?`)
	hanClauseEnd = regexp.MustCompile(`[，,；;]`)
)

// hanOwnClauses returns the facts of a sentence to the listener: what its clauses say about the
// speaker.
func hanOwnClauses(s, name string, saidAt time.Time) []string {
	if !strings.ContainsAny(s, "你您") || hanQuestion.MatchString(s) || hanSupposed.MatchString(s) || injectedInstructions.MatchString(s) {
		return nil
	}
	if without := hanVisit.ReplaceAllString(s, ""); without != s && !strings.ContainsAny(without, "你您") {
		return hanSentenceFacts(without, name, saidAt)
	}
	var out []string
	for _, clause := range hanClauseEnd.Split(s, 8) {
		clause = strings.TrimSpace(clause[len(hanConnective.FindString(clause)):])
		if strings.ContainsAny(clause, "你您") || !strings.HasPrefix(clause, "我") && !hanOwnKin.MatchString(clause) || hanOpenSubordinate.MatchString(clause) {
			continue
		}
		out = append(out, hanSentenceFacts(clause, name, saidAt)...)
	}
	return out
}

// splitHanClause returns the fact of the first clause of s and the text behind it.
func splitHanClause(s, name string, saidAt time.Time) (fact, rest string, ok bool) {
	for _, at := range hanClauseStart.FindAllStringIndex(s, 8) {
		if at[0] == 0 {
			continue
		}
		left, right := s[:at[0]], s[at[0]:]
		right = right[len(hanConnective.FindString(right)):]
		// Without punctuation, only a conjunction separates clauses.
		if r, _ := utf8.DecodeRuneInString(s[at[0]:]); r == '我' {
			continue
		}
		if !strings.HasPrefix(right, "我") {
			if !hanSpeakerSubject.MatchString(left) {
				continue
			}
			right = "我" + right
		}
		if hanOpenSubordinate.MatchString(left) || hanBackReference.MatchString(right) || !strings.HasPrefix(left, "我") {
			continue
		}
		if fact = hanFact(left, name, saidAt); fact != "" && hanFact(right, name, saidAt) != "" {
			return fact, right, true
		}
	}
	return "", "", false
}

// factClauses splits a fact where its subject is named again, and each part into its statements.
// Models, and earlier versions of the rules, may write such facts: "Ana is a vegetarian and Ana
// lives in Rome." Each part is a fact; a fact of one statement is returned as the only part.
func factClauses(fact string) []string {
	clauses := splitAtSubject(fact)
	var out []string
	for _, c := range clauses {
		out = append(out, grammar.Statements(c)...)
	}
	if len(out) == len(clauses) {
		return clauses
	}
	return out
}

// splitAtSubject splits a fact where its subject is named again.
func splitAtSubject(fact string) []string {
	subject := ""
	if isHan(fact) {
		subject = hanFactSubject(fact)
	} else if m := englishSubject.FindStringSubmatch(leadingDate.ReplaceAllString(fact, "") + " "); m != nil {
		subject = m[1]
	}
	if subject == "" || utf8.RuneCountInString(fact) > 2*maxFactRunes {
		return []string{fact}
	}
	var out []string
	start := 0
	for at := 0; ; {
		i := strings.Index(fact[at:], subject)
		if i < 0 {
			break
		}
		i += at
		at = i + len(subject)
		left := fact[start:i]
		joint := trailingConnective.FindString(left)
		if joint == "" || len(joint) == len(left) || openSubordinate.MatchString(left) || hanOpenSubordinate.MatchString(left) {
			continue
		}
		body := strings.TrimSuffix(left, joint)
		if !isHan(fact) && (!subjectWithVerb.MatchString(body) || !subjectWithVerb.MatchString(fact[i:])) {
			continue
		}
		out, start = append(out, endSentence(body)), i
	}
	return append(out, endSentence(fact[start:]))
}

var (
	trailingConnective = regexp.MustCompile(`(?i)(?:[.;。；]\s*|,?\s(?:and|but)\s+|,\s+|[，,]\s*(?:并且|而且|但是?|不过|同时|也|还)*)$`)
	subjectWithVerb    = regexp.MustCompile(`^(?:The user|The assistant|\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*|On .*|In .*)(?: \p{Ll}+)* (?:\p{Ll}+(?:s|ed|n't)|` + `went|got|had|made|met|bought|took|saw|can|will|would|found|won|lost|began|ran|read|wrote)\b`)
)

// endSentence ends a clause with one full stop.
func endSentence(s string) string {
	s = strings.TrimSpace(s)
	if isHan(s) {
		return strings.TrimRight(s, "，,；;。.") + "。"
	}
	return formatSentence(s)
}

// companionKin matches the relative or pet with whom somebody lives or does something. That
// relation remains true when the rest of the fact no longer is.
var companionKin = regexp.MustCompile(`\bwith (?:her|his|their) (?:(older|younger|little|big|twin) )?(sister|brother|mother|father|husband|wife|son|daughter|cousin|aunt|uncle|grandmother|grandfather|niece|nephew|dog|cat),? (\p{Lu}[\p{L}'-]*)\b`)

// kinFact returns a fact about the relative or pet that a contradicted fact names, such as "Ana
// has a sister named Lea.". It returns "" if the fact names none.
func kinFact(f *factFrame) string {
	m := companionKin.FindStringSubmatch(f.plain)
	subject := englishSubject.FindStringSubmatch(f.text + " ")
	if m == nil || subject == nil || f.negated {
		return ""
	}
	kin, article := m[2], "a"
	if m[1] != "" {
		kin = m[1] + " " + kin
	}
	if strings.ContainsRune("aeiou", rune(kin[0])) {
		article = "an"
	}
	return subject[1] + " has " + article + " " + kin + " named " + m[3] + "."
}
