package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads a Chinese question as the statement that its answer completes. Chinese asks at the place of the
// answer, so the answer takes the place of the question word: "您从哪个城市出发？" is "我从……出发".

// hanFrame is a Chinese statement around what is asked for.
type hanFrame struct {
	kind          gapKind
	subject       string // in the words of who answers: "我", "我的女儿"
	before, after string // the statement, with the subject
	named         bool   // the answer may be a name that is written like a verb
	options       string // what there is to choose from; "": anything
}

// hanGap is a question word and what it asks for.
type hanGap struct {
	kind gapKind
	form *regexp.Regexp
}

var (
	hanGaps = []hanGap{
		{gapTime, regexp.MustCompile(`什么时候|啥时候|什么时间|哪一?天|几月几[号日]|[几哪](?:号|月份?)|(?:星期|周|礼拜)几|几点钟?|哪一?年`)},
		{gapSpan, regexp.MustCompile(`多久|多长时间|多少(?:年|天|个?月|周)|几(?:年|个月|天|周)(?:了|$)`)},
		{gapPlace, regexp.MustCompile(`哪里|哪儿|哪$|什么地方|哪个?(?:城市|省|国家|区|小区|地方|镇|县|街)`)},
		{gapAmount, regexp.MustCompile(`多少(?:钱|人|块钱?|平米?|公?斤|岁|公里|度|米)?|几(?:个人|岁|年级|口人|[个只口条位辆本楼层次家套间张件平](?:\p{Han}{0,2}))|多大(?:年纪|岁数|年龄)?|多[高重远宽深]`)},
		{gapPerson, regexp.MustCompile(`谁|哪位|什么人`)},
		{gapThing, regexp.MustCompile(`什么(?:样|类型|牌子|品牌|品种|型号|颜色)的?|(?:什么|啥)|哪[家个款种门支所本部些](?:\p{Han}{0,5})`)},
	}
	// hanQuestionLead matches what comes before a question, hanQuestionEnd what comes behind it.
	hanQuestionLead = regexp.MustCompile(`^(?:那么?|请问|对了|所以|还有|另外|嗯|哦|好的?|明白了?|了解|原来如此|不错|恭喜|记下了)+[，,。！!、 ]*`)
	hanQuestionEnd  = regexp.MustCompile(`(?:呢|啊|呀|吧|来着|方便(?:透露|说|讲)吗)+$`)
	hanVocative     = regexp.MustCompile(`^\p{Han}{1,3}(?:女士|先生|小姐|同学|哥|姐|叔|阿姨)?(?:您好|你好)?[，,]`)
	// hanAttribute matches what somebody or an animal has, behind whom the talk is about.
	hanAttribute = regexp.MustCompile(`^(?:性格|年龄|体重|身高|品种|名字|学习|成绩|身体|病情|胃口|胆子|脾气|毛色)`)
	// hanAgeAsked matches questions that ask of somebody who was just named, without naming them.
	hanAgeAsked = regexp.MustCompile(`^(?:今年|现在)?(?:几岁|多大|叫什么|什么品种|几个月大|上?几年级|属什么)`)
	// hanHowIs matches a question for how something is.
	hanHowIs = regexp.MustCompile(`^(.{2,12}?)得?(?:怎么样|如何)了?$`)
	// hanChoice matches a question for one of two.
	hanChoice = regexp.MustCompile(`^(.{0,8}?)(?:是)?(\p{Han}{1,6}?)(?:还是|或者?是?)(\p{Han}{1,8})$`)
	hanSex    = regexp.MustCompile(`^(?:是)?(?:男孩|男的|公的|弟弟)(?:还是|，|、)?(?:女孩|女的|母的|妹妹)$`)
	// hanSpeakers matches the person who is asked.
	hanSpeakers = regexp.MustCompile(`你们|您们|你|您`)

	hanTimeValue = regexp.MustCompile(`[\d一二三四五六七八九十两半几]+(?:年|个?月|号|日|点|周|天|岁|分|小时)|今[年天晚早]|明[年天早晚]|后[年天]|前[年天]|去年|昨[天晚]|春节|国庆|元旦|中秋|五一|端午|暑假|寒假|[春夏秋冬]天|周[一二三四五六日末天]|星期|礼拜|早上|晚上|上午|下午|中午|傍晚|凌晨|[上中下]旬|月[初底末]|年[初底末]|小时候|毕业|大[一二三四]|平时|下班|放学|每天|每周|退休`)
	hanNumber    = regexp.MustCompile(`[\d一二三四五六七八九十百千万两半几零〇]`)
	// hanValueLead matches words before the value of an answer, hanValueEnd those behind it.
	hanValueLead = regexp.MustCompile(`^(?:嗯+|哦|啊|是的|对的|对[，, ]|有的?|大概|大约|差不多|应该|可能|一共|主要|基本上?|都?是|就是?|在)+[，,、 ]*`)
	hanValueEnd  = regexp.MustCompile(`(?:吧|呀|啊|呢|哦|啦|就好|就行|都行|都可以)+$`)
	hanNotValue  = regexp.MustCompile(`^(?:我|你|您|他|她|它|咱|不|没|别|什么|怎么|为什么|哪|谁|还好|还行|还可以|很好|挺|好的|好多|好久|不错|谢谢|随便|都|看|再|听|想|这|那|可以|行|当然|哈|唉|真|太|好吧|厉害|放心|没问题|辛苦|恭喜|也|保密|秘密|说来|一言难尽|忘)|[?？]|祝|谢`)
	hanFeltOnly  = regexp.MustCompile(`^(?:都|还|挺|很|非常|蛮|特别|比较|有点儿?|就那样|一般|马马虎虎|不错|凑合|好|累|忙|行|可以|老样子|没什么|差|开心|高兴|满意)`)
	hanDouble    = regexp.MustCompile(`的的|是是|了了`)
)

// hanFrameOf returns the frame of a Chinese question. topic is whom the answers before were about, asked whom the
// questions before were about: "我", somebody of the speaker's, or a name; "" if that is not certain. resolve returns what a
// pronoun refers to.
func hanFrameOf(question, topic, asked string, resolve func(pronoun string) string) (f hanFrame, ok bool) {
	q := hanQuestionCore(question)
	if q == "" || utf8.RuneCountInString(q) > 30 || injectedInstructions.MatchString(question) {
		return f, false
	}
	subject, rest := hanAskedSubject(q, topic, asked, resolve)
	if subject == "" {
		return f, false
	}
	f.subject = subject
	if hanSex.MatchString(rest) {
		switch {
		case !strings.ContainsAny(rest, "公母"):
			f.subject = "我的孩子"
		case subject == speakerTopic || hanPersonNoun.MatchString(subject):
			return f, false
		}
		f.kind, f.before, f.options = gapThing, f.subject+"是", rest
		return f, true
	}
	if m := hanHowIs.FindStringSubmatch(rest); m != nil {
		f.kind, f.before = gapManner, subject+strings.TrimSuffix(m[1], "得")
		return f, strings.HasPrefix(rest, "的") || strings.HasPrefix(rest, "家")
	}
	for _, gap := range hanGaps {
		at := gap.form.FindStringIndex(rest)
		if at == nil {
			continue
		}
		f.kind, f.before, f.after = gap.kind, subject+rest[:at[0]], rest[at[1]:]
		word := rest[at[0]:at[1]]
		switch {
		case strings.HasSuffix(f.after, "吗") && gap.kind != gapThing, strings.HasPrefix(f.after, "都"), strings.HasPrefix(f.after, "意思"):
			return f, false
		case strings.HasSuffix(f.after, "吗"):
			f.after = strings.TrimSuffix(f.after, "吗")
		}
		if gap.kind == gapThing {
			return f.ofThing(word)
		}
		if gap.kind == gapAmount && f.after == "" && !strings.HasPrefix(word, "多少") && strings.HasSuffix(f.before, "的") {
			return f, false
		}
		return f, true
	}
	if m := hanChoice.FindStringSubmatch(rest); len(m) > 3 && !strings.Contains(m[1], "吗") {
		f.kind, f.options = gapThing, m[2]+"、"+m[3]
		verb := "是"
		words := grammar.Chinese(m[2])
		switch {
		case len(words) > 1 && strings.HasPrefix(words[0].Tag, "v"):
			verb, f.options = words[0].Text, m[2][len(words[0].Text):]+"、"+m[3]
		case len(words) == 0 || !strings.HasPrefix(words[0].Tag, "n"):
			return f, false
		}
		f.before = subject + m[1] + verb
		return f, true
	}
	return f, false
}

// hanQuestionCore returns a question without what is around it: forms of address, remarks and particles.
func hanQuestionCore(question string) string {
	q := strings.TrimRight(strings.TrimSpace(question), "?？！!。 ")
	for range 3 {
		was := q
		q = hanQuestionLead.ReplaceAllString(hanWithoutLeadIns(q), "")
		if rest := hanVocative.ReplaceAllString(q, ""); utf8.RuneCountInString(rest) > 2 {
			q = rest
		}
		if q == was {
			break
		}
	}
	// Of several clauses, the last asks.
	if at := strings.LastIndexAny(q, "，,；;"); at >= 0 {
		_, n := utf8.DecodeRuneInString(q[at:])
		if last := q[at+n:]; utf8.RuneCountInString(last) > 1 {
			q = last
		}
	}
	return strings.TrimSpace(hanQuestionEnd.ReplaceAllString(q, ""))
}

// hanAskedSubject returns the subject of a question, in the words of who answers, and the question behind it. subject is
// "" if it is not certain. topic is whom the answers were about, asked whom the questions were about.
func hanAskedSubject(q, topic, asked string, resolve func(string) string) (subject, rest string) {
	if strings.Contains(q, "我") || strings.Contains(q, "咱") || strings.HasPrefix(q, "听说") {
		return "", ""
	}
	if at := hanSpeakers.FindStringIndex(q); at != nil {
		before, behind := q[:at[0]], q[at[1]:]
		if before != "" && !hanTimeValue.MatchString(before) && !hanAdverbs.MatchString(before) {
			return "", "" // "怎么联系您"
		}
		subject = speakerTopic
		if m := hanPossessed.FindStringSubmatch(behind); m != nil {
			subject += "的" + m[1]
			behind = behind[len(m[0]):]
		} else if strings.HasPrefix(behind, "家") {
			return speakerTopic, behind
		}
		return subject, before + behind
	}
	for _, p := range []string{"她", "他", "它"} {
		if behind, ok := strings.CutPrefix(q, p); ok && !strings.HasPrefix(behind, "们") {
			return resolve(p), behind
		}
	}
	if n := hanKnownName(q, resolve); n > 0 {
		return q[:n], q[n:]
	}
	if m := hanAskedAlone.FindStringSubmatch(q); m != nil {
		return speakerTopic + "的" + m[1], q[len(m[0]):]
	}
	if m := hanAdverbs.FindString(q); m != "" && hanOwnNoun.MatchString(q[len(m):]) {
		q = q[len(m):] // "平时饮食怎么样"
	}
	words := grammar.Chinese(q)
	if len(words) == 0 {
		return "", ""
	}
	if hanAgeAsked.MatchString(q) || hanAttribute.MatchString(q) || hanSex.MatchString(q) {
		if topic == "" {
			return "", ""
		}
		if hanAttribute.MatchString(q) {
			return topic, "的" + q
		}
		return topic, q
	}
	if name := topic; name != "" && strings.HasPrefix(q, name) && name != speakerTopic {
		return name, q[len(name):]
	}
	if asked != speakerTopic {
		return "", ""
	}
	if first := &words[0]; first.Tag == "n" || first.Tag == "an" || hanOwnNoun.MatchString(q) {
		n := len(first.Text)
		if m := hanOwnNoun.FindString(q); m != "" {
			n = len(m)
		}
		if n == len(q) {
			return "", ""
		}
		return speakerTopic, "的" + q
	}
	if strings.HasPrefix(words[0].Tag, "n") || words[0].Tag == "x" && len(words) > 1 && !hanAspectOrVerb(words[1]) || words[0].Tag == "eng" {
		return "", "" // somebody or something else
	}
	return speakerTopic, q
}

var (
	// hanAdverbs matches words before the person who is asked.
	hanAdverbs = regexp.MustCompile(`^(?:现在|平时|以前|之前|目前|一般|通常|最近|今年|当时|当初|后来|从|那)+$`)
	// hanPossessed matches what the person who is asked has.
	hanPossessed = regexp.MustCompile(`^(?:们)?(?:的|家的?)?(` + hanKin + `|太太|先生|老人|老大|老二|老三|小孩|宝宝|家里人)`)
	// hanOwnNoun matches what somebody is asked for of themselves.
	hanOwnNoun = regexp.MustCompile(`^(?:身高体重|老家|预算|房子|房租|房贷|目标|职业|爱好|专业|工作|饮食|生日|电话|微信|地址|邮箱|店|公司|学校|收费|价格|工资|体重|身高|车|猫|狗|宠物)`)
)

func hanAspectOrVerb(w grammar.Word) bool { return aspects[w.Text] || strings.HasPrefix(w.Tag, "v") }

// ofThing completes the frame of "what" and "which".
func (f *hanFrame) ofThing(asked string) (hanFrame, bool) {
	which := strings.HasPrefix(asked, "哪")
	f.named = which
	noun := ""
	if which {
		noun = string([]rune(asked)[2:])
	} else if asked == "什么" || asked == "啥" {
		noun, f.after = hanNounAhead(f.after)
	}
	switch {
	case strings.HasSuffix(f.before, "做") || strings.HasSuffix(f.before, "干"):
		if !strings.HasPrefix(noun, "工作") && !strings.HasPrefix(noun, "的") && noun != "" && noun != "职业" && noun != "行业" {
			return *f, false
		}
		if noun == "" {
			return *f, false // "周末做什么": the answer is a verb
		}
		f.before, f.after = f.subject+"的职业是", ""
	case strings.HasSuffix(f.before, "的") && noun != "":
		f.before += noun + "是"
	case noun == "":
		f.after = strings.TrimSuffix(strings.TrimPrefix(f.after, "的"), "吗")
	case which:
	case strings.HasPrefix(noun, "问题") || strings.HasPrefix(noun, "情况") || strings.HasPrefix(noun, "名字") || strings.HasPrefix(noun, "病"):
	case utf8.RuneCountInString(noun) > 4:
		return *f, false
	case strings.HasSuffix(f.before, "有"):
		return *f, false // "有什么要求": what follows is often a clause
	default:
	}
	return *f, true
}

// hanNounAhead splits what follows "what" into the noun and the rest: "专业的" is a noun and a particle.
func hanNounAhead(s string) (noun, rest string) {
	end := 0
	for _, w := range grammar.Chinese(s) {
		if w.Text == "过敏" || !strings.HasPrefix(w.Tag, "n") && w.Tag != "vn" && w.Tag != "x" && w.Tag != "b" && (w.Tag != "v" || end > 0) {
			break
		}
		end = w.End
	}
	return s[:end], s[end:]
}

// completedBy returns the statement that the first clause of an answer makes of a question, with the further clauses of
// the sentence that say more of the same, and what is left of the sentence; "" if it makes none.
func (f *hanFrame) completedBy(sentence string) (said, left string) {
	s := hanWithoutLeadIns(strings.TrimRight(strings.TrimSpace(sentence), "。！!~～… "))
	clauses := hanClauseEnd.Split(s, 6)
	value := clauses[0]
	for range 2 {
		value = strings.TrimSpace(hanValueEnd.ReplaceAllString(hanValueLead.ReplaceAllString(value, ""), ""))
	}
	if value == "" || utf8.RuneCountInString(value) > 20 || hanNotValue.MatchString(value) || hanQuestion.MatchString(value) || !f.fits(value) {
		return "", ""
	}
	if strings.HasSuffix(f.before, value) {
		return "", ""
	}
	if at := strings.LastIndex(f.before, "对"); at >= 0 && strings.HasPrefix(value, "对") {
		value = strings.TrimPrefix(value, "对") // "对什么过敏": "对花生过敏"
	}
	if f.after != "" {
		value = strings.TrimSuffix(value, f.after)
	}
	after := f.after
	if f.kind == gapAmount || f.kind == gapSpan {
		after = strings.TrimSuffix(after, "了")
		if strings.HasSuffix(value, "了") {
			after = ""
		}
	}
	said = hanDouble.ReplaceAllStringFunc(f.before+value+after, func(m string) string { return m[:len(m)/2] })
	for i, more := range clauses[1:] {
		more = strings.TrimSpace(hanValueEnd.ReplaceAllString(more, ""))
		if !hanSaysMore(more) && !hanDoneBy.MatchString(more) {
			return said, strings.Join(clauses[1+i:], "，")
		}
		said += "，" + more
	}
	return said, ""
}

// hanDoneBy matches who did what the clause before names: "我表姐介绍的".
var hanDoneBy = regexp.MustCompile(`^我(?:的)?(?:` + hanKin + `)(?:介绍|推荐|送|买|做|给|装|设计|选|挑|帮忙\p{Han}{1,2})的$`)

// hanSaysMore reports whether a clause behind an answer says more of the same.
func hanSaysMore(clause string) bool {
	return clause != "" && !strings.ContainsAny(clause, "我你您他她它咱") && !hanOwnKin.MatchString(clause) && !hanSupposed.MatchString(clause) && !hanRequests.MatchString(clause) &&
		!hanQuestion.MatchString(clause) && !hanDangling.MatchString(clause) && !hanFelt.MatchString(clause) && !hanToListener.MatchString(clause)
}

// hanToListener matches what the listener should do.
var hanToListener = regexp.MustCompile(`^(?:千万|别|不要|请|最好|记得|麻烦|帮|一定|可以的话|能\p{Han}就行|就行|谢谢|多谢|放心|下次)|(?:就行|就好|可以吗)$`)

// fits reports whether a value is what a question asks for.
func (f *hanFrame) fits(value string) bool {
	if f.options != "" {
		return utf8.RuneCountInString(value) <= 6 && slices.ContainsFunc(strings.FieldsFunc(f.options, func(r rune) bool { return r == '、' || r == '还' || r == '，' }), func(o string) bool {
			return strings.Contains(o, value) || strings.Contains(value, o)
		}) || hanSex.MatchString(f.options) && utf8.RuneCountInString(value) <= 3 && strings.Contains(f.options, value)
	}
	switch f.kind {
	case gapTime:
		return hanTimeValue.MatchString(value)
	case gapAmount:
		return hanNumber.MatchString(value) && !hanHasVerb(value)
	case gapSpan:
		return hanNumber.MatchString(value) && (strings.ContainsAny(value, "年月天周到岁半") || hanTimeValue.MatchString(value)) && !hanHasVerb(value)
	case gapManner:
		return utf8.RuneCountInString(value) > 1 && !hanFeltOnly.MatchString(value) && !strings.ContainsAny(value, "哈")
	default:
		return !hanHasVerb(value) || f.named && utf8.RuneCountInString(value) <= 8 && !strings.ContainsAny(value, "了过着不没在有")
	}
}

// hanHasVerb reports whether words have a verb that is no part of a name or of what describes a noun.
func hanHasVerb(s string) bool {
	words := grammar.Chinese(s)
	for i := range words {
		w := &words[i]
		if (w.Tag == "v" || w.Tag == "vd" || w.Tag == "vi") && !strings.Contains(s[w.End:], "的") && i+1 < len(words) || i > 0 && aspects[w.Text] && w.Tag != "n" || w.Text == "没有" {
			return true
		}
		if w.Tag == "d" && w.Text != "最" && w.Text != "只" && w.Text != "左右" && i+1 < len(words) && words[i+1].Tag != "m" {
			return true
		}
	}
	return false
}
