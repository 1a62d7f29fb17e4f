package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file reads short answers together with the question that they answer: "Peter." after
// "What is your name?" is "My name is Peter."

// maxAnswerWords is the number of words above which an answer is read alone.
const maxAnswerWords = 9

// questionForm is a form of questions. says has the statement that an answer makes: $1 and $2 are
// the groups of the form, and $A is the answer.
type questionForm struct {
	form *regexp.Regexp
	says string
}

// openQuestions ask for a value. possessions are the nouns after "your" that have one value.
var openQuestions = []questionForm{
	{regexp.MustCompile(`(?i)\bwhat(?:'s| is| was) your (?:full |real |first |last )?name$`), "My name is $A"},
	{regexp.MustCompile(`(?i)\bwhat should (?:i|we) call you$`), "My name is $A"},
	{regexp.MustCompile(`(?i)\bhow old are you(?: now)?$`), "I am $A"},
	{regexp.MustCompile(`(?i)\bwhere (?:do you live|are you living|are you based)(?: now| these days| currently)?$`), "I live in $A"},
	{regexp.MustCompile(`(?i)\bwhere (?:are you from|do you come from)(?: originally)?$`), "I am from $A"},
	{regexp.MustCompile(`(?i)\bwhere (?:do you work|are you working)(?: now)?$`), "I work at $A"},
	{regexp.MustCompile(`(?i)\bwhat (?:do you do(?: for (?:a living|work))?|is your (?:job|occupation|profession)|are you working as)$`), "I work as $A"},
	{regexp.MustCompile(`(?i)\bwhen is your (birthday|exam|interview|flight|appointment|wedding|anniversary|surgery|trip|deadline|graduation)$`), "My $1 is on $A"},
	{regexp.MustCompile(`(?i)\b(?:what|which|who)(?:'s| is| are) your ((?:favou?rite )?[\p{L}' -]{3,30})$`), "My $1 is $A"},
	{regexp.MustCompile(`(?i)\b(?:what|which) (?:foods?|things?|medications?|medicines?|substances?|else )?\s?are you allergic to$`), "I am allergic to $A"},
	{regexp.MustCompile(`(?i)\bare you allergic to (?:anything|something|any [\p{L} ]{3,20})$`), "I am allergic to $A"},
	{regexp.MustCompile(`(?i)\b(?:do you have|have you got|got) any (?:food )?allerg(?:y|ies)$`), "I am allergic to $A"},
	{regexp.MustCompile(`(?i)\bare you taking (?:anything|any (?:medications?|medicines?|drugs?|pills))$`), "I take $A"},
	{regexp.MustCompile(`(?i)\bdo you take (?:anything|any (?:medications?|medicines?|drugs?|pills))(?: regularly)?$`), "I take $A"},
	{regexp.MustCompile(`(?i)\bdo you (?:have|own|keep) (?:any )?(?:pets?|animals?|children|kids|siblings|brothers or sisters)(?: at home)?$`), "I have $A"},
	{regexp.MustCompile(`(?i)\bdo you (?:play|speak|like|eat|drink|collect|study) any(?:thing| \p{L}+)$`), ""},
	{regexp.MustCompile(`(?i)\bhow many (\p{L}+(?: \p{L}+)?) do you have$`), "I have $A $1"},
	{regexp.MustCompile(`(?i)\b(?:what|which) (?:kinds?|types?|sorts?) of \p{L}+ do you (like|love|enjoy|prefer|play|eat|drink|speak|study|collect|read|watch)(?: (?:most|best|to (?:read|watch|eat|play|cook)))?$`), "I $1 $A"},
	{regexp.MustCompile(`(?i)\b(?:what|which)(?: \p{L}+)? do you (like|love|enjoy|prefer|play|eat|drink|speak|study|collect|teach|need)(?: (?:most|best|for breakfast|for lunch|for dinner|in the morning))?$`), "I $1 $A"},
	{regexp.MustCompile(`(?i)\bdo you prefer [\p{L} ]{2,30} or [\p{L} ]{2,30}$`), "I prefer $A"},
	{regexp.MustCompile(`(?i)\bwhat do you like to (eat|drink|read|play|cook|watch|do)(?: \p{L}+){0,3}$`), "I like to $1 $A"},
	{regexp.MustCompile(`(?i)\bwhat are your (hobbies|plans|goals|interests|children's names|kids' names)$`), "My $1 are $A"},
}

// closedForm is a form of questions whether something is so, with the statements of a yes and of a no.
type closedForm struct {
	form    *regexp.Regexp
	yes, no string
}

// closedQuestions ask whether something is so.
var closedQuestions = []closedForm{
	{regexp.MustCompile(`(?i)\bdo you (like|love|enjoy|eat|drink|speak|play|smoke|own|drive|dance|sing|cook|work|live|study|teach|prefer|need|collect|have)\b ?(.*)$`), "I $1 $2", "I don't $1 $2"},
	{regexp.MustCompile(`(?i)\bare you ((?:still |now )?(?:an? |from |in |married|single|divorced|engaged|vegetarian|vegan|retired|pregnant|diabetic|allergic to |afraid of |into |left-handed|religious|based in |lactose).*)$`), "I am $1", "I am not $1"},
	{regexp.MustCompile(`(?i)\bcan you (swim|drive|cook|ski|dance|sing|speak .*|play .*|ride .*|eat .*)$`), "I can $1", "I can't $1"},
	{regexp.MustCompile(`(?i)\bhave you (?:ever )?been to (\p{Lu}.*)$`), "I have been to $1", "I have never been to $1"},
}

var (
	yesAnswer = regexp.MustCompile(`(?i)^(?:yes|yeah|yep|yup|sure|of course|definitely|absolutely|i do|i am|i can|i have|indeed)\b[,.!;:–— -]*(?:(?:i|we) (?:do|am|can|have|are)\b[,.!;:–— -]*)?`)
	noAnswer  = regexp.MustCompile(`(?i)^(?:no|nope|nah|not really|not at all|not any ?more|never|i don't|i'm not|i can't|i haven't)\b[,.!;:–— -]*(?:(?:i|we)(?: don't|'m not| am not| can't| haven't)\b[,.!;:–— -]*)?`)
	// answerOpening matches words before the value of an answer.
	answerOpening = regexp.MustCompile(`(?i)^(?:(?:well|oh|hmm|um|uh|so|actually|right now|mostly|mainly|probably|just|only|it's|it is|its|that's|that would be|they're|they are|my|in|at|from|as|on|to)\b[,: ]*)+`)
	// noValue matches an answer that is no value.
	noValue       = regexp.MustCompile(`(?i)^(?:nothing|none|nobody|not sure|i\b|i'|we\b|you\b|it\b|he\b|she\b|they\b|that\b|this\b|there\b|what|why|how|who|when|where|no idea|maybe|it depends|depends|good|fine|great|ok|okay|thanks|sorry|both|all of|everything|anything|something|a lot|sometimes|haha|lol|same|too|and you|nowhere|somewhere|any|later|soon|let|please|could|can|do|don't|did|yes|no)\b`)
	vagueQuestion = regexp.MustCompile(`(?i)\b(?:any|anything|anyone|something|someone|somewhere|it|this|that|them|these|those|here|there|more|else|or|me|us|him|her|yours)\b`)
	finiteAnswer  = regexp.MustCompile(`(?i)(?:^|\s)(?:is|are|was|were|am|i'm|it's|i've|i'd|i'll|will|would|can|could|have|has|had|do|does|did|i)(?:\s|$)`)
)

// questionBefore returns the question that an utterance may answer: the last sentence of the
// utterance before it, if another person says it; "" if there is none.
func questionBefore(all []memory.Utterance, i int) string {
	if i == 0 {
		return ""
	}
	before, u := all[i-1], all[i]
	if before.Role == u.Role && (before.Name == "" || strings.EqualFold(before.Name, u.Name)) {
		return ""
	}
	sentences := utteredSentences(before.Content)
	if len(sentences) == 0 {
		return ""
	}
	last := strings.TrimSpace(sentences[len(sentences)-1])
	if !strings.HasSuffix(last, "?") && !strings.HasSuffix(last, "？") {
		return ""
	}
	return last
}

// answered returns what an answer says together with its question, in the first person; "" if it is
// no short answer, or if the answer can be understood alone.
func answered(question, answer string) string {
	if question == "" || injectedInstructions.MatchString(question) || injectedInstructions.MatchString(answer) {
		return ""
	}
	sentences := utteredSentences(answer)
	if len(sentences) == 0 {
		return ""
	}
	a := strings.TrimSpace(sentences[0])
	if strings.ContainsAny(a, "?？\"") {
		return ""
	}
	if isHan(question) || isHan(a) {
		return hanAnswered(strings.TrimRight(question, "?？ "), a)
	}
	// "Yes." and "Peanuts." may be two sentences.
	if len(sentences) > 1 && (yesAnswer.FindString(a) == a || noAnswer.FindString(a) == a) && len(text.Words(sentences[1])) <= 4 && !strings.ContainsAny(sentences[1], "?\"") {
		a = strings.TrimRight(a, ".! ") + ", " + strings.TrimSpace(sentences[1])
	}
	q := strings.TrimSpace(strings.TrimRight(question, "?! "))
	a = strings.TrimSpace(strings.TrimRight(a, ".!… "))
	if len(text.Words(a)) > maxAnswerWords || len(q) > maxFactRunes {
		return ""
	}
	yes, no := yesAnswer.FindString(a+" "), noAnswer.FindString(a+" ")
	rest := strings.TrimSpace(a[min(len(a), max(len(yes), len(no))):])
	for _, open := range openQuestions {
		m := open.form.FindStringSubmatchIndex(q)
		if m == nil {
			continue
		}
		value := answerValue(rest)
		if value == "" || no != "" || open.says == "" {
			return ""
		}
		return string(open.form.ExpandString(nil, strings.ReplaceAll(open.says, "$A", strings.ReplaceAll(value, "$", "$$")), q, m))
	}
	if len(sentences) > 1 && yes == a+" " && startsWithSpeaker(lowerWords(sentences[1])) || yes == "" && no == "" || rest != "" && no == "" && finiteAnswer.MatchString(rest) {
		return ""
	}
	for _, closed := range closedQuestions {
		m := closed.form.FindStringSubmatchIndex(q)
		if m == nil {
			continue
		}
		matter := q[m[2]:]
		if vagueQuestion.MatchString(matter) || len(text.Words(matter)) > 8 {
			return ""
		}
		says := closed.yes
		if yes == "" {
			says = closed.no
		}
		said := strings.TrimSpace(string(closed.form.ExpandString(nil, says, q, m)))
		return strings.NewReplacer(" your ", " my ", " yourself", " myself").Replace(said)
	}
	return ""
}

// answerValue returns the value that an answer gives; "" if it gives none.
func answerValue(a string) string {
	a = strings.TrimSpace(answerOpening.ReplaceAllString(a, ""))
	if a == "" || noValue.MatchString(a) || finiteAnswer.MatchString(a) || utf8.RuneCountInString(a) > 80 {
		return ""
	}
	a = strings.TrimSpace(afterthoughts.ReplaceAllString(a, ""))
	if first, _, _ := strings.Cut(a, " "); articles[strings.ToLower(first)] || text.IsStopWord(strings.ToLower(first), text.English) || countWords[strings.ToLower(first)] {
		a = strings.ToLower(a[:1]) + a[1:]
	}
	return a
}

var countWords = wordSet("one two three four five six seven eight nine ten eleven twelve")

// hanOpenQuestions and hanClosedQuestions are the same for Chinese.
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
