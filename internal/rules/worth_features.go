package rules

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file has the features by which worth.go decides. Each has a name that says what it counts; values are about
// between 0 and 1, so that one penalty fits all weights.

// saidTraits are the features of an utterance, which all of its facts share.
type saidTraits struct {
	content   string
	sentences []string
	words     []map[string]bool // of each sentence
	before    map[string]bool   // the words of the utterance before
	shared    []feature
	pasted    bool // it is long enough to hold a text that is not about the speaker
	foreign   bool // it holds one, because most of it does not speak of the speaker
}

type feature struct {
	name  string
	value float64
}

var (
	orders      = regexp.MustCompile(`(?i)(?:^|[.!?;:\n]\s*|, )(?:please |now,? |just |then |so |and |also |okay,? |ok,? )*(?:write|rewrite|give|show|tell|make|create|generate|explain|provide|list|send|continue|summari[sz]e|translate|draft|let's|add|use|help|confirm|update|set|get|focus|include|ensure|do|don't|push|run|build|lock|log|pull|keep|start|stop|check|describe|answer|find)\b`)
	hanOrders   = regexp.MustCompile(`(?:请|帮我|给我|你(?:能|可以|会))`)
	questioned  = regexp.MustCompile(`[?？]|(?i)\b(?:how (?:can|do|should|would)|what (?:should|can|would|are|is)|can you|could you|would you)\b`)
	markupSigns = regexp.MustCompile("[*_#|`{}<>\\[\\]=]|https?://")
	firstWords  = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|i'll|i'd|my|me|we|our|mine|myself)\b|我|俺|咱`)
	secondWords = regexp.MustCompile(`(?i)\b(?:you|your|you're|you've|you'll)\b|你|您`)
	quotations  = regexp.MustCompile(`["“”'‘][^"“”']{3,80}["“”'’]|「|《`)
)

// traitsOf returns the features of an utterance; before is the one before it, nil if there is none.
func traitsOf(u, before *utterance, talksToAgent bool) *saidTraits {
	s := &saidTraits{content: u.Content, sentences: u.sentences, pasted: isPasted(u.Content)}
	for _, sentence := range s.sentences {
		s.words = append(s.words, wordsOf(sentence))
	}
	add := func(name string, value float64) {
		if value != 0 {
			s.shared = append(s.shared, feature{"said " + name, value})
		}
	}
	mark := func(name string, is bool) { add(name, indicator(is)) }
	n := len(s.sentences)
	own, orders, asks := 0, 0, 0
	for _, sentence := range s.sentences {
		if firstWords.MatchString(sentence) {
			own++
		}
		if isOrder(sentence) {
			orders++
		}
		if questioned.MatchString(sentence) {
			asks++
		}
	}
	share := func(count int) float64 { return float64(count) / float64(max(n, 1)) }
	add("length", scale(float64(utf8.RuneCountInString(u.Content)), 2000))
	mark("over 600 characters", utf8.RuneCountInString(u.Content) > 600)
	mark("over 1500 characters", utf8.RuneCountInString(u.Content) > 1500)
	add("sentences", scale(float64(n), 20))
	mark("one sentence", n == 1)
	add("lines", scale(float64(strings.Count(strings.TrimSpace(u.Content), "\n")), 20))
	add("markup", min(1, float64(len(markupSigns.FindAllString(u.Content, 20)))/5))
	s.foreign = s.pasted && talksToAgent && 2*own < n
	mark("pasted", s.pasted)
	mark("asks for a text", asksToCompose.MatchString(u.Content))
	add("share of own sentences", share(own))
	add("share of orders", share(orders))
	add("share of questions", share(asks))
	mark("an order", orders > 0)
	mark("a question", asks > 0)
	mark("please", strings.Contains(strings.ToLower(u.Content), "please"))
	mark("to an assistant", talksToAgent)
	if before != nil {
		s.before = wordsOf(clipTail(before.Content))
		mark("behind an assistant", before.Role == memory.RoleAssistant)
		add("length before", scale(float64(utf8.RuneCountInString(before.Content)), 3000))
		mark("markup before", markupSigns.MatchString(before.Content))
		last := strings.TrimSpace(before.Content)
		mark("behind a question", strings.HasSuffix(last, "?") || strings.HasSuffix(last, "？"))
	} else {
		mark("first", true)
	}
	return s
}

// clipTail returns the end of a long text, which is what the next utterance answers.
func clipTail(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	return s[len(s)-most:]
}

func isOrder(sentence string) bool {
	return orders.MatchString(sentence) || hanOrders.MatchString(sentence)
}

// scale maps a count to 0 … 1 by its logarithm; 1 is what has the size of whole.
func scale(n, whole float64) float64 { return min(1, math.Log1p(n)/math.Log1p(whole)) }

// wordsOf returns the words of a text that carry content: stems of English, words of two characters of Chinese.
func wordsOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, term := range text.Terms(s) {
		out[term] = true
	}
	return out
}

// features calls add for each feature of a candidate that is not 0.
func (c *candidate) features(add func(name string, value float64)) {
	for _, f := range c.said.shared {
		add(f.name, f.value)
	}
	add("every fact", 1)
	if c.excerpt {
		add("excerpt", 1)
		if suppositions.MatchString(c.fact) || hanSupposed.MatchString(c.fact) {
			add("excerpt supposes", 1)
		}
		if _, before, said, ok := excerptParts(c.fact); ok {
			c = &candidate{fact: said, speaker: c.speaker, said: c.said, excerpt: true}
			c.quotedFeatures(before, add)
		}
	}
	words := wordsOf(strings.ReplaceAll(c.fact, c.speaker, " "))
	c.place(words, add)
	for _, topic := range topicLexicon().topTopics(c.fact, c.language(), 3) {
		add("topic "+topic, 1)
	}
	if isHan(c.fact) {
		c.hanFeatures(add)
		return
	}
	c.englishFeatures(add)
}

// quotedFeatures adds what an excerpt says beside what is quoted, and what the quotation leaves open.
func (c *candidate) quotedFeatures(before string, add func(string, float64)) {
	points := pointsElsewhere(c.fact)
	others := aboutOthers.MatchString(c.fact) || strings.ContainsAny(c.fact, "他她它")
	own := firstWords.MatchString(c.fact)
	asks := strings.ContainsAny(before, "?？")
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"quoted", true}, {"quoted answer", asks}, {"quoted behind a sentence", before != "" && !asks}, {"quoted pronoun", others}, {"quoted pointing", points}, {"quoted pointing without a sentence", points && before == ""},
		{"quoted own", own}, {"quoted own answer", own && asks}, {"quoted second person", secondWords.MatchString(c.fact)},
		{"quoted answer about you", asks && secondWords.MatchString(before)}, {"quoted answer about another", asks && (aboutOthers.MatchString(before) || strings.ContainsAny(before, "他她它"))},
		{"quoted without a verb", c.language() == text.English && !hasFiniteVerb(grammar.English(c.fact))},
		{"quoted number", strings.ContainsAny(c.fact, "0123456789") || numbered.MatchString(c.fact)},
	} {
		if f.is {
			add(f.name, 1)
		}
	}
}

// numbered matches numbers and times in words.
var numbered = regexp.MustCompile(`(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b|[一二三四五六七八九十百千两几]+[个只条天年月号点岁块斤次周]|周[一二三四五六日天]`)

// place adds features of the sentence that a fact is most likely from, and of the words that were said before.
func (c *candidate) place(words map[string]bool, add func(string, float64)) {
	best, most := -1, 0
	for i, w := range c.said.words {
		if n := overlap(words, w); n > most {
			best, most = i, n
		}
	}
	if best >= 0 {
		s, n := c.said.sentences[best], len(c.said.sentences)
		add("sentence place", float64(best)/float64(max(n-1, 1)))
		for _, f := range []struct {
			name string
			is   bool
		}{
			{"first sentence", best == 0}, {"last sentence", best == n-1}, {"sentence asks", questioned.MatchString(s)}, {"sentence orders", isOrder(s)},
			{"sentence addresses", secondWords.MatchString(s)}, {"sentence exclaims", strings.HasSuffix(strings.TrimSpace(s), "!")},
			{"question follows", best+1 < n && questioned.MatchString(c.said.sentences[best+1])},
			{"order follows", best+1 < n && isOrder(c.said.sentences[best+1])},
			{"order before", best > 0 && isOrder(c.said.sentences[best-1])},
			{"question before", best > 0 && questioned.MatchString(c.said.sentences[best-1])},
			{"sentence without own words", !firstWords.MatchString(s)},
			{"sentence has markup", markupSigns.MatchString(s)},
		} {
			if f.is {
				add(f.name, 1)
			}
		}
	}
	if len(words) > 0 && len(c.said.before) > 0 {
		add("words said before", float64(overlap(words, c.said.before))/float64(len(words)))
	}
	fresh := 0
	for w := range words {
		if !c.said.before[w] {
			fresh++
		}
	}
	add("new words", min(1, float64(fresh)/10))
}

func overlap(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// standIn is a name that the tagger knows, for that of the speaker.
const standIn = "Anna"

var (
	userWords  = regexp.MustCompile(`\b[Tt]he user\b`)
	money      = regexp.MustCompile(`[$€£¥₦]\s?\d|\d+(?:\.\d+)?%|\d+ ?(?:dollars|euros|pounds|元|块)`)
	clockTimes = regexp.MustCompile(`(?i)\b\d{1,2}(?::\d\d)? ?[ap]m\b|\b\d{1,2}:\d\d\b`)
	monthNames = regexp.MustCompile(`\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b`)
	years      = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
	praise     = wordSet("great good awesome amazing solid cool nice perfect fantastic wonderful incredible inspiring rewarding best better fine clear right important key wild crazy tough hard fun exciting beautiful special real sharp sound")
	feeling    = wordSet("happy excited thrilled nervous worried anxious proud grateful thankful glad sad scared stressed frustrated overwhelmed curious confident sure ready pumped keen eager relieved impressed concerned afraid struggling feeling tired exhausted")
	timely     = wordSet("now immediately asap today right currently next then first once still yet already again soon")
	lasting    = wordSet("always usually every often never since years year ago regularly weekly daily favorite born grew family")
	kin        = wordSet("mom mum mother dad father parent parents son daughter brother sister kid kids child children wife husband partner girlfriend boyfriend fiancé fiancée grandma grandmother grandpa grandfather uncle aunt cousin nephew niece friend friends dog cat puppy pet")
	beVerbs    = wordSet("is are was were am 's 're 'm")
	deictic    = wordSet("this that these those it they them there here one ones such same other others else")
	taskNouns  = wordSet("plan idea approach system setup step steps option options list draft update version section part data protocol framework strategy schedule content file code project prompt text message document point points question issue problem error result results progress information info details thing things stuff way task request solution analysis output process structure")
)

// englishFeatures adds what a sentence in the third person is like.
func (c *candidate) englishFeatures(add func(string, float64)) {
	s := userWords.ReplaceAllString(strings.ReplaceAll(c.fact, c.speaker, standIn), standIn)
	words := grammar.English(s)
	c.shape(s, words, add)
	counts := map[string]float64{}
	for i := range words {
		w := &words[i]
		low := strings.ToLower(w.Text)
		switch {
		case w.Text == standIn:
			counts["speaker"]++
			if i > 0 {
				counts["speaker behind the first word"]++
			}
			continue
		case strings.HasPrefix(w.Tag, "NNP") && i > 0:
			counts["names"]++
		case strings.HasPrefix(w.Tag, "NN"):
			counts["nouns"]++
		case w.Tag == "CD":
			counts["numbers"]++
		case strings.HasPrefix(w.Tag, "VB"):
			counts["verbs"]++
		case strings.HasPrefix(w.Tag, "JJ"):
			counts["adjectives"]++
		case w.Tag == "PRP$":
			counts["possessives"]++
		}
		switch {
		case deictic[low] && !opensRelative(words, i):
			counts["pointing words"]++
		case low == "the":
			counts["definite phrases"]++
			if end, head := definiteNoun(words, i); end > i && c.said.before[text.Stem(text.Fold(head), text.English)] {
				counts["definite phrases said before"]++
			}
		case praise[low]:
			counts["praise"]++
		case feeling[low]:
			counts["feelings"]++
		}
		if timely[low] {
			counts["words of the moment"]++
		}
		if lasting[low] {
			counts["words of what lasts"]++
		}
		if kin[low] {
			counts["kin"]++
		}
		if taskNouns[low] {
			counts["nouns of tasks"]++
		}
		if low == "not" || low == "n't" || low == "never" || low == "no" {
			counts["negations"]++
		}
	}
	for _, name := range []string{"speaker", "speaker behind the first word", "names", "nouns", "numbers", "verbs", "adjectives", "possessives", "pointing words", "definite phrases", "definite phrases said before", "praise", "feelings", "words of the moment", "words of what lasts", "kin", "nouns of tasks", "negations"} {
		if n := counts[name]; n > 0 {
			add(name, 1)
			if n > 1 {
				add("more "+name, min(n-1, 4)/4)
			}
		}
	}
	if refs := len(referencesIn(words)); refs > 0 {
		add("references", min(1, float64(refs)/3))
	}
	add("anchors", min(1, float64(anchors(words))/float64(6*fullAnchor)))
}

// shape adds the subject of a sentence, its verb and tense, and what surrounds it.
func (c *candidate) shape(s string, words []grammar.Word, add func(string, float64)) {
	n := countContentWords(lowerWords(s))
	add("content words", min(1, float64(n)/12))
	first, _ := utf8.DecodeRuneInString(s)
	for _, bound := range []int{3, 5, 8} {
		if n < bound {
			add("under "+strconv.Itoa(bound)+" content words", 1)
		}
	}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"money or share", money.MatchString(s)}, {"time of day", clockTimes.MatchString(s)}, {"month", monthNames.MatchString(s)}, {"year", years.MatchString(s)},
		{"quotes", quotations.MatchString(s)}, {"markup", markupSigns.MatchString(s)}, {"dash", strings.ContainsAny(s, "–—") || strings.Contains(s, " - ")},
		{"ellipsis", strings.Contains(s, "...") || strings.Contains(s, "…")}, {"colon", strings.Contains(s, ":")},
		{"second sentence", strings.Contains(strings.TrimRight(s, ".!"), ". ")}, {"capitals", strings.ToUpper(s) == s},
		{"lower case first", unicode.IsLower(first)}, {"and", strings.Contains(s, " and ")}, {"but", strings.Contains(s, " but ")},
		{"because", strings.Contains(s, " because ") || strings.Contains(s, " since ")}, {"so that", strings.Contains(s, " so ")},
	} {
		if f.is {
			add(f.name, 1)
		}
	}
	verb := finiteVerbAt(words)
	if verb < 0 {
		add("no finite verb", 1)
		return
	}
	subject := subjectOf(words[:verb])
	add("subject "+subject, 1)
	tense, main := tenseOf(words, verb)
	add("tense "+tense, 1)
	if main >= 0 {
		stem := text.Stem(text.Fold(words[main].Text), text.English)
		add("verb "+stem, 1)
		add("tense and verb "+tense+" "+stem, 1)
		if main+1 < len(words) {
			next := &words[main+1]
			add("behind verb "+next.Tag, 1)
			if next.Tag == "TO" && main+2 < len(words) {
				add("verb to "+stem, 1)
				add("to verb "+text.Stem(text.Fold(words[main+2].Text), text.English), 1)
			}
		}
	}
	seen := map[string]bool{}
	for i := range words {
		w := &words[i]
		if w.Text == standIn || strings.HasPrefix(w.Tag, "NNP") || !isLetterWord(w.Text) {
			continue
		}
		stem := text.Stem(text.Fold(w.Text), text.English)
		if !seen[stem] {
			seen[stem] = true
			add("word "+stem, 1)
		}
	}
}

func isLetterWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// finiteVerbAt returns the index of the first finite verb; -1 if there is none.
func finiteVerbAt(words []grammar.Word) int {
	return slices.IndexFunc(words, func(w grammar.Word) bool {
		return w.Tag == "VBD" || w.Tag == "VBZ" || w.Tag == "VBP" || w.Tag == "MD"
	})
}

// subjectOf classifies what is in front of the finite verb.
func subjectOf(before []grammar.Word) string {
	for len(before) > 0 && (before[len(before)-1].Tag == "RB" || before[len(before)-1].Tag == "JJ") {
		before = before[:len(before)-1]
	}
	if len(before) == 0 {
		return "none"
	}
	last, first := &before[len(before)-1], &before[0]
	low := strings.ToLower(last.Text)
	own := slices.ContainsFunc(before, func(w grammar.Word) bool { return w.Text == standIn })
	switch {
	case last.Text == standIn:
		return "speaker"
	case own:
		return "of the speaker"
	case deictic[low]:
		return "pointing"
	case last.Tag == "PRP":
		return "pronoun"
	case strings.HasPrefix(last.Tag, "NNP"):
		return "name"
	case strings.EqualFold(first.Text, "the"):
		return "definite"
	}
	return "other"
}

// tenseOf returns the tense and mood of the verb at i, and the index of the main verb behind its auxiliaries; -1 if
// there is none.
func tenseOf(words []grammar.Word, i int) (tense string, main int) {
	next := func(from int) int {
		for j := from; j < len(words) && j < from+4; j++ {
			if words[j].Tag != "RB" && !strings.EqualFold(words[j].Text, "not") {
				return j
			}
		}
		return -1
	}
	low, at := strings.ToLower(words[i].Text), next(i+1)
	if at < 0 {
		return "bare", i
	}
	tag := words[at].Tag
	switch {
	case words[i].Tag == "MD":
		return low, at
	case beVerbs[low] && tag == "VBG" && words[at].Text == "going" && at+2 < len(words) && words[at+1].Tag == "TO":
		return "going to", at + 2
	case beVerbs[low] && tag == "VBG":
		return "progressive", at
	case beVerbs[low] && tag == "VBN":
		return "passive", at
	case beVerbs[low] && strings.HasPrefix(tag, "JJ"):
		return "is so", at
	case beVerbs[low] && (tag == "DT" || strings.HasPrefix(tag, "NN") || tag == "PRP$" || tag == "CD"):
		return "is something", -1
	case beVerbs[low]:
		return "is", at
	case (low == "has" || low == "have" || low == "had") && (tag == "VBN" || tag == "VBD"):
		if words[at].Text == "been" {
			if j := next(at + 1); j > 0 {
				return "has been", j
			}
		}
		return "perfect", at
	case low == "does" || low == "do" || low == "did":
		return low, at
	case words[i].Tag == "VBD":
		return "past", i
	}
	return "present", i
}

// hanFeatures adds what a Chinese sentence in the third person is like.
func (c *candidate) hanFeatures(add func(string, float64)) {
	s := strings.TrimSpace(strings.ReplaceAll(c.fact, c.speaker, "小明"))
	n := utf8.RuneCountInString(s)
	add("han", 1)
	add("han length", min(1, float64(n)/30))
	if n < 10 {
		add("han under 10 characters", 1)
	}
	words := grammar.Chinese(s)
	counts := map[string]float64{}
	seen := map[string]bool{}
	for i, w := range words {
		if w.Tag == "w" || w.Text == "小明" {
			continue
		}
		counts[w.Tag[:1]]++
		if w.Tag == "nr" || w.Tag == "ns" || w.Tag == "nz" || w.Tag == "eng" {
			counts["names"]++
		}
		if w.Tag == "t" || strings.ContainsAny(w.Text, "年月日周") {
			counts["times"]++
		}
		if strings.HasPrefix(w.Text, "这") || strings.HasPrefix(w.Text, "那") || w.Text == "它" {
			counts["pointing"]++
		}
		if !seen[w.Text] {
			seen[w.Text] = true
			add("han word "+w.Text, 1)
		}
		if i == len(words)-1 {
			add("han last "+w.Tag, 1)
		}
	}
	for _, name := range []string{"n", "v", "a", "d", "m", "r", "names", "times", "pointing"} {
		if k := counts[name]; k > 0 {
			add("han "+name, 1)
			add("han count "+name, min(k, 4)/4)
		}
	}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"han speaker first", strings.HasPrefix(s, "小明")}, {"han speaker", strings.Contains(s, "小明")}, {"han of the speaker", strings.Contains(s, "小明的")},
		{"han comma", strings.ContainsAny(s, "，,")}, {"han feeling", hanFelt.MatchString(strings.TrimRight(s, "。！"))},
		{"han wants", strings.Contains(s, "想") || strings.Contains(s, "希望") || strings.Contains(s, "要")},
		{"han thinks", strings.Contains(s, "觉得") || strings.Contains(s, "感觉") || strings.Contains(s, "认为")},
		{"han likes", strings.Contains(s, "喜欢") || strings.Contains(s, "最爱") || strings.Contains(s, "讨厌")},
		{"han happened", strings.Contains(s, "了") || strings.Contains(s, "过")}, {"han negated", strings.Contains(s, "不") || strings.Contains(s, "没")},
	} {
		if f.is {
			add(f.name, 1)
		}
	}
}

func (c *candidate) language() text.Language {
	if isHan(c.fact) {
		return text.Chinese
	}
	return text.English
}
