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
		l := utteranceReader{in: in, u: u, agent: !people}
		for _, fact := range l.facts() {
			if key := text.Fold(fact); !seen[key] && len(out.Facts) < limit {
				seen[key] = true
				out.Facts = append(out.Facts, fact)
			}
		}
	}
	return out
}

// utteranceReader reads one utterance.
type utteranceReader struct {
	in    mem0.ExtractInput
	u     memory.Utterance
	agent bool // what the assistant says is what counts
}

// facts gives the facts of an utterance in order.
func (l utteranceReader) facts() []string {
	var out []string
	last := false // the sentence before became a fact
	for _, s := range utteredSentences(l.u.Content) {
		if isHan(s) {
			last = false
			if !l.agent {
				found := hanSentenceFacts(s, l.speakerName("用户", "助手"), l.u.Time)
				out, last = append(out, found...), len(found) > 0
			}
			continue
		}
		name := l.speakerName("the user", "the assistant")
		if found := l.englishFacts(s, name); len(found) > 0 {
			out, last = append(out, found...), true
			continue
		}
		// What goes on about the person or thing before it joins that fact.
		if last && utf8.RuneCountInString(s) <= maxFactRunes && continuesLastFact(s) {
			more := retell(resolveDates(stripFiller(s), l.u.Time), name)
			if joined := out[len(out)-1] + " " + more; utf8.RuneCountInString(joined) <= maxFactRunes {
				out[len(out)-1] = joined
			}
		}
		last = false
	}
	return slices.DeleteFunc(out, func(f string) bool { return utf8.RuneCountInString(f) > maxFactRunes })
}

// englishFacts gives the facts of one sentence: of all of it, else of its last part
// in which somebody speaks of themselves.
func (l utteranceReader) englishFacts(s, name string) []string {
	if l.agent {
		if f := englishFact(s, name, l.u.Time, true); f != "" {
			return []string{f}
		}
		return nil
	}
	if found := sentenceFacts(s, name, l.u.Time); len(found) > 0 {
		return found
	}
	return sentenceFacts(ownClause(s), name, l.u.Time)
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
	if suppositions.MatchString(s[m[0]:]) || requests.MatchString(stripFiller(s)) || injectedInstructions.MatchString(s) {
		return ""
	}
	part := strings.TrimLeft(s[m[0]:], " ,;–—-")
	for _, w := range []string{"but ", "and ", "so "} {
		part = strings.TrimPrefix(part, w)
	}
	return part
}

// speakerName is the name that facts give to who speaks.
func (l utteranceReader) speakerName(user, assistant string) string {
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
		line = strings.TrimSpace(emojis.ReplaceAllString(line, " "))
		if line == "" || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|") || injectedInstructions.MatchString(line) {
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

// stripFiller takes off what leads in and what is only added, until nothing is left
// to take.
func stripFiller(s string) string {
	s = strings.TrimLeft(strings.TrimSpace(s), "-*•# ")
	for range 6 {
		was := s
		s = strings.TrimSpace(leadIns.ReplaceAllString(s, ""))
		s = calledBy.ReplaceAllString(s, "")
		s = strings.TrimSpace(toldYou.ReplaceAllString(s, ""))
		if m := addressedFirst.FindString(s); m != "" && startsSentence(s[len(m):]) {
			s = s[len(m):]
		}
		s = afterthoughts.ReplaceAllString(s, "")
		if s == was {
			break
		}
	}
	return s
}

// startsSentence tells that a sentence begins after a name by which the other is called.
func startsSentence(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	first = strings.ToLower(first)
	switch first {
	case "it's", "that's", "thanks", "thank", "you", "you're", "your", "it", "that", "this", "what", "keep", "good":
		return true
	}
	return selfWords[first] || clippedPast[first] || strings.HasPrefix(first, "i'") || first == "my"
}

var selfWords = wordSet("i we my our i'm i've i'd i'll we're we've we'd we'll me us myself ourselves mine ours im ive")

// mentionsSpeaker tells that the speaker is in a sentence.
func mentionsSpeaker(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return selfWords[w] })
}

func lowerWords(s string) []string {
	var out []string
	for _, p := range tokenize(s) {
		if p.isWord {
			out = append(out, strings.ToLower(p.text))
		}
	}
	return out
}

// countContentWords counts the words that say something.
func countContentWords(words []string) int {
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

// minContentWords is how many words a sentence must have that say something; one is
// enough for the forms that strong knows.
const minContentWords = 2

// englishFact gives the fact of a sentence, "" where there is none.
func englishFact(s, name string, said time.Time, agent bool) string {
	if strings.Contains(s, "?") || strings.Count(s, `"`)%2 == 1 || utf8.RuneCountInString(s) > maxFactRunes {
		return ""
	}
	s = stripFiller(s)
	if agent {
		return promisedFact(s, name, said)
	}
	if s == "" || requests.MatchString(s) || injectedInstructions.MatchString(s) || unfinished.MatchString(s) || reactions.MatchString(s) {
		return ""
	}
	if mutualStatement.MatchString(s) || suppositions.MatchString(s) && !statedWishes.MatchString(s) {
		return ""
	}
	s = restoreSubject(s)
	words := lowerWords(s)
	if len(words) < 2 || addressesListener(words) {
		return ""
	}
	n := countContentWords(words)
	switch {
	case pronounObject.MatchString(s) && n < 2*minContentWords:
		return ""
	case hasDanglingReference(s) && n < 2*minContentWords+1:
		return ""
	case strongStatement.MatchString(s):
		if n < 1 {
			return ""
		}
	case n < minContentWords:
		return ""
	case startsWithSpeaker(words):
		if feelings.MatchString(s) && n < minContentWords+1 {
			return ""
		}
	case mentionsSpeaker(words):
		if n < minContentWords || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !involvesSpeakerAlone(s) {
			return ""
		}
	case !isAboutNamedSubject(s, words) && !isScheduled(s, said):
		return ""
	}
	return retell(resolveDates(s, said), name)
}

// hasDanglingReference tells that a sentence speaks of what only an earlier one names: a
// pronoun before anything that it could stand for.
func hasDanglingReference(s string) bool {
	at := danglingReference.FindStringIndex(s)
	if len(at) == 0 || antecedent.MatchString(s[:at[0]]) {
		return false
	}
	// A name inside the sentence may be meant.
	for i, p := range tokenize(s[:at[0]]) {
		if i > 0 && p.isWord && startsUpper(p.text) && !selfWords[strings.ToLower(p.text)] {
			return false
		}
	}
	return true
}

// startsWithSpeaker tells that the speaker is what a sentence is about: the first
// word, or the first behind a date, or a clause of time.
func startsWithSpeaker(words []string) bool {
	for i, w := range words[:min(len(words), 9)] {
		switch {
		case selfWords[w]:
			return true
		case i == 0 && !clauseOpeners[w] && !text.IsTimeWord(w) && !isAdverb(w):
			return false
		}
	}
	return false
}

// clauseOpeners are words that a clause before the subject begins with.
var clauseOpeners = wordSet("when while since after before during on in at last this next every each for from as one two three with back the by")

// involvesSpeakerAlone tells that a sentence whose subject is another thing has a verb, and
// speaks of the speaker alone.
func involvesSpeakerAlone(s string) bool {
	words := tokenize(s)
	at := 0
	for _, p := range words {
		w := strings.ToLower(p.text)
		if p.isWord && selfWords[w] {
			switch w {
			case "us", "our", "we", "we're", "we've", "we'll", "ourselves":
				return false
			case "my":
				return finiteVerb.MatchString(s)
			}
			return finiteVerb.MatchString(s[:at])
		}
		at += len(p.text)
	}
	return false
}

// addressesListener tells that a sentence speaks to the other.
func addressesListener(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "you", "your", "yours", "yourself", "you're", "you've", "you'll", "you'd", "u", "ur", "y'all", "let's", "lets":
			return true
		}
		return false
	})
}

// restoreSubject gives a sentence whose "I" was left out its subject back.
func restoreSubject(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	w := strings.ToLower(first)
	low := strings.ToLower(s[:1]) + s[1:]
	switch {
	case w == "just" || w == "finally" || w == "recently":
		second, _, _ := strings.Cut(rest, " ")
		if second = strings.ToLower(second); clippedPast[second] || isPastForm(second) && !clippedNot[second] {
			return "I " + low
		}
	case rest == "":
	case clippedPast[w], isPastForm(w) && !clippedNot[w] && clippedObject.MatchString(rest):
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

// isAboutNamedSubject tells a statement about a named person or thing.
func isAboutNamedSubject(s string, words []string) bool {
	return namedSubject.MatchString(s) && !strings.HasSuffix(words[0], "ing") && !generalRemark.MatchString(s) && !notNames[strings.TrimSuffix(words[0], "'s")] && countContentWords(words) >= minContentWords+1
}

// isScheduled tells a statement about something on a day that is seen from today.
func isScheduled(s string, said time.Time) bool {
	if said.IsZero() || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !finiteVerb.MatchString(s) {
		return false
	}
	return slices.ContainsFunc(when.Parse(s, said), func(r when.Range) bool { return relativeWords.MatchString(s[r.Start:r.End]) })
}

// inflectAfterAnd tells a sentence that says more about who or what was just spoken of.
func continuesLastFact(s string) bool {
	t := stripFiller(s)
	words := lowerWords(t)
	if strings.Contains(s, "?") || suppositions.MatchString(t) || len(words) == 0 || reactions.MatchString(t) || requests.MatchString(t) {
		return false
	}
	more := thirdPersonFirst.MatchString(t) || selfWords[words[0]] && hasDanglingReference(t)
	if !more || addressesListener(words) {
		return false
	}
	need := minContentWords
	if words[0] == "it" || words[0] == "it's" {
		need++ // most of what "it" does is to be great
	}
	return countContentWords(words) >= need
}

// promiseForms are what an assistant says that binds it or advises somebody.
var promiseForms = regexp.MustCompile(`(?i)^(?:i(?:'ve| have| will|'ll|'m going to| am going to| recommend| recommended| suggest| suggested| booked| scheduled| created| sent| set up| found| ordered| updated| reserved| completed| finished| advise| promised?)\b|you should\b|(?:my|the) (?:recommendation|suggestion|advice)\b|we agreed\b)`)

// emptyPromise promises say nothing of what will be done.
var emptyPromise = regexp.MustCompile(`(?i)^i(?:'ll|'ve| will| have)(?: \w+)? (?:be happy|be glad|do my best|be here|help you|let you|keep (?:that|it|this)|remember|try|got it|noted)`)

// promisedFact gives what the assistant commits itself to.
func promisedFact(s, name string, said time.Time) string {
	words := lowerWords(s)
	if !promiseForms.MatchString(s) || emptyPromise.MatchString(s) || injectedInstructions.MatchString(s) || countContentWords(words) < minContentWords {
		return ""
	}
	s = resolveDates(s, said)
	p := tokenize(s)
	for i := range p {
		switch strings.ToLower(p[i].text) {
		case "you":
			p[i].text = "the user"
		case "your":
			p[i].text = "the user's"
		case "yours":
			p[i].text = "the user's"
		}
	}
	var b strings.Builder
	for _, one := range p {
		b.WriteString(one.text)
	}
	return retell(b.String(), name)
}
