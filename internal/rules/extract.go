package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/when"
)

// The bounds of facts by rules.
const (
	maxFactRunes = 400 // of one fact; what is longer is left out
	maxRuleFacts = 64  // of one exchange, where the call sets none
)

// extract gives the statements of an exchange that are worth keeping, each as
// a sentence of its own in the third person. People are learned from; only an
// exchange in which an assistant alone speaks is read for what it promised or
// recommended.
func extract(in mem0.ExtractInput) mem0.Extraction {
	people := slices.ContainsFunc(in.New, func(u memory.Utterance) bool { return u.Role == memory.RoleUser })
	limit := in.Max
	if limit <= 0 {
		limit = maxRuleFacts
	}
	out := mem0.Extraction{Facts: []string{}}
	seen := map[string]bool{}
	for _, u := range in.New {
		if people && u.Role != memory.RoleUser || !people && u.Role != memory.RoleAssistant {
			continue
		}
		l := listener{in: in, u: u, agent: !people}
		for _, fact := range l.facts() {
			if key := text.Fold(fact); !seen[key] && len(out.Facts) < limit {
				seen[key] = true
				out.Facts = append(out.Facts, fact)
			}
		}
	}
	return out
}

// listener reads one utterance.
type listener struct {
	in    mem0.ExtractInput
	u     memory.Utterance
	agent bool // what the assistant says is what counts
}

// facts gives the facts of an utterance in order.
func (l listener) facts() []string {
	var out []string
	last := false // the sentence before became a fact
	for _, s := range utteredSentences(l.u.Content) {
		if isHan(s) {
			last = false
			if !l.agent {
				found := hanFactsOf(s, l.speaker("用户", "助手"), l.u.Time)
				out, last = append(out, found...), len(found) > 0
			}
			continue
		}
		name := l.speaker("the user", "the assistant")
		if found := l.english(s, name); len(found) > 0 {
			out, last = append(out, found...), true
			continue
		}
		// What goes on about the person or thing before it joins that fact.
		if last && utf8.RuneCountInString(s) <= maxFactRunes && goesOn(s) {
			more := retell(resolveDates(tidy(s), l.u.Time), name)
			if joined := out[len(out)-1] + " " + more; utf8.RuneCountInString(joined) <= maxFactRunes {
				out[len(out)-1] = joined
			}
		}
		last = false
	}
	return slices.DeleteFunc(out, func(f string) bool { return utf8.RuneCountInString(f) > maxFactRunes })
}

// english gives the facts of one sentence: of all of it, else of its last part
// in which somebody speaks of themselves.
func (l listener) english(s, name string) []string {
	if l.agent {
		if f := englishFact(s, name, l.u.Time, true); f != "" {
			return []string{f}
		}
		return nil
	}
	if found := factsOf(s, name, l.u.Time); len(found) > 0 {
		return found
	}
	return factsOf(ownClause(s), name, l.u.Time)
}

// clauseBreak parts what somebody says to the other from what they say of themselves.
var clauseBreak = regexp.MustCompile(`(?:,? but|;|\s[–—-]+|—|,? and|, so|,)\s+(?:I|I'm|I've|we|we're|we've|my|My)\s`)

// ownClause gives the last part of a sentence in which somebody begins to
// speak of themselves, "" where the sentence has no parts.
func ownClause(s string) string {
	at := clauseBreak.FindAllStringIndex(s, 8)
	if len(at) == 0 || strings.Contains(s, "?") || strings.Count(s, `"`)%2 == 1 {
		return ""
	}
	m := at[len(at)-1]
	if supposed.MatchString(s[m[0]:]) || requests.MatchString(tidy(s)) || injected.MatchString(s) {
		return ""
	}
	part := strings.TrimLeft(s[m[0]:], " ,;–—-")
	for _, w := range []string{"but ", "and ", "so "} {
		part = strings.TrimPrefix(part, w)
	}
	return part
}

// speaker is the name that facts give to who speaks.
func (l listener) speaker(user, assistant string) string {
	if name := strings.Join(strings.Fields(l.u.Name), " "); name != "" && utf8.RuneCountInString(name) <= 64 {
		return name
	}
	if l.agent {
		return assistant
	}
	return user
}

// quoted lines and code are not said by who sends them.
var codeFence = regexp.MustCompile("(?s)```.*?(?:```|$)")

// utteredSentences gives the sentences of what somebody says: no code, no
// quoted lines, and nothing at all of a line that carries instructions.
func utteredSentences(s string) []string {
	s = codeFence.ReplaceAllString(s, "\n")
	s = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "\u00a0", " ").Replace(s)
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(faces.ReplaceAllString(line, " "))
		if line == "" || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|") || injected.MatchString(line) {
			continue
		}
		out = append(out, text.Sentences(line)...)
	}
	return out
}

func isHan(s string) bool {
	han, latin := 0, 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			latin++
		}
	}
	return han > 0 && han*3 >= latin
}

// tidy takes off what leads in and what is only added, until nothing is left
// to take.
func tidy(s string) string {
	s = strings.TrimLeft(strings.TrimSpace(s), "-*•# ")
	for range 6 {
		was := s
		s = strings.TrimSpace(leadIns.ReplaceAllString(s, ""))
		s = calledBy.ReplaceAllString(s, "")
		s = strings.TrimSpace(toldYou.ReplaceAllString(s, ""))
		if m := addressedFirst.FindString(s); m != "" && startsOver(s[len(m):]) {
			s = s[len(m):]
		}
		s = afterthoughts.ReplaceAllString(s, "")
		if s == was {
			break
		}
	}
	return s
}

// startsOver tells that a sentence begins after a name by which the other is called.
func startsOver(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	first = strings.ToLower(first)
	switch first {
	case "it's", "that's", "thanks", "thank", "you", "you're", "your", "it", "that", "this", "what", "keep", "good":
		return true
	}
	return selfWords[first] || clippedPast[first] || strings.HasPrefix(first, "i'") || first == "my"
}

var selfWords = wordSet("i we my our i'm i've i'd i'll we're we've we'd we'll me us myself ourselves mine ours im ive")

// hasSelf tells that the speaker is in a sentence.
func hasSelf(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return selfWords[w] })
}

func lowerWords(s string) []string {
	var out []string
	for _, p := range pieces(s) {
		if p.word {
			out = append(out, strings.ToLower(p.s))
		}
	}
	return out
}

// substance counts the words that say something.
func substance(words []string) int {
	n := 0
	seen := map[string]bool{}
	for _, w := range words {
		w = strings.TrimSuffix(w, "'s")
		if seen[w] || utf8.RuneCountInString(w) < 2 || strings.Contains(w, "'") || emptyWords[w] || adverbs[w] || text.IsStopWord(w, text.English) || interjections[w] {
			continue
		}
		seen[w] = true
		n++
	}
	return n
}

// minTelling is how many words a sentence must have that say something; one is
// enough for the forms that strong knows.
const minTelling = 2

// englishFact gives the fact of a sentence, "" where there is none.
func englishFact(s, name string, said time.Time, agent bool) string {
	if strings.Contains(s, "?") || strings.Count(s, `"`)%2 == 1 || utf8.RuneCountInString(s) > maxFactRunes {
		return ""
	}
	s = tidy(s)
	if agent {
		return promised(s, name, said)
	}
	if s == "" || requests.MatchString(s) || injected.MatchString(s) || unfinished.MatchString(s) || reactions.MatchString(s) {
		return ""
	}
	if mutual.MatchString(s) || supposed.MatchString(s) && !wished.MatchString(s) {
		return ""
	}
	s = unclip(s)
	words := lowerWords(s)
	if len(words) < 2 || addressesYou(words) {
		return ""
	}
	n := substance(words)
	switch {
	case aimless.MatchString(s) && n < 2*minTelling:
		return ""
	case dangles(s) && n < 2*minTelling+1:
		return ""
	case strong.MatchString(s):
		if n < 1 {
			return ""
		}
	case n < minTelling:
		return ""
	case selfFirst(words):
		if feelings.MatchString(s) && n < minTelling+1 {
			return ""
		}
	case hasSelf(words):
		if n < minTelling || pronounFirst.MatchString(s) || mused.MatchString(s) || !told(s) {
			return ""
		}
	case !aboutOthers(s, words) && !scheduled(s, said):
		return ""
	}
	return retell(resolveDates(s, said), name)
}

// dangles tells that a sentence speaks of what only an earlier one names: a
// pronoun before anything that it could stand for.
func dangles(s string) bool {
	at := dangling.FindStringIndex(s)
	if len(at) == 0 || antecedent.MatchString(s[:at[0]]) {
		return false
	}
	// A name inside the sentence may be meant.
	for i, p := range pieces(s[:at[0]]) {
		if i > 0 && p.word && startsUpper(p.s) && !selfWords[strings.ToLower(p.s)] {
			return false
		}
	}
	return true
}

// selfFirst tells that the speaker is what a sentence is about: the first
// word, or the first behind a date, or a clause of time.
func selfFirst(words []string) bool {
	for i, w := range words[:min(len(words), 9)] {
		switch {
		case selfWords[w]:
			return true
		case i == 0 && !opens[w] && !text.IsTimeWord(w) && !isAdverb(w):
			return false
		}
	}
	return false
}

// opens are words that a clause before the subject begins with.
var opens = wordSet("when while since after before during on in at last this next every each for from as one two three with back the by")

// told tells that a sentence whose subject is another thing has a verb, and
// speaks of the speaker alone.
func told(s string) bool {
	words := pieces(s)
	at := 0
	for _, p := range words {
		w := strings.ToLower(p.s)
		if p.word && selfWords[w] {
			switch w {
			case "us", "our", "we", "we're", "we've", "we'll", "ourselves":
				return false
			case "my":
				return finite.MatchString(s)
			}
			return finite.MatchString(s[:at])
		}
		at += len(p.s)
	}
	return false
}

// addressesYou tells that a sentence speaks to the other.
func addressesYou(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "you", "your", "yours", "yourself", "you're", "you've", "you'll", "you'd", "u", "ur", "y'all", "let's", "lets":
			return true
		}
		return false
	})
}

// unclip gives a sentence whose "I" was left out its subject back.
func unclip(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	w := strings.ToLower(first)
	low := strings.ToLower(s[:1]) + s[1:]
	switch {
	case w == "just" || w == "finally" || w == "recently":
		second, _, _ := strings.Cut(rest, " ")
		if second = strings.ToLower(second); clippedPast[second] || pastForm(second) && !clippedNot[second] {
			return "I " + low
		}
	case rest == "":
	case clippedPast[w], pastForm(w) && !clippedNot[w] && clippedObject.MatchString(rest):
		return "I " + low
	case w == "been":
		return "I have " + low
	case clippedPresent[w] && clippedGoal.MatchString(rest) && !clippedSubject.MatchString(rest):
		return "I am " + low
	}
	return s
}

var (
	clippedObject  = regexp.MustCompile(`(?i)^(?:my|a|an|the|some|to|in|at|with|for|on|up|out|our|about|from)\b`)
	clippedSubject = regexp.MustCompile(`(?i)\b(?:is|are|was|were|can|could|helps?|makes?|gives?|brings?|takes|seems|feels|has|keeps?|lets?|will|would)\b`)
)

var clippedGoal = regexp.MustCompile(`(?i)^(?:to|of|about|on|for|forward|my|a|an|the|some)\b`)

// namedSubject opens a statement about somebody else by name.
var namedSubject = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+(?: (?:and )?\p{Lu}[\p{L}'-]+)* (?:is|was|has|had|lives?|lived|works?|worked|moved|loves?|loved|likes?|liked|hates?|plays?|played|got|went|bought|started|joined|graduated|married|died|passed|adopted|visited|won|lost|broke|quit|studies|studied|teaches|taught|wants?|wanted|prefers?|can't|cannot|owns?|enjoys?|invited|gave|told|helped|made|took|said|asked|called|came)\b`)

// notNames open sentences with a capital and are no names.
var notNames = wordSet(`it that this these those there here he she they who what which when where why how everyone everything nothing something
	someone nobody life love time people things music art nature books the a an its his her their one some many most all each every no such
	friends family work health exercise animals dogs cats games food sports history science technology god today yesterday tomorrow
	sounds looks seems glad great good congrats happy`)

// aboutOthers tells a statement about a named person or thing.
func aboutOthers(s string, words []string) bool {
	return namedSubject.MatchString(s) && !strings.HasSuffix(words[0], "ing") && !mused.MatchString(s) && !notNames[strings.TrimSuffix(words[0], "'s")] && substance(words) >= minTelling+1
}

// scheduled tells a statement about something on a day that is seen from today.
func scheduled(s string, said time.Time) bool {
	if said.IsZero() || pronounFirst.MatchString(s) || mused.MatchString(s) || !finite.MatchString(s) {
		return false
	}
	return slices.ContainsFunc(when.Parse(s, said), func(r when.Range) bool { return relativeWords.MatchString(s[r.Start:r.End]) })
}

// goesOn tells a sentence that says more about who or what was just spoken of.
func goesOn(s string) bool {
	t := tidy(s)
	words := lowerWords(t)
	if strings.Contains(s, "?") || supposed.MatchString(t) || len(words) == 0 || reactions.MatchString(t) || requests.MatchString(t) {
		return false
	}
	more := thirdPerson.MatchString(t) || selfWords[words[0]] && dangles(t)
	if !more || addressesYou(words) {
		return false
	}
	need := minTelling
	if words[0] == "it" || words[0] == "it's" {
		need++ // most of what "it" does is to be great
	}
	return substance(words) >= need
}

// promises are what an assistant says that binds it or advises somebody.
var promises = regexp.MustCompile(`(?i)^(?:i(?:'ve| have| will|'ll|'m going to| am going to| recommend| recommended| suggest| suggested| booked| scheduled| created| sent| set up| found| ordered| updated| reserved| completed| finished| advise| promised?)\b|you should\b|(?:my|the) (?:recommendation|suggestion|advice)\b|we agreed\b)`)

// idle promises say nothing of what will be done.
var idle = regexp.MustCompile(`(?i)^i(?:'ll|'ve| will| have)(?: \w+)? (?:be happy|be glad|do my best|be here|help you|let you|keep (?:that|it|this)|remember|try|got it|noted)`)

// promised gives what the assistant commits itself to.
func promised(s, name string, said time.Time) string {
	words := lowerWords(s)
	if !promises.MatchString(s) || idle.MatchString(s) || injected.MatchString(s) || substance(words) < minTelling {
		return ""
	}
	s = resolveDates(s, said)
	p := pieces(s)
	for i := range p {
		switch strings.ToLower(p[i].s) {
		case "you":
			p[i].s = "the user"
		case "your":
			p[i].s = "the user's"
		case "yours":
			p[i].s = "the user's"
		}
	}
	var b strings.Builder
	for _, one := range p {
		b.WriteString(one.s)
	}
	return retell(b.String(), name)
}
