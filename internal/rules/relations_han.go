package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads relations from Chinese sentences, clause by clause: who a clause is about, what comes before its
// verb, the verb, and the noun phrase or activity behind it.

// hanForm says what the object of a verb is.
type hanForm int

const (
	hanThing    hanForm = iota // a noun phrase, or several
	hanActivity                // a verb with its object, or a noun phrase
	hanPlaceAt                 // a noun phrase, of which only a name of a place is meant where the rule says so
)

// hanRule reads a relation from the verb of a clause.
type hanRule struct {
	verb     *regexp.Regexp // matches from the beginning of the predicate
	relation string
	kind     string // of the object
	form     hanForm
	object   *regexp.Regexp // what the object must match; nil: anything
}

func hanVerb(verbs string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + verbs + `)`) }

const (
	hanMeasure = `[一两几二三四五六七八九十半\d]*(?:[只个条位名辆台本家套把架张间份门款幅部艘栋盒瓶杯包双件块棵盆缸匹头群些种所])`
	hanJobs    = `(?:师|员|生|家|手|工|长|商|匠|经理|教练|护士|会计|司机|翻译|导游|主任|助理|顾问|老板|秘书|保安|编辑|记者|演员|模特|客服|销售|保姆|月嫂|警察|军人|农民|法官|医生|律师|老师|作家|志愿者)$`
)

// hanWorksAs and hanDoesJob are what somebody is by profession.
var (
	hanWorksAs = hanRule{hanVerb(`(?:在)?担任了?|出任|当上?了?`), "works_as", typeThing, hanThing, nil}
	hanDoesJob = hanRule{hanVerb(`做了?|干`), "works_as", typeThing, hanThing, regexp.MustCompile(hanJobs)}
)

// hanRules are tried in order.
var hanRules = []hanRule{
	{hanVerb(`居?住在|住进了?|定居在?|定居于|生活在|租住在`), "lives_in", typePlace, hanThing, nil},
	{hanVerb(`(?:从[\p{Han}]{1,8}?)?(?:搬家?|迁居?|移居)(?:到|去|来|进|回)了?`), "lives_in", typePlace, hanThing, nil},
	{hanVerb(`来自`), "is_from", typePlace, hanThing, nil},
	{hanVerb(`(?:的?)老家(?:就)?[在是]`), "is_from", typePlace, hanThing, nil},
	{hanVerb(`出生[在于]|生在`), "born_in", typePlace, hanThing, nil},
	{hanVerb(`毕业于|就读于|考上了?|考进了?`), "studied_at", typeOrganization, hanThing, nil},
	{hanVerb(`入职了?|跳槽[到去]了?|任职于|供职于`), "works_at", typeOrganization, hanThing, nil},
	{hanVerb(`调[到去]了?|转[到去]了?|转岗到`), "transferred_to", typeOrganization, hanThing, regexp.MustCompile(`(?:部|组|科|处|院|所|校|公司|厂|店|局|中心|分行|学校|班|队|医院|大学)$`)},
	hanWorksAs, hanDoesJob,
	{hanVerb(`负责`), "is_responsible_for", typeThing, hanActivity, nil},
	{hanVerb(`服用|在吃|每天吃`), "takes", typeThing, hanThing, regexp.MustCompile(`(?:药|片|素|胶囊|丸|颗粒|洛尔|地平|双胍|他汀)$`)},
	{hanVerb(`不(?:太|怎么|大|再)?(?:喜欢|爱)|讨厌|受不了`), "dislikes", typeThing, hanActivity, nil},
	{hanVerb(`喜欢上?|热爱|酷爱|喜爱|偏爱|迷上了?|爱上了?|爱`), "likes", typeThing, hanActivity, nil},
	{hanVerb(`放弃了?`), "gave_up", typeThing, hanActivity, nil},
	{hanVerb(`戒掉了?|戒了?`), "gave_up", typeThing, hanThing, nil},
	{hanVerb(`取消了?|退订了?`), "cancelled", typeThing, hanThing, nil},
	{hanVerb(`退出了?|辞去了?|辞掉了?|辞了`), "quit", typeThing, hanThing, nil},
	{hanVerb(`卖掉?了`), "sold", typeThing, hanThing, nil},
	{hanVerb(`(?:打算|计划|准备|决定|希望|盼望|想要|想|要|将要?)(?:再|先)?`), "plans", typeThing, hanActivity, nil},
	{hanVerb(`会?(?:说|讲)`), "speaks", typeThing, hanThing, regexp.MustCompile(`(?:语|话|文)$`)},
	{hanVerb(`会?(?:弹|拉|吹|敲)`), "plays", typeThing, hanThing, nil},
	{hanVerb(`会?(?:打|踢|玩)`), "plays", typeThing, hanThing, regexp.MustCompile(`(?:球|拳|麻将|牌|太极|游戏|棋|鼓|冰壶|飞盘|桌游|滑板)$`)},
	{hanVerb(`会?下`), "plays", typeThing, hanThing, regexp.MustCompile(`棋$`)},
	{hanVerb(`在?练习?着?`), "practises", typeThing, hanActivity, nil},
	{hanVerb(`在?学习?[着了过]?`), "studies", typeThing, hanActivity, nil},
	{hanVerb(`[攻修]读|主修|读`), "studies", typeThing, hanThing, regexp.MustCompile(`(?:学|专业|系|科|MBA)$`)},
	{hanVerb(`教`), "teaches", typeThing, hanThing, nil},
	{hanVerb(`(?:参加|加入)了?`), "joined", typeOrganization, hanThing, nil},
	{hanVerb(`报名?(?:参加)?了`), "signed_up_for", typeThing, hanThing, nil},
	{hanVerb(`(?:飞|去|前往|到)[了过]|去到|参观[了过]?|游览[了过]?`), "went_to", typePlace, hanPlaceAt, nil},
	{hanVerb(`飞往?|去|前往`), "goes_to", typePlace, hanPlaceAt, nil},
	{hanVerb(`养[了着过]?`), "has", typeThing, hanThing, nil},
	{hanVerb(`有`), "has", typeThing, hanThing, nil},
	{hanVerb(`买(?:了|到|下)|收到了?|得到了?|领养了|收养了|捡了|继承了`), "got", typeThing, hanThing, nil},
	{hanVerb(`(?:新)?开(?:了|着|办了?)?`), "runs", typeOrganization, hanThing, regexp.MustCompile(`(?:店|馆|公司|厂|诊所|工作室|民宿|酒吧|餐厅|饭店|农场|农庄|事务所|学校|培训班|超市|摊|画廊|书屋|茶室|客栈|网吧|面包房|花房|养老院|幼儿园)$`)},
	{hanVerb(`(?:是)?吃素的?|(?:是)?素食主义者|是素食者`), "follows_diet", typeThing, hanThing, nil},
	{hanVerb(`吃`), "eats", typeThing, hanThing, nil},
	{hanVerb(`喝`), "drinks", typeThing, hanThing, nil},
	{hanVerb(`是`), "is", typeThing, hanThing, nil},
}

// Before the verb of a Chinese clause come times, adverbs and whom something is done with.
var (
	hanBeforeVerb = regexp.MustCompile(`^(?:不过|但是?|而且|所以|因为|可是|然后|另外|还有|在?(?:\d{4}年)?(?:\d{1,2}月)?\d{1,2}[日号](?:那天)?|(?:\d{4}年)(?:\d{1,2}月)?|\d{1,2}月份?|[一二三四五六七八九十]{1,2}月份?|[今去明前后]年|[上下这本每]个?(?:周|星期|礼拜|月|年)[一二三四五六日天末]?|(?:周|星期|礼拜)[一二三四五六日天末](?:早上|上午|下午|晚上)?|那一?(?:周|天|个?周末|个?月|年)|每[天晚早]|今天|昨天|明天|早上|上午|中午|下午|晚上|周末|平时|现在|目前|如今|最近|之前|以前|从前|小时候|从小|` +
		`一直|已经|早就|早已|早|刚刚|刚|终于|也|都|还是|还|就|又|才|只|很|非常|特别|真的|最|比较|挺|蛮|经常|常常|常|有时候?|偶尔|总是|一般|自己|一个人|正在|正|后来|当时|新|同时|兼职|业余|主要|` + ` |，)+`)
	hanNot         = regexp.MustCompile(`^(?:不再|没有|没|不会|不能|不|别)`)
	hanCompany     = regexp.MustCompile(`^(?:和|跟|与|同|陪着?|带着?)([\p{Han}A-Za-z]{1,8}?)(一起住|一块住|住在一起|同住|合租|一起生活|结婚|订婚|恋爱|谈恋爱|交往|离婚|分手|一起|一块儿?)了?`)
	hanDoneTo      = regexp.MustCompile(`^(?:把|将)([\p{Han}A-Za-z]{1,10}?)(?:都|全|也|给)?(卖掉|卖|送人|送给|送|扔|退|退订|取消|注销|戒|辞)(?:掉)?(?:了|$|[\p{Han}]{1,6}了)`)
	hanComesFrom   = regexp.MustCompile(`^(?:是)?从(\p{Han}{2,8}?)(?:过?来的?|搬?过来的?)$`)
	hanGraduated   = regexp.MustCompile(`^从(\p{Han}{2,12}?)毕业`)
	hanQuits       = regexp.MustCompile(`^(?:从|在)?([\p{Han}A-Za-z]{2,12}?)(?:辞职|离职|退休)了?$`)
	hanAllergic    = regexp.MustCompile(`^对(.{1,24}?)(?:严重|轻度|有点儿?|也|都|很)*过敏`)
	hanKeen        = regexp.MustCompile(`^对(.{1,16}?)(?:很|非常|特别|十分|也|挺)*(?:感兴趣|有兴趣|着迷)`)
	hanNamed       = regexp.MustCompile(`^(?:的)?(?:名字)?(?:叫做?|名叫|取名叫?|起名叫?)([A-Za-z]+|\p{Han}{2,4})$`)
	hanIsKinOf     = regexp.MustCompile(`^是([A-Za-z]+ ?|\p{Han}{2,3}?)的(` + hanKin + `)(?:$|[，,])`)
	hanAt          = regexp.MustCompile(`^在`)
	hanWorksThere  = regexp.MustCompile(`^(?:工作|上班|任职|当|做|干|实习|打工|兼职|教书|负责|从事|就职)`)
	hanLearnsThere = regexp.MustCompile(`^(?:读书|上学|读|念|学习|上课|留学|进修|学)`)
	hanNear        = regexp.MustCompile(`^(?:的)?(?:旁边|附近|对面|边上|隔壁|那边|周边|旁)`)
	hanEnds        = regexp.MustCompile(`了$`)
	// hanNoThing matches what is no thing: a time, an amount, or what only the sentences before could explain.
	hanNoThing = regexp.MustCompile(`^(?:[\d一二三四五六七八九十两几半零〇]*(?:年|个?月|[日号天周岁点次遍趟块元]|小时|分钟|星期|礼拜|公斤|斤|米|公里|万|千|百)+[前后多左右半]*|.{0,2}(?:东西|事情?|时候|办法|样子|感觉|问题|原因|意思|机会|方面|地方|别的|其他|什么|一下|一点|一些|一样|家|人|里|上|下|好|多|大|小))$`)
)

// hanClauseBreak matches what ends a clause.
var hanClauseBreak = regexp.MustCompile(`[，,；;。！!？?：:]+`)

// hanClause is a clause whose subject is known.
type hanClause struct {
	subject mem0.Entity
	rest    string // behind the subject
}

// hanStatements reads one Chinese sentence in the third person. A clause without a subject is about that of the
// clause before.
func hanStatements(s, user string) []statement {
	var out []statement
	topic, last := "", "" // whom the clause before is about, and the last thing in it
	for _, c := range hanClauseBreak.Split(s, -1) {
		c = strings.TrimSpace(c)
		if c == "" {
			continue
		}
		if m := hanNamed.FindStringSubmatch(c); m != nil && last != "" && isHanNameEnd(m[1]) {
			out = append(out, statement{mem0.Entity{Entity: last, Type: typeThing}, mem0.Entity{Entity: m[1], Type: typeThing}, "is_named"})
			continue
		}
		clause, kin := hanSubjectOf(c, user, topic)
		if clause.subject.Entity == "" {
			topic, last = "", ""
			continue
		}
		found := clause.statements(user)
		if len(kin) > 0 && (len(found) > 0 || len(grammar.Chinese(clause.rest)) > 1 && !strings.HasPrefix(clause.rest, "的")) {
			out = append(out, kin...)
		}
		out = append(out, found...)
		topic, last = clause.subject.Entity, ""
		if len(found) > 0 {
			last = found[len(found)-1].destination.Entity
		}
	}
	return out
}

// hanSubjectOf finds whom a clause is about, and the relation that names them. topic is whom the clause before is
// about. The subject is empty if it is not certain.
func hanSubjectOf(c, user, topic string) (clause hanClause, kin []statement) {
	person := func(name string) mem0.Entity { return mem0.Entity{Entity: strings.TrimSpace(name), Type: typePerson} }
	var owner, rest string
	if dated := hanBeforeVerb.ReplaceAllString(c, ""); dated != c && hanNameAt(dated, user) > 0 {
		c = dated
	}
	switch n := hanNameAt(c, user); {
	case n > 0:
		owner, rest = hanUser(c[:n], user), strings.TrimPrefix(c[n:], " ")
	case topic == "":
		return clause, nil
	case strings.HasPrefix(c, "她") || strings.HasPrefix(c, "他"):
		// A pronoun is not the speaker.
		if topic == hanUser("用户", user) || strings.HasPrefix(c[len("她"):], "们") {
			return clause, nil
		}
		owner, rest = topic, c[len("她"):]
	case hanOwnKin.MatchString(c):
		owner, rest = topic, "的"+c
	default:
		if !hanStartsPredicate(c) {
			return clause, nil
		}
		return hanClause{person(topic), c}, nil
	}
	clause = hanClause{person(owner), rest[len(hanHousehold.FindString(rest)):]}
	m := hanKinOf.FindStringSubmatch(rest)
	if m == nil {
		return clause, nil
	}
	relation, behind := "is_"+hanKinRelation(m[1])+"_of", rest[len(m[0]):]
	name := ""
	if named := hanKinCalled.FindStringSubmatch(behind); len(named) > 2 && isHanNameEnd(named[2]) && (named[1] != "是" || hanNameAt(named[2], "") == len(named[2])) {
		name, behind = named[2], ""
	} else if n := hanNameAt(behind, ""); n > 0 && !hanRelative.MatchString(behind) {
		name, behind = behind[:n], behind[n:]
	}
	if name == "" {
		name = owner + "的" + m[1]
	}
	clause = hanClause{person(name), strings.TrimSpace(behind)}
	kin = []statement{{person(name), person(owner), relation}}
	if behind == "" && name == owner+"的"+m[1] {
		return hanClause{}, nil // "the teacher of Ana" is no statement
	}
	if behind == "" {
		clause.rest = "。。"
	}
	return clause, kin
}

var (
	// hanHousehold matches a family that has what somebody of it has.
	hanHousehold = regexp.MustCompile(`^的?家里?(?:还|也|又)?`)
	hanKinOf     = regexp.MustCompile(`^(?:家)?的(?:大|小|二|三)?(爸妈|` + hanKin + `)`)
	hanKinCalled = regexp.MustCompile(`^(?:名字)?(叫做?|名叫|是)([A-Za-z]+|\p{Han}{2,4})$`)
	hanRelative  = regexp.MustCompile(`^(?:` + hanKin + `)`)
)

// hanUser returns the name for a word of the user.
func hanUser(name, user string) string {
	name = strings.TrimSpace(name)
	if name == "用户" || name == "我" {
		if user == "" {
			return "用户"
		}
		return user
	}
	return name
}

// statements returns what a clause states of its subject.
func (c hanClause) statements(user string) []statement {
	rest := strings.TrimSpace(c.rest)
	negated, ended := false, hanEnds.MatchString(rest)
	said := func(relation, object, kind string) []statement {
		if object = strings.TrimSpace(object); !isHanThing(object) {
			return nil
		}
		return []statement{{c.subject, mem0.Entity{Entity: object, Type: kind}, relation}}
	}
	if hanFormerly.MatchString(rest) {
		return nil
	}
	habit := hanHabitually.MatchString(hanBeforeVerb.FindString(rest))
	for range 3 {
		rest = hanBeforeVerb.ReplaceAllString(rest, "")
		if m := hanNot.FindString(rest); m != "" && !strings.HasPrefix(rest, "不喜欢") && !strings.HasPrefix(rest, "不爱") {
			negated, rest = true, rest[len(m):]
		}
	}
	with := func(relation, name string, negated bool) []statement {
		if negated {
			relation = negatedRelation + relation
		}
		if m := hanWithKin.FindStringSubmatch(name); m != nil {
			kin := strings.TrimPrefix(m[1], "他的")
			who := c.subject.Entity + "的" + kin
			if m[2] != "" {
				who = m[2]
			}
			return []statement{{mem0.Entity{Entity: who, Type: typePerson}, c.subject, "is_" + hanKinRelation(kin) + "_of"}, {c.subject, mem0.Entity{Entity: who, Type: typePerson}, relation}}
		}
		if n := hanNameAt(name, user); n != len(name) || n == 0 {
			return nil
		}
		return []statement{{c.subject, mem0.Entity{Entity: hanUser(name, user), Type: typePerson}, relation}}
	}
	if m := hanCompany.FindStringSubmatch(rest); m != nil {
		switch m[2] {
		case "结婚":
			return with("is_married_to", m[1], negated)
		case "订婚":
			return with("is_engaged_to", m[1], negated)
		case "恋爱", "谈恋爱", "交往":
			return with("dates", m[1], negated)
		case "离婚", "分手":
			return with("separated_from", m[1], negated)
		case "一起", "一块", "一块儿":
			if behind := rest[len(m[0]):]; strings.HasPrefix(behind, "住") && !strings.HasPrefix(behind, "住在") {
				return with("lives_with", m[1], negated)
			}
			rest = hanBeforeVerb.ReplaceAllString(rest[len(m[0]):], "")
		default:
			return with("lives_with", m[1], negated)
		}
	} else if m := hanWithSomebody.FindString(rest); m != "" {
		if phrase, end := hanNounPhraseAt(rest[len(m):]); phrase != "" {
			rest = hanBeforeVerb.ReplaceAllString(rest[len(m)+end:], "")
		}
	}
	switch {
	case hanNamed.MatchString(rest):
		if name := hanNamed.FindStringSubmatch(rest)[1]; isHanNameEnd(name) && !negated {
			return said("is_named", name, typePerson)
		}
		return nil
	case hanIsKinOf.MatchString(rest):
		m := hanIsKinOf.FindStringSubmatch(rest)
		if owner := strings.TrimSpace(m[1]); !negated && hanNameAt(owner+"的", user) == len(owner) {
			return []statement{{c.subject, mem0.Entity{Entity: hanUser(owner, user), Type: typePerson}, "is_" + hanKinRelation(m[2]) + "_of"}}
		}
		return nil
	case hanDoneTo.MatchString(rest):
		m := hanDoneTo.FindStringSubmatch(rest)
		return said(hanDone[m[2]], m[1][len(hanCount.FindString(m[1])):], typeThing)
	case hanComesFrom.MatchString(rest):
		return said("is_from", hanComesFrom.FindStringSubmatch(rest)[1], typePlace)
	case hanGraduated.MatchString(rest):
		return said("studied_at", hanGraduated.FindStringSubmatch(rest)[1], typeOrganization)
	case hanQuits.MatchString(rest):
		if phrase, end := hanNounPhraseAt(hanQuits.FindStringSubmatch(rest)[1]); end > 0 && hanQuits.FindStringSubmatch(rest)[1][:end] == phrase {
			return said("quit", phrase, typeOrganization)
		}
		return nil
	case hanAllergic.MatchString(rest):
		return c.list("is_allergic_to", hanAllergic.FindStringSubmatch(rest)[1], negated)
	case hanKeen.MatchString(rest):
		return c.list("is_interested_in", hanKeen.FindStringSubmatch(rest)[1], negated)
	case hanAt.MatchString(rest):
		return c.atPlace(rest[len("在"):], negated, user)
	}
	for i := range hanRules {
		r := &hanRules[i]
		at := r.verb.FindStringIndex(rest)
		if at == nil {
			continue
		}
		if !habit && !negated && (r.relation == "eats" || r.relation == "drinks") {
			continue // what somebody ate once
		}
		if found := c.byRule(r, rest[:at[1]], rest[at[1]:], negated, ended); len(found) > 0 {
			return found
		}
	}
	return nil
}

// hanFormerly matches a time that is over, behind which a clause tells what was.
var hanFormerly = regexp.MustCompile(`^(?:以前|从前|之前|曾经?|小时候|原来|本来|过去)`)

// hanHabitually matches adverbs of what is done again and again.
var hanHabitually = regexp.MustCompile(`只|常|每|一直|都|总|平时|一般|爱`)

// hanDone maps what is done to a thing to the name of the relation.
var hanDone = map[string]string{
	"卖": "sold", "卖掉": "sold", "送": "gave_away", "送人": "gave_away", "送给": "gave_away", "扔": "threw_away", "退": "returned", "退订": "cancelled", "取消": "cancelled",
	"注销": "cancelled", "戒": "gave_up", "辞": "quit",
}

var (
	hanWithKin      = regexp.MustCompile(`^(` + hanKin + `)([A-Za-z]+|\p{Han}{2,3})?$`)
	hanWithSomebody = regexp.MustCompile(`^(?:和|跟|与|同|陪着?|带着?|给|为)`)
)

// byRule reads the object behind a verb.
func (c hanClause) byRule(r *hanRule, verb, behind string, negated, ended bool) []statement {
	relation, kind := r.relation, r.kind
	var objects []string
	switch {
	case verb == "有" && hanCount.FindString(behind) == "" && !hanIllness.MatchString(behind):
		return nil // "有时间", "有意思"
	case relation == "follows_diet":
		objects = []string{"素食"}
	case r.form == hanActivity:
		if activity := hanActivityAt(behind, relation == "plans"); activity != "" {
			objects = []string{activity}
		}
		if relation != "plans" && len(objects) > 0 {
			for _, p := range hanNotEating.Split(objects[0], 2) {
				if p != "" {
					objects[0] = p
				}
			}
			if list := hanListAt(behind); len(list) > 1 {
				objects = list
			}
		}
	default:
		objects = hanListAt(behind)
	}
	if relation == "plans" && len(objects) == 0 && (strings.HasSuffix(verb, "要") || strings.HasSuffix(verb, "想")) {
		return nil
	}
	var out []statement
	for _, object := range objects {
		named := relation
		words := grammar.Chinese(object)
		switch {
		case !isHanThing(object) || len(words) == 0:
			continue
		case r.object != nil && !r.object.MatchString(object):
			continue
		case r.form == hanPlaceAt && words[0].Tag != "ns" && !hanPlaceName.MatchString(object):
			continue
		case r.form == hanPlaceAt && words[0].Tag == "ns":
			object = hanPlaceNames(words)
		case object == "球":
			object = strings.TrimPrefix(verb, "会") + object
		case named == "lives_in" && hanNear.MatchString(behind[strings.Index(behind, object)+len(object):]):
			named = "lives_near"
		case named == "is" && !hanIsKind.MatchString(object):
			continue
		case named == "is" && strings.HasSuffix(object, "人") && words[0].Tag == "ns":
			named, object, kind = "is_from", strings.TrimSuffix(object, "人"), typePlace
		}
		if negated && named != "dislikes" && named != "cancelled" && named != "gave_up" && named != "quit" && named != "sold" {
			named = negatedRelation + named
		}
		if negated && !ended && (relation == "went_to" || relation == "goes_to" || relation == "got" || relation == "plans") {
			continue // what did not happen once
		}
		out = append(out, statement{c.subject, mem0.Entity{Entity: object, Type: kind}, named})
	}
	return out
}

var (
	hanIllness   = regexp.MustCompile(`^\p{Han}{0,5}(?:病|症|炎|哮喘|高血压|高血脂|癌)$`)
	hanNotEating = regexp.MustCompile(`^(?:吃|喝|看|听|玩|去)`)
	hanPlaceName = regexp.MustCompile(`(?:省|市|县|区|镇|村|岛|山|湖|海|寺|国|洲|古城|公园|博物馆|故宫|长城|草原|沙漠)$`)
	// hanIsKind matches what somebody can be: a profession, a kind of person.
	hanIsKind = regexp.MustCompile(`(?:` + strings.TrimSuffix(hanJobs, "$") + `|人|主|迷|粉丝|爱好者|患者|党员|球迷|妈妈|爸爸|独生子女?|同学|班主任|教授|院长|校长|大夫|会员|志愿者)$`)
)

// hanPlaceNames returns the names of places at the beginning of words.
func hanPlaceNames(words []grammar.Word) string {
	var b strings.Builder
	for _, w := range words {
		if w.Tag != "ns" && !hanPlaceName.MatchString(w.Text) {
			break
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// list returns a relation to each thing of a list.
func (c hanClause) list(relation, things string, negated bool) []statement {
	if negated {
		relation = negatedRelation + relation
	}
	var out []statement
	for _, thing := range hanListAt(things) {
		if isHanThing(thing) {
			out = append(out, statement{c.subject, mem0.Entity{Entity: thing, Type: typeThing}, relation})
		}
	}
	return out
}

// atPlace reads what somebody does at a place: the text behind 在.
func (c hanClause) atPlace(s string, negated bool, user string) []statement {
	place, end := hanNounPhraseAt(s)
	for _, w := range grammar.Chinese(place) {
		// What is done there is no part of the name.
		if w.Start > 0 && (hanWorksThere.MatchString(w.Text) || hanLearnsThere.MatchString(w.Text)) {
			end -= len(place) - w.Start
			place = place[:w.Start]
			break
		}
	}
	if place == "" || !isHanThing(place) {
		return nil
	}
	behind := strings.TrimSpace(s[end:])
	isCity := grammar.Chinese(place)[0].Tag == "ns" && hanPlaceNames(grammar.Chinese(place)) == place
	edge := func(relation, kind string) statement {
		if negated {
			relation = negatedRelation + relation
		}
		return statement{c.subject, mem0.Entity{Entity: place, Type: kind}, relation}
	}
	switch {
	case hanWorksThere.MatchString(behind):
		out := []statement{edge("works_at", typeOrganization)}
		if isCity {
			out = []statement{edge("works_in", typePlace)}
		}
		for _, r := range []*hanRule{&hanWorksAs, &hanDoesJob} {
			if at := r.verb.FindStringIndex(behind); at != nil {
				found := c.byRule(r, behind[:at[1]], behind[at[1]:], negated, false)
				if len(found) == 0 {
					return nil // something else is done there
				}
				return append(out, found...)
			}
		}
		return out
	case hanLearnsThere.MatchString(behind):
		relation := "studied_at"
		if isCity {
			relation = "studies_in"
		}
		return append([]statement{edge(relation, typeOrganization)}, hanClause{c.subject, behind}.statements(user)...)
	case (behind == "" || behind == "了" || strings.HasPrefix(behind, "住") || strings.HasPrefix(behind, "生活") || strings.HasPrefix(behind, "定居")) && isCity:
		if behind == "" || behind == "了" {
			return []statement{edge("is_in", typePlace)}
		}
		return []statement{edge("lives_in", typePlace)}
	}
	// What is done there counts alone: "bought a house in Hangzhou".
	return hanClause{c.subject, behind}.withoutPlace(user, negated)
}

// withoutPlace reads a clause behind its place.
func (c hanClause) withoutPlace(user string, negated bool) []statement {
	if negated || hanAt.MatchString(c.rest) || c.rest == "" {
		return nil
	}
	return c.statements(user)
}

// hanListAt returns the things of a list at the beginning of s.
func hanListAt(s string) []string {
	var out []string
	for {
		phrase, end := hanNounPhraseAt(s)
		if phrase == "" {
			return out
		}
		out = append(out, phrase)
		s = s[end:]
		joint := hanJoint.FindString(s)
		if joint == "" {
			return out
		}
		s = s[len(joint):]
	}
}

var hanJoint = regexp.MustCompile(`^(?:、|和|以及|还有|与|跟)`)

// hanThings are the first letters of the tags of words that a noun phrase may have, hanHeads of those that end one.
var (
	hanThings = map[byte]bool{'n': true, 'a': true, 'x': true, 'b': true, 'i': true, 'j': true, 'l': true, 'z': true, 's': true, 'g': true}
	hanHeads  = map[byte]bool{'n': true, 'x': true, 'i': true, 'j': true, 'l': true, 'z': true, 's': true, 'g': true, 'e': true, 'a': true}
)

// notHanNouns are characters that the dictionary lacks or takes for nouns, and that are none.
var notHanNouns = wordSet("了 过 着 的 地 得 在 和 跟 与 把 被 给 让 会 能 要 想 就 都 也 还 又 再 很 太 真 不 没 是 有 对 从 到 去 来 说 做 这 那 他 她 它 我 你 们 吗 呢 吧 啊 开 练 报 养 玩 但 可 因 所 如 上 下 一起 一样 一下 自己")

// hanNounPhraseAt returns the noun phrase at the beginning of s without its number and measure, and where it ends; ""
// if there is none.
func hanNounPhraseAt(s string) (phrase string, end int) {
	start := len(hanCount.FindString(s))
	words := grammar.Chinese(s[start:])
	if start > 0 && len(words) > 0 && words[0].Tag == "d" && utf8.RuneCountInString(words[0].Text) > 1 {
		words[0].Tag = "n" // behind a count no adverb is possible
	}
	n := 0
	for i, w := range words {
		if i > 0 && w.Start != words[i-1].End {
			break
		}
		isLast := i+1 == len(words)
		switch {
		case w.Tag == "eng":
		case w.Text == "的" && i > 0 && n == i && !isLast && hanThings[words[i+1].Tag[0]] && !notHanNouns[words[i+1].Text]:
			continue
		case notHanNouns[w.Text] || hanShortVerbs[w.Text] || w.Tag == "w":
			return hanPhrase(s, start, words, n)
		case w.Tag == "m" || w.Tag[0] == 'r' || w.Tag == "p" || w.Tag == "c" || w.Tag == "d" || w.Tag == "t" || w.Tag == "f" || w.Tag[0] == 'u' || w.Tag == "y":
			return hanPhrase(s, start, words, n)
		case w.Tag == "vn" || w.Tag == "v" && i == 0 && !isLast && utf8.RuneCountInString(w.Text) > 1 && words[i+1].Tag[0] == 'n':
		case w.Tag == "q" && i == 0:
			return "", 0
		case !hanThings[w.Tag[0]]:
			return hanPhrase(s, start, words, n)
		}
		n = i + 1
		if n > 5 {
			return "", 0
		}
	}
	return hanPhrase(s, start, words, n)
}

// hanPhrase returns the first n words as a phrase if the last of them can end one.
func hanPhrase(s string, start int, words []grammar.Word, n int) (phrase string, end int) {
	for n > 0 && (words[n-1].Text == "的" || !hanHeads[words[n-1].Tag[0]] && words[n-1].Tag != "vn") {
		n--
	}
	if n == 0 {
		return "", 0
	}
	end = start + words[n-1].End
	return s[start:end], end
}

var hanCount = regexp.MustCompile(`^(?:自己的?)?(?:` + hanMeasure + `)?(?:新的?|旧的?)?`)

// hanActivityAt returns the activity or the thing at the beginning of s: 去德国看朋友, 画恐龙, 茶. planned says that
// only an activity counts.
func hanActivityAt(s string, planned bool) string {
	words := grammar.Chinese(s)
	if len(words) == 0 {
		return ""
	}
	end, verbs := 0, 0
	for i := 0; i < len(words) && i < 6; {
		w := words[i]
		switch {
		case w.Tag == "v" || w.Tag == "vn" || w.Tag == "vi" || w.Tag == "vg" || hanShortVerbs[w.Text]:
			if w.Text == "是" || w.Text == "有" || w.Text == "觉得" || w.Text == "知道" {
				return ""
			}
			verbs++
			i++
			end = w.End
		case w.Tag == "eng" || hanThings[w.Tag[0]] || w.Tag == "m" && i > 0:
			phrase, n := hanNounPhraseAt(s[w.Start:])
			if phrase == "" {
				i = len(words)
				break
			}
			end = w.Start + n
			for i < len(words) && words[i].Start < end {
				i++
			}
		default:
			i = len(words)
		}
	}
	activity := s[:end]
	if planned && (verbs == 0 || utf8.RuneCountInString(activity) < 3) || utf8.RuneCountInString(activity) > 14 {
		return ""
	}
	return activity
}

// hanShortVerbs are verbs of one character that the dictionary lacks.
var hanShortVerbs = wordSet("去 到 看 学 做 当 教 买 开 打 吃 喝 玩 画 写 听 唱 跳 弹 拉 练 养 住 搬 找 考 读 种 跑 骑 游 换 申请 飞")

// isHanThing reports whether a phrase names a thing: no time, no amount, no word that says nothing alone.
func isHanThing(s string) bool {
	if s == "" || text.IsTimeWord(s) || hanNoThing.MatchString(s) && utf8.RuneCountInString(s) < 4 || text.IsStopWord(s, text.Chinese) || utf8.RuneCountInString(s) > 16 {
		return false
	}
	return !strings.ContainsAny(s, "我你她您，。") && !isHanRunOfVerbs(s) && !hanDegrees[s] && !slices.ContainsFunc(grammar.Chinese(s), func(w grammar.Word) bool { return w.Tag[0] == 'r' })
}

// hanDegrees say how much.
var hanDegrees = wordSet("非常 特别 十分 很多 最 更 有点 好多 一些 许多 比较 这么 那么")

// isHanRunOfVerbs reports whether a phrase has several verbs and nothing that they are about: "确保摆".
func isHanRunOfVerbs(s string) bool {
	words := grammar.Chinese(s)
	if len(words) < 2 || words[0].Tag != "v" {
		return false
	}
	opens := utf8.RuneCountInString(words[0].Text) > 1
	return opens && !slices.ContainsFunc(words[1:], func(w grammar.Word) bool {
		return w.Tag != "v" && w.Tag != "zg" && w.Tag != "d" && (w.Tag != "x" || utf8.RuneCountInString(w.Text) > 1)
	})
}

// hanStartsPredicate reports whether a clause begins with its verb, perhaps behind adverbs and times.
func hanStartsPredicate(c string) bool {
	rest := hanBeforeVerb.ReplaceAllString(c, "")
	rest = rest[len(hanNot.FindString(rest)):]
	if slices.ContainsFunc(hanRules, func(r hanRule) bool { return r.verb.MatchString(rest) }) {
		return true
	}
	return hanNamed.MatchString(rest) || hanDoneTo.MatchString(rest) || hanAllergic.MatchString(rest) || hanKeen.MatchString(rest) || hanAt.MatchString(rest) || hanCompany.MatchString(rest) ||
		startsPredicate(grammar.Chinese(c), false)
}

// hanKinRelation returns the English name of a family relation. Relations have English names in
// every language.
func hanKinRelation(kin string) string {
	for name, list := range hanKinNames {
		if slices.Contains(strings.Fields(list), kin) {
			return name
		}
	}
	return "relative"
}

var hanKinNames = map[string]string{
	"mother": "妈妈 母亲 妈", "father": "爸爸 父亲 爸", "sister": "姐姐 妹妹 姐 妹", "brother": "哥哥 弟弟 哥 弟", "wife": "妻子 老婆 媳妇 爱人", "husband": "丈夫 老公",
	"son": "儿子", "daughter": "女儿 闺女", "child": "孩子", "friend": "朋友", "colleague": "同事", "roommate": "室友", "boss": "老板", "neighbor": "邻居",
	"classmate": "同学", "teacher": "老师", "girlfriend": "女朋友 女友", "boyfriend": "男朋友 男友", "grandfather": "爷爷 外公 姥爷", "grandmother": "奶奶 外婆 姥姥",
	"parents": "父母 爸妈", "family": "家人", "cousin": "表哥 表弟 表姐 表妹 堂哥 堂弟", "uncle": "叔叔 舅舅", "aunt": "阿姨 姑姑", "nephew": "外甥 侄子", "niece": "外甥女 侄女",
	"grandson": "孙子", "granddaughter": "孙女", "mother-in-law": "婆婆 岳母 丈母娘", "father-in-law": "公公 岳父", "sister-in-law": "嫂子", "brother-in-law": "姐夫 妹夫",
	"son-in-law": "女婿", "spouse": "老伴",
}
