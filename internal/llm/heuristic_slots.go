package llm

import (
	"regexp"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// slotRule reads a relation that has one value at a time from what follows a
// subject. The value is the group named v; without one it is fixed.
type slotRule struct {
	relation string
	form     *regexp.Regexp
	value    string
}

const (
	properName = `\p{Lu}[\p{L}'’.-]*(?: \p{Lu}[\p{L}'’.-]*){0,3}`
	placeName  = `(?:the )?\p{Lu}[\p{L}'’.-]*(?:,? \p{Lu}[\p{L}'’.-]*){0,3}`
	job        = `(?:an? )?[\p{L}' -]{3,40}?`
	stop       = `(?:[.,;!]|$| and | but | because | since | in | at | for | on | now| instead| with | where | who )`
)

var englishSlotRules = []slotRule{
	{"name", regexp.MustCompile(`(?:'s|^) (?:real |full |first |actual )?name(?: is|'s)(?: actually| really)? (?P<v>` + properName + `)`), ""},
	{"name", regexp.MustCompile(`^\s*(?:is|goes by|is called|is named)(?: called| named)? (?P<v>` + properName + `), not ` + properName), ""},
	{"name", regexp.MustCompile(`^\s*(?:goes by|is called|is named) (?P<v>` + properName + `)`), ""},
	{"lives_in", regexp.MustCompile(`\b(?:lives?|living|resides?|residing|is based|settled) (?:\w+ )?in (?P<v>` + placeName + `)`), ""},
	{"lives_in", regexp.MustCompile(`\b(?:moved|has moved|relocated|has relocated|moved back|just moved)(?: \w+)? ?(?:from ` + placeName + ` )?to (?P<v>` + placeName + `)`), ""},
	{"works_at", regexp.MustCompile(`\b(?:works|is working|work) (?:\w+ )?(?:at|for) (?P<v>` + placeName + `)`), ""},
	{"works_as", regexp.MustCompile(`\b(?:works|is working|is employed) (?:\w+ )?as (?P<v>` + job + `)` + stop), ""},
	{"works_as", regexp.MustCompile(`'s (?:new |current )?(?:job|occupation|profession) is (?P<v>` + job + `)` + stop), ""},
	{"follows_diet", regexp.MustCompile(`\b(?:vegetarian|veggie)\b`), "vegetarian"},
	{"follows_diet", regexp.MustCompile(`\bvegan\b`), "vegan"},
	{"follows_diet", regexp.MustCompile(`\bpescatarian\b`), "pescatarian"},
	{"follows_diet", regexp.MustCompile(`\b(?:eats|eating|eat|started eating) (?:meat|everything)\b`), "meat"},
	{"age", regexp.MustCompile(`\b(?:is|turned|turns|just turned|am) (?P<v>\d{1,3})(?: years? old| this| today| on| in|[.,]|$)`), ""},
	{"marital_status", regexp.MustCompile(`\b(?:is|got|gets|are) (?:\w+ )?(?P<v>married|divorced|engaged|separated|widowed|single)\b`), ""},
	{"favorite", regexp.MustCompile(`\bfavou?rite (?P<k>[\p{L} ]{2,25}?) (?:is|are) (?P<v>[\p{L}\d' -]{2,40}?)` + stop), ""},
	{"own", regexp.MustCompile(`^(?:'s)? (?P<k>birthday|address|email|email address|phone number|phone|hometown|nationality|birth date|blood type|native language|middle name|last name|first name|surname|nickname) is (?:on |in |now )?(?P<v>[^.;!]{1,60})`), ""},
}

var dietWords = regexp.MustCompile(`(?i)\b(?:is|became|become|turned|going|went|isn't|remains|been|as|not|longer|no|strict|a|an|now|still|being) (?:\w+ ){0,2}(?:vegetarian|veggie|vegan|pescatarian)(?:[.,;!]|$| now| any| and| but| for| since| because| diet)|\b(?:eats?|eating) (?:meat|everything)\b`)

// englishSlots reads the single-valued relations of a fact behind its subject.
func englishSlots(rest string) []slot {
	not := negationWords.MatchString(rest)
	var out []slot
	for _, r := range englishSlotRules {
		if r.relation == "follows_diet" && !dietWords.MatchString(rest) {
			continue
		}
		m := r.form.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		s := slot{relation: r.relation, value: r.value, not: not}
		if r.value == "" {
			s.value = slotValue(m[r.form.SubexpIndex("v")])
		}
		if k := r.form.SubexpIndex("k"); k > 0 {
			s.relation += "_" + strings.ReplaceAll(text.Fold(m[k]), " ", "_")
		}
		if r.relation == "name" && strings.Contains(rest, ", not ") {
			s.not = false
		}
		if s.value != "" && !hasSlot(out, s.relation) {
			out = append(out, s)
		}
	}
	return out
}

func slotValue(v string) string {
	v = strings.Trim(text.Fold(v), " .,;'’")
	for _, article := range []string{"a ", "an ", "the "} {
		v = strings.TrimPrefix(v, article)
	}
	return v
}

func hasSlot(list []slot, relation string) bool {
	for _, s := range list {
		if s.relation == relation {
			return true
		}
	}
	return false
}

var hanSlotRules = []slotRule{
	{"name", regexp.MustCompile(`(?:名字(?:其实)?(?:是|叫)|叫做?|的名字叫)(?P<v>[\p{Han}A-Za-z]{1,8}?)(?:[，,。；、]|$|不)`), ""},
	{"lives_in", regexp.MustCompile(`(?:住在|现居|定居在?|生活在)(?P<v>[\p{Han}A-Za-z]{2,8}?)(?:[，,。；、了]|$|的|工作|上)`), ""},
	{"lives_in", regexp.MustCompile(`搬(?:家)?(?:到|去|来|回)了?(?P<v>[\p{Han}A-Za-z]{2,8}?)(?:[，,。；、了]|$|住|工作|生活)`), ""},
	{"works_at", regexp.MustCompile(`在(?P<v>[\p{Han}A-Za-z]{2,12}?)(?:工作|上班|任职)`), ""},
	{"works_as", regexp.MustCompile(`(?:的(?:工作|职业)是|当(?:上)?了?(?:一?(?:名|个|位))|是一?(?:名|位))(?P<v>[\p{Han}]{2,8}?)(?:[，,。；、了]|$)`), ""},
	{"follows_diet", regexp.MustCompile(`素食|吃素`), "素食"},
	{"follows_diet", regexp.MustCompile(`(?:又|开始|可以|重新|也|能)吃(?:肉|荤)`), "吃肉"},
	{"age", regexp.MustCompile(`(?P<v>\d{1,3}|[一二三四五六七八九十百]{1,4})岁`), ""},
	{"marital_status", regexp.MustCompile(`结婚了|已婚|已经结婚`), "已婚"},
	{"marital_status", regexp.MustCompile(`离婚|离异`), "离婚"},
	{"marital_status", regexp.MustCompile(`单身`), "单身"},
	{"favorite", regexp.MustCompile(`最(?:喜欢|爱)的(?P<k>\p{Han}{1,6}?)是(?P<v>[\p{Han}A-Za-z]{1,12}?)(?:[，,。；、]|$)`), ""},
	{"own", regexp.MustCompile(`的?(?P<k>生日|电话|邮箱|地址|老家|国籍)(?:号码)?(?:是|在)(?P<v>[^。，,；]{1,40})`), ""},
}

// hanSlots is englishSlots for Chinese.
func hanSlots(rest string) []slot {
	var out []slot
	for _, r := range hanSlotRules {
		at := r.form.FindStringSubmatchIndex(rest)
		if at == nil {
			continue
		}
		m := r.form.FindStringSubmatch(rest)
		s := slot{relation: r.relation, value: r.value, not: hanNegation.MatchString(rest[:at[1]])}
		if r.value == "" {
			s.value = text.Fold(m[r.form.SubexpIndex("v")])
		}
		if k := r.form.SubexpIndex("k"); k > 0 {
			s.relation += "_" + m[k]
		}
		if !hasSlot(out, s.relation) {
			out = append(out, s)
		}
	}
	return out
}

// hanNormal drops emphasis and brings words of one meaning to one.
var hanNormal = strings.NewReplacer("非常", "", "特别", "", "真的", "", "十分", "", "很", "", "挺", "", "最近", "", "现在", "", "一直", "", "超级", "", "超", "", "已经", "",
	"热爱", "喜欢", "喜爱", "喜欢", "爱好", "喜欢", "爱", "喜欢", "居住", "住", "是个", "是", "是一个", "是", "是一名", "是", "了", "", "的", "", "也", "", "都", "")
