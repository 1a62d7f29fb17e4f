package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads short answers together with the question that they answer: "Peter." after
// "What is your name?" is "My name is Peter."

// maxAnswerWords is the number of words above which an answer is read alone.
const maxAnswerWords = 14

var (
	yesAnswer = regexp.MustCompile(`(?i)^(?:yes|yeah|yep|yup|sure|of course|definitely|absolutely|i do|i am|i can|i have|indeed|(?:he|she|it) (?:is|does|has|can)|they (?:are|do|have|can))\b(?:$|[,.!;:–— -]+)(?:(?:i|we|they) (?:do|am|can|have|are)\b[,.!;:–— -]*|(?:he|she|it) (?:is|does|has|can)\b[,.!;:–— -]*)?`)
	noAnswer  = regexp.MustCompile(`(?i)^(?:no|nope|nah|not really|not at all|not any ?more|never)\b[,.!;:–— -]*(?:(?:never|not at all|not really|thanks|thank you|thank god|luckily)\b[,.!;:–— -]*)?(?:(?:i|we)(?: don't|'m not| am not| can't| haven't)\b[,.!;:–— -]*)?`)
	// answerOpening matches words before the value of an answer, answerEnding those behind it.
	answerOpening = regexp.MustCompile(`(?i)^(?:(?:well|oh|hmm|um|uh|so|and|actually|right now|mostly|mainly|probably|just|only)\b[,: ]*)+`)
	answerEnding  = regexp.MustCompile(`(?i),? (?:please|thanks|thank you|i think|i guess|i believe|if possible|of course|yes|yeah|though|thank god|unfortunately|luckily|sadly)$`)
	// answerBreak matches where another clause of an answer begins.
	answerBreak = regexp.MustCompile(`(?:,? (?:so|but|and|because|since|though|although|if|unless|when|while)|,|;| [–—-]+) (?:(?i:i|i'm|i've|i'll|i'd|we|we're|we've|he|he's|she|she's|it|it's|they|they're|that|that's|there|please|no|don't|you)\b|(?:my|our|the|his|her) (?:\p{L}+ ){1,2}(?:is|are|was|were|has|have|had|can|will|\p{Ll}+s) )|,? (?:because|if|unless) `)
	// noValue matches an answer that is no value.
	noValue       = regexp.MustCompile(`(?i)^(?:nothing|none|nobody|not\b|i\b|i'|we\b|you\b|it\b|he\b|she\b|they\b|that\b|this\b|these\b|those\b|there\b|here\b|what|why|how|who|when|where|no idea|maybe|perhaps|it depends|depends|good|fine|great|ok|okay|thanks|thank|sorry|both|all of|everything|anything|something|a lot|lots|quite|pretty|sometimes|haha|lol|same|too|and you|nowhere|somewhere|any|later|soon|let|please|could|can|do|don't|did|yes|no|cool|awesome|nice|sounds?|looks?|gonna|been|wow+|woo+ah?|woah|whoa|ooh+|aww?|yeah|yep|yup|totally|my guy|my friend|man|dude|well|never|always|hi|hello|hey|ah|much|very|so|really|as usual|oh|sure|right|exactly|same here|guess|ask|see|whatever|if)\b`)
	vagueQuestion = regexp.MustCompile(`(?i)\b(?:any|anything|anyone|something|someone|somewhere|it|this|that|them|these|those|here|there|more|else|or|me|us|him|her|yours)\b`)
	finiteAnswer  = regexp.MustCompile(`(?i)(?:^|\s)(?:is|are|was|were|am|i'm|it's|i've|i'd|i'll|will|would|can|could|have|has|had|do|does|did|i)(?:\s|$)`)
)

// questionBefore returns the question that an utterance may answer: the last sentence of the
// utterance before it, if another person says it; "" if there is none.
func questionBefore(all []utterance, i int) string {
	if i == 0 {
		return ""
	}
	before, u := all[i-1], all[i]
	if before.Role == u.Role && (before.Name == "" || strings.EqualFold(before.Name, u.Name)) {
		return ""
	}
	sentences := before.sentences
	if len(sentences) == 0 {
		return ""
	}
	last := strings.TrimSpace(sentences[len(sentences)-1])
	if !strings.HasSuffix(last, "?") && !strings.HasSuffix(last, "？") {
		return ""
	}
	return last
}

// answered returns what the first sentence of an answer says together with its question, in the first person, what
// that is about, if the question names it, and the number of sentences that it takes; "" if that sentence is no
// answer, or can be understood alone.
func answered(question, answer string, resolve func(string) string) (said, topic string, used int) {
	if question == "" || injectedInstructions.MatchString(question) || injectedInstructions.MatchString(answer) {
		return "", "", 0
	}
	sentences := utteredSentences(answer)
	if len(sentences) == 0 {
		return "", "", 0
	}
	a := strings.TrimSpace(sentences[0])
	if strings.ContainsAny(a, "?？\"") {
		return "", "", 0
	}
	if isHan(question) || isHan(a) {
		return hanAnswered(strings.TrimRight(question, "?？ "), a), "", 0
	}
	if m := askedName.FindStringSubmatch(question); m != nil {
		question = "What is your " + cmp.Or(m[1], m[2], "name") + "?"
	}
	f, ok := frameOf(question, resolve)
	if !ok || len(question) > maxFactRunes {
		return "", "", 0
	}
	used = 1
	// "Yes." and "Peanuts." may be two sentences.
	if len(sentences) > 1 && (yesAnswer.FindString(a) == a || noAnswer.FindString(a) == a) && len(text.Words(sentences[1])) <= 4 && !strings.ContainsAny(sentences[1], "?\"") {
		a = strings.TrimRight(a, ".! ") + ", " + strings.TrimSpace(sentences[1])
		used = 2
	}
	said, whole := f.completedBy(strings.TrimSpace(strings.TrimRight(a, ".!… ")), len(sentences) > 1 && startsWithSpeaker(lowerWords(sentences[1])))
	if !whole {
		used = 0 // the rest of the sentence says more
	}
	if f.owner != "" && f.noun != "" && strings.HasPrefix(said, upperFirst(f.owner)+" "+f.noun) {
		topic = f.owner + " " + f.noun
	}
	return said, topic, used
}

// askedName matches questions for a name, an address and the like.
var askedName = regexp.MustCompile(`(?i)\bwho am i (?:talking|speaking) (?:to|with)\?|\bwho(?:'s| is) (?:this|calling|speaking)\?|\b(?:may|can|could) (?:i|we) (?:have|get|take|ask(?: for)?) your (?:full )?((?:\p{L}+ ){0,2}(?:name|address|number|email|birthday|date of birth|age|postcode))(?:,? please)?\?|^(?:and )?(?:your )?((?:(?:first|last|full|phone|e-?mail|home) )*(?:name|address|number|email|age|date of birth|postcode))(?:,? please)?\?`)

// completedBy returns the statement that an answer makes of the question; "" if it makes none. whole says that
// nothing of the answer is left out. explained says that the speaker says more in the next sentence.
func (f *questionFrame) completedBy(a string, explained bool) (said string, whole bool) {
	yes, no := yesAnswer.FindString(a+" "), noAnswer.FindString(a+" ")
	rest := strings.TrimSpace(a[min(len(a), max(len(yes), len(no))):])
	switch {
	case no != "" && rest == "":
		return f.denied, true
	case notSince.MatchString(a) && f.kind == gapNone && f.denied != "":
		return f.denied + ", " + strings.ToLower(a[:1]) + a[1:], true
	case no != "":
		if f.kind == gapNone && f.denied != "" && finiteAnswer.MatchString(rest) {
			return f.denied, false
		}
		if !restricted.MatchString(rest) {
			return "", false
		}
	}
	if yes != "" && f.saysYes() != "" && (rest == "" && !explained || rest != "" && f.kind == gapNone && !finiteAnswer.MatchString(rest) && !f.adverbialAnswer(rest)) {
		return f.saysYes(), rest == ""
	}
	if rest == "" {
		return "", false
	}
	if f.what {
		rest = namedByPronoun.ReplaceAllString(answerOpening.ReplaceAllString(rest, ""), "")
	}
	value, whole := answerValue(rest)
	if f.subject != "" && f.kind == gapNone && stateOfPerson.MatchString(value) {
		return f.subject + " " + strings.ToLower(value[:1]) + value[1:], whole
	}
	words := grammar.English(value)
	if len(words) > 1 && (words[0].Tag == "IN" || words[0].Tag == "TO") || len(words) > 0 && slices.Contains(f.options, lowText(&words[0])) {
		value = strings.ToLower(value[:1]) + value[1:]
	}
	if value == "" || !isNominal(words) || len(words) > maxAnswerWords {
		return "", false
	}
	if f.kind == gapNone {
		if !f.adverbial || !f.adverbialAnswer(value) {
			return "", false
		}
		return perfectAdverb.ReplaceAllString(f.before, "") + " " + value, whole
	}
	if value = f.fitted(value, words); value == "" {
		return "", false
	}
	if f.noun != "" && f.kind == gapThing && bareNumber(words) && f.owner != "" && !f.object {
		return f.owner + " " + f.noun + " is " + value, whole
	}
	said = strings.Join(strings.Fields(f.before+" "+value+" "+f.after), " ")
	return upperFirst(said), whole
}

var (
	// notSince matches an answer that says since when something is no longer so.
	notSince = regexp.MustCompile(`(?i)^not (?:since|after|for (?:years|ages|the last)) \S`)
	// stateOfPerson matches an answer that says what somebody is: "Vegan, since the summer".
	stateOfPerson = regexp.MustCompile(`(?i)^(?:strictly |mostly |now )?(?:vegan|vegetarian|veggie|pescatarian|coeliac|diabetic|lactose intolerant|retired|unemployed|self-employed|single|married|divorced|widowed|engaged|teetotal|left-handed|colou?r-blind|pregnant)\b(?:,? (?:since|for|from|until|but)\b[^?]*)?$`)
)

// namedByPronoun matches the beginning of an answer that says what something is.
var namedByPronoun = regexp.MustCompile(`(?i)^(?:(?:it|that)(?:'s| is| was|'d be| would be)|its|they(?:'re| are)) `)

// restricted matches an answer that has less than what is asked for: "No, just a cat".
var restricted = regexp.MustCompile(`(?i)^(?:just|only) `)

// perfectAdverb matches adverbs that only a question has.
var perfectAdverb = regexp.MustCompile(`(?i) (?:before|ever|yet)$`)

// saysYes returns what "yes" alone says; "" if that does not last, or refers to something.
func (f *questionFrame) saysYes() string {
	said := f.before
	if f.object {
		said = strings.Join(strings.Fields(f.before+" "+f.noun+" "+f.after), " ")
	} else if f.kind != gapNone {
		return ""
	}
	_, matter, _ := strings.Cut(said, " ")
	if !f.lasting || vagueQuestion.MatchString(matter) || len(text.Words(matter)) > 10 {
		return ""
	}
	return said
}

// adverbialAnswer reports whether an answer says where, when or how.
func (f *questionFrame) adverbialAnswer(a string) bool {
	words := grammar.English(a)
	for len(words) > 1 && (words[0].Tag == "RB" || isAdverb(lowText(&words[0]))) {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	low := lowText(&words[0])
	return f.adverbial && (words[0].Tag == "IN" && low != "if" && low != "because" && low != "that" && low != "not" && low != "of" && low != "than" && low != "as" || low == "every" || low == "twice" || low == "once")
}

// fitted returns an answer with the preposition that the question needs; "" if it is not what is asked for.
func (f *questionFrame) fitted(value string, words []grammar.Word) string {
	first := &words[0]
	low := lowText(first)
	preposition := first.Tag == "IN" || first.Tag == "TO" || low == "next"
	stranded := stranding[lastWord(f.before)]
	if preposition && stranded {
		_, value, _ = strings.Cut(value, " ")
		return value
	}
	hasNumber := slices.ContainsFunc(words, isNumber) || low == "a" || low == "an" || low == "half"
	if approximately[low] && hasNumber {
		preposition = false
	}
	isOption := func(w string) bool {
		return slices.ContainsFunc(f.options, func(o string) bool { return strings.EqualFold(o, w) })
	}
	if f.kind == gapManner && isOption(low) {
		return value
	}
	if f.options != nil && !slices.ContainsFunc(lowerWords(value), func(w string) bool {
		return !text.IsStopWord(w, text.English) && slices.ContainsFunc(f.options, func(o string) bool {
			o = strings.ToLower(o)
			return w == o || len(o) > 3 && len(w) > 3 && (strings.HasPrefix(w, o) || strings.HasPrefix(o, w))
		})
	}) {
		return ""
	}
	switch f.kind {
	case gapThing:
		if preposition && strings.HasSuffix(f.before, " as") {
			return value // "work in insurance"; the frame ends in "as"
		}
		if preposition || first.Tag == "RB" || first.Tag == "WRB" || moods[low] {
			return ""
		}
	case gapPerson:
		if preposition || !slices.ContainsFunc(words, func(w grammar.Word) bool {
			return strings.HasPrefix(w.Tag, "NN") || kinNouns[lowText(&w)]
		}) {
			return ""
		}
	case gapPlace:
		switch {
		case preposition || stranded:
		case strings.HasPrefix(first.Tag, "NNP") || startsUpper(value) && len(words) < 4:
			value = f.towards("in") + value
		case first.Tag == "DT" || first.Tag == "PRP$":
			value = f.towards("at") + value
		default:
			return ""
		}
	case gapTime:
		if f.bare && !preposition && timeValue(value, words) != "" {
			return value
		}
		return timeValue(value, words)
	case gapAmount:
		switch {
		case !hasNumber:
			return ""
		case f.noun != "" && bareNumber(words):
			value += " " + f.noun
		}
	case gapSpan:
		switch {
		case low == "since" || low == "for" || low == "until" || low == "till" || low == "from":
		case strings.HasPrefix(f.before, "since") || !hasNumber:
			return ""
		default:
			value = "for " + value
		}
	case gapOften:
		if !oftenWords.MatchString(value) {
			return ""
		}
	case gapManner:
		if reachable := strings.HasPrefix(f.before, "I can be reached"); reachable && !preposition {
			if strings.ContainsAny(value, "@0123456789") {
				return "at " + value
			}
			return "by " + value
		}
		if !preposition {
			return ""
		}
	case gapNone:
	}
	return value
}

// towards returns the preposition before a place, with a space.
func (f *questionFrame) towards(in string) string {
	if slices.ContainsFunc(lowerWords(f.before), func(w string) bool { return motionVerbs[w] && w != "been" }) {
		return "to "
	}
	return in + " "
}

var (
	stranding   = wordSet("in on at to from with for of about by into under near as after")
	oftenWords  = regexp.MustCompile(`(?i)\b(?:every|each|once|twice|times?|daily|weekly|monthly|yearly|a (?:day|week|month|year)|per|often|never|rarely|always|hardly ever|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b`)
	monthOrYear = regexp.MustCompile(`(?i)^(?:(?:early|mid|late|the end of|the beginning of) )?(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall|winter|\d{4})\b`)
	dayName     = regexp.MustCompile(`(?i)^(?:the )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?:st|nd|rd|th)? (?:of )?\p{Lu}|\p{Lu}\p{Ll}+ \d|(?:first|last|second|third) of|weekends?|weekdays?|\d{1,2}(?:st|nd|rd|th)\b)`)
	clockTime   = regexp.MustCompile(`(?i)^(?:\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?|half past \p{L}+|(?:a )?quarter (?:past|to) \p{L}+|noon|midnight|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: o'clock| thirty| in the \p{L}+)?)$`)
	namedTime   = regexp.MustCompile(`(?i)^(?:tomorrow|yesterday|today|tonight|next|last|every|this|early|late|around|about|before|after|any|mornings?|evenings?|afternoons?|nights?|the (?:week|day|month|year|summer|winter|weekend|last|first|end|beginning)|weekly|daily|a |two|three|four|five|six|\d)`)
)

// timeValue returns an answer to "when" with its preposition; "" if it is no time.
func timeValue(value string, words []grammar.Word) string {
	low := lowText(&words[0])
	switch {
	case words[0].Tag == "IN" && low != "of" && low != "with" && low != "by":
		return value
	case dayName.MatchString(value):
		if strings.Contains(value, "s and ") || strings.HasSuffix(lowText(&words[0]), "days") {
			return "on " + value
		}
		return "on " + value
	case monthOrYear.MatchString(value):
		return "in " + value
	case clockTime.MatchString(value):
		return "at " + value
	case namedTime.MatchString(value):
		return strings.ToLower(value[:1]) + value[1:]
	}
	return ""
}

// approximately are words before a number.
var approximately = wordSet("about around roughly approximately nearly almost over under only")

func isNumber(w grammar.Word) bool {
	low := lowText(&w)
	return w.Tag == "CD" || countWords[low] || numeral.MatchString(low) || low == "hundred" || low == "thousand"
}

// bareNumber reports whether words are a number without a noun.
func bareNumber(words []grammar.Word) bool {
	return !slices.ContainsFunc(words, func(w grammar.Word) bool {
		return !isNumber(w) && w.Tag != "CC" && w.Tag != ":"
	})
}

// isNominal reports whether words are no clause: their only finite verbs are in relative clauses.
func isNominal(words []grammar.Word) bool {
	if len(words) == 0 || words[0].Tag == "PRP" || words[0].Tag == "VB" && !startsUpper(words[0].Text) || words[0].Tag == "VBN" || words[0].Tag == "VBG" && len(words) > 4 || words[0].Tag == "MD" || words[0].Tag == "EX" {
		return false
	}
	relative := false
	for i := range words {
		w := &words[i]
		low := lowText(w)
		switch {
		case w.Tag == "WDT" || w.Tag == "WP" || w.Tag == "WRB" || low == "that" || subordinate.MatchString(low+" ") && low != "as" && low != "since" && low != "after" && low != "before" && low != "once":
			relative = relative || i > 0
		case yourWords.MatchString(low), low == "'ve" || low == "'re" || low == "'ll" || low == "'d" || low == "'m":
			return false
		case low == "'s" && i+1 < len(words) && (!isNounOrAdjective(&words[i+1]) || words[i+1].Tag[0] == 'J' && (i+2 == len(words) || !isNounOrAdjective(&words[i+2]))):
			return false
		case w.Tag == "PRP" && i > 0 && low != "it" && low != "me" && low != "us" && low != "them" && low != "him":
			if !isDeterminer(&words[0]) || words[i-1].Tag[0] != 'N' && !relative {
				return false
			}
			relative = true // "the house we rent"
		case !relative && (w.Tag == "VBZ" || w.Tag == "VBP" || w.Tag == "MD" || w.Tag == "VBD" && (beForms[low] || i > 0 && (words[i-1].Tag[0] == 'N') && !strings.HasSuffix(low, "ed"))) && i > 0:
			return false
		}
	}
	return true
}

// answerValue returns the value that an answer gives, and whether that is all it says; "" if it gives none.
func answerValue(a string) (value string, whole bool) {
	whole = true
	a = strings.TrimSpace(answerOpening.ReplaceAllString(a, ""))
	if at := answerBreak.FindStringIndex(a); at != nil {
		a, whole = strings.TrimSpace(a[:at[0]]), false
	}
	a = strings.TrimSpace(answerEnding.ReplaceAllString(afterthoughts.ReplaceAllString(a, ""), ""))
	a = strings.TrimRight(a, ".,;:!–—- ")
	if a == "" || noValue.MatchString(a) || utf8.RuneCountInString(a) > 110 {
		return "", false
	}
	if first, _, _ := strings.Cut(a, " "); articles[strings.ToLower(first)] || text.IsStopWord(strings.ToLower(first), text.English) || countWords[strings.ToLower(first)] || numeral.MatchString(first) {
		a = strings.ToLower(a[:1]) + a[1:]
	}
	return a, whole
}

var numeral = regexp.MustCompile(`(?i)^(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty|(?:thir|four|fif|six|seven|eigh|nine)teen)(?:-\p{L}+)?$`)

// kinNouns are nouns for relatives and the like.
var kinNouns = stringSet(strings.Split(kinWords, "|"))

var countWords = wordSet("one two three four five six seven eight nine ten eleven twelve")

// questionForm is a form of questions. says has the statement that an answer makes: $1 and $2 are
// the groups of the form, and $A is the answer.
type questionForm struct {
	form *regexp.Regexp
	says string
}

// closedForm is a form of questions whether something is so, with the statements of a yes and of a no.
type closedForm struct {
	form    *regexp.Regexp
	yes, no string
}

// hanOpenQuestions and hanClosedQuestions are the forms of Chinese questions.
var (
	hanOpenQuestions = []questionForm{
		{regexp.MustCompile(`(?:你|您)(?:叫什么(?:名字)?|的名字(?:是什么|叫什么)|贵姓)$`), "我叫$A"},
		{regexp.MustCompile(`(?:你|您)(?:现在)?(?:住|家)在(?:哪里|哪儿|哪个城市|什么地方)$`), "我住在$A"},
		{regexp.MustCompile(`(?:你|您)(?:是)?(?:哪里人|哪儿人|来自哪里|从哪里来)$`), "我来自$A"},
		{regexp.MustCompile(`(?:你|您)(?:今年)?(?:多大|几岁|多大年纪)了?$`), "我今年$A"},
		{regexp.MustCompile(`(?:你|您)(?:是)?(?:做什么(?:工作)?的?|的(?:工作|职业)是什么)$`), "我的职业是$A"},
		{regexp.MustCompile(`(?:你|您)在哪里?(?:工作|上班)$`), "我在$A工作"},
		{regexp.MustCompile(`(?:你|您)(?:对什么(?:东西|食物)?过敏|有什么过敏(?:的吗)?|对什么过敏吗|有(?:什么)?过敏(?:的东西)?吗)$`), "我对$A过敏"},
		{regexp.MustCompile(`(?:你|您)(?:最)?(喜欢|爱)(吃|喝|看|听|玩)?什么(?:\p{Han}{0,4})$`), "我$1$2$A"},
		{regexp.MustCompile(`(?:你|您)(?:有|养)(?:什么)?(?:宠物|孩子|兄弟姐妹)吗$`), "我有$A"},
		{regexp.MustCompile(`(?:你|您)的(生日|电话|地址|邮箱)(?:是|在)(?:什么时候|哪天|几号|多少|哪里|什么)$`), "我的$1是$A"},
	}
	hanClosedQuestions = []closedForm{
		{regexp.MustCompile(`(?:你|您)(喜欢|爱吃|爱喝|吃|喝|会说|会|养|有)(\p{Han}{1,8}?)吗$`), "我$1$2", "我不$1$2"},
		{regexp.MustCompile(`(?:你|您)结婚了吗$`), "我结婚了", "我单身"},
		{regexp.MustCompile(`(?:你|您)是(\p{Han}{1,8}?)吗$`), "我是$1", "我不是$1"},
		{regexp.MustCompile(`(?:你|您)对(\p{Han}{1,6}?)过敏吗$`), "我对$1过敏", "我对$1不过敏"},
	}
	hanYes     = regexp.MustCompile(`^(?:是的?|对的?|嗯+|有的?|喜欢|会|当然|结了?|吃|喝|养)[，,。！! ]*`)
	hanNo      = regexp.MustCompile(`^(?:不是?|没有?|不喜欢|不会|不吃|不喝|还没有?|没养|不过敏)[，,。！! ]*`)
	hanNoValue = regexp.MustCompile(`^(?:我|你|不|没|什么|怎么|为什么|还好|很好|挺好|谢谢|不知道|随便|都)|[?？]`)
)

func hanAnswered(q, a string) string {
	if said := hanAmountSaid(q, a); said != "" {
		return said
	}
	a = strings.TrimRight(strings.TrimSpace(a), "。！!，, ")
	if utf8.RuneCountInString(a) > 16 {
		return ""
	}
	yes, no := hanYes.FindString(a), hanNo.FindString(a)
	for _, open := range hanOpenQuestions {
		m := open.form.FindStringSubmatchIndex(q)
		if m == nil {
			continue
		}
		value := a
		for _, opening := range []string{"是的", "对", "有", "嗯", "是", "在"} {
			value = strings.TrimLeft(strings.TrimPrefix(value, opening), "，, ")
		}
		if value == "" || no != "" || hanNoValue.MatchString(value) || strings.ContainsAny(value, "，,") {
			return ""
		}
		return string(open.form.ExpandString(nil, strings.ReplaceAll(open.says, "$A", value), q, m))
	}
	for _, closed := range hanClosedQuestions {
		m := closed.form.FindStringSubmatchIndex(q)
		switch {
		case m == nil:
			continue
		case no != "":
			said := string(closed.form.ExpandString(nil, closed.no, q, m))
			return strings.Replace(said, "我不有", "我没有", 1)
		case yes != "" && yes == a:
			return string(closed.form.ExpandString(nil, closed.yes, q, m))
		}
		return ""
	}
	return ""
}

// instructionForm matches an instruction to the assistant that holds from now on.
var (
	communicating   = `(?:answer|reply|respond|write|speak (?:to|with)|speak|talk to|use|translate|explain|format|summari[sz]e|include|mention|recommend|suggest|avoid|(?:call|address|remind|ask|greet|give|show|send) me|refer to me|keep (?:your|the|all|answers|replies)|be (?:brief|concise|short|formal|informal|polite|honest|direct|precise)|(?:start|end) (?:your|every|each))`
	instructionForm = regexp.MustCompile(`(?i)^(?:please[, ]+|kindly )?(?:` +
		`(?:from now on|in (?:the )?future|going forward|by default|every time|whenever[^,]{3,60})[, ]+(?:please )?(?:always |never |don't |do not )?` + communicating + `\b` +
		`|(?:always|never|don't ever|do not ever) ` + communicating + `\b` +
		`|(?:don't|do not|stop) (?:call|calling|address|addressing) me\b` +
		`|(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? (?:only |always )?in (?:\p{Lu}\p{Ll}+|short|simple|plain|bullet)` +
		`|keep (?:your |the |all )?(?:answers|replies|responses|messages) ` +
		`|(?:don't|do not|never|no|skip|avoid|stop) (?:use |using |add |adding |write |writing |give me |any |the )*(?:emojis?|bullet points|bullets|jargon|headings|markdown|tables|exclamation marks|small talk|pep talks?|lectures?|disclaimers|abbreviations|slang)\b` +
		`|(?:write|give|state|express|use|show|put|list|convert)(?: me| all| the| your)* (?:amounts?|distances?|weights?|lengths?|prices?|temperatures?|dates?|times?|units?|quantities|numbers|measurements?) (?:in|as|with) ` +
		`|call me \p{Lu}\p{L}+` +
		`|` + communicating + `\b.* (?:from now on|in (?:the )?future|every time|going forward)[.!]*$)`)
	hanInstruction = regexp.MustCompile(`^(?:请|麻烦)?(?:你|您)?((?:以后|今后|从现在起|从今以后|每次|总是|一直|永远|始终)(?:的?(?:回答|回复|推荐|说话)时?)?(?:都|请|要)*(?:用|叫|不要|别|称呼|给|把|先|只|分点|列|简短|简洁|详细).{1,30}|用.{1,8}(?:回答|回复|交流|和我说话|跟我说话).{0,10}|(?:回答|回复|说话)(?:都)?(?:请|要|得)?(?:简短|简洁|分点|用|不要|别).{0,20}|叫我\p{Han}{1,6})[。！!]?$`)
)

// hanCallMe matches how somebody wants to be called.
var hanCallMe = regexp.MustCompile(`^(?:你|您)?(?:可以|就)?叫我(\p{Han}{1,4}?)(?:就好|就行|吧|就可以)*(?:了)?[。！!]?$`)

var (
	leadingPlease  = regexp.MustCompile(`(?i)^(?:please[, ]+|kindly )`)
	trailingPlease = regexp.MustCompile(`(?i),? please[.!]*$`)
	fromNowOn      = regexp.MustCompile(`(?i)^(from now on|in (?:the )?future|going forward|by default|every time|whenever[^,]{3,60})[, ]+(?:please )?`)
)

// instruction returns what a sentence asks of the assistant for all time to come, in the first
// person; "" if it is no such instruction.
func instruction(s string) string {
	if utf8.RuneCountInString(s) > 200 || strings.ContainsAny(s, "?？") || injectedInstructions.MatchString(s) {
		return ""
	}
	if isHan(s) {
		if called := hanCallMe.FindStringSubmatch(s); called != nil {
			return "我希望别人叫我" + called[1]
		}
		if m := hanInstruction.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
			return "我要求助手" + strings.TrimRight(m[1], "。！! ")
		}
		return ""
	}
	s = strings.TrimSpace(trailingPlease.ReplaceAllString(stripFiller(s), ""))
	if !instructionForm.MatchString(s) {
		return ""
	}
	s = leadingPlease.ReplaceAllString(s, "")
	s = strings.NewReplacer(" your ", " its ", " you ", " it ", " please,", ",").Replace(s)
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "call":
		return "I want to be called " + strings.TrimSpace(strings.TrimPrefix(rest, "me "))
	case "never":
		return "I ask the assistant never to " + rest
	case "don't":
		return "I ask the assistant not to " + strings.TrimPrefix(rest, "ever ")
	case "do":
		return "I ask the assistant not to " + strings.TrimPrefix(strings.TrimPrefix(rest, "not "), "ever ")
	case "stop":
		return "I ask the assistant to stop " + rest
	case "always":
		return "I ask the assistant to always " + rest
	}
	if opening := fromNowOn.FindStringSubmatch(s); opening != nil {
		body := s[len(opening[0]):]
		what := "to " + body
		if w, more, _ := strings.Cut(body, " "); slices.Contains([]string{"don't", "never"}, strings.ToLower(w)) {
			what = "not to " + more
		}
		return strings.TrimRight("I ask the assistant "+what, ".! ") + " " + strings.ToLower(opening[1])
	}
	return "I ask the assistant to " + strings.ToLower(s[:1]) + s[1:]
}
