package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
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
// read what the assistant promised or recommended. Of what no rule understands it returns excerpts, if they are asked for.
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

// candidates returns the statements of an exchange, and excerpts if they are asked for, each once.
func candidates(in mem0.ExtractInput) []candidate {
	personSpeaks := slices.ContainsFunc(in.New, func(u memory.Utterance) bool { return u.Role == memory.RoleUser })
	var out []candidate
	seen := map[string]bool{}
	all := conversationOf(in.Recent, in.New)
	for i, u := range in.New {
		if personSpeaks && u.Role != memory.RoleUser || !personSpeaks && u.Role != memory.RoleAssistant {
			continue
		}
		at := len(in.Recent) + i
		r := readerOf(all, at)
		r.agent = !personSpeaks
		found := r.facts()
		var excerpts []string
		if in.Excerpts {
			excerpts = r.excerpts(found)
		}
		if len(found)+len(excerpts) == 0 {
			continue
		}
		var before *utterance
		if at > 0 {
			before = &all[at-1]
		}
		said := traitsOf(&all[at], before, r.talksToAgent)
		add := func(c candidate) {
			if key := text.Fold(c.fact); !seen[key] {
				seen[key] = true
				c.speaker, c.said = r.factSpeaker(c.fact), said
				out = append(out, c)
			}
		}
		for j, fact := range found {
			add(candidate{fact: fact, promise: r.agent, answer: j < r.answers || slices.Contains(r.changed, fact)})
		}
		for _, fact := range excerpts {
			add(candidate{fact: fact, excerpt: true})
		}
	}
	return out
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
