package rules

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

var (
	hanLeadIns = regexp.MustCompile(`^(?:嗯+|啊+|哦+|噢|好了|好啦|行了|算了|得了|别提了|别说了|是啊|也是|哈|哇|要的|哎呀?|唉|嗨|嘿|喂|哈哈+|呵呵|其实|对了|说实话|老实说|话说|不过|但是?|而且|所以|然后|另外|还有|那么?|你好|您好|早上好|晚上好|是的|对啊|好的|当然|没错|谢谢你?|多谢|顺便说一下|请记住|记住|你知道吗|告诉你|跟你说|我跟你说|我告诉你|我想告诉你|我觉得|我想说)[，,、！!。：:~ ]*`)
	// hanReplies matches a reply in front of what somebody says.
	hanReplies   = regexp.MustCompile(`^(?:对|好|还好|还行|还可以|不知道|没事|没关系|好多了|那应该没事|可以|可以的|真?厉害|太棒了|没问题|不错|挺好的?|行|行啊|放心|不客气|哪里哪里|太好了|那太\p{Han}{1,2}了|那就好|原来如此|辛苦了|恭喜)[，,、！!。]+`)
	hanRequests  = regexp.MustCompile(`^(?:请|麻烦|帮我|帮忙|告诉我|给我|能不能|能否|可以帮|你能|你可以|我想请你|我想让你|我要你|我希望你|我想问|我想知道|想问|教我)|一下吗|好吗|行吗`)
	hanReactions = regexp.MustCompile(`^(?:我(?:也|都|真|很|太|非常|好)*(?:知道了|明白|懂|同意|理解|相信|希望|觉得|猜|认为|感谢|谢谢|高兴听到|羡慕|没事|还好|很好|可以|也是)|太(?:好|棒|可惜)|真(?:好|棒|可惜|的)|谢谢|感谢|再见|晚安|加油|恭喜|祝)`)
	hanSupposed  = regexp.MustCompile(`如果|要是|假如|假设|万一|也许|可能会|说不定|要不是|本来`)
	hanQuestion  = regexp.MustCompile(`[?？]|(?:吗|呢|么)[。！!~]*$|^(?:什么|怎么|为什么|哪|谁|几点|多少)|是不是|有没有|好不好`)
	hanKin       = `大伯|伯伯|伯父|伯母|[二三四小大]叔|叔父|婶婶|婶|[大二三小]姨|姨妈|姨父|[大二小]姑|姑父|姑妈|[大二小]舅|舅妈|舅父|儿媳妇?|外孙女|外孙|弟媳|弟妹|嫂嫂|姐夫|妹夫|嫂子|女婿|妈妈|爸爸|母亲|父亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥|弟弟|姐姐|妹妹|丈夫|妻子|老公|老婆|女朋友|男朋友|女友|男友|儿子|女儿|孩子|同事|朋友|室友|老板|邻居|同学|老师|表哥|表弟|表姐|表妹|堂哥|堂弟|叔叔|阿姨|舅舅|姑姑|妈|爸|哥|弟|姐|妹|家人|父母|婆婆|公公|岳父|岳母|丈母娘|闺女|外甥女?|侄子|侄女|孙子|孙女|老伴|爱人|媳妇`
	hanOwnKin    = regexp.MustCompile(`^(?:` + hanKin + `)`)
	hanOthers    = regexp.MustCompile(`^\p{Han}{2,3}(?:住在|喜欢|搬到|爱吃|是我|在\p{Han}{1,8}(?:工作|上班|上学|读书))`)
	hanClipped   = regexp.MustCompile(`^(?:(?:昨天|前天|今天|今早|昨晚|上周\p{Han}?|上个月|去年|刚刚|刚|最近|上周末|周末|明天|下周\p{Han}?|下个月|明年)[，, ]?)?(?:和\p{Han}{1,6}(?:一起)?)?(?:去了|买了|吃了|看了|参加了|打算|准备|计划|刚去|刚买|搬到|学会了|开始|完成了|收到了|要去|想去|决定)`)
	hanSelfKin   = regexp.MustCompile(`我(` + hanKin + `|们家|家|公司|们公司|们学校|学校)`)
	hanCalled    = regexp.MustCompile(`((?:叫|喊|称呼))我(` + hanKin + `)$`)
	hanEmpty     = regexp.MustCompile(`[的了是在有和也都就很还不我们你他她它这那个些吧啊呀哦呢吗嘛哈真太好想要说觉得知道]|\P{L}`)
)

// hanFact returns the fact of a Chinese sentence, or "" if it has none.
func hanFact(s, name string, saidAt time.Time) string {
	s = hanWithoutLeadIns(strings.TrimSpace(s))
	if s == "" || utf8.RuneCountInString(s) > maxFactRunes || hanQuestion.MatchString(s) || hanRequests.MatchString(s) ||
		hanReactions.MatchString(s) || hanSupposed.MatchString(s) || injectedInstructions.MatchString(s) || strings.ContainsAny(s, "你您") || hanUnclear(s) {
		return ""
	}
	self := strings.Contains(s, "我") || strings.Contains(s, "咱们")
	switch {
	case self:
	case hanOwnKin.MatchString(s), hanThingOnDay.MatchString(s):
		s = name + "的" + s
	case hanClipped.MatchString(s):
		s = name + s
	case !hanOthers.MatchString(s) && !hanNewsOfDay.MatchString(s) && !hanTellsOfNamed(s):
		return ""
	}
	if utf8.RuneCountInString(hanEmpty.ReplaceAllString(s, "")) < 2 {
		return ""
	}
	return hanRetell(resolveDates(s, saidAt), name)
}

// hanThingOnDay matches a new thing that is expected on a day.
var hanThingOnDay = regexp.MustCompile(`^(?:新|家里的?|订的)\p{Han}{1,6}?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号](?:才|就)?(?:送|到|装|取|开)`)

// hanTellsOfNamed reports whether a sentence begins with the name of somebody and says what they are, have or do.
func hanTellsOfNamed(s string) bool {
	n := hanNameAt(s, "")
	if n == 0 || isLatin(s[:n]) || hanNotNamed.MatchString(s) {
		return false
	}
	rest := s[n:]
	return hanOfPerson.MatchString(rest) && !hanUrges.MatchString(rest) && startsPredicate(grammar.Chinese(rest), true)
}

var (
	// hanOfPerson matches what lasts of a person or an animal, or ended.
	hanOfPerson = regexp.MustCompile(`^(?:今年|现在|以前|之前|上周|上个月|去年|明年|最近|也|都|还|刚|已经|早就|平时|八月|五月)*(?:是|在|住|对|当|做|开|养|有|喜欢|爱|会|学|教|辞|离|退|搬|调|结|离婚|生|怀|考|上|读|毕业|从|打过|练|吃|怕|不吃|不喜欢|\d+岁|[一二三四五六七八九十]{1,3}(?:岁|个月))`)
	// hanUrges matches the end of a proposal or a question.
	hanUrges = regexp.MustCompile(`(?:吧|呗|啊|呀|哦|嘛|哈|呢)[。！!~]*$`)
	// hanNotNamed matches words that begin like a name.
	hanNotNamed = regexp.MustCompile(`^(?:小时|小学|小区|小孩|小心|老家|老是|老板|老师|老人|老公|老婆|老伴|阿姨|高中|高兴|周末|周[一二三四五六日天]|平时|明年|明天|时间|白天|单位|房租|房子|金额|石头|花[了费]|温度|成绩|安全|方便|方法|车[子票]|马上|黄金|江[里边]|毛[病衣]|包[括子]|应该|终于|于是)`)
)

// hanWithoutLeadIns returns a sentence without what introduces it, of which there may be several.
func hanWithoutLeadIns(s string) string {
	for range 4 {
		was := s
		if s = hanReplies.ReplaceAllString(hanLeadIns.ReplaceAllString(s, ""), ""); s == was {
			break
		}
	}
	return s
}

// hanRetell rewrites a Chinese sentence in the third person: "我的狗" becomes "小王的狗".
func hanRetell(s, name string) string {
	s = hanSelfKin.ReplaceAllString(hanCalled.ReplaceAllString(s, "$1\u200b我\u200b$2"), "我的$1")
	s = strings.ReplaceAll(s, "\u200b", "")
	s = strings.ReplaceAll(s, "的们", "们的")
	for _, w := range []string{"咱们", "我们"} {
		s = strings.ReplaceAll(s, w, "我")
	}
	var b strings.Builder
	var last rune
	rest := s
	for rest != "" {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case r == '我' && strings.HasPrefix(rest, "我自己"):
			b.WriteString("自己")
			n = len("我自己")
		case r == '我' && last != '自' && last != '忘' && !strings.HasPrefix(rest, "我国"):
			if isLatin(name) && b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(name)
			if isLatin(name) && !strings.HasPrefix(rest[n:], "的") {
				b.WriteByte(' ')
			}
		default:
			b.WriteRune(r)
		}
		last = r
		rest = rest[n:]
	}
	out := strings.TrimRight(strings.Join(strings.Fields(b.String()), " "), "，,、；;：:。.!！~～… ")
	if out == "" {
		return ""
	}
	return out + "。"
}

func isLatin(s string) bool {
	return !hasHan(s)
}

// The forms of likings and trips in Chinese that the rules read.
var (
	hanLikedThing = regexp.MustCompile(`^(\p{Han}{2,10}?)是(用户|\p{Han}{2,3}|[A-Za-z]+ ?)的(?:一个|一项|一大)?(?:爱好|兴趣)`)
	hanHobby      = regexp.MustCompile(`的(?:一个|一项)?(?:兴趣爱好|爱好|兴趣)是`)
	hanKeenOn     = regexp.MustCompile(`对(\p{Han}{1,8}?)(?:很|非常|特别|十分|也)*(?:感兴趣|有兴趣|着迷)`)
	hanPlan       = regexp.MustCompile(`打算|计划|准备|想要?$|可能|考虑|将要?$|要$|会$|希望`)
	hanCalledOff  = regexp.MustCompile(`取消|放弃|泡汤|不(?:再|打算|想|会|能|准备)?(?:去|飞|到)`)
	hanTripTo     = regexp.MustCompile(`(?:去|飞往|飞|前往|到)(\p{Han}{2,6}?)(?:了|旅|玩|度假|出差|看|参观|游|的|之|一趟|开会|$|[，,。；、！!])`)
	hanNamedTrip  = regexp.MustCompile(`(?:的|消了?|弃了?|了|去|飞|往|到|^)(\p{Han}{2,4}?)(?:之行|之旅|的?行程|的?旅行|的?旅游|游)`)
)

// hanTripsIn is tripsIn for Chinese.
func hanTripsIn(s string) []string {
	var out []string
	for _, form := range []*regexp.Regexp{hanTripTo, hanNamedTrip} {
		for _, m := range form.FindAllStringSubmatch(s, 4) {
			if !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// hanCanceledTrips is canceledTrips for Chinese.
func hanCanceledTrips(rest string) []string {
	if !hanCalledOff.MatchString(rest) {
		return nil
	}
	return hanTripsIn(rest)
}

// normalizeHanLiking rewrites the ways to say that somebody likes something to one form with the
// subject in front.
func normalizeHanLiking(s string) string {
	s = hanLikedThing.ReplaceAllString(s, "${2}喜欢$1")
	return hanKeenOn.ReplaceAllString(hanHobby.ReplaceAllString(s, "喜欢"), "喜欢$1")
}
