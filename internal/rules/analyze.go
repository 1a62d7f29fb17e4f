package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The numbers of keywords and topics that a note gets.
const (
	maxKeywords = 8
	minKeywords = 3
	maxTopics   = 3
)

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

func addressees(s string) []string {
	found := append(addresseeForm.FindAllStringSubmatch(s, -1), calledForm.FindAllStringSubmatch(s, -1)...)
	names := make([]string, len(found))
	for i, m := range found {
		names[i] = m[1]
	}
	return names
}

// keywords returns three to eight phrases where the text has them. Key phrases with a noun come
// first, others only until there are three. A
// short turn that has fewer than three gets more in this order: the single words of a phrase,
// weaker content words, and last the words of names.
func keywords(s, speaker string) []string {
	speaker = strings.Join(slices.Concat([]string{speaker}, addressees(s)), " ")
	lang, sure := text.Guess(s)
	if lang == text.Chinese && isHan(s) {
		return hanKeywords(s, speaker)
	}
	found := text.Keyphrases(s, maxKeywords, speaker)
	if lang == text.English || !sure {
		nouns, others := nounKeywords(s, found)
		found = nouns
		if missing := minKeywords - len(found); missing > 0 {
			found = append(found, others[:min(missing, len(others))]...)
		}
	}
	if len(found) < minKeywords {
		found = splitPhrases(found, func(p string) bool { return !isName(p) })
	}
	if len(found) < minKeywords {
		found = append(found, weakWords(s, speaker, found, minKeywords-len(found))...)
	}
	if len(found) < minKeywords {
		found = splitPhrases(found, func(string) bool { return true })
	}
	return dedupeFold(found)
}

// dedupeFold removes repeats, ignoring letter case. The result is never nil.
func dedupeFold(list []string) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, s := range list {
		if f := text.Fold(s); !seen[f] {
			seen[f] = true
			out = append(out, s)
		}
	}
	return out
}

// splitPhrases splits phrases, the longest first, until there are three. A phrase that is split
// is replaced by its parts, so that no word is listed twice. Only phrases that canSplit accepts
// are split.
func splitPhrases(phrases []string, canSplit func(string) bool) []string {
	for len(phrases) < minKeywords {
		longest := -1
		for i, p := range phrases {
			if strings.Contains(p, " ") && canSplit(p) && (longest < 0 || len(p) > len(phrases[longest])) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		first, rest, _ := strings.Cut(phrases[longest], " ")
		phrases = slices.Replace(slices.Clone(phrases), longest, longest+1, first, rest)
	}
	return phrases
}

// isName reports whether all words of a phrase start with a capital.
func isName(p string) bool {
	for w := range strings.FieldsSeq(p) {
		if r, _ := utf8.DecodeRuneInString(w); !unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// weakWords returns up to n content words that no phrase contains: words of everyday talk, which
// Keyphrases leaves out. The longest come first, interjections last.
func weakWords(s, speaker string, have []string, n int) []string {
	lang, _ := text.Guess(s)
	seen := map[string]bool{}
	for _, w := range append(text.Words(strings.Join(have, " ")), text.Words(speaker)...) {
		seen[w] = true
	}
	var plain, empty []string
	for _, token := range strings.FieldsFunc(s, notInWord) {
		token = strings.Trim(token, "'’-")
		w := strings.ToLower(token)
		letters := utf8.RuneCountInString(w)
		if seen[w] || letters < 3 || strings.ContainsAny(w, "'’") || !hasLetter(w) ||
			text.IsStopWord(w, lang) || text.IsStopWord(w, text.English) || text.IsTimeWord(w) {
			continue
		}
		seen[w] = true
		if interjections[w] {
			empty = append(empty, token)
		} else {
			plain = append(plain, token)
		}
	}
	slices.SortStableFunc(plain, func(a, b string) int { return len(b) - len(a) })
	all := slices.Concat(plain, empty)
	return all[:min(n, len(all))]
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
	out := a.topics.topTopics(s, lang, maxTopics)
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
