package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// maxTopics is the number of topics that a note gets.
const maxTopics = 3

// analyze describes a note by phrases of its text, its most informative sentence, and tags for
// domain, format and type (C316).
func (a *Analyst) analyze(in amem.AnalyzeInput) amem.Analysis {
	body, speaker := splitSpeaker(in.Content, in.Speaker)
	out := amem.Analysis{Keywords: []string{}, Tags: []string{}, Context: memory.DefaultContext}
	want := func(part string) bool { return len(in.Want) == 0 || slices.Contains(in.Want, part) }
	if want("keywords") {
		out.Keywords = keywords(memory.WithoutMarks(body), speaker)
	}
	if want("context") {
		if s := strings.TrimLeft(text.ExtractiveSentence(body), "-*•# "); s != "" {
			out.Context = s
		}
	}
	if want("tags") {
		out.Tags = a.tags(body)
	}
	return out
}

// speakerPrefix matches the name of a speaker as transcripts write it: "Ana: …", "Ana Lima says:
// …", "Speaker Ana says : …".
var speakerPrefix = regexp.MustCompile(`^\s*(?:Speaker\s+)?(\p{Lu}[\p{L}'’.-]*(?:\s+\p{Lu}[\p{L}'’.-]*){0,2})\s*(?:says\s*)?:\s+`)

// labelWords begin notes in the same form as a speaker's name, as in "Note: …".
var labelWords = map[string]bool{
	"note": true, "notes": true, "todo": true, "idea": true, "reminder": true, "question": true, "answer": true, "fact": true,
	"recipe": true, "summary": true, "update": true, "subject": true, "warning": true, "tip": true, "ps": true, "q": true, "a": true,
	"plan": true, "goal": true, "decision": true, "meeting": true, "task": true, "bug": true, "error": true, "image": true,
}

// splitSpeaker removes the speaker's name from the beginning of an utterance. It returns the rest
// and the name.
func splitSpeaker(content, speaker string) (body, name string) {
	m := speakerPrefix.FindStringSubmatch(content)
	if len(m) < 2 || len(m[0]) == len(content) {
		return content, speaker
	}
	prefixed := strings.TrimPrefix(m[1], "Speaker ")
	if speaker == "" && labelWords[strings.ToLower(prefixed)] {
		return content, speaker
	}
	if speaker != "" && !strings.EqualFold(prefixed, speaker) {
		return content, speaker
	}
	return content[len(m[0]):], prefixed
}

// addresseeForm matches the name of the other person in a greeting or thanks: "Thanks, Ana!",
// "Hey Ana,". Such a name says nothing about the subject of the talk.
var addresseeForm = regexp.MustCompile(`(?:^|\P{L})(?i:hey|hi|hello|thanks|thanks so much|thank you|bye|wow|congrats|congratulations|hallo|danke|bonjour|merci|hola|gracias),?\s+(\p{Lu}[\p{Ll}'’]+)\s*(?:[!,.?]|$)`)

// calledForm matches a name at the end of a short reply, as in "Yeah, definitely, Ana".
var calledForm = regexp.MustCompile(`(?:^|[.!?]\s+)(?i:yeah|yes|yep|no|wow|awesome|great|nice|cool|sure|glad|sorry|congrats|sounds|looks|good|true|right|exactly|totally|definitely|absolutely|amazing|oh|aww?|okay|ok|well)\b[^.!?]{0,40}?,\s+(\p{Lu}[\p{Ll}'’]+)\s*[!,.?]`)

// calledName matches a name between marks: "John, that's …", "…, Jon?".
var calledName = regexp.MustCompile(`(^|[.!?…]\s+|\p{L}+['’]?\p{L}*,\s+|(?:^|[.!?]\s+)\p{Lu}\p{Ll}+\s+)(\p{Lu}\p{Ll}{1,14})\s*([,!?.]|$)`)

// listed matches what makes a name between commas one of a list or an explanation: a name in front,
// "and" behind, or a thing of somebody's that the name is of.
var (
	listedBefore  = regexp.MustCompile(`(?:[^.!?\s]\s+\p{Lu}\p{L}*|\b(?:my|our|his|her|their|a|an|the)\s+(?:\p{Ll}+\s+){0,2}\p{Ll}+),\s+$`)
	explainedName = regexp.MustCompile(`^\s*(?:my|our)\b`) // "Luna, our dog, …"
	listedAfter   = regexp.MustCompile(`^\s*(?:and|or|\p{Lu}\p{Ll}+,? (?:and|or))\b`)
)

// addressees returns the names by which a text addresses the listener.
func addressees(s string) []string {
	var names []string
	for _, m := range append(addresseeForm.FindAllStringSubmatch(s, -1), calledForm.FindAllStringSubmatch(s, -1)...) {
		names = append(names, m[1])
	}
	for from := 0; from < len(s); {
		m := calledName.FindStringSubmatchIndex(s[from:])
		if m == nil {
			break
		}
		before, name, mark := s[:from+m[3]], s[from+m[4]:from+m[5]], s[from+m[6]:from+m[7]]
		opens := !strings.HasSuffix(strings.TrimSpace(before), ",")
		explained := explainedName.MatchString(s[from+m[7]:])
		first := interjections[strings.ToLower(lastWord(strings.TrimSpace(before)))]
		switch {
		case notNames[strings.ToLower(name)] || interjections[strings.ToLower(name)] || praiseWords[strings.ToLower(name)] || text.IsSmallTalk(name) || isAdverb(strings.ToLower(name)) || text.IsTimeWord(name) || text.IsStopWord(strings.ToLower(name), text.English):
		case opens && !explained && (mark == "," || mark == "!") && !listedAfter.MatchString(s[from+m[7]:]) && (first || startsSentence(strings.TrimSpace(s[from+m[7]:])) || mark == "!"),
			!opens && !listedBefore.MatchString(before) && !listedAfter.MatchString(s[from+m[7]:]):
			names = append(names, name)
		}
		from += max(m[4]+1, 1)
	}
	return names
}

func notInWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '’' && r != '-'
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// tags returns up to three domains, then one word for the format and one for the type. A text
// without words has no tags.
func (a *Analyst) tags(s string) []string {
	words := text.Words(s)
	if len(words) == 0 {
		return []string{}
	}
	lang, _ := text.Guess(s)
	out := topicLexicon().topTopics(s, lang, maxTopics)
	cue := " " + strings.Join(words, " ") + " "
	if len(out) == 0 {
		if containsAny(cue, firstPerson) {
			out = append(out, "everyday life")
		} else {
			out = append(out, "general knowledge")
		}
	}
	for _, t := range []string{textFormat(s), noteType(s, cue)} {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

var (
	codeText = regexp.MustCompile("```|\\bfunc \\w+\\(|\\bdef \\w+\\(|[;{}]\\s*\\n|=>|</\\w+>")
	listText = regexp.MustCompile(`(?m)^\s*(?:[-*•]|\d+[.)])\s+\S.*\n\s*(?:[-*•]|\d+[.)])\s+\S`)
	linkText = regexp.MustCompile(`https?://\S+`)
)

// textFormat returns the format of a text: code, list, reference, question, document or
// statement.
func textFormat(s string) string {
	trimmed := strings.TrimRight(strings.TrimSpace(s), `"'”’)»`)
	switch {
	case codeText.MatchString(s):
		return "code"
	case listText.MatchString(s):
		return "list"
	case linkText.MatchString(s):
		return "reference"
	case strings.HasSuffix(trimmed, "?") || strings.HasSuffix(trimmed, "？"):
		return "question"
	case len(text.Sentences(s)) > 8:
		return "document"
	}
	return "statement"
}

// parseCues builds a list of cues from phrases, or from one string of single words. A cue gets a
// space on both sides, so that it matches whole words only; Chinese cues do not.
func parseCues(list ...string) []string {
	if len(list) == 1 {
		list = strings.Fields(list[0])
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c
		if r, _ := utf8.DecodeRuneInString(c); !unicode.Is(unicode.Han, r) {
			out[i] = " " + c + " "
		}
	}
	return out
}

func containsAny(s string, cues []string) bool {
	return slices.ContainsFunc(cues, func(c string) bool { return strings.Contains(s, c) })
}

// noteType returns the purpose of a text. cue is the text as folded words with a space around
// each.
func noteType(s, cue string) string {
	// A run of Chinese characters is one word of cue, so the same search finds Chinese cues.
	for _, t := range noteTypes {
		if containsAny(cue, t.cues) {
			return t.name
		}
	}
	if strings.Contains(s, "?") || strings.Contains(s, "？") {
		return "inquiry"
	}
	if containsAny(cue, firstPerson) {
		return "experience"
	}
	return "fact"
}
