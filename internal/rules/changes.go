package rules

import (
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads sentences that say that something is at another day, hour, price or place than before, or is off,
// whether they name it or not: "they've pushed it back to the 17th", "the rent is 900 now", 改到周五了, "they called it off".

// change is what a sentence says that something is now.
type change struct {
	thing    string // what it names; "": it, or nothing
	value    statedValue
	canceled bool   // it is off, and has no value
	agreed   bool   // only the value is said, as what was agreed on
	vague    bool   // it may be the time of day that is said, if nothing was asked
	was      string // the value that it had; "": not said
	more     string // what a Chinese sentence adds about it
}

const (
	// settlingPhrase is in front of what was agreed on.
	settlingPhrase = `(?:(?:ok|okay|great|good|perfect|then|well|so|right|fine|everyone agrees|we all agree|everybody agrees|all agreed|agreed|deal|done|it's settled|it is settled|that's settled|settled|it's fixed|it's decided|we(?:'ve| have)? (?:settled|agreed|decided) on|let's do|let's say|make it|make that|it'll be|it's now|it's|it is)[,.:!]*(?: so| then| now)? ?)+`
	// itself stands for the thing that changed, whoHas for somebody who changed it.
	itself = `(?:it|that|this|everything|the (?:(?:exact )?date|day|time|whole thing|venue|place|start|amount|dose|price))`
	whoHas = `(?:(?:they|we|i|he|she|you)|(?:the|my|our) [\p{Ll}]+(?: [\p{Ll}]+)?)(?:'ve|'s| have| has| had)?(?: just| now| already| finally| both| since| decided to)*`
	named  = `(?:(?:the|my|our|his|her|their) |\p{Lu}[\p{L}]*'s )[\p{L}][\p{L}' -]{1,40}?`
	// changed is the verb of a change, changedTo what is between it and the new value.
	changed   = `(?:moved?|push(?:ed)?|put|brought|shift(?:ed)?|postponed?|rescheduled?|delayed?|changed?|switch(?:ed)?|swapped|raised?|lowered|increased?|reduced|bumped|upped|extended|deferred)`
	changedTo = `(?: back| forward| up| down| out| off| over)?(?: (?:by )?(?:an?|one|two|three) (?:hour|day|week|month|bit)s?)?(?: again)?,? (?:to|until|till|for|on|from [\p{L}\d ]{1,20} to)(?: be)?(?: on| at| in)? `
	// clauseStart is where a clause may begin.
	clauseStart = `(?i)(?:^|[,;:.–—-] ?|\b(?:but|and|because|so|that|say|tell (?:me|us)|now) )`
)

// changeForm is the form of what comes before a new value and behind it. The group k is the thing that changed.
type changeForm struct {
	before, behind *regexp.Regexp
	isPlace        bool // the value may be a place
	agreed         bool // only the value is said
	isDose         bool // the value is an amount
}

var (
	anything = regexp.MustCompile(``)
	isNow    = regexp.MustCompile(`(?i)^,? ?(?:now|instead|after all|from now on|these days|not \p{L}+)\b`)
	// saysTheTime matches what is behind a time that may be the present.
	saysTheTime = regexp.MustCompile(`(?i)^,? now\b`)
	turnsOut    = `(?:turns out|it turned out|turned out|in the end)[,:]? (?:that )?`
	changedAre  = `(?:'s| is| are| was|'ll be| will be| starts| start| costs| takes place| is going to be|'s going to be)(?: now)?(?: only| just)?(?: on| at| in| for| from)? `

	changeForms = []changeForm{
		{before: regexp.MustCompile(clauseStart + whoHas + ` ` + changed + ` (?:` + itself + `|(?P<k>` + named + `))` + changedTo + `(?:the )?$`), behind: anything},
		{before: regexp.MustCompile(clauseStart + `(?:we|they|i|he|she)(?:'ve| have|'s| has)?(?: just| now| already)? (?:switched|changed|moved|gone over) (?:over )?to $`), behind: anything},
		{before: regexp.MustCompile(clauseStart + `(?:` + itself + `|(?P<k>` + named + `))(?:'s| is| was| has|'d| had| got| gets)?(?: just| now| already| since)*(?: been| being)? ` + changed + changedTo + `$`), behind: anything},
		// "The letter went off on Thursday" is no change.
		{before: regexp.MustCompile(clauseStart + `(?:` + itself + `|(?P<k>` + named + `))(?:'s| has|'d| had)?(?: just| now| already| since)* (?:gone|went|risen|rose|jumped|dropped|fell|fallen|come|came)(?: back| up| down)? (?:from [\p{L}\d ]{1,20} )?to $`), behind: anything},
		{before: regexp.MustCompile(clauseStart + `(?:` + itself + `|(?P<k>` + named + `))` + changedAre + `$`), behind: isNow, isPlace: true},
		{before: regexp.MustCompile(clauseStart + `(?:` + itself + `|(?P<k>` + named + `))(?:'s| is| are| starts) now (?:on |at |in |for |due |set for |planned for )*$`), behind: anything},
		{before: regexp.MustCompile(clauseStart + `(?:we|they|i|he|she)(?:'re|'m|'s| are| am| is)? (?:now )?(?:meeting|going|starting|leaving|flying|coming|moving|having it|doing it|start|finish|leave|meet|open|close|pay)(?: up| it)? (?:on |at |in |until |from )?$`), behind: isNow},
		{before: regexp.MustCompile(clauseStart + `(?:i|he|she)(?:'m|'s| am| is)(?: now)?(?: back)?(?: down| up)? (?:on|to) $`), behind: regexp.MustCompile(`(?i)^(?:,? (?:now|instead|a day)\b|[.,;!]|$)`), isDose: true},
		{before: regexp.MustCompile(`(?i)\bnow (?:it's|it is|it costs|they want|they charge|he charges|she charges|i pay|we pay) (?:only )?$`), behind: anything, isDose: true},
		{before: regexp.MustCompile(`(?i)^(?:no|sorry|actually)?,? ?(?:it's |it is |on |at )?$`), behind: regexp.MustCompile(`(?i)^,? (?:and )?not (?:on |at |the )*[\p{L}\d]`)},
		{before: regexp.MustCompile(`^(?P<k>\p{Lu}\p{Ll}+(?: \p{Ll}+)?)(?: is| has been| was| got)(?: now)?(?: ` + changed + `)?(?: to| on| at| for)+ $`), behind: isNow},
		{before: regexp.MustCompile(`(?i)` + turnsOut + `(?:` + itself + `|(?P<k>` + named + `))` + changedAre + `$`), behind: anything, isPlace: true},
		{before: regexp.MustCompile(clauseStart + `(?:` + itself + `|they)(?:'s| is| are|'re)? (?:won't|will not|not|isn't|aren't)(?: going to)?(?: be)?(?: \p{L}+){0,3} (?:before|until|till) $`), behind: anything},
		{before: regexp.MustCompile(`(?i)^` + settlingPhrase + `(?:on |for )?$`), behind: regexp.MustCompile(`^(?:,? (?:it is|then|it'll be|instead|now))*[.! ]*$`), agreed: true},
	}

	// calledOffForms match what is off, without a new value.
	calledOffForms = []*regexp.Regexp{
		regexp.MustCompile(clauseStart + whoHas + ` (?:called (?:` + itself + `|(?P<k>` + named + `)) off|(?:called off|cancell?ed|scrapped) (?:` + itself + `|(?P<l>` + named + `)))(?:[.,;!]| because\b| for good\b| altogether\b|$)`),
		regexp.MustCompile(clauseStart + `(?:` + itself + `|(?P<k>` + named + `))(?:'s| is| was| has|'d| had| got)?(?: just| now| already)*(?: been)? (?:cancell?ed|called off|scrapped|not happening(?: any ?more)?|fallen through|fell through)(?:[.,;!]| because\b| for good\b| altogether\b|$)`),
		regexp.MustCompile(`(?i)(?:^|[,;:] ?)(?:it|(?P<k>(?:the|my|our) [\p{L}'-]+(?: [\p{L}'-]+)?))(?:'s| is) (?:all )?off(?: now)?(?:[.,;!]|$)`),
	}

	// notGoing matches what is off because nobody goes.
	notGoing = regexp.MustCompile(clauseStart + `(?:we|i)(?:(?:'re|'m| are| am) not going(?: any ?more| after all)| had to cancel(?: it| everything)?)(?:[.,;!]|$)`)

	// unchanged matches what did not change, or may not, or is only wished or told for one time.
	unchanged = regexp.MustCompile(`(?i)\?|\b(?:if|unless|could|would|might|(?-i:may)|should|shall|must|ought|maybe|perhaps|probably|hopefully|wish|want(?:s|ed)?|like(?:d)? to|love to|hope|try(?:ing)? to|nearly|almost|apparently|rumou?r|heard|said|says|threaten\p{L}*|used to|last (?:week|month|year|time|` + weekdayName + `)|this (?:week|once|time)|today|yesterday|tonight|once|'d (?:like|love|rather|have|be))\b`)

	hanChanged     = `(?:改|(?:改期|改|换|挪|推|推迟|延迟|延期|延后|延|提前|顺延|调整|调|搬|涨价|涨|降价|降|加|增加|减少|减|升|变|晚)(?:到|成|在|为|至)+了?)`
	hanChange      = regexp.MustCompile(`^(?P<k>.*?)(?:又|也|被|都|已经|现在|后来|要|可以|就|给|最后|地点|时间|日期|日子)*` + hanChanged + `$`)
	hanIsNow       = regexp.MustCompile(`^(?P<k>.*?)现在(?:是|要|在|每个?月|一个?月|每天|一天|只|吃)*$`)
	hanRaised      = regexp.MustCompile(`(?:涨价|降价|涨|降|加|变|改|换|提前|推迟|延期)了?[，,](?:现在)?(?:要|是|每个?月|一个?月|每天)*$`)
	hanUnchanged   = regexp.MustCompile(`[?？]|(?:吗|呢|么|吧|不行)[。！!~]*$|想|希望|可能|听说|应该|该|差点|差一点|要是|如果|假如|万一|也许|说不定|最好|能不能|行不行|一次|今天|上周|上次|昨天|没`)
	hanIsOff       = regexp.MustCompile(`^(?P<k>\p{Han}{0,8}?)(?:被|又|已经|都|给|也)*(?:取消|泡汤|黄|吹|停办|不办|不开|去不了|去不成|走不成|办不成|不去)了$`)
	hanImpersonal  = regexp.MustCompile(`^(?:不是了?|不了|没有|是的?|有|对|好消息|唉|哎|已经|现在|后来|最后|又|结果|从\p{Han}{1,4}[起后]|我们?的|(?:我们?|他们?|她们?|它|这个|那个|公司|单位|学校|医院|医生|大夫|导师|老师|商家|店家|店里|快递|房东|老板|对方|中介|航空公司|主办方|物业)(?:说|通知|同意|决定|让我)?|我的|时间|日期|日子|地点|价格|数量|人数|不过|延期|也|都|给|往后|往前|把它|把)+`)
	hanAnnounced   = regexp.MustCompile(`^(?P<k>\p{Han}{1,6}?)(?:的)?(?:通知|时间|日期|日子|地点|安排|计划)?(?:又)?(?:变|改|换|涨价|涨|降价|降|加|提前|推迟|延期)了$`)
	hanBehindValue = regexp.MustCompile(`^(?:(?:凌晨|早上|上午|中午|下午|傍晚|晚上)?(?:[\d一二两三四五六七八九十]{1,3}点(?:半|一刻)?)?)(?:了|吧|的)*(?:就|才)?(?:走|出发|飞|举行|举办|开始|办|送)?(?:[了。！!]*$|[，,。；！!])`)
	hanClauseMarks = regexp.MustCompile(`[，,；;。！!]`)
)

// changeOf returns what an English sentence says that changed; ok is false if it says no such thing for certain.
func changeOf(s string) (c change, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxFactRunes || injectedInstructions.MatchString(s) {
		return c, false
	}
	if unchanged.MatchString(s) {
		return c, false
	}
	values := valuesIn(s)
	for _, f := range changeForms {
		for _, v := range values {
			if m := f.before.FindStringSubmatch(s[:v.start]); m != nil && f.behind.MatchString(s[v.end:]) && (!f.isDose || v.kind == valueAmount) {
				return change{thing: groupNamed(f.before, m, "k"), value: v, agreed: f.agreed, vague: f.isPlace && saysTheTime.MatchString(s[v.end:])}, true
			}
		}
		if place, m, found := f.placeIn(s); found {
			return change{thing: groupNamed(f.before, m, "k"), value: place}, true
		}
	}
	for _, f := range calledOffForms {
		if m := f.FindStringSubmatch(s); m != nil {
			return change{thing: groupNamed(f, m, "k") + groupNamed(f, m, "l"), canceled: true}, true
		}
	}
	return change{canceled: true}, notGoing.MatchString(s)
}

// changedPlace matches a place in a sentence that says where something is.
var changedPlace = regexp.MustCompile(`\b(?:at|in) (?P<v>(?:the |our |my )?[\p{L}'-]+(?: \p{L}[\p{L}'-]*){0,2}?)(?P<e>,| now\b| instead\b| after all\b|[.!]*$)`)

// placeIn returns the place that a sentence says that something is at now.
func (f *changeForm) placeIn(s string) (place statedValue, before []string, ok bool) {
	if !f.isPlace {
		return place, nil, false
	}
	at := changedPlace.FindStringSubmatchIndex(s)
	if at == nil {
		return place, nil, false
	}
	m := f.before.FindStringSubmatch(s[:at[2]])
	if m == nil || !f.behind.MatchString(s[at[4]:]) {
		return place, nil, false
	}
	return statedValue{valuePlace, s[at[2]:at[3]], at[2], at[3]}, m, true
}

// groupNamed returns what a group of a form matched; "" if the form has no such group.
func groupNamed(form *regexp.Regexp, m []string, name string) string {
	if i := form.SubexpIndex(name); i >= 0 {
		return strings.TrimSpace(m[i])
	}
	return ""
}

// hanChangesIn returns what a Chinese sentence says that changed: the new value is at the end of a clause, behind the verb
// of a change.
func hanChangesIn(s string) []change {
	s = strings.TrimSpace(s)
	if len(s) > maxFactRunes || hanQuestion.MatchString(s) || hanSupposed.MatchString(s) || injectedInstructions.MatchString(s) {
		return nil
	}
	var out []change
	topic, from := "", 0
	for _, at := range append(hanClauseMarks.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		if m := hanAnnounced.FindStringSubmatch(s[from:at[0]]); m != nil {
			topic = hanThingOf(m[1])
		}
		if c, ok := hanChangeIn(s[:at[0]], from); ok {
			if c.thing == "" {
				c.thing = topic
			}
			c.more = hanMore.FindString(s[at[0]:])
			out = append(out, withHour(s, c)...)
		}
		from = at[1]
	}
	return out
}

// betweenDayAndHour matches what is between a day and the hour on it.
var betweenDayAndHour = regexp.MustCompile(`^,?(?: at | from )?$`)

// withHour returns a change to another day, and that of the hour behind the day.
func withHour(s string, c change) []change {
	out := []change{c}
	for _, v := range valuesIn(s) {
		isBehind := c.value.kind == valueDay && v.kind == valueHour && v.start >= c.value.end
		if isBehind && betweenDayAndHour.MatchString(s[c.value.end:v.start]) {
			out = append(out, change{thing: c.thing, value: v})
		}
	}
	return out
}

// hanMore matches where something takes place, behind its new day.
var hanMore = regexp.MustCompile(`^，(?:地点|地址)\p{Han}{1,12}`)

// hanPlaceChanged matches where something takes place from now on.
var hanPlaceChanged = regexp.MustCompile(`^(?P<k>.*?)(?:换|改|挪)(?:到|成|在)了?(?P<v>\p{Han}{2,8}?)了?$`)

// hanChangeIn returns what the clause of s that begins at from says that changed.
func hanChangeIn(s string, from int) (c change, ok bool) {
	clause := s[from:]
	if hanUnchanged.MatchString(clause) {
		return c, false
	}
	if m := hanIsOff.FindStringSubmatch(clause); m != nil {
		return change{thing: hanThingOf(m[1]), canceled: true}, true
	}
	for _, v := range valuesIn(s) {
		if v.start < from || !hanBehindValue.MatchString(s[v.end:]) {
			continue
		}
		before := s[from:v.start]
		if hanRaised.MatchString(s[:v.start]) {
			return change{value: v}, true
		}
		for _, form := range []*regexp.Regexp{hanChange, hanIsNow} {
			if m := form.FindStringSubmatch(before); m != nil {
				return change{thing: hanThingOf(m[1]), value: v, vague: form == hanIsNow}, true
			}
		}
	}
	if m := hanPlaceChanged.FindStringSubmatch(clause); m != nil && len(valuesIn(clause)) == 0 {
		return change{thing: hanThingOf(m[1]), value: statedValue{valuePlace, m[2], 0, 0}}, true
	}
	return c, false
}

// hanThingOf returns what the words in front of the verb of a change name; "" if they name nothing.
func hanThingOf(s string) string {
	return strings.TrimSuffix(hanImpersonal.ReplaceAllString(s, ""), "那趟")
}
