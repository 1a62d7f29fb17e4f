package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds the keywords of a text: whole noun phrases and activities, the most telling ones
// first.

// The numbers of keywords that a text gets.
const (
	maxKeywords = 8
	minKeywords = 3
)

// maxGeneral is the number of keywords up to which nouns of a general kind are added: "book", "trip".
const maxGeneral = 4

// maxKeywordWords is the number of words of the longest keyword.
const maxKeywordWords = 4

// keywords returns up to eight keywords. What names a subject comes first, other words only until there
// are three. Words that only praise, thank or greet are the last.
func keywords(s, speaker string) []string {
	lang, sure := text.Guess(s)
	if lang == text.Chinese && isHan(s) {
		return hanKeywords(s, speaker)
	}
	if lang == text.English || !sure {
		return englishKeywords(s, speaker)
	}
	return dedupeFold(text.Keyphrases(s, maxKeywords, strings.Join(slices.Concat([]string{speaker}, addressees(s)), " ")))
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

// keywordClass says how much a word or phrase tells about the subject of a text, the most first.
type keywordClass int

const (
	subjectClass keywordClass = iota // a name, a noun phrase, an activity
	generalClass                     // a noun of a general kind: "support"
	qualityClass                     // an adjective or a verb that says something: "resilient", "rehearse"
	feelingClass                     // "proud"
	plainClass                       // other verbs and adjectives, and vague nouns: "handle", "old", "way"
	commonClass                      // "good", "thanks"
	emptyClass                       // "go", "made"
)

// keyword is a possible keyword.
type keyword struct {
	phrase string
	stems  []string
	class  keywordClass
	phatic bool // it is in a sentence of praise, thanks or farewell
	start  int
	count  int // how often the text has its last word
}

// rank orders keywords by class; those of sentences that name a subject come before those of the same class
// in sentences of praise.
func (k *keyword) rank() int {
	r := 2 * int(k.class)
	if k.phatic {
		r++
	}
	return r
}

// weight orders keywords of the same rank: how often the text has it counts, and a phrase of several words
// says more than one.
func (k *keyword) weight() int { return min(k.count, 3) + min(len(k.stems), 3) }

// englishKeywords returns the keywords of an English text.
func englishKeywords(s, speaker string) []string {
	names := stringSet(text.Words(speaker))
	for _, name := range addressees(s) {
		names[text.Fold(name)] = true
	}
	all, rest := titles(maskCode(clip.Head(s, maxTagged)))
	pairs, rest := fixedPairs(rest)
	all = append(all, pairs...)
	masked := maskPhrases(rest)
	counts := map[string]int{}
	at := 0
	for _, sentence := range text.Sentences(masked) {
		if i := strings.Index(masked[at:], sentence); i >= 0 {
			at += i
		}
		plain := strings.TrimSpace(strings.ReplaceAll(sentence, "’", "'"))
		plain = strings.TrimSpace(plain[len(leadingCall.FindString(plain)):])
		phatic := phatic.MatchString(plain) && !namesSubject(plain)
		words := keywordWords(sentence)
		for i := range words {
			counts[text.Stem(text.Fold(words[i].Text), text.English)]++
		}
		for _, k := range sentenceKeywords(sentence, words, names) {
			k.phatic, k.start = phatic, k.start+at
			all = append(all, k)
		}
		at += len(sentence)
	}
	for i := range all {
		all[i].count = counts[all[i].stems[len(all[i].stems)-1]]
	}
	slices.SortStableFunc(all, func(a, b keyword) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.start, b.start))
	})
	little := slices.IndexFunc(all, func(k keyword) bool { return k.class >= plainClass })
	if little < 0 {
		little = len(all)
	}
	out := chooseKeywords(nil, all[:little])
	out = withParts(out, false)
	if empty := slices.IndexFunc(all, func(k keyword) bool { return k.class == emptyClass }); empty >= 0 && len(chooseKeywords(out, all[:empty])) > 1 {
		all = all[:empty]
	}
	out = withParts(chooseKeywords(out, all), true)
	if len(out) == 0 { // only thanks, or an idiom
		for _, w := range strings.FieldsFunc(s, notInWord) {
			if low := text.Fold(w); len(out) < minKeywords && utf8.RuneCountInString(w) > 2 && hasLetter(w) && !names[low] && !strings.ContainsAny(w, "'’") && (!text.IsStopWord(low, text.English) || interjections[low]) && !text.IsTimeWord(low) {
				out = append(out, w)
			}
		}
	}
	return dedupeFold(out)
}

// withParts adds the words of phrases, which stay whole, until there are three keywords: those that name a thing, or all.
func withParts(keywords []string, all bool) []string {
	out := keywords
	for _, k := range keywords {
		parts := strings.Fields(k)
		if last := len(parts) - 1; verbParticles[parts[last]] || strings.HasSuffix(parts[last], "ing") && isGeneralNoun(text.Fold(parts[0])) {
			continue // "keep going"
		}
		for i := len(parts) - 1; i >= 0 && len(parts) > 1 && len(out) < minKeywords; i-- {
			low := text.Fold(parts[i])
			names := hasLetter(low) && utf8.RuneCountInString(low) > 2 && !text.IsStopWord(low, text.English)
			if names && (all || i == len(parts)-1 && !isGeneralNoun(low) && !adverbs[low]) {
				out = append(out, parts[i])
			}
		}
	}
	return dedupeFold(out)
}

// inQuotes matches a short text between quotation marks.
var inQuotes = regexp.MustCompile(`"[^"“”\n]{2,70}"|“[^"“”\n]{2,70}”|\B['‘]\p{Lu}[^'‘’"\n]{1,50}['’]\B`)

// titles returns the titles and other names between quotation marks as keywords, and the text, of the same length, without
// them: a title stays whole.
func titles(s string) (names []keyword, rest string) {
	for _, at := range inQuotes.FindAllStringIndex(s, -1) {
		title := strings.TrimFunc(s[at[0]:at[1]], func(r rune) bool { return notInWord(r) || r == '\'' || r == '’' })
		words := text.Words(title)
		if !isTitle(title) || len(words) == 0 || len(words) > maxPhraseWords {
			continue
		}
		if len(words) == 1 && text.IsStopWord(words[0], text.English) { // as a title it would be found by everything
			continue
		}
		k := keyword{phrase: title, start: at[0]}
		for _, w := range words {
			k.stems = append(k.stems, text.Stem(w, text.English))
		}
		names = append(names, k)
		s = s[:at[0]] + strings.Repeat(" ", at[1]-at[0]) + s[at[1]:]
	}
	return names, s
}

// pairs are names of one thing with "and" within.
var pairs = regexp.MustCompile(`(?i)\b(?:hide|rock|bed|arts|mac|macaroni|track|pros|fish|rhythm|drum|bread|peanut butter|salt|terms|supply|cops|needle|question|cut|wear|research|health|science|food|black|room|bow|knife|cap|mix|show|search|trial|lost|flora|bacon|gin|cream|mother|father|merry|command)` +
	` (?:and|&|'n'|n) (?:seek|roll|breakfast|crafts|cheese|field|cons|chips|blues|bass|butter|jelly|pepper|conditions|demand|robbers|thread|paste|tear|development|safety|technology|drink|white|board|arrow|fork|gown|match|tell|rescue|error|found|fauna|eggs|tonic|sugar|daughter|son|control)\b`)

// fixedNames begin with an adjective that with the noun behind it names one thing.
var fixedNames = regexp.MustCompile(`^(?:first aid|high school|middle school|old town|real estate|fast food|slow cooker|hard (?:drive|disk)|hot (?:chocolate|dogs?|springs?|pot)|small business|big data|short (?:story|stories|film|circuit)|long jump|` +
	`high (?:heels|tea|tide)|low tide|main course|final exams?|last name|first name|full moon|open (?:source|mic)|early retirement|free time|local government|general practitioner|past tense|future tense)$`)

// fixedPairs returns such names as keywords, and the text, of the same length, without them.
func fixedPairs(s string) (names []keyword, rest string) {
	for _, at := range pairs.FindAllStringIndex(s, -1) {
		k := keyword{phrase: s[at[0]:at[1]], start: at[0]}
		for _, w := range text.Words(k.phrase) {
			k.stems = append(k.stems, text.Stem(w, text.English))
		}
		names = append(names, k)
		s = s[:at[0]] + strings.Repeat(".", at[1]-at[0]) + s[at[1]:]
	}
	return names, s
}

// isTitle reports whether all words have a capital but the small ones within.
func isTitle(s string) bool {
	words := strings.Fields(s)
	capitals := 0
	for _, w := range words {
		switch {
		case startsUpper(w):
			capitals++
		case !text.IsStopWord(text.Fold(w), text.English) && hasLetter(w):
			return false
		}
	}
	return len(words) > 0 && startsUpper(words[0]) && (capitals > 1 || len(words) == 1)
}

// codeLine matches a line of code outside of a block, by what ends or joins it.
var codeLine = regexp.MustCompile(`(?m)^(?:.*(?:[;{}]\s*|=>.*|\w\(.*\)\s*:?\s*)|\s*(?:import|from|const|let|var|def|return|class)\s+[\w{"'].*[=({;"'].*)$`)

// maskCode returns a text of the same length without its code, if there is anything else.
func maskCode(s string) string {
	if !strings.ContainsAny(s, "`;{=(") {
		return s
	}
	blank := func(m string) string { return strings.Repeat("\n", len(m)) }
	out := codeLine.ReplaceAllStringFunc(codeFence.ReplaceAllStringFunc(s, blank), func(m string) string {
		if countContentWords(lowerWords(m)) > 12 {
			return m // a sentence that ends in parentheses
		}
		return blank(m)
	})
	if len(strings.TrimSpace(out)) < 20 {
		return s
	}
	return out
}

// isPart reports whether all words of a keyword are among those of a longer one.
func isPart(k *keyword, all []keyword) bool {
	return slices.ContainsFunc(all, func(o keyword) bool {
		return len(o.stems) > len(k.stems) && o.class <= k.class && !slices.ContainsFunc(k.stems, func(st string) bool { return !slices.Contains(o.stems, st) })
	})
}

// chooseKeywords returns the keywords, best first, without those whose words other ones have. Only what
// names a subject makes more than three. given are already chosen.
func chooseKeywords(given []string, all []keyword) []string {
	out := slices.Clone(given)
	var taken [][]string
	for _, g := range given {
		var stems []string
		for _, w := range text.Words(g) {
			stems = append(stems, text.Stem(w, text.English))
		}
		taken = append(taken, stems)
	}
	for i := range all {
		k := &all[i]
		general := k.class == generalClass && !k.phatic && len(out) < maxGeneral
		if len(out) == maxKeywords || len(out) >= minKeywords && k.rank() > 0 && !general {
			break
		}
		repeats := slices.ContainsFunc(taken, func(have []string) bool {
			return !slices.ContainsFunc(k.stems, func(st string) bool { return !slices.Contains(have, st) })
		})
		if !repeats && !isPart(k, all) {
			out, taken = append(out, k.phrase), append(taken, k.stems)
		}
	}
	return dedupeFold(out)
}

// keywordWords returns the tagged words of a sentence. Its first word is tagged as if it did not begin
// the sentence: a capital would make it a name.
func keywordWords(sentence string) []grammar.Word {
	lowered := strings.ReplaceAll(sentence, "\n", " ")
	first := strings.IndexFunc(lowered, func(r rune) bool { return !notInWord(r) })
	if first >= 0 {
		if r, n := utf8.DecodeRuneInString(lowered[first:]); startsUpper(lowered[first:]) && !opensName(lowered[first:]) {
			if small := strings.ToLower(string(r)); len(small) == n {
				lowered = lowered[:first] + small + lowered[first+n:]
			}
		}
	}
	words := grammar.English(lowered)
	for i := range words {
		words[i].Text = sentence[words[i].Start:words[i].End]
	}
	return words
}

// nameOpening matches two words with a capital, or one of capitals only, at the beginning of a text.
var nameOpening = regexp.MustCompile(`^(?:\p{Lu}[\p{Lu}\d&+-]+|\p{Lu}\p{Ll}+ \p{Lu}\p{L}+)\b`)

// opensName reports whether a sentence begins with a name of several words or an abbreviation.
func opensName(s string) bool {
	m := nameOpening.FindString(s)
	first := strings.ToLower(firstWord(m))
	return m != "" && !interjections[first] && !text.IsStopWord(first, text.English) && !text.IsSmallTalk(first)
}

// sentenceKeywords returns the possible keywords of a sentence in order.
func sentenceKeywords(sentence string, words []grammar.Word, names map[string]bool) []keyword {
	var out []keyword
	add := func(part []grammar.Word, class keywordClass) {
		k := keyword{phrase: sentence[part[0].Start:part[len(part)-1].End], class: class, start: part[0].Start}
		for i := range part {
			k.stems = append(k.stems, text.Stem(text.Fold(part[i].Text), text.English))
		}
		out = append(out, k)
	}
	for i := 0; i < len(words); {
		if n := phraseAt(words, i, names); n > 0 {
			part := trimPhrase(words[i : i+n])
			if len(part) > 0 {
				add(part, nounClass(part))
			}
			for j := i; j < i+n-len(part); j++ { // the words without it
				if class, ok := wordClass(words, j, names); ok {
					add(words[j:j+1], max(class, qualityClass))
				}
			}
			i += n
			continue
		}
		n := 1
		if class, ok := wordClass(words, i, names); ok {
			if class >= plainClass && isVerbWithParticle(words, i) {
				class = plainClass
				n = 2
			}
			add(words[i:i+n], class)
		}
		i += n
	}
	return out
}

// isVerbWithParticle reports whether the verb at i says something only with the word behind it: "give up", "keep going".
func isVerbWithParticle(words []grammar.Word, i int) bool {
	if i+1 == len(words) || words[i].Tag[0] != 'V' || !joined(words, i+1) {
		return false
	}
	low := strings.ToLower(words[i+1].Text)
	return !text.IsStopWord(low, text.English) && (words[i+1].Tag == "RP" || verbParticles[low] || words[i+1].Tag == "VBG")
}

// phraseAt returns the number of the words of the noun phrase that begins at i, adjectives in front
// included; 0 if there is none.
func phraseAt(words []grammar.Word, i int, names map[string]bool) int {
	j := i
	for j < len(words) && j-i < 3 && modifiesNoun(words, j) && (j == i || joined(words, j)) {
		j++
	}
	first := j
	for j < len(words) && (j == i || joined(words, j)) && (isKeyNoun(words, j, names) || j > first && isWithinCompound(words, j)) {
		if j > first && (startsNewPhrase(words, j) || isVerbOfPerson(words, j)) {
			break
		}
		j++
	}
	if j-first > 1 && j < len(words) && words[j].Tag == "PRP" && words[j-1].Tag == "NN" {
		j-- // "did your brother teach you"
	}
	if j-first > 1 && isVerbBehind(words, j-1) {
		j--
	}
	if j == first {
		return 0
	}
	// "Lord of the Rings" is one name.
	if words[j-1].Tag == "NNP" || words[j-1].Tag == "NNPS" {
		end := j
		for end < len(words) && end < j+2 && (strings.EqualFold(words[end].Text, "of") && end == j || strings.EqualFold(words[end].Text, "the") && end > j) {
			end++
		}
		if end > j && end < len(words) && startsUpper(words[end].Text) && strings.HasPrefix(words[end].Tag, "NN") && startsUpper(words[j-1].Text) {
			for j = end + 1; j < len(words) && startsUpper(words[j].Text) && strings.HasPrefix(words[j].Tag, "NNP"); j++ {
			}
			return j - i
		}
	}
	// "api_client.py" is one name, and so is "Heron's formula".
	for j+1 < len(words) && words[j].Text == "." && joinedWithout(words, j) && joinedWithout(words, j+1) && hasLetter(words[j+1].Text) && (startsUpper(words[j-1].Text) || !startsUpper(words[j+1].Text)) {
		j += 2
	}
	if startsUpper(words[j-1].Text) && strings.HasPrefix(words[j-1].Tag, "NNP") && j+1 < len(words) && words[j].Tag == "POS" {
		if n := phraseAt(words, j+1, names); n > 0 && n+j+1-i <= maxKeywordWords+1 && !tellsNothing(&words[j+n]) {
			return j + 1 + n - i
		}
	}
	// "Cartoon drawing competition" is one thing.
	if j+1 < len(words) && words[j].Tag == "VBG" && words[j-1].Tag == "NN" && joined(words, j) && joined(words, j+1) && gerundHeads[strings.ToLower(words[j+1].Text)] {
		return j + 2 - i
	}
	// A gerund, or a doer that the tagger takes for a comparative, makes a compound with the noun before
	// it: "currency rounding", "vacuum cleaner".
	if j < len(words) && (words[j].Tag == "VBG" || words[j].Tag == "JJR" && !text.IsSmallTalk(words[j].Text) && !text.IsStopWord(words[j].Text, text.English)) && !emptyActions[strings.ToLower(words[j].Text)] && joined(words, j) && endsClause(words, j+1) && !goesOn(words, j+1) && words[j-1].Tag == "NN" {
		j++
	}
	return j - i
}

// gerundHeads are nouns behind a gerund that with it name one thing.
var gerundHeads = wordSet("competition contest class classes lesson lessons course courses club workshop service services school team group kit gear equipment machine license tournament festival exam skills")

// isVerbBehind reports whether the last word of a noun phrase is its verb, which the tagger takes for a noun: "both shops need
// new windows".
func isVerbBehind(words []grammar.Word, i int) bool {
	low := strings.ToLower(words[i].Text)
	isVerb := !startsUpper(words[i].Text) && (baseVerbs[low] || emptyActions[low])
	if i+1 < len(words) && joined(words, i+1) && isTagged(&words[i+1], "PRP", "PRP$") && !nominatives[strings.ToLower(words[i+1].Text)] && baseIdiomVerbs[text.Stem(low, text.English)] {
		return true // "cooking enables me"
	}
	return isVerb && i+1 < len(words) && joined(words, i+1) && (isDeterminer(&words[i+1]) || isTagged(&words[i+1], "PRP", "PRP$", "JJ", "CD"))
}

// nominatives begin a clause of their own: "data points I envisioned".
var nominatives = wordSet("i we he she they")

// isVerbOfPerson reports whether the word at i, taken for a noun, is what the person before it does: "her mom play puzzles".
func isVerbOfPerson(words []grammar.Word, i int) bool {
	person := strings.ToLower(words[i-1].Text)
	low := strings.ToLower(words[i].Text)
	return (femaleKin[person] || maleKin[person] || personNouns[person]) && !startsUpper(words[i].Text) && words[i].Tag == "NN" && isVerbStem(text.Stem(low, text.English)) &&
		i+1 < len(words) && joined(words, i+1) && isTagged(&words[i+1], "NN", "NNS", "NNP", "JJ", "DT", "PRP", "PRP$")
}

func isVerbStem(stem string) bool { return baseIdiomVerbs[stem] || verbCues[stem] }

// isWithinCompound reports whether the word at i, taken for a verb, is the middle of a compound, since one thing has no verb
// without an s: "school essay competition".
func isWithinCompound(words []grammar.Word, i int) bool {
	before := strings.ToLower(words[i-1].Text)
	person := femaleKin[before] || maleKin[before] || personNouns[before] || petKinds[before] || startsUpper(words[i-1].Text)
	return words[i-1].Tag == "NN" && !person && isTagged(&words[i], "VB", "VBP") && i+1 < len(words) && joined(words, i+1) && words[i+1].Tag == "NN" && !text.IsStopWord(strings.ToLower(words[i].Text), text.English)
}

// joined reports whether only a space, or nothing, is between the word at i and the one before.
func joined(words []grammar.Word, i int) bool { return words[i].Start-words[i-1].End <= 1 }

// joinedWithout reports whether nothing is between the word at i and the one before.
func joinedWithout(words []grammar.Word, i int) bool { return words[i].Start == words[i-1].End }

// endsClause reports whether no object follows at i.
func endsClause(words []grammar.Word, i int) bool {
	return i >= len(words) || !isDeterminer(&words[i]) && !isTagged(&words[i], "PRP", "NN", "NNS", "NNP", "NNPS", "JJ", "TO", "RP", "VBG", "CD")
}

// goesOn reports whether a particle at i makes the word before it a verb: "a typhoon passing through".
func goesOn(words []grammar.Word, i int) bool {
	return i < len(words) && (verbParticles[strings.ToLower(words[i].Text)] || strings.EqualFold(words[i].Text, "through"))
}

// startsNewPhrase reports whether the noun at i does not continue the one before: a plural or somebody's
// name is followed by the next phrase, unless both are parts of a name.
func startsNewPhrase(words []grammar.Word, i int) bool {
	a, b := &words[i-1], &words[i]
	aName, bName := startsUpper(a.Text), startsUpper(b.Text)
	low := strings.ToLower(a.Text)
	kin := personNouns[low] || femaleKin[low] || maleKin[low] || petKinds[low]
	return aName != bName && bName && !kin && !isAbbreviation(b.Text) || a.Tag == "NNS" && !aName && !bName && !compoundPlurals[low]
}

// isAbbreviation reports whether a word is of capitals: "JS".
func isAbbreviation(w string) bool { return len(w) > 1 && strings.ToUpper(w) == w && hasLetter(w) }

// compoundPlurals are plurals that begin compounds: "sports car".
var compoundPlurals = wordSet("sports arts games goods savings sales clothes crafts news physics economics politics mathematics human-rights women's men's kids arms customs systems operations communications")

// modifiesNoun reports whether the word at i can belong to a noun phrase before its noun.
func modifiesNoun(words []grammar.Word, i int) bool {
	w := &words[i]
	low := strings.ToLower(w.Text)
	if i+1 >= len(words) || !hasLetter(w.Text) || text.IsStopWord(low, text.English) || text.IsTimeWord(low) {
		return false
	}
	switch w.Tag {
	case "JJ", "VBN":
		isVerb := w.Tag == "VBN" && i > 0 && haveForms[strings.ToLower(words[i-1].Text)]
		return !isPassive(words, i) && !isVerb
	case "VB", "VBP": // "a few lead magnets"
		counted := i > 0 && (words[i-1].Tag == "CD" || words[i-1].Tag == "DT" || words[i-1].Tag == "PRP$" || strings.EqualFold(words[i-1].Text, "few") || strings.EqualFold(words[i-1].Text, "many"))
		return counted && strings.HasPrefix(words[i+1].Tag, "NN")
	case "VBG": // "a burning building", but not "painting landscapes"
		return i > 0 && !baseIdiomVerbs[text.Stem(low, text.English)] && !actionEnd.MatchString(low) && (isDeterminer(&words[i-1]) || words[i-1].Tag == "JJ" || words[i-1].Tag == "IN" && words[i+1].Tag == "NN")
	}
	return false
}

// actionEnd matches gerunds of verbs that need an object: "incorporating rest".
var actionEnd = regexp.MustCompile(`(?:at|iz|is|ify|ur|uc|nd)ing$`)

// haveForms come before a participle that is a verb: "I've identified early signs".
var haveForms = wordSet("have has had having 've 'd")

// isKeyNoun reports whether the word at i is a noun that can be part of a keyword.
func isKeyNoun(words []grammar.Word, i int, names map[string]bool) bool {
	w := &words[i]
	low := text.Fold(w.Text)
	if !isNoun(w) && !isUnknownNoun(words, i) || isRequest(words, i) || strings.HasSuffix(low, "ing") && goesOn(words, i+1) || utf8.RuneCountInString(w.Text) < 2 || !hasLetter(w.Text) || interjections[low] ||
		names[low] || text.IsStopWord(low, text.English) || text.IsTimeWord(low) || numberWords[low] || quantityWords[low] || strings.HasSuffix(low, "self") || strings.HasSuffix(low, "selves") || low == "towards" || low == "toward" ||
		strings.ContainsAny(w.Text, "'’") {
		return false
	}
	if i > 0 && (isTagged(&words[i-1], "PRP", "TO", "MD") || selfWords[strings.ToLower(words[i-1].Text)] && words[i-1].Tag != "PRP$" || strings.EqualFold(words[i-1].Text, "wanna") || strings.EqualFold(words[i-1].Text, "gonna")) && !startsUpper(w.Text) && (w.Tag == "NN" || !isNoun(w)) {
		return false // a verb: "I guess", "to run"
	}
	if i+1 < len(words) && words[i+1].Tag == "CD" && shortMonths[low] {
		return false
	}
	// The tagger takes many a word that it does not know for a noun.
	return !praiseWords[low] && !adverbs[low] && !moods[low] || startsUpper(w.Text) && i > 0
}

var shortMonths = wordSet("jan feb mar apr may jun jul aug sep sept oct nov dec")

// trimPhrase returns a noun phrase without the words at its ends that tell nothing, and at most four
// words of it. It is empty if nothing is left.
func trimPhrase(part []grammar.Word) []grammar.Word {
	if last := len(part) - 1; last >= 0 && tellsNothing(&part[last]) {
		// "A writing issue" is a subject, "a tough time" is none.
		if last == 0 || !vagueNouns[strings.ToLower(part[last].Text)] || !isNoun(&part[last-1]) && part[last-1].Tag != "VBG" || tellsNothing(&part[last-1]) {
			return nil
		}
	}
	return trimModifiers(part)
}

func trimModifiers(part []grammar.Word) []grammar.Word {
	for len(part) > 1 {
		low := strings.ToLower(part[0].Text)
		if part[0].Tag == "NNP" && startsUpper(part[0].Text) && startsUpper(part[1].Text) && len(part) <= maxKeywordWords {
			break // "New Zealand"
		}
		if fixedNames.MatchString(low + " " + strings.ToLower(part[1].Text)) {
			break
		}
		if (len(part) <= maxKeywordWords || startsUpper(part[0].Text) && startsUpper(part[len(part)-1].Text)) && !orderVerbs[low] && !tellsNothing(&part[0]) && !weakAdjectives[low] && !moods[low] && !plainModifiers[low] && !emptyActions[low] && (isNoun(&part[0]) || !baseIdiomVerbs[text.Stem(low, text.English)]) {
			break
		}
		part = part[1:]
	}
	return part
}

// orderVerbs are verbs of a request that are no nouns: "propose smaller portions".
var orderVerbs = wordSet(`describe provide create write rewrite explain generate summarize define suggest combine add identify tailor translate convert compare discuss analyze
	elaborate expand evaluate recommend rephrase paraphrase calculate solve prepare include remove replace implement optimize proceed propose conduct consolidate ensure maximize minimize prioritize verify`)

// plainModifiers are adjectives that do not say which thing is meant.
var plainModifiers = wordSet(`new old big small little huge tiny large own different various several certain whole entire full first last next second third final main major key
	recent past current future previous former latest same other such many few more most real true actual possible potential available able
	above below following enough only proposed existing given attached previous
	local close near nearby favorite favourite fav fave usual normal typical regular specific particular general overall extra additional further
	long short high low early late easy hard tough simple quick fast slow strong solid deep ever constant total complete left gonna wanna gotta`)

// tellsNothing reports whether a word of a noun phrase says nothing about a subject.
func tellsNothing(w *grammar.Word) bool {
	low := strings.ToLower(w.Text)
	return vagueNouns[low] && !topicNouns[low] || praiseWords[low] || text.IsTimeWord(low) || interjections[low]
}

// nounClass returns the class of a noun phrase by its last noun, or by a noun in front of it.
func nounClass(part []grammar.Word) keywordClass {
	class := generalClass
	for i := range part {
		low := strings.ToLower(part[i].Text)
		noun := isNoun(&part[i]) || i == len(part)-1 || part[i].Tag == "JJ" && !plainModifiers[low] && !knownAdjectives[low] && !moods[low] &&
			!slices.ContainsFunc(adjectiveEndings, func(e string) bool { return strings.HasSuffix(low, e) })
		if noun && (!isGeneralNoun(low) || startsUpper(part[i].Text) && part[i].Tag == "NNP") {
			class = subjectClass
		}
	}
	return class
}

// isGeneralNoun reports whether a noun says little about a subject without the words around it.
func isGeneralNoun(low string) bool {
	return topicNouns[low] || metaNouns[low] || hollowNouns[low] || abstractNouns[low] || genericNouns[low] || vagueNouns[low] || text.IsSmallTalk(low) || numberWords[low]
}

// topicNouns are nouns of vagueNouns that name what somebody talks about.
var topicNouns = wordSet(`support help care love memory memories feeling feelings energy plan plans people evening night work home courage
	motivation confidence strength connection freedom experience experiences journey inspiration awareness advice opportunity opportunities knowledge progress news
	joy impact vibe effort mind power`)

// metaNouns are about what is said, not of it.
var metaNouns = wordSet(`importance form forms state states backing surge purpose worries worry piece pieces manner aspect aspects factor factors fact facts need needs use kind range set sets list thanks stuff
	key keys hearts back backs highlights takeaway takeaways excuse excuses beginning ending amount amounts ability type order shape shapes presence absence
	paragraph paragraphs sentence sentences tone heading headings bullet bullets sample samples item beats cut favorites faves fave pick picks
	meter meters metre metres mile miles kilometer kilometers feet foot inch inches pound pounds kilo kilos gram grams percent dollar dollars euro euros buck bucks degree degrees`)

// wordClass returns the class of a word that is in no noun phrase. ok is false if it is no keyword.
func wordClass(words []grammar.Word, i int, names map[string]bool) (class keywordClass, ok bool) {
	w := &words[i]
	low := text.Fold(w.Text)
	if utf8.RuneCountInString(w.Text) < 3 || !hasLetter(w.Text) || strings.ContainsAny(w.Text, "'’") || names[low] || interjections[low] || text.IsStopWord(low, text.English) ||
		text.IsTimeWord(low) || numberWords[low] || quantityWords[low] {
		return 0, false
	}
	if isRequest(words, i) {
		return 0, false
	}
	if strings.HasSuffix(low, "ing") && goesOn(words, i+1) {
		return plainClass, true
	}
	stem := text.Stem(low, text.English)
	switch {
	case w.Tag == "JJS" || w.Tag == "JJR":
		return commonClass, true // compared with what is said by others
	case directions[low] && w.Tag[0] != 'N':
		return 0, false
	case low == "down":
		return 0, false
	case moods[low] && (!praiseWords[low] || lastingMoods[low]) && !opensInfinitive(words, i):
		return feelingClass, true
	case praiseWords[low] || moods[low]:
		return commonClass, true
	case lastingAdjectives[low], lastingStates[low]:
		return subjectClass, true
	case w.Tag[0] == 'V' && verbCues[stem] && !everydayVerbs[stem] && !emptyActions[low]:
		if w.Tag == "VBG" || lifeVerbs[low] {
			return subjectClass, true
		}
		return generalClass, true
	case adverbs[low] || isAdverb(low):
		return 0, false
	case emptyActions[low] || emptyActions[stem]:
		return emptyClass, true
	case text.IsSmallTalk(low):
		return commonClass, w.Tag != "IN"
	case plainModifiers[low] || knownAdjectives[low] || emptyActions[low] || baseIdiomVerbs[stem] || vagueNouns[low]:
		return plainClass, true
	case w.Tag == "JJ":
		return qualityClass, true
	case w.Tag[0] == 'V' && (i+1 == len(words) || words[i+1].Tag != "RP" && !verbParticles[strings.ToLower(words[i+1].Text)]):
		return qualityClass, true
	case w.Tag[0] == 'V' || w.Tag[0] == 'J' || w.Tag[0] == 'N':
		return plainClass, true
	}
	return 0, false
}

// opensInfinitive reports whether "to" follows: who is happy to hear something only greets.
func opensInfinitive(words []grammar.Word, i int) bool {
	return i+1 < len(words) && words[i+1].Tag == "TO"
}

// lastingMoods are words of praise that also say how somebody feels.
var lastingMoods = wordSet("happy sad excited")

// directions say where a verb leads to, and name nothing alone.
var directions = wordSet("above below forward forwards backward backwards ahead back away apart aside along beyond behind beneath beside upward downward inside outside nearby beforehand afterwards afterward meanwhile indeed instead towards toward amid amidst among versus via per regarding concerning including excluding according depending due")

// requestVerbs begin what somebody asks for.
var requestVerbs = wordSet(`describe provide create write rewrite give make list explain tell show continue help generate summarize find define suggest combine use add change please check say let
	identify tailor translate convert compare discuss analyze outline elaborate expand evaluate recommend rephrase paraphrase calculate solve prepare draft design format include remove replace
	update review fix craft implement optimize act run propose conduct cover jump lock proceed pinpoint redesign pull repeat organize complete improve ensure proofread illustrate determine select mention imagine pretend`)

// isRequest reports whether the word at i is the verb of a request: at the beginning of a sentence, after "please", "can you" or
// "help me", and before what is asked for.
func isRequest(words []grammar.Word, i int) bool {
	if i == 0 && opensOrder(words) {
		return true
	}
	if !requestVerbs[strings.ToLower(words[i].Text)] {
		return false
	}
	if i+1 < len(words) && (isTagged(&words[i+1], "VBZ", "VBD", "VBP", "MD", "POS") || words[i+1].Text == "of") {
		return false // a noun: "Review is due"
	}
	before := func(n int) string {
		if i < n {
			return ""
		}
		return strings.ToLower(words[i-n].Text)
	}
	switch before(1) {
	case "", "please":
		return true
	case "you":
		return requestModals[before(2)]
	case "me", "us":
		return before(2) == "help" || before(2) == "let"
	case "'s":
		return before(2) == "let"
	}
	return false
}

// opensOrder reports whether the first word of a sentence is a verb that asks for something, since its object follows: no noun
// is followed by "the" or "my".
func opensOrder(words []grammar.Word) bool {
	low := strings.ToLower(words[0].Text)
	if len(words) < 2 || strings.HasSuffix(low, "ing") || strings.HasSuffix(low, "ed") || isPastForm(low) || verbCues[text.Stem(low, text.English)] {
		return false
	}
	object := isTagged(&words[1], "DT", "PRP", "PRP$") && !adverbs[strings.ToLower(words[1].Text)]
	return object && isTagged(&words[0], "VB", "VBP", "NN", "NNP", "JJ")
}

var requestModals = wordSet("can could would will please should")

// quantityWords say how much, how often or compare. They describe nothing alone.
var quantityWords = wordSet("sometime someday anytime anymore anyway anyways somewhere anywhere everywhere nowhere somehow any more most less least much many lot lots bit some something anything everything nothing someone everyone anyone since like let lets like very really so too such else both each every another other others thing things stuff gonna wanna gotta ya yet ever never always just also still even only again already almost since though although")

// baseIdiomVerbs are the stems of verbs that name nothing without the words around them.
var baseIdiomVerbs = func() map[string]bool {
	m := map[string]bool{}
	for w := range wordSet(`hang hold turn run set leave bring put pull push pick point hit stick sit stand fall end pass pay play move turn break cut draw catch carry cross drop face
		fill fit grab hear hesitate happen imagine include involve matter mention notice realize reach remain remember remind reply return seem send serve spend stay suggest suppose
		mind worry wonder wait watch wish hope guess bet believe think agree allow appear ask assume become belong call cause change check choose come consider continue cover decide
		deal depend deserve discover do enable ensure exist expect feel figure find finish follow forget give go grow handle improve increase keep know lead let lie like live look lose love make
		manage mean meet need offer open own plan prefer prepare produce provide reach receive refer relate require result save say see sell share show sound speak start stop succeed suit surround
		take talk tell tend thank throw touch treat try understand use vary want win wear hate miss add create build develop hesitate encounter appreciate cherish value rock pump blow kick`) {
		m[text.Stem(w, text.English)] = true
	}
	return m
}()

// praiseWords only praise or agree.
var praiseWords = wordSet(`great good nice cool awesome amazing wonderful fantastic beautiful lovely super incredible best better perfect fine sweet impressive stunning gorgeous brilliant excellent
	terrific fabulous magnificent marvelous splendid outstanding remarkable phenomenal epic legit lit dope neat solid bravo yay woohoo whoa hooray yup yeah definitely absolutely totally
	glad true right exciting excited fun funny cute adorable pretty crazy wild special worth interesting important difficult hard tough okay ok sure certain wrong bad worse worst
	sad happy hear see know let like love agree sounds sound looks look feels feel seems thing things stuff sort lots deal bit kinda kind pal buddy mate bro dude man guy guys folks bud girl
	ya ye yall favorite favourite fave more less much real really cheers nah reckon oof woah yikes ouch phew geez dang congrats affirmative noted agreed correct welcome goodness gosh damn heck check yours mine idk lol`)
