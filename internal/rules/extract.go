package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/when"
)

// The bounds of facts by rules.
const (
	// maxFactRunes is the number of characters above which a fact is dropped.
	maxFactRunes = 400
	// maxRuleFacts is the number of facts of one exchange, if the call sets none.
	maxRuleFacts = 64
)

// extract returns the statements of an exchange that are worth keeping, each as a sentence of its
// own in the third person. It reads what people say. Only if the assistant alone speaks does it
// read what the assistant promised or recommended.
func extract(in mem0.ExtractInput) mem0.Extraction {
	limit := in.Max
	if limit <= 0 {
		limit = maxRuleFacts
	}
	out := mem0.Extraction{Facts: []string{}}
	model := loadWorth()
	for _, c := range candidates(in) {
		if len(out.Facts) < limit && model.keeps(&c) {
			out.Facts = append(out.Facts, c.fact)
		}
	}
	return out
}

// candidates returns the statements of an exchange, each once.
func candidates(in mem0.ExtractInput) []candidate {
	personSpeaks := slices.ContainsFunc(in.New, func(u memory.Utterance) bool { return u.Role == memory.RoleUser })
	var out []candidate
	seen := map[string]bool{}
	all := conversationOf(in.Recent, in.New)
	for i, u := range in.New {
		if personSpeaks && u.Role != memory.RoleUser || !personSpeaks && u.Role != memory.RoleAssistant {
			continue
		}
		r := readerOf(all, len(in.Recent)+i)
		r.agent = !personSpeaks
		found := r.facts()
		if len(found) == 0 {
			continue
		}
		var before *memory.Utterance
		if at := len(in.Recent) + i; at > 0 {
			before = &all[at-1].Utterance
		}
		said := traitsOf(&u, before, r.talksToAgent)
		for j, fact := range found {
			if key := text.Fold(fact); !seen[key] {
				seen[key] = true
				out = append(out, candidate{fact: fact, speaker: r.factSpeaker(fact), said: said, promise: r.agent, answer: j < r.answers})
			}
		}
	}
	return out
}

// factSpeaker returns how a fact names the speaker.
func (r *utteranceReader) factSpeaker(fact string) string {
	if isHan(fact) {
		return r.speakerName("用户", "助手")
	}
	return r.speakerName("the user", "the assistant")
}

// utteranceReader extracts the facts of one utterance.
type utteranceReader struct {
	u            memory.Utterance
	sentences    []string       // of the utterance
	question     string         // what the utterance may answer; "": nothing
	agent        bool           // read the assistant's promises and advice
	talksToAgent bool           // no other person takes part
	listeners    *regexp.Regexp // the names of the others, where they address them; nil: none
	questions    []string       // the questions at the end of the utterance before
	asked        []string       // what the others asked before that
	listener     string         // the name of the only other person; "": there is none, or more than one
	before       [][]referent   // what pronouns for persons and animals may refer to, by sentence
	mentions     [][]mention    // the things that the sentences before name
	hanBefore    [][]referent   // what Chinese pronouns may refer to, by sentence
	hanTalkedOf  string         // whom the speaker talked of in Chinese before; "": not known
	hanAsked     string         // whom a Chinese question without a subject is about; "": not known
	answers      int            // how many facts at the beginning are answers
	planned      plannedThing   // what was told to be on a day
	hanTopic     string         // whom a Chinese sentence without a subject is about; "": not known
}

// readerOf returns the reader of the utterance at i, with what those before it say of whom and what it talks.
func readerOf(all []utterance, i int) utteranceReader {
	u := &all[i]
	r := utteranceReader{
		u:            u.Utterance,
		sentences:    u.sentences,
		question:     questionBefore(all, i),
		questions:    lastQuestions(all, i),
		asked:        questionsBefore(all, i),
		talksToAgent: !hasOtherName(all, u.Name),
		mentions:     mentionsBefore(all, i),
		listeners:    listenersOf(all, u.Name),
		listener:     onlyOther(all, u),
		planned:      plannedBefore(all, i),
	}
	r.before, r.hanBefore = referentsBefore(all, i)
	r.hanTopic = hanTopic(all, i, r.hanReferent)
	r.hanAsked = hanAskedBefore(all, i, r.hanReferent)
	r.hanTalkedOf = hanTalkedOf(all, i, r.hanReferent)
	return r
}

// hasOtherName reports whether a person of another name takes part in a conversation.
func hasOtherName(all []utterance, name string) bool {
	return slices.ContainsFunc(all, func(u utterance) bool {
		return u.Role == memory.RoleUser && u.Name != "" && !strings.EqualFold(u.Name, name)
	})
}

// onlyOther returns the name of the one other person who takes part in a conversation; "" if there is none or more
// than one.
func onlyOther(all []utterance, u *utterance) string {
	name := ""
	for _, o := range all {
		if o.Role != memory.RoleUser || o.Name == "" || strings.EqualFold(o.Name, u.Name) || strings.EqualFold(o.Name, name) {
			continue
		}
		if name != "" {
			return ""
		}
		name = strings.Join(strings.Fields(o.Name), " ")
	}
	return name
}

// listenersOf matches the names of the other people at the beginning or end of a sentence, where
// they are addressed.
func listenersOf(all []utterance, speaker string) *regexp.Regexp {
	var names []string
	for _, u := range all {
		name := strings.TrimSpace(u.Name)
		if u.Role == memory.RoleUser && name != "" && !strings.EqualFold(name, speaker) && len(name) <= 64 && !slices.Contains(names, regexp.QuoteMeta(name)) {
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names, "|")
	return regexp.MustCompile(`^(?:` + list + `)[,!]\s+|,\s+(?:` + list + `)(\s*[.!]*)$`)
}

// facts returns the facts of the utterance in order.
func (r *utteranceReader) facts() []string {
	var out []string
	for _, over := range r.overByAnswer() {
		out = append(out, r.stated(over)...)
	}
	said, topic, left, used := r.answered()
	if said != "" && !r.agent && !comparesWithListener.MatchString(said) {
		if said = r.withoutReferences(said); said != "" {
			out = append(out, r.stated(said)...)
			r.answers = len(out)
			r.hear(said)
			if who := asksWho.FindString(r.question); who != "" && startsUpper(said) && !strings.HasPrefix(said, "My ") {
				r.before[len(r.before)-1] = append(r.before[len(r.before)-1], referent{firstWord(said), anyone})
			}
			if topic != "" && !isHan(said) {
				r.mentions[len(r.mentions)-1] = mentionsIn(topic, "")
			}
			if isHan(said) {
				r.hanBefore = append(slices.Clip(r.hanBefore), hanReferentsIn(said, "", r.listener))
			}
		}
	} else {
		used = 0
	}
	lastIsFact := false // the previous sentence became a fact
	hanTopic, counts := r.hanTopic, hanCounts.MatchString(r.question)
	if said != "" && isHan(said) && used > 0 && topic != "" {
		hanTopic = topic
	}
	sentences := r.sentences
	sentences = sentences[min(used, len(sentences)):]
	if left != "" {
		sentences = append([]string{left}, sentences...)
	}
	for _, s := range sentences {
		if r.listeners != nil {
			if plain := stripFiller(s); r.listeners.MatchString(plain) && !isHan(s) {
				s = plain
			}
			s = r.listeners.ReplaceAllString(s, "$1")
		}
		s = wildTime.ReplaceAllString(eventful.ReplaceAllString(s, ""), "$1 ")
		if m := hanCallMe.FindStringSubmatch(s); len(m) > 1 && (m[1] == r.u.Name || !r.talksToAgent) {
			continue
		}
		s = withoutImpersonal(s)
		if moved := movedPlan(s, r.planned); moved != "" && !r.agent {
			out, lastIsFact = append(out, r.stated(moved)...), false
			continue
		}
		if said := instruction(s); said != "" && !r.agent && r.talksToAgent {
			out, lastIsFact = append(out, r.stated(said)...), false
			continue
		}
		if isHan(s) {
			lastIsFact = false
			if !r.agent {
				s = r.hanWithPlace(s)
				resolved, ok := hanResolvePronoun(hanDoneThere.ReplaceAllString(s, "$1"), r.hanBefore)
				if found := hanReferentsIn(resolved, "", r.listener); len(found) > 0 {
					r.hanBefore = append(slices.Clip(r.hanBefore), found)
				}
				resolved, hanTopic = hanWithSubject(resolved, hanTopic, counts)
				counts = false
				resolved = hanUpToDangling(resolved)
				if ok && hanStandsAlone(resolved) {
					found := r.hanFactsOf(resolved)
					out, lastIsFact = append(out, found...), len(found) > 0
				}
			}
			continue
		}
		name := r.speakerName("the user", "the assistant")
		if name != "the user" {
			s = introduction(s, name)
		}
		if found := r.englishFacts(s, name); len(found) > 0 {
			out, lastIsFact = append(out, found...), true
			continue
		}
		// A sentence that continues about the same person or thing is appended to that fact.
		if lastIsFact && utf8.RuneCountInString(s) <= maxFactRunes && continuesLastFact(s) {
			more := retell(resolveDates(stripFiller(s), r.u.Time), name)
			if joined := out[len(out)-1] + " " + more; utf8.RuneCountInString(joined) <= maxFactRunes {
				out[len(out)-1] = joined
			}
		}
		lastIsFact = false
	}
	return slices.DeleteFunc(out, func(f string) bool { return utf8.RuneCountInString(f) > maxFactRunes })
}

// asksWho matches a question for a person, whom the next sentence may be about.
var asksWho = regexp.MustCompile(`(?i)^(?:and |so )?who\b`)

// eventful matches a remark in front of what happened, wildTime one that says when it happened.
var (
	eventful = regexp.MustCompile(`(?i)^so far,? so good(?:\s+[–—-]\s*|,\s+)|^(?:a lot(?:'s| has)|so much(?:'s| has)|lots has|many things have|things have|life(?:'s| has)|it(?:'s| has) been (?:a |an |so |really |super |quite |pretty )*\p{L}+(?: \p{L}+){0,3}?)(?: (?:happened|changed|been \p{L}+))?(?: [\p{L} ]{0,20})?(?:\s+[–—-]\s*|—|;\s|:\s)`)
	wildTime = regexp.MustCompile(`(?i)^((?:(?:this |the )?past|(?:the )?last|this) (?:few )?(?:week|weekend|month|year|day|night)s?)(?:'s been| was| has been| were| is| have been) (?:\p{L}+ ){0,3}?\p{L}+(?:\s+[–—-]\s+|,\s+|;\s+)`)
)

// introduction returns a sentence without "I'm Ana," at its beginning, if that is the speaker's
// known name.
func introduction(s, name string) string {
	plain := stripFiller(s)
	for _, opening := range []string{"I'm ", "I am ", "My name is ", "My name's "} {
		if rest, ok := strings.CutPrefix(plain, opening+name); ok && len(rest) > 3 && (rest[0] == ',' || strings.HasPrefix(rest, " and ")) {
			return strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, ", "), "and "), " ")
		}
	}
	return s
}

// stated returns the facts of a sentence in the first person that is known to be a statement.
func (r *utteranceReader) stated(said string) []string {
	if isHan(said) {
		return grammar.Statements(hanRetell(resolveDates(said, r.u.Time), r.speakerName("用户", "助手")))
	}
	return grammar.Statements(retell(resolveDates(said, r.u.Time), r.speakerName("the user", "the assistant")))
}

// hanDoneThere matches what somebody is at a place that another sentence names; it is true without the place.
var hanDoneThere = regexp.MustCompile(`在那(?:儿|里|边)(当|做|教|开)`)

// hanReferent is referent for Chinese. A name is one who was spoken of.
func (r *utteranceReader) hanReferent(pronoun string) string {
	if hanSheHe[pronoun] == nil {
		for _, found := range slices.Backward(r.hanBefore) {
			if slices.ContainsFunc(found, func(f referent) bool { return f.phrase == pronoun }) {
				return pronoun
			}
		}
		return ""
	}
	if found, ok := fitting(r.hanBefore, hanSheHe[pronoun]); ok {
		return found.phrase
	}
	return ""
}

// answered returns what the first sentence says as an answer, as answered does, and what is left of that sentence.
func (r *utteranceReader) answered() (said, topic, left string, used int) {
	if !isHan(r.question) {
		if first, _, _ := strings.Cut(r.u.Content, "."); r.listener != "" && strings.Contains(first, firstWord(r.listener)) && !strings.Contains(r.question, "name") {
			return "", "", "", 0 // it addresses the listener
		}
		if tellsOfKnown(r.u.Content, r.before) {
			return "", "", "", 0 // "Evan fences." after "Do they have hobbies?"
		}
		said, topic, used = answered(r.question, r.u.Content, r.referent)
		return said, topic, "", used
	}
	sentences := r.sentences
	if len(sentences) == 0 || strings.ContainsAny(sentences[0], "?？") || injectedInstructions.MatchString(r.u.Content) {
		return "", "", "", 0
	}
	for _, q := range r.questions {
		if f, ok := hanFrameOf(q, r.hanTalkedOf, r.hanAsked, r.hanReferent); ok {
			if said, left := f.completedBy(sentences[0]); said != "" && !hanUnclear(said) {
				return said, f.subject, left, 1
			}
		}
	}
	said, topic, used = answered(r.question, r.u.Content, r.referent)
	return said, topic, "", used
}

// overByAnswer returns what the utterance says that is no longer so, as the answer to a question with "still".
func (r *utteranceReader) overByAnswer() []string {
	if r.question == "" || r.agent {
		return nil
	}
	var over string
	if isHan(r.question) {
		if still := hanStillSaid(r.question, r.u.Content, r.hanReferent); still != "" {
			return []string{still}
		}
		over = hanNoLongerSaid(r.question, r.u.Content, r.hanReferent)
	} else {
		over = noLongerSaid(r.question, r.u.Content, r.referent)
	}
	if over == "" {
		return nil
	}
	return []string{over}
}

// hanFactsOf returns the facts of a Chinese sentence with its subject. Of somebody who was spoken of by name it is read as
// if they told it themselves.
func (r *utteranceReader) hanFactsOf(s string) []string {
	n := hanKnownName(s, r.hanReferent)
	if n == 0 || strings.ContainsAny(s, "我咱") || !startsPredicate(grammar.Chinese(s[n:]), true) {
		return hanSentenceFacts(s, r.speakerName("用户", "助手"), r.u.Time)
	}
	return hanSentenceFacts(speakerTopic+strings.ReplaceAll(s[n:], s[:n], speakerTopic), s[:n], r.u.Time)
}

// hanWithPlace returns a sentence with the place for "there", where the question before asks whether somebody is still
// at that place, without the answer to it.
func (r *utteranceReader) hanWithPlace(s string) string {
	m := hanStillAsked.FindStringSubmatch(hanQuestionCore(r.question))
	if len(m) == 0 || !strings.HasPrefix(m[2], "在") {
		return s
	}
	return hanThere.ReplaceAllString(hanStillYes.ReplaceAllString(s, ""), m[2])
}

// referent returns what a pronoun, or "the" with a noun, refers to at the beginning of the utterance; "" if that is
// not certain.
func (r *utteranceReader) referent(word string) string {
	if word == "" {
		return r.lastAsked()
	}
	if noun, definite := strings.CutPrefix(word, "the "); definite {
		for _, found := range slices.Backward(r.before) {
			for _, f := range found {
				if f.phrase != "" && strings.Contains(f.phrase+" ", " "+noun+" ") {
					return f.phrase
				}
			}
		}
		if r.talksToAgent && len(strings.Fields(noun)) <= 3 {
			return namedBefore(noun, r.mentions)
		}
		return ""
	}
	found, ok := fitting(r.before, fitsPronoun[word])
	if !ok {
		return ""
	}
	return found.phrase
}

// lastAsked returns whom the last question with a subject was about, for one without: "any allergies?"; "" if that is
// not certain.
func (r *utteranceReader) lastAsked() string {
	for _, q := range slices.Backward(r.asked) {
		for _, w := range lowerWords(q) {
			switch w {
			case "he", "she", "it", "they", "his", "her":
				return r.referent(w)
			case "you", "your":
				return "I"
			}
		}
	}
	if len(r.before) > 0 && slices.ContainsFunc(r.before, func(found []referent) bool { return len(found) > 0 }) {
		return ""
	}
	return "I"
}

// lastQuestions returns the questions at the end of the utterance before, if another person asks them.
func lastQuestions(all []utterance, i int) []string {
	if questionBefore(all, i) == "" {
		return nil
	}
	sentences := all[i-1].sentences
	first := len(sentences)
	for first > 0 && strings.ContainsAny(sentences[first-1], "?？") {
		first--
	}
	return sentences[first:]
}

// questionsBefore returns what others asked before an utterance, but for its own question.
func questionsBefore(all []utterance, i int) []string {
	var out []string
	for j := max(0, i-maxFocus); j < i; j++ {
		if u := all[j]; u.Role == all[i].Role && strings.EqualFold(u.Name, all[i].Name) || !strings.Contains(u.Content, "?") {
			continue
		}
		for _, s := range all[j].sentences {
			if strings.HasSuffix(strings.TrimSpace(s), "?") {
				out = append(out, s)
			}
		}
	}
	return out[:max(0, len(out)-1)]
}

// withoutReferences returns a statement with what it refers to completed; "" if that is not certain.
func (r *utteranceReader) withoutReferences(said string) string {
	if isHan(said) || len(referencesIn(grammar.English(said))) == 0 {
		return said
	}
	completed, ok := complete(said, r.mentions)
	if !ok {
		return ""
	}
	return completed
}

// hear adds what a sentence names to what later sentences may refer to.
func (r *utteranceReader) hear(s string) {
	r.before, r.mentions = append(slices.Clip(r.before), referentsIn(s, "", r.listener)), append(slices.Clip(r.mentions), mentionsIn(s, ""))
}

// englishFacts returns the facts of one sentence, or, if it has none as a whole, those of its
// clauses.
func (r *utteranceReader) englishFacts(s, name string) []string {
	if r.agent {
		if f := englishFact(s, name, r.u.Time, true); f != "" {
			return []string{f}
		}
		return nil
	}
	if plain := stripFiller(s); strings.Contains(s, "?") && !strings.Contains(plain, "?") {
		s = plain // the question was an afterthought
	}
	if m := reachMe.FindStringSubmatch(strings.TrimSpace(leadIns.ReplaceAllString(s, ""))); m != nil {
		return append(r.stated("I can be reached "+m[1]), r.ownWords(s[strings.Index(s, m[1])+len(m[1]):], name)...)
	}
	whole := *r
	if found := whole.clauseFacts(s, name); len(found) > 0 {
		*r = whole
		return found
	}
	if found := whole.clauseFacts(withoutVisit(s), name); len(found) > 0 {
		*r = whole
		return found
	}
	var out []string
	for _, part := range clausesOf(s) {
		out = append(out, r.clauseFacts(part, name)...)
	}
	if len(out) > 0 {
		return out
	}
	*r = whole
	return r.ownWords(s, name)
}

// ownWords returns the facts of the clauses of a sentence in which the speaker does not talk to the listener.
func (r *utteranceReader) ownWords(s, name string) []string {
	var out []string
	for _, part := range ownClauses(s) {
		out = append(out, sentenceFacts(part, name, r.u.Time)...)
	}
	return out
}

// clauseFacts returns the facts of a sentence or clause, with what it refers to completed where that
// is certain.
func (r *utteranceReader) clauseFacts(s, name string) []string {
	before, mentions := r.before, r.mentions
	r.hear(s)
	if resolved, ok := resolvePronoun(s, before); ok {
		// Who is meant now may be meant by the next sentence too.
		r.before[len(r.before)-1] = append(referentsIn(resolved, "", r.listener), r.before[len(r.before)-1]...)
		if completed, ok := complete(resolved, mentions); ok {
			resolved = completed
		}
		if opinionOfOther.MatchString(resolved) {
			return nil
		}
		if found := sentenceFacts(resolved, name, r.u.Time); len(found) > 0 {
			return found
		}
		if isStatementAboutOther(resolved) {
			return r.stated(resolved)
		}
	}
	if named := itNamed(s, mentions); named != "" {
		return r.stated(named)
	}
	if without := thereAtEnd.ReplaceAllString(s, "$1$2"); without != s {
		s = without
	}
	s = withAskedTopic(s, r.question)
	if completed, ok := complete(stripFiller(s), mentions); ok {
		return sentenceFacts(completed, name, r.u.Time)
	}
	found := sentenceFacts(s, name, r.u.Time)
	if len(found) == 0 && tellsOfKnown(s, before) {
		return r.stated(stripFiller(s))
	}
	return found
}

var (
	// thereAtEnd matches what somebody is or has at a place that another sentence names; it is true without the place.
	thereAtEnd = regexp.MustCompile(`^((?:I'm|I am|I was) (?:an?|the) (?:[\p{L}-]+ ){0,3}[\p{L}-]+) there([.!]*)$`)
	// itWhen matches where or when "it" is.
	itWhen = regexp.MustCompile(`^It(?:'s| is| was|'ll be| will be| starts| ends| begins| opens| takes place) ((?:on|at|in|from|every|until|tomorrow|next|due|called|named)\b [^,;]*)$`)
)

// itNamed returns a sentence about where or when "it" is with its subject, if the last sentence that names anything names
// one thing; else "".
func itNamed(s string, before [][]mention) string {
	plain := stripFiller(s)
	m := itWhen.FindStringSubmatchIndex(plain)
	if m == nil {
		return ""
	}
	with := onlyMention(toThing, "", before)
	if with == "" || !strings.Contains(with, " ") && !startsUpper(with) || groupNouns[strings.ToLower(lastWord(with))] || vagueNouns[strings.ToLower(firstWord(plain[m[2]:]))] {
		return ""
	}
	said := strings.NewReplacer("'s ", " is ", "'ll be ", " will be ").Replace(plain[len("It"):m[2]]) + plain[m[2]:]
	return strings.ToUpper(with[:1]) + with[1:] + said
}

// opinionOfOther matches what the speaker thinks of somebody or something.
var opinionOfOther = regexp.MustCompile(`(?i)(?:'s| is| are| was| were)(?: \p{L}+ly| always| just)* (?:so|such|very|quite|pretty|really|super|incredibly|too) |\bcan (?:definitely|really|always|truly)\b| (?:is|are|was|were) (?:so |very |really )?(?:cute|adorable|sweet|lovely|funny|hilarious|gorgeous)[.!]*$`)

// isStatementAboutOther reports whether a sentence whose pronoun was resolved says something about
// that person or thing.
func isStatementAboutOther(s string) bool {
	words := lowerWords(s)
	return countContentWords(words) >= minContentWords && !selfWords[words[0]] && !generalRemark.MatchString(s) &&
		!addressesListener(words) && !suppositions.MatchString(s) && !opinionOfOther.MatchString(s) && !hasDanglingReference(s) && standsAlone(grammar.English(s))
}

// clauseBreak matches the place where a clause about the speaker begins, clauseEnding the one
// where it ends and the listener is addressed.
var (
	clauseBreak  = regexp.MustCompile(`(?:,? but|;|\s[–—-]+|—|,? and|, so|,)\s+(?:I|I'm|I've|we|we're|we've|my|My)\s`)
	clauseEnding = regexp.MustCompile(`(?i)(?:,? but|;|\s[–—-]+|—|,? and|,? so|,|,? because)\s+(?:please |just |maybe |do |don't |be |let |if |when |can |could |would |what |how |how's |you|your|thanks|remember |make sure|tell |keep |watch )`)
	// ownAddress matches what a speaker says about their place beside an invitation.
	ownAddress = regexp.MustCompile(`(?i)\b(?:my|our) (?:place|home|flat|apartment|house|office)\b[^.;]*?[,;:] (?:and )?(?:the|my|our) (address|phone number|code|door code) is ([^.;!?]{3,60})`)
	// reachMe matches how the speaker is reached.
	reachMe = regexp.MustCompile(`(?i)^(?:you can(?: always| best)? |you'll |please |just |(?:it's )?best to |always |either )?(?:reach|contact|call|text|email|e-mail|message|phone|ring|write to|get hold of|find) me (?:best )?((?:at|on|under|via|by|through) (?:my )?(?:[^ ]*[@\d][^ ]*(?: [\d ]+)?|(?:e-?mail|text|phone|post|letter|message|whatsapp|signal|telegram|landline|mobile|work (?:phone|number|email))\b[^,;!?]*))`)
	// visits matches the end of a plan to see the listener.
	visits = regexp.MustCompile(`(?i)\b(?:travel(?:ing|ling)?|go(?:ing)?|fly(?:ing)?|com(?:e|ing)|driv(?:e|ing)|move|moving|trip|visit|be)\b.*?(,? (?:and |to )(?:see|visit|meet) you(?: (?:all|guys|both|again))*)(?:[.!]|$)`)
)

// withoutVisit returns a sentence about a journey without its end "to see you".
func withoutVisit(s string) string {
	if m := visits.FindStringSubmatchIndex(s); m != nil {
		return s[:m[2]] + s[m[3]:]
	}
	return ""
}

// ownClauses returns the parts of a sentence in which the speaker talks about themselves and not
// to the listener. It has none if the sentence asks or supposes something.
func ownClauses(s string) []string {
	plain := stripFiller(s)
	asks := strings.IndexByte(plain, '?')
	if asks >= 0 && asks < len(plain)-1 || strings.Count(s, `"`)%2 == 1 || conditional.MatchString(plain) || injectedInstructions.MatchString(s) {
		return nil
	}
	if m := ownAddress.FindStringSubmatch(s); m != nil {
		return []string{"My " + strings.ToLower(m[1]) + " is " + m[2]}
	}
	var out []string
	if at := clauseEnding.FindStringIndex(plain); len(at) == 2 && startsWithSpeaker(lowerWords(plain[:at[0]])) && !suppositions.MatchString(plain[:at[0]]) {
		if first := plain[:at[0]]; !openSubordinate.MatchString(first) {
			out = append(out, first)
		}
	}
	at := clauseBreak.FindAllStringIndex(s, 8)
	if len(at) == 0 || asks >= 0 || requests.MatchString(plain) {
		return out
	}
	m := at[len(at)-1]
	if suppositions.MatchString(s[m[0]:]) {
		return out
	}
	part := strings.TrimLeft(s[m[0]:], " ,;–—-")
	for _, w := range []string{"but ", "and ", "so "} {
		part = strings.TrimPrefix(part, w)
	}
	return append(out, part)
}

// speakerName returns the name of the speaker that facts use.
func (r *utteranceReader) speakerName(user, assistant string) string {
	if name := strings.Join(strings.Fields(r.u.Name), " "); name != "" && utf8.RuneCountInString(name) <= 64 {
		return name
	}
	if r.agent {
		return assistant
	}
	return user
}

// codeFence matches a block of code, which is not the speaker's own words.
var codeFence = regexp.MustCompile("(?s)```.*?(?:```|$)")

// utteredSentences returns the sentences of what somebody says, without code, quoted lines, and
// lines that contain instructions to the model.
func utteredSentences(s string) []string {
	s = codeFence.ReplaceAllString(s, "\n")
	s = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "\u00a0", " ").Replace(s)
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(emojis.ReplaceAllString(line, " "))
		if line == "" || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "|") || injectedInstructions.MatchString(line) {
			continue
		}
		for _, sentence := range text.Sentences(line) {
			out = append(out, ownParent.ReplaceAllStringFunc(sentence, func(m string) string { return "My " + strings.ToLower(m) }))
		}
	}
	return out
}

// isHan reports whether a text is Chinese: at least a quarter of its letters are Chinese characters.
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

// stripFiller removes introductory words and afterthoughts, repeatedly until nothing is left to
// remove.
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

// startsSentence reports whether s, the words behind a name, begins a sentence. If it does, the
// name addresses the listener.
func startsSentence(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	first = strings.ToLower(first)
	switch first {
	case "it's", "that's", "thanks", "thank", "you", "you're", "your", "it", "that", "this", "what", "keep", "good":
		return true
	}
	return selfWords[first] || clippedPast[first] || strings.HasPrefix(first, "i'") || first == "my"
}

// selfWords refer to the speaker, alone or in a group.
var selfWords = wordSet("i we my our i'm i've i'd i'll we're we've we'd we'll me us myself ourselves mine ours im ive")

// mentionsSpeaker reports whether a sentence mentions the speaker.
func mentionsSpeaker(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return selfWords[w] })
}

// lowerWords returns the words of s in lower case.
func lowerWords(s string) []string {
	var out []string
	for _, p := range tokenize(s) {
		if p.isWord {
			out = append(out, strings.ToLower(p.text))
		}
	}
	return out
}

// countContentWords counts the different words that carry content.
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

// minContentWords is the least number of content words of a fact. One is enough for
// strongStatement.
const minContentWords = 2

// englishFact returns the fact of a sentence, or "" if it has none.
func englishFact(s, name string, saidAt time.Time, agent bool) string {
	if strings.Contains(s, "?") || strings.Count(s, `"`)%2 == 1 || utf8.RuneCountInString(s) > maxFactRunes {
		return ""
	}
	s = stripFiller(s)
	if agent {
		return promisedFact(s, name, saidAt)
	}
	s = withoutHypothesis(ellipticLead.ReplaceAllString(s, ""))
	s = unmetFirst.ReplaceAllString(possiblePart.ReplaceAllString(byTheWay.ReplaceAllString(s, "$1"), "$1"), "")
	if s == "" || requests.MatchString(s) || injectedInstructions.MatchString(s) || unfinished.MatchString(s) || reactions.MatchString(s) {
		return ""
	}
	if mutualStatement.MatchString(s) || hearsay.MatchString(s) || supposedOfOthers.MatchString(s) || elliptic.MatchString(s) || suppositions.MatchString(s) && !statedWishes.MatchString(s) {
		return ""
	}
	s = restoreSubject(s)
	words := lowerWords(s)
	if len(words) < 2 || addressesListener(words) || isUnclear(s) && !newsOfDay.MatchString(s) && !onCalendar.MatchString(s) && !partedWays.MatchString(s) {
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
	case jointSpeaker.MatchString(s):
	case startsWithSpeaker(words) && !pronounFirst.MatchString(s):
		if feelings.MatchString(s) && n < minContentWords+1 {
			return ""
		}
	case mentionsSpeaker(words):
		if praisedThing.MatchString(s) {
			return ""
		}
		if n < minContentWords || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !involvesSpeakerAlone(s) {
			return ""
		}
	case !isAboutNamedSubject(s, words) && !isScheduled(s, saidAt):
		return ""
	}
	return retell(resolveDates(s, saidAt), name)
}

var (
	// unmetFirst matches a wish that a following "but" takes back: "I'd love to, but".
	unmetFirst = regexp.MustCompile(`(?i)^(?:i|we)(?:'d| would) (?:love|like|have loved|have liked) to,? but (?:(?:sadly|unfortunately),? )?`)
	// ellipticLead matches a clause in front whose verb only the question has: "I can't, I work that day".
	ellipticLead = regexp.MustCompile(`(?i)^(?:i|we)(?: can't| couldn't| won't| don't| didn't|'m not| am not| do| did| am| have| haven't)(?: (?:make it|come|really|any ?more))?(?:,| -| –|;) (?:because |as |since )?`)
	// hearsay matches what the speaker only heard or supposes.
	hearsay = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve| have)?(?: just| also| only| once)? (?:heard|hear|reckon|guess|bet|gather|imagine|suppose|was told|were told)\b(?: (?:that|the|they|it|he|she|there|people|somebody|someone|we|you|i|his|her|their)\b| \p{Lu}\p{Ll}+ (?:is|was|has|might|may|will|wants?)\b)|^(?:people|somebody|someone|everyone|rumou?r|word) (?:say|says|said|told|has|thinks?|reckons?)\b`)
	// hypothesis matches a clause about what would be, with what joins it to the one before.
	hypothesis = regexp.MustCompile(`(?:^|,? ?(?:;|–|—|-|,)? (?:(?:and|but|so|because|or) )?)(I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t|[Tt]hat|(?:[Mm]y|[Oo]ur) (?:\p{L}+ ){1,3}?)(?:'d| ?would)(?: (?:probably|never|always|just|still|even|only|gladly|happily|definitely|totally|also|have|not))* (\p{L}+)`)
	// ownParent matches a parent of the speaker who is named as children do: "Mum is a nurse".
	ownParent = regexp.MustCompile(`^(?:Mum|Mom|Mommy|Dad|Daddy|Grandma|Grandpa|Granny) `)
	// supposedOfOthers matches what others would do.
	supposedOfOthers = regexp.MustCompile(`^(?:(?:[Mm]y|[Oo]ur) (?:\p{L}+ ){1,3}|(?:[Hh]e|[Ss]he|[Tt]hey) |\p{Lu}\p{Ll}{2,}(?:'s \p{Ll}+)?(?: \p{Lu}\p{Ll}+)? )would (?:probably |never |rather |always |just )*(?:be|say|think|kill|die|laugh|hate|do|recommend|tell|have|agree|help|go|need|cost|take|make|know|want)\b`)
	// elliptic matches a sentence whose verb only the question has, as in "My brother does".
	elliptic = regexp.MustCompile(`(?i)^(?:my |our )?[\p{L}' ]{1,40} (?:does|did|can|will|has|is|was|do|doesn't|didn't|can't|won't|isn't|wasn't)[.!]*$`)
)

// dated matches a day or a month.
var dated = regexp.MustCompile(`\b(?:January|February|March|April|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{1,2}(?:st|nd|rd|th))\b`)

// withoutHypothesis returns a sentence up to the first clause about what would be: "I'm the cook, I'd know". Wishes of the
// speaker stay, and "'d" that means "had".
func withoutHypothesis(s string) string {
	if !strings.Contains(s, "would ") && !strings.Contains(s, "'d ") {
		return s
	}
	if slices.ContainsFunc(grammar.English(s), func(w grammar.Word) bool { return w.Tag == "VBD" && !strings.HasPrefix(w.Text, "'") }) {
		return s // what used to happen
	}
	for _, m := range hypothesis.FindAllStringSubmatchIndex(s, 4) {
		if joint := strings.TrimSpace(s[m[0]:m[2]]); m[0] > 0 && joint == "" {
			continue // "what I'd expect"
		}
		subject, verb := strings.ToLower(s[m[2]:m[3]]), strings.ToLower(s[m[4]:m[5]])
		contracted := strings.Contains(s[m[3]:m[4]], "'d")
		wish := verb == "love" || verb == "like" || verb == "prefer" || verb == "rather" && (subject == "i" || subject == "we")
		planned := (subject == "i" || subject == "we") && m[0] == 0 && dated.MatchString(s) // "we would take the train on the 3rd of May"
		if wish || planned || contracted && (participles[verb] || strings.HasSuffix(verb, "ed") || verb == "better") || !contracted && !strings.Contains(s[m[3]:m[4]], "would") {
			continue
		}
		return strings.TrimRight(s[:m[0]], " ,;–—-")
	}
	return s
}

// praisedThing matches an opinion on something of the speaker's.
var praisedThing = regexp.MustCompile(`(?i)^(?:(?:my|our|the) )?(?:[\p{L}-]+ ){0,2}[\p{L}-]+(?: is| are| was| were|'s)(?: going| doing| being)? (?:so |really |very |super |pretty |my |our |like )*(?:good|great|well|awesome|amazing|wonderful|fine|okay|ok|important|everything|rocks?|future|strength|support|motivation|inspiration|happiness|joy|priority|world|life|anchor)\b`)

// jointSpeaker matches a sentence about the speaker and one other person.
var jointSpeaker = regexp.MustCompile(`^(?:\p{Lu}\p{Ll}+|[Mm]y \p{Ll}+(?: \p{Lu}\p{Ll}+)?) and I (?:\p{Ll}+ly |just |have |are )?(?:broke|split|got|moved|divorced|separated|married|met|bought|adopted|live|work|share|opened|started|have|are|were|went|own|run)\b`)

// hasDanglingReference reports whether a sentence refers to something that only an earlier
// sentence names: it has a pronoun before any noun that the pronoun could refer to.
func hasDanglingReference(s string) bool {
	at := danglingReference.FindStringIndex(s)
	if len(at) == 0 || antecedent.MatchString(s[:at[0]]) {
		return false
	}
	// The pronoun may refer to a name inside the sentence.
	for i, p := range tokenize(s[:at[0]]) {
		if i > 0 && p.isWord && startsUpper(p.text) && !selfWords[strings.ToLower(p.text)] {
			return false
		}
	}
	return true
}

// startsWithSpeaker reports whether the speaker is the subject of a sentence: the first word, or
// the first one behind a date, an adverb or a clause of time.
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

// clauseOpeners are words that begin a clause before the subject.
var clauseOpeners = wordSet("when while since after before during on in at last this next every each for from as one two three with back the by")

// involvesSpeakerAlone reports whether a sentence with another subject has a verb and mentions
// the speaker alone, not a group.
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
				return finiteVerb.MatchString(s) || at == 0 && hasFiniteVerb(grammar.English(s))
			}
			return finiteVerb.MatchString(s[:at])
		}
		at += len(p.text)
	}
	return false
}

// addressesListener reports whether a sentence addresses the listener.
func addressesListener(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "you", "your", "yours", "yourself", "you're", "you've", "you'll", "you'd", "u", "ur", "y'all", "let's", "lets":
			return true
		}
		return false
	})
}

// restoreSubject adds the subject to a sentence whose "I" was left out.
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
	case clippedPresent[w] && clippedGoal.MatchString(rest) && !clippedSubject.MatchString(rest) && !isSubjectGerund(s):
		return "I am " + low
	}
	return s
}

// isSubjectGerund reports whether the participle at the beginning of a sentence is its subject:
// "Learning about history fascinates me".
func isSubjectGerund(s string) bool {
	return slices.ContainsFunc(grammar.English(s)[1:], func(w grammar.Word) bool { return w.Tag == "VBZ" || w.Tag == "VBD" || w.Tag == "MD" })
}

var (
	clippedObject  = regexp.MustCompile(`(?i)^(?:my|a|an|the|some|to|in|at|with|for|on|up|out|our|about|from)\b`)
	clippedSubject = regexp.MustCompile(`(?i)\b(?:is|are|was|were|can|could|helps?|makes?|gives?|brings?|takes|seems|feels|has|keeps?|lets?|will|would)\b`)
)

var clippedGoal = regexp.MustCompile(`(?i)^(?:to|of|about|on|for|forward|my|a|an|the|some)\b`)

// namedSubject matches the beginning of a statement about somebody else by name.
var namedSubject = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+(?: (?:and )?\p{Lu}[\p{L}'-]+)* (?:is|was|has|had|have|run|own|teach|keep|grow|sell|lives?|lived|works?|worked|moved|loves?|loved|likes?|liked|hates?|plays?|played|got|went|bought|started|joined|graduated|married|died|passed|adopted|visited|won|lost|broke|quit|studies|studied|teaches|taught|wants?|wanted|prefers?|can't|cannot|owns?|enjoys?|invited|gave|told|helped|made|took|said|asked|called|came|left|sold|cancell?ed|divorced|retired|switched|dropped|stopped|became|resigned|speaks|spoke|drives|drove|runs|ran|takes|needs|met|opened|wrote|grew|turned|will|won't|doesn't|didn't|isn't|hasn't|no longer|just|recently|finally)\b`)

// notNames are words that begin a sentence with a capital and are not names.
var notNames = wordSet(`it that this these those there here he she they who what which when where why how everyone everything nothing something
	someone nobody life love time people things music art nature books the a an its his her their one some many most all each every no such
	friends family work health exercise animals dogs cats games food sports history science technology god today yesterday tomorrow
	sounds looks seems glad great good congrats happy`)

// isAboutNamedSubject reports whether a sentence is a statement about a named person or thing.
func isAboutNamedSubject(s string, words []string) bool {
	return namedSubject.MatchString(s) && !strings.HasSuffix(words[0], "ing") && !generalRemark.MatchString(s) && !notNames[strings.TrimSuffix(words[0], "'s")] && countContentWords(words) >= minContentWords+1
}

// isScheduled reports whether a sentence is a statement about something on a date relative to
// today, or about what was moved to another date.
func isScheduled(s string, saidAt time.Time) bool {
	if newsOfDay.MatchString(s) || onCalendar.MatchString(s) {
		return true
	}
	if saidAt.IsZero() || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !finiteVerb.MatchString(s) {
		return false
	}
	return slices.ContainsFunc(when.Parse(s, saidAt), func(r when.Range) bool { return relativeWords.MatchString(s[r.Start:r.End]) })
}

// partedWays matches a couple's end, which says enough without who the other is.
var partedWays = regexp.MustCompile(`(?i)^we(?:'ve| have)? (?:just |recently )?(?:split up|broken? up|separated|divorced|got divorced)(?:[.!]| in | last | two | a )`)

// onCalendar matches a statement that something is on a day of the calendar.
var onCalendar = regexp.MustCompile(`^(?:The|Our) (?:[\p{L}'-]+ ){0,5}?(?:is|are|takes place|will be|starts) (?:on |set for |planned for )` + calendarDay)

// continuesLastFact reports whether a sentence says more about the person or thing of the
// sentence before.
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
	if anchors(grammar.English(t)) < fullAnchor {
		return false
	}
	if words[0] == "it" && generalRemark.MatchString(t) || fleeting.MatchString(t) || passing.MatchString(t) {
		return false
	}
	need := minContentWords
	if words[0] == "it" || words[0] == "it's" {
		need++ // "it" is most often only praised
	}
	return countContentWords(words) >= need
}

// promiseForms matches promises, reports and advice of an assistant.
var promiseForms = regexp.MustCompile(`(?i)^(?:i(?:'ve| have| will|'ll|'m going to| am going to| recommend| recommended| suggest| suggested| booked| scheduled| created| sent| set up| found| ordered| updated| reserved| completed| finished| advise| promised?)\b|you should\b|(?:my|the) (?:recommendation|suggestion|advice)\b|we agreed\b)`)

// emptyPromise matches promises of nothing in particular.
var emptyPromise = regexp.MustCompile(`(?i)^i(?:'ll|'ve| will| have)(?: \w+)? (?:be happy|be glad|do my best|be here|help you|let you|keep (?:that|it|this)|remember|try|got it|noted)`)

// promisedFact returns what the assistant promises or advises, or "" if s is nothing of that
// kind.
func promisedFact(s, name string, saidAt time.Time) string {
	words := lowerWords(s)
	if !promiseForms.MatchString(s) || emptyPromise.MatchString(s) || injectedInstructions.MatchString(s) || countContentWords(words) < minContentWords {
		return ""
	}
	s = resolveDates(s, saidAt)
	tokens := tokenize(s)
	for i := range tokens {
		switch strings.ToLower(tokens[i].text) {
		case "you":
			tokens[i].text = "the user"
		case "your":
			tokens[i].text = "the user's"
		case "yours":
			tokens[i].text = "the user's"
		}
	}
	var b strings.Builder
	for _, tok := range tokens {
		b.WriteString(tok.text)
	}
	return retell(b.String(), name)
}
