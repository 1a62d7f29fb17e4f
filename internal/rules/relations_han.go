package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

const hanObject = `([\p{Han}A-Za-z0-9]{1,12}?)(?:[，,。；、！!]|$|了|的时候|工作|上班|上学|吃饭|和|因为)`

var hanVerbRules = []verbRule{
	{regexp.MustCompile(`(?:住在|定居在?|生活在)` + hanObject), "lives_in", typePlace},
	{regexp.MustCompile(`搬(?:家)?(?:到|去|来)了?` + hanObject), "lives_in", typePlace},
	{regexp.MustCompile(`来自` + hanObject), "is_from", typePlace},
	{regexp.MustCompile(`在([\p{Han}A-Za-z]{2,12}?)(?:工作|上班|任职)`), "works_at", typeOrganization},
	{regexp.MustCompile(`在([\p{Han}A-Za-z]{2,12}?)(?:上学|读书|学习)`), "studied_at", typeOrganization},
	{regexp.MustCompile(`对([\p{Han}]{1,6}?)过敏`), "is_allergic_to", typeThing},
	{regexp.MustCompile(`(?:名字是|名字叫|叫)` + hanObject), "is_named", typePerson},
	{regexp.MustCompile(`(?:不喜欢|讨厌)(?:吃|看|听|玩|去)?` + hanObject), "dislikes", typeThing},
	{regexp.MustCompile(`(?:喜欢|热爱|爱)(?:吃|看|听|玩|去)?` + hanObject), "likes", typeThing},
	{regexp.MustCompile(`(?:取消了?|放弃了?)` + hanObject), "cancelled", typeThing},
	{regexp.MustCompile(`(?:打算|计划|准备|想)(?:去)?` + hanObject), "plans", typeThing},
	{regexp.MustCompile(`(?:去了|去过|参观了?)` + hanObject), "went_to", typePlace},
	{regexp.MustCompile(`(?:养了?|有)(?:一)?(?:只|个|条|位|名|辆)` + hanObject), "has", typeThing},
	{regexp.MustCompile(`(?:买了|收到了?)(?:一)?(?:只|个|条|辆|台|本)?` + hanObject), "got", typeThing},
	{regexp.MustCompile(`(素食)(?:主义)?者?|(?:吃素)`), "follows_diet", typeThing},
	{regexp.MustCompile(`是(?:一)?(?:名|位|个)` + hanObject), "is", typeThing},
}

// hanStatements reads one Chinese sentence in the third person.
func hanStatements(s, user string) []statement {
	person := func(name string) mem0.Entity {
		name = strings.TrimSpace(name)
		if name == "用户" || name == "我" {
			if name = user; name == "" {
				name = "用户"
			}
		}
		return mem0.Entity{Entity: name, Type: typePerson}
	}
	var out []statement
	var source mem0.Entity
	rest := s
	if m := hanKinNamed.FindStringSubmatch(s); m != nil {
		source = mem0.Entity{Entity: m[3], Type: typePerson}
		out = append(out, statement{source, person(m[1]), "is_" + hanKinRelation(m[2]) + "_of"})
	} else if m := hanKinPlain.FindStringSubmatch(s); m != nil {
		source = mem0.Entity{Entity: person(m[1]).Entity + "的" + m[2], Type: typePerson}
		out = append(out, statement{source, person(m[1]), "is_" + hanKinRelation(m[2]) + "_of"})
		rest = s[len(m[0]):]
	} else if m := hanPerson.FindStringSubmatch(s); m != nil {
		source = person(m[1])
		rest = s[len(m[1]):]
	} else {
		return nil
	}
	for _, r := range hanVerbRules {
		at := r.form.FindStringSubmatchIndex(rest)
		if at == nil {
			continue
		}
		object := "素食"
		if at[2] >= 0 && r.relation != "follows_diet" {
			object = hanNounPhrase(rest[at[2]:at[3]])
		}
		if object == "" {
			continue
		}
		relation := r.relation
		if hanNegation.MatchString(rest[:at[0]]) && relation != "dislikes" && relation != "cancelled" {
			relation = negatedRelation + relation
		}
		out = append(out, statement{source, mem0.Entity{Entity: object, Type: r.kind}, relation})
		break
	}
	return out
}

// hanThings are the first letters of the tags of words that may name a thing or an activity.
var hanThings = map[byte]bool{'n': true, 'v': true, 'a': true, 'm': true, 'x': true, 'q': true, 't': true, 'b': true, 'i': true, 'j': true, 'l': true, 'z': true, 's': true, 'f': true}

// hanNounPhrase returns the words at the beginning of s that name a thing or an activity; "" if
// there are none, or more than four.
func hanNounPhrase(s string) string {
	end := 0
	for i, w := range grammar.Chinese(s) {
		switch {
		case hanThings[w.Tag[0]] && w.Tag != "w" || w.Tag == "eng":
		case w.Text == "的" && i > 0:
		default:
			return strings.TrimSuffix(s[:end], "的")
		}
		if end = w.End; i == 4 {
			return ""
		}
	}
	return strings.TrimSuffix(s[:end], "的")
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
	"mother": "妈妈 母亲 妈", "father": "爸爸 父亲 爸", "sister": "姐姐 妹妹 姐 妹", "brother": "哥哥 弟弟 哥 弟", "wife": "妻子 老婆", "husband": "丈夫 老公",
	"son": "儿子", "daughter": "女儿", "child": "孩子", "friend": "朋友", "colleague": "同事", "roommate": "室友", "boss": "老板", "neighbor": "邻居",
	"classmate": "同学", "teacher": "老师", "girlfriend": "女朋友 女友", "boyfriend": "男朋友 男友", "grandfather": "爷爷 外公 姥爷", "grandmother": "奶奶 外婆 姥姥",
	"parents": "父母", "family": "家人", "cousin": "表哥 表弟 表姐 表妹 堂哥 堂弟", "uncle": "叔叔 舅舅", "aunt": "阿姨 姑姑",
}

var (
	hanKinNamed = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+ ?)的(` + hanKin + `)(?:叫|是|名叫)?([A-Za-z]+|\p{Han}{2,3}?)(?:住|在|搬|喜欢|是|去|[，,。]|$)`)
	hanKinPlain = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+ ?)的(` + hanKin + `)`)
	hanPerson   = regexp.MustCompile(`^(用户|我|\p{Han}{2,3}?|[A-Za-z]+) ?(?:现在|最近|今年|已经|也|很|非常|不再|不|打算|计划|\d{4}年(?:\d+月)?(?:\d+日)?)*(?:住|在|搬|喜欢|爱|讨厌|去|是|叫|有|养|吃|买|学|参加|想|准备|取消|结婚|从)`)
)
