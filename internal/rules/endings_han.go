package rules

import (
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds what a Chinese fact ends. What ends may come before the verb (把摩托车卖了, 降压药我停了), behind a
// preposition (从公司辞职了) or behind the verb (辞了书店的工作).

const hanEndVerbs = `辞职|离职|辞|不干|不做|退出|退学|退订|退|戒|停|取消|注销|卖|送人|送|扔|分手|不吃|不喝|不去|不养`

var (
	hanEndBefore = regexp.MustCompile(`^(?:已经|刚刚?|终于|也|就|后来|又)*(?:把|将|从|在|跟|和)?(?P<v>[\p{Han}A-Za-z]{1,12}?)(?:已经|刚刚?|终于|也|就|都|全|又|给)*(?P<verb>` + hanEndVerbs + `)(?:掉|给了?人)?了(?:[，,。；！!]|$)`)
	hanEndBehind = regexp.MustCompile(`^(?:已经|刚刚?|终于|也|就|后来|又)*(?P<verb>辞|退出|退订|退|戒|停|取消|注销|卖|送|扔)(?:掉了?|了)(?P<v>[\p{Han}A-Za-z]{1,12}?)(?:了?[，,。；！!]|$)`)
	// hanEndDate matches the date in front of what somebody does.
	hanEndDate = regexp.MustCompile(`^(?:在?(?:\d{4}年)?(?:\d{1,2}月)?(?:\d{1,2}[日号])?(?:那一?[周天个月]+)?[，,]?)`)
	// hanNoEnd matches an ending that did not come, or has not.
	hanNoEnd = regexp.MustCompile(`差点|差一点|没|想|打算|准备|要|可能|考虑|别|决定|如果|今天|这次|暂时|一天|两天|一次|一会`)
	// hanThingTail matches words behind a name that only say what kind of thing it is, hanThingHead those before it.
	hanThingTail = regexp.MustCompile(`的?(?:工作|兼职|活儿?|差事|会员卡?|课程?|药|账号|订阅)$|的$`)
	hanPaidTail  = regexp.MustCompile(`会员|账号|订阅`)
	hanThingHead = regexp.MustCompile(`^(?:我的|家里的|自己的|那|这|一)?[份辆台架只条个门张套款]?`)

	hanEngaged = map[string]*regexp.Regexp{
		"job":   regexp.MustCompile(`^(?:附近)?(?:的)?(?:打工|兼职|上班|工作|任职|当|做|教|实习|值班|唱|练|打|学|上课|踢|跳|会员|成员|社员|队员)`),
		"habit": regexp.MustCompile(`(?:吃|喝|抽|服用|用|注射|练|学|打|跑|玩|刷|嚼)(?:着|了|一?[包杯瓶片颗粒罐根]|两[包杯瓶片颗粒罐根])?$`),
		"owned": regexp.MustCompile(`(?:有|养了?|买了?|开着?|骑着?)(?:[一两二三]?[辆台架只条个套张匹把部艘]?(?:\p{Han}色的?|旧|老|新|小|大)?)$`),
		"paid":  regexp.MustCompile(`(?:办了?|订了?|订阅了?|开了?|买了?|报了?|有|是|参加了?|预约了?|充了?|续了?)(?:一?[张个份门]?)$`),
	}
	hanEndKinds = map[string]string{
		"辞职": "job", "离职": "job", "辞": "job", "不干": "job", "不做": "job", "退出": "job paid", "退学": "job", "退订": "paid", "退": "paid job", "戒": "habit", "停": "habit paid",
		"取消": "paid", "注销": "paid", "卖": "owned", "送人": "owned", "送": "owned", "扔": "owned", "不吃": "habit", "不喝": "habit", "不去": "paid job", "不养": "owned",
	}
	hanCouple = regexp.MustCompile(`(?:女朋友|男朋友|女友|男友|对象|恋爱|交往|在一起)`)
)

var (
	// hanJob matches what somebody works as or at, hanJobEnds that this ended, without saying what.
	hanJob     = regexp.MustCompile(`在\p{Han}{1,12}(?:工作|上班|任职|当|做|教|打工|实习|值班)|^ ?(?:是|当|做)(?:了|着)?(?:一?[名位个])?\p{Han}{0,8}(?:员|师|生|家|工|匠|会计|护士|司机|教练|经理|编辑|翻译|保安|保姆|兽医|主任|警察|导游)(?:[，,。！]|$)|的(?:工作|职业)是`)
	hanJobEnds = regexp.MustCompile(`^ ?(?:(?:上|这|前|去|今|昨)\p{Han}{0,3}|\d+年|\d+月|\d+日|那一周|已经|刚刚?|又|也|就|都)*(?:从\p{Han}{1,10})?(?:辞职|离职|退休|失业|下岗|被裁(?:员|掉)?|不干|转行|改行|换工作|跳槽)了`)
	// hanJobNow matches the job that somebody has in place of another.
	hanJobNow = regexp.MustCompile(`^ ?(?:现在|已经|刚刚?|今年|后来|也)*(?:现在是|当上|升任|升为|升成|升|成了|改行做|改行当|转行做|转行当)了?\p{Han}{0,8}(?:长|员|师|生|家|工|匠|会计|护士|司机|教练|经理|编辑|翻译|主任|主管|总监|老板)了?$`)
	// hanGone matches a place where somebody no longer is.
	hanGone = regexp.MustCompile(`(?:已经|早就|现在|早)*不在(?P<v>\p{Han}{1,10}?)(?:工作|上班|住|读书|上学|干|做|待)?了`)
	// hanReplaced matches what something else took the place of.
	hanReplaced = regexp.MustCompile(`^(?:的|把|将)*(?P<v>[\p{Han}A-Za-z]{1,10}?)(?:已经|又|也|被|给)*(?:换成|换为|改成|改为|换了)`)
	// hanOver matches what of somebody's ended by itself.
	hanOver = regexp.MustCompile(`^的(?:家里?的)?(?P<v>[\p{Han}A-Za-z]{1,10}?)(?:已经|上\p{Han}{1,2}|都|也|被|给)*(?:关|倒闭|结束|停办|解散|上完|学完|停|死|去世|丢|送人|卖)(?:掉)?了`)
	// hanDateMoved matches what somebody does, with the day it was moved to, hanDayDone the same of a day.
	hanDateMoved = regexp.MustCompile(`^ ?的?(?:` + hanMoved + `)(?P<v>` + hanNumeralDay + `)(?P<k>\p{Han}{1,8}?)了?$`)
	hanDayDone   = regexp.MustCompile(`^ ?(?P<v>(?:` + hanDay + `|` + hanNumeralDay + `)+)(?:晚上|早上|上午|下午)?(?P<k>\p{Han}{1,8}?)了?$`)
)

// hanRetires reports whether a Chinese fact says of the same person that what an older one tells ended or was replaced,
// without the words of the older one.
func (f *factFrame) hanRetires(old *factFrame) bool {
	if !isHan(f.text) || !isHan(old.text) || old.negated || !f.isOf(old.subject) || hanNoEnd.MatchString(strings.ReplaceAll(f.rest, "没了", "")) && !hanGone.MatchString(f.rest) {
		return false
	}
	rest, before := strings.TrimRight(f.rest, "。！! "), strings.TrimRight(old.rest, "。！!了 ")
	if hanJobEnds.MatchString(rest) && hanJob.MatchString(before) && !besideOther.MatchString(old.text) {
		return true
	}
	if hanJobNow.MatchString(rest) && hanJob.MatchString(before) && !besideOther.MatchString(f.text) {
		return true
	}
	if m := hanGone.FindStringSubmatch(rest); len(m) > 0 && strings.Contains(before, "在"+m[1]) {
		return true
	}
	for _, form := range []*regexp.Regexp{hanReplaced, hanOver} {
		if m := form.FindStringSubmatch(rest); len(m) > 0 && hanNamesLast(before, m[1]) {
			return true
		}
	}
	was := hanDayDone.FindStringSubmatch(before)
	if was == nil {
		return false
	}
	if thing, day := f.scheduled(hanMovedIt, hanMovedThing); thing != "" && strings.HasSuffix(was[2], thing) && !strings.HasPrefix(day, was[1]) {
		return true
	}
	moved := hanDateMoved.FindStringSubmatch(rest)
	return len(moved) > 0 && moved[2] == was[2] && moved[1] != was[1]
}

// isOf reports whether a Chinese fact is about somebody, or about a thing whose owner it does not say.
func (f *factFrame) isOf(subject string) bool {
	if f.subject == "" {
		return subject != "" && !strings.Contains(subject, "的") && hanNewsOfDay.MatchString(f.text)
	}
	return f.subject == subject
}

// hanNamesLast reports whether a Chinese fact is of one thing, and that is what is named.
func hanNamesLast(s, name string) bool {
	first, _, _ := strings.Cut(s, "，")
	isListed := strings.ContainsAny(first, "和跟、与")
	return !isListed && (strings.HasSuffix(first, name) || strings.HasSuffix(strings.TrimRight(first, "课班药店铺"), name))
}

// hanEnds reports whether a Chinese fact says that what an older one tells of the same person ended.
func (f *factFrame) hanEnds(old *factFrame) bool {
	if old.subject == "" || !isHan(old.text) || old.negated {
		return false
	}
	before, rest, found := strings.Cut(f.text, old.subject)
	if !found || hanNoEnd.MatchString(f.text) {
		return false
	}
	if rest = strings.TrimLeft(rest, " "); before != "" {
		if hanEndDate.FindString(before) != before {
			rest = strings.TrimRight(before, " ，,") + rest // what ends comes first
		}
	} else if rest = strings.TrimPrefix(rest, "的"); hanOwnKin.MatchString(rest) || strings.Contains(f.text, old.subject+"的") && strings.Contains(rest, "把") {
		return false // somebody else's end
	}
	rest = rest[len(hanEndDate.FindString(rest)):]
	for _, form := range []*regexp.Regexp{hanEndBefore, hanEndBehind} {
		m := form.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		thing, verb := m[form.SubexpIndex("v")], m[form.SubexpIndex("verb")]
		if hanOwnKin.MatchString(thing) && verb != "分手" {
			return false
		}
		thing = hanThingHead.ReplaceAllString(thing, "")
		if verb == "分手" {
			return hanCouple.MatchString(old.rest) && strings.Contains(old.rest, thing)
		}
		kinds, tail := hanEndKinds[verb], hanThingTail.FindString(thing)
		if hanPaidTail.MatchString(tail) {
			kinds = "paid"
		}
		for _, name := range []string{thing, strings.TrimSuffix(thing, tail)} {
			if name != "" && hanIsEngaged(old, name, kinds) {
				return true
			}
		}
	}
	return false
}

// hanIsEngaged reports whether a fact says that somebody works at, does, has or pays for what is named, and lists
// nothing beside it.
func hanIsEngaged(old *factFrame, name, kinds string) bool {
	rest := strings.TrimRight(old.rest, "。！!了 ")
	at := strings.LastIndex(rest, name)
	if at < 0 {
		return false
	}
	before, after := rest[:at], rest[at+len(name):]
	for kind := range strings.FieldsSeq(kinds) {
		form := hanEngaged[kind]
		switch {
		case kind == "job" && form.MatchString(after) && !strings.HasSuffix(before, "和"):
			return true
		case kind != "job" && form.MatchString(before) && (after == "" || hanThingTail.FindString(after) == after || strings.HasPrefix(after, "，")):
			return true
		}
	}
	return false
}
