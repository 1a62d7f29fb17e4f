package layered

import (
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The parts of the Chinese phrases.
const (
	hanOpening = `^(?:(?:你好|您好|嗨|哈喽|大家好|嗯+|哦|啊|对了|其实|另外|还有|顺便说一下|说实话|老实说|话说|那个?|然后|而且|但是?|不过|所以|因为|请?记住|你要记住|记一下|告诉你|跟你说|目前|现在|平时|最近|今年|从小|一直以来|作为[^，]{1,12})[，,：: ]*)*`
	hanAdverb  = `(?:其实|真的|真|也|还是?|就|现在|目前|一直|平时|最|很|非常|特别|比较|超级?|都|挺|更|尤其|从小就?|暂时|本来|今年|以后|最近|向来|通常|一般|只|太|十分|极其|蛮|相当|确实|刚刚?|已经|可|又|主要|经常|常常|总是|时常|偶尔|有点儿?|可能|个人|自己|打小|如今|眼下|这两年|这几年)*`
)

func han(relation, form string, accept func(string) (string, bool)) phrase {
	return phrase{relation, regexp.MustCompile(hanOpening + `(?:` + strings.ReplaceAll(form, "~", hanAdverb) + `)\s*`), accept}
}

// hanPhrases are the published phrases, with those that say the same.
var hanPhrases = []phrase{
	han(relationDislikes, `我~(?:不~(?:喜欢|爱|想吃|吃得?惯|喜爱)|讨厌|反感|厌恶|受不了|嫌弃|痛恨|最怕)`, nil),
	han(relationDislikes, `我对[^，。]{1,12}(?:不感兴趣|很?反感)`, nil),
	han(relationAddress, `(?:你们?|您|大家|朋友们?|同事们?|同学们?|别人|他们|家人)?~(?:可以|都|请|就|以后|直接|喜欢|习惯)*(?:叫我|称呼我|喊我)(?:为|做|作)?`, acceptHanAddress),
	han(relationJob, `我~(?:是做|从事|的(?:工作|职业|本职工作|职务|岗位)~是)(?:一名|一个|一位|个|名)?`, acceptHanJobSaid),
	han(relationJob, `我~(?:是|当|担任|做)(?:一名|一位|名)`, acceptHanJobSaid),
	han(relationJob, `我~(?:是|当|担任|做)(?:一个|个|的)?`, acceptHanJob),
	han(relationJob, `我~在[^，。]{1,20}?(?:做|当|担任)(?:一名|一个|一位|个|名)?`, acceptHanJob),
	han(relationName, `我的(?:名字|姓名|全名|大名)(?:~叫做?|~是)`, acceptHanName),
	han(relationName, `我~叫做?`, acceptHanName),
	han(relationName, `我~是`, acceptHanNameAlone),
	han(relationPlace, `我~(?:住在?|定居在?|居住在|搬到了?|搬去了?|的(?:地址|住址|家庭住址)~是)`, acceptHanHome),
	han(relationPlace, `(?:我家|我的家)~(?:住在?|在|位于)`, acceptHanHome),
	han(relationPlace, `我~(?:人~)?在`, acceptHanPlace),
	han(relationSkills, `我~(?:擅长|精通|善于|拿手的?是?|的(?:强项|特长|专长|优势|长处)~是|熟练掌握|能说|懂得怎么)`, nil),
	han(relationSkills, `我~会`, acceptHanSkill),
	han(relationGoals, `我(?:今年|明年|现在|目前|最近|未来|这辈子|一直以来|最大|人生|的|小|长期|短期|职业)*(?:目标|梦想|理想|愿望|志向)(?:一直|就)?是`, nil),
	han(relationGoals, `我~(?:希望|想要?)(?:能够?|可以)?(?:达到|实现)`, acceptHanGoalNamed),
	han(relationGoals, `我~(?:希望|想要?|打算|计划|立志要?|渴望|期待)(?:能够?|可以|将来|以后|今年|明年|早日|自己)*`, acceptHanGoal),
	han(relationLikes, `我~(?:喜欢|爱)的\p{Han}{1,8}?(?:就?是|有|包括)`, acceptHanLike),
	han(relationLikes, `我~(?:喜欢|偏爱|更倾向于|倾向于|爱|热爱|喜爱|钟爱|偏好|享受|迷上了?|着迷于|的(?:爱好|兴趣|兴趣爱好)~是|的最爱是)`, acceptHanLike),
	han(relationLikes, `我~对`, acceptHanInterest),
}

func acceptHanAddress(o string) (string, bool) {
	o = hanSuffices.ReplaceAllString(o, "")
	return o, o != "" && utf8.RuneCountInString(o) <= 10 && !hanMotion.MatchString(o)
}

// hanSuffices matches "will do" behind a form of address.
var hanSuffices = regexp.MustCompile(`(?:就|都|也)(?:行|好|可以|成|够)$`)

var hanMotion = regexp.MustCompile(`^(?:去|来|回|吃|做|起|帮|给|出|过|一起|别|不要|把|先|多|少|快)|[去来]$|吃饭|起床`)

// acceptHanJobSaid accepts any job where the phrase says that it is one.
func acceptHanJobSaid(o string) (string, bool) {
	o = strings.TrimSuffix(o, "的")
	return o, !hanNoJob.MatchString(o) && utf8.RuneCountInString(o) <= 20
}

var (
	hanNoJob = regexp.MustCompile(`^(?:很|太|比较|非常|挺|因为|为了|不|对|错|在|这|那|想|说)|(?:的人|爱好者|粉丝|控|党|迷|新手|妈妈|爸爸|父亲|母亲|女儿|儿子|患者|用户|吃货)$`)
	hanJob   = regexp.MustCompile(`^(?:[\p{Han}A-Za-z]{0,10}?)(?:老师|教师|医生|护士|律师|工程师|程序员|设计师|作家|编辑|记者|画家|音乐家|歌手|演员|舞者|厨师|服务员|司机|飞行员|农民|园丁|消防员|警察|军人|科学家|研究员|教授|讲师|学生|研究生|大学生|博士生|高中生|翻译|会计|银行家|经济学家|分析师|顾问|经理|总监|创业者|秘书|前台|助理|收银员|销售员?|建筑师|木匠|电工|技师|技术员|理发师|模特|摄影师|导演|制片人|插画师|作曲家|图书管理员|牙医|药剂师|治疗师|咨询师|兽医|保姆|保安|快递员|外卖员|教练|运动员|裁判|法官|公务员|外交官|主播|博主|自由职业者?|实习生|营养师|产品经理|运营|策划|文员|人事|采购|客服|店长|老板|主管|开发者?|测试|架构师|科研人员|工人|全职妈妈|家庭主妇|化妆师|美容师|健身教练|瑜伽老师|导游|空姐|乘务员|船长|海员|渔民|牧师|社工|志愿者)$`)
)

func acceptHanJob(o string) (string, bool) {
	o = strings.TrimSuffix(o, "的")
	return o, hanJob.MatchString(o) && !hanNoJob.MatchString(o)
}

// acceptHanName accepts a name behind 我叫 or 我的名字是.
func acceptHanName(o string) (string, bool) {
	o = strings.TrimSuffix(o, "的")
	n := utf8.RuneCountInString(o)
	switch {
	case hanMotion.MatchString(o) || hanNoName.MatchString(o):
		return "", false
	case isHan(o):
		return o, n <= 8
	}
	return o, n <= 40
}

var hanNoName = regexp.MustCompile(`^(?:他|她|它|你|您|人|车|什么|外卖|了|过|不|一|这|那|个|大家|妈|爸|孩子|老公|老婆|朋友|救护车|服务员)|[了着过吗呢]$|的`)

// acceptHanNameAlone accepts a name behind 我是: a Chinese name that begins with a surname, or a word in
// Latin letters with a capital.
func acceptHanNameAlone(o string) (string, bool) {
	n := utf8.RuneCountInString(o)
	first, size := utf8.DecodeRuneInString(o)
	switch {
	case unicode.IsUpper(first):
		return o, n <= 20 && !isHan(o) && isNameWord(strings.Fields(o)[0]) && !notAName[strings.ToLower(o)]
	case n < 2 || n > 4 || hanNoName.MatchString(o):
		return "", false
	case strings.HasPrefix(o, "小") || strings.HasPrefix(o, "阿"):
		return o, n <= 3 && !hanNotNamed.MatchString(o)
	}
	rest, _ := utf8.DecodeRuneInString(o[size:])
	return o, strings.ContainsRune(hanSurnames, first) && n <= 3 && rest != utf8.RuneError && !hanNotNamed.MatchString(o)
}

const hanSurnames = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"

// hanNotNamed matches words that begin like a name.
var hanNotNamed = regexp.MustCompile(`^(?:小(?:白|孩|学生?|女生|男生|心|组长|朋友|姐|哥|伙子|公主|班|说)|高(?:中|三|二|一|兴|级|手|考|管)|马(?:上|来|大|虎)|方(?:便|向)|白(?:领|天|痴|羊|人)|金(?:牛|融|领)|常(?:常|年|客|见)|文(?:科|盲|员|艺|学)|万(?:能|幸)|任(?:何|性)|何|于(?:是)?$|许(?:多|久)|石|田|江(?:苏|西|南|浙)|夏天|程序|易(?:怒|胖)|黄种?人|龙的?|康复|陈述|高个子?|武汉|汤|双|雷锋?|温州|史学|金融)`)

// acceptHanHome accepts where somebody lives.
func acceptHanHome(o string) (string, bool) {
	o = strings.TrimSuffix(hanStay.ReplaceAllString(o, ""), "的")
	return o, o != "" && !hanNoPlace.MatchString(o)
}

var (
	hanStay    = regexp.MustCompile(`(?:已经|快|有)?(?:[一二两三四五六七八九十\d]+|好几|很多|多)年(?:了|多)?$|(?:工作|上班|上学|读书|读大学|生活|居住|定居|念书|创业|打工|出差|旅游|实习|这边)(?:了|呢)?$`)
	hanNoPlace = regexp.MustCompile(`^(?:一起|这|那|哪|了|得|不|着|过|学|想|忙|做|看|听|等|找|吃|家$|进)|^(?:他|她|你|朋友|学校|宿舍|公司|医院)(?:家|里)?$`)
	// hanKindOfPlace matches words that end like the name of a place.
	hanKindOfPlace = regexp.MustCompile(`^[\p{Han}]{1,8}(?:市|省|县|区|镇|村|州|岛|路|街|小区|大学|城)(?:的[\p{Han}]{1,10})?$`)
	hanVisit       = regexp.MustCompile(`出差|旅游|旅行|度假|玩$|开会`)
)

// acceptHanPlace accepts a place behind 我在: a known one, or a word that ends like one.
func acceptHanPlace(o string) (string, bool) {
	if hanVisit.MatchString(o) {
		return "", false
	}
	o = hanStay.ReplaceAllString(o, "")
	for size := 4; size >= 2; size-- {
		runes := []rune(o)
		if len(runes) < size || !knownHanPlaces[string(runes[:size])] {
			continue
		}
		if rest := string(runes[size:]); rest == "" || hanKindOfPlace.MatchString(rest) || hanKindOfPlace.MatchString(o) {
			return o, true
		}
		return string(runes[:size]), true
	}
	return o, hanKindOfPlace.MatchString(o) && !hanNoPlace.MatchString(o)
}

// acceptHanSkill accepts a skill behind 会: a verb of a skill, and no promise.
func acceptHanSkill(o string) (string, bool) {
	return o, hanSkillVerb.MatchString(o) && !hanPromise.MatchString(o)
}

var (
	hanSkillVerb = regexp.MustCompile(`^(?:一点儿?|一些|好几种|[两三四五]种|两|三)?(?:说[\p{Han}A-Za-z]|弹|拉[小大二]|吹|唱|跳舞|跳[\p{Han}]+舞|画|写[代程书毛诗歌]|做[\p{Han}]*(?:菜|饭|蛋糕|甜点|木工|面包)|游泳|开车|编程|滑雪|滑冰|打[篮网乒羽太排]|修|骑|烤|煮|烹饪|拍照|摄影|织|剪辑|下棋|下[围象]|讲[\p{Han}]*语|书法|武术|瑜伽|冲浪|潜水|[\p{Han}]{1,3}语|英文|中文|日文|法文|Python|Java|PS|C\+\+)`)
	hanPromise   = regexp.MustCompile(`你|您|他|她|给|尽快|明天|下次|以后|马上|等|再|的$|好的`)
)

// acceptHanGoalNamed accepts a goal whose phrase says that it is one.
func acceptHanGoalNamed(o string) (string, bool) { return o, !hanPromise.MatchString(o) }

// acceptHanGoal accepts a goal that begins with a verb of achieving.
func acceptHanGoal(o string) (string, bool) {
	return o, hanGoalVerb.MatchString(o) && !hanPromise.MatchString(o)
}

var hanGoalVerb = regexp.MustCompile(`^(?:成为|考上?\p{Han}|学会\p{Han}|学好\p{Han}|学[^习到着了个]|当上?\p{Han}|开一?[家个间]|写一?本|创办|创业|拿到|减肥|减掉|存够|存\d|攒|环游|通过|转行|提高|提升|跑完|完成|买一?[套辆座]|出国留学|移民|升职)`)

func acceptHanLike(o string) (string, bool) {
	o = strings.TrimPrefix(o, "的是")
	return o, o != "" && !hanNoLike.MatchString(o)
}

var hanNoLike = regexp.MustCompile(`^(?:你|您|他们?$|她们?$|它们?$|的人$|上$|上了|过$|莫能助|不释手|谁|哪)`)

// acceptHanInterest accepts the middle of 我对…感兴趣.
func acceptHanInterest(o string) (string, bool) {
	m := hanInterest.FindStringSubmatch(o)
	if m == nil {
		return "", false
	}
	return m[1], true
}

var hanInterest = regexp.MustCompile(`^(.{1,20}?)(?:很|非常|特别|比较|挺|最|一直|都|超级?|蛮)*(?:感兴趣|有兴趣|着迷|情有独钟)$`)
