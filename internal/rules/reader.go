package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads one utterance, with what was said before it, sentence by sentence.

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
	all          []utterance    // the conversation, of which the utterance is at
	at           int
	depth        int      // how many utterances behind another one that is read
	changed      []string // the facts that tell a change
	hanTopic     string   // whom a Chinese sentence without a subject is about; "": not known
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
		all:          all,
		at:           i,
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
	return regexp.Build(`^(?:` + list + `)[,!]\s+|,\s+(?:` + list + `)(\s*[.!]*)$`)
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
		if now, isChange := r.changedFacts(s, out); isChange && len(now) > 0 {
			out, r.changed, lastIsFact = append(out, now...), append(r.changed, now...), false
			continue
		}
		if took := r.chosenInstead(s); took != "" && !r.agent {
			took := r.stated(took)
			out, r.changed, lastIsFact = append(out, took...), append(r.changed, took...), false
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
		return r.stated(withoutNameClitic(stripFiller(s)))
	}
	return found
}

// factSpeaker returns how a fact names the speaker.
func (r *utteranceReader) factSpeaker(fact string) string {
	if isHan(fact) {
		return r.speakerName("用户", "助手")
	}
	return r.speakerName("the user", "the assistant")
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
