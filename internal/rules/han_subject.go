package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/memory"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds whom a Chinese sentence without a subject is about. Chinese leaves out a subject that is
// known: an answer has that of its question, and a further sentence that of the one before.

// speakerTopic is the topic of what somebody says of themselves.
const speakerTopic = "我"

var (
	// hanAsked matches relatives of the person who is asked, behind "your".
	hanAsked = regexp.MustCompile(`(?:你|您)(?:们)?(?:的|家的?)?(` + hanAnyKin + `)`)
	// hanAskedAlone matches a relative whom a question begins with, as in "婆婆也去吗？".
	hanAskedAlone = regexp.MustCompile(`^(` + hanKin + `|老人|小孩|宝宝)`)
	// hanAskedPronoun matches a question about a person who was named before.
	hanAskedPronoun = regexp.MustCompile(`^(?:她|他|它)`)
	// hanAskedListener matches a question without a subject that only the listener can answer.
	hanAskedListener = regexp.MustCompile(`^[^谁]*(?:打算|准备|计划|喜欢|想)\p{Han}{0,6}(?:什么|哪里|哪儿|干嘛|多久|几)|(?:过得|最近|周末|考得|睡得|玩得|感觉|[几两]天|[几两]周)怎么样`)
	// hanNamesSubject matches the beginning of a sentence that names its subject: the speaker or a relative.
	hanNamesSubject = regexp.MustCompile(`^(?:我(?:的|家的?)?(` + hanAnyKin + `)|我)`)
	// hanAmount matches an answer to "how many", hanAmountAsked such a question, and what is counted.
	hanAmount      = regexp.MustCompile(`^(?:大概|大约|差不多|一共|不到|最多|至少|两个人)*[\d一二三四五六七八九十百千万两几半]+`)
	hanAmountAsked = regexp.MustCompile(`^(?:那|那么|你的?|您的?|大概)*(预算|房贷|房租|工资|学费|体重|身高|收入|年薪|血压|[\p{Han}]{2,6}?(?:预算|费用|价格))(?:每个?月|一个?月|每年|一年)?(?:大概|大约|一共|是|有)*多少(?:钱)?(?:呢|啊|左右)?$`)
	// hanCounts matches questions that a number answers.
	hanCounts = regexp.MustCompile(`几岁|多大|几年级|多高|多重`)
	// hanMoodEnd matches how strongly something is felt, behind what happened: "累死我了".
	hanMoodEnd = regexp.MustCompile(`[，,](?:真是|简直|都|可|把我)*(?:累|气|急|吓|笑|乐|高兴|开心|困|饿|热|冷|烦|激动)(?:死|坏|疯|晕|惨)(?:我|人)?了[。！!~]*$`)
	// hanNotSaid matches sentences without a subject that say nothing of anybody: wishes, thanks, proposals and praise.
	hanNotSaid = regexp.MustCompile(`^(?:太|真|好|多|祝|谢|恭喜|加油|可以|行|没事|没问题|不客气|不用|别|请|记得|一定|一起|走|来|让|快|看|听|随便|那|当然|应该|可能|肯定|难怪|怪不得|原来|没想到|辛苦|有空|改天|下次一起|要不|不如|还好|还行|哪|什么|怎么|谁|为什么|没关系|注意|小心|保重|欢迎|放心|是|对|嗯|哈|哇|唉|得|羡慕|厉害|大概|大约|差不多|挺|很|非常|比较|有点|特别)|(?:吧|呗|啊|呀|哦|嘛|哈|再聊|再说|拜拜|再见)[。！!~]*$`)
)

// hanTopic returns whom the utterance at i is about where it names nobody: "我" for the speaker, "我的妈妈" for a
// relative whom the question before asks about; "" if that is not certain.
func hanTopic(all []utterance, i int, resolve func(string) string) string {
	question := strings.TrimRight(questionBefore(all, i), "?？ ")
	if question == "" || !isHan(question) {
		return ""
	}
	core := hanQuestionCore(question)
	// The pronoun of the person who asks names another subject.
	if m := hanAsked.FindStringSubmatch(core); len(m) > 0 {
		return speakerTopic + "的" + m[1]
	}
	if m := hanAskedPronoun.FindString(core); m != "" {
		return resolve(lastRune(m))
	}
	if n := hanKnownName(core, resolve); n > 0 {
		return core[:n]
	}
	if m := hanAskedAlone.FindStringSubmatch(core); len(m) > 0 && (all[i-1].Role == memory.RoleAssistant || hanGenderOf(m[1]) != anyone || m[1] == "孩子") {
		return speakerTopic + "的" + m[1]
	}
	switch {
	case strings.HasPrefix(core, "我"), strings.HasPrefix(core, "听说"), strings.ContainsAny(core, "我他她它") && !strings.ContainsAny(core, "你您"):
		return ""
	case strings.ContainsAny(core, "你您"), hanAskedListener.MatchString(core):
		return speakerTopic
	case all[i-1].Role == memory.RoleAssistant, startsPredicate(grammar.Chinese(core), false):
		if hanAgeAsked.MatchString(core) || hanAttribute.MatchString(core) {
			return hanTalkedOf(all, i, resolve)
		}
		return hanAskedBefore(all, i, resolve)
	}
	return ""
}

func lastRune(s string) string {
	_, n := utf8.DecodeLastRuneInString(s)
	return s[len(s)-n:]
}

// hanAskedBefore returns whom a question that names nobody is about; "" if that is not certain. An assistant continues about
// whom it asked before, a person also about whom the answer named.
func hanAskedBefore(all []utterance, i int, resolve func(string) string) string {
	if i < 1 || all[i-1].Role != memory.RoleAssistant {
		return hanTalkedOf(all, i, resolve)
	}
	for j := i - 2; j >= max(0, i-3); j-- {
		if before := questionBefore(all, j); isHan(before) {
			core := hanQuestionCore(before)
			if hanAttribute.MatchString(core) || hanAgeAsked.MatchString(core) {
				return hanTalkedOf(all, j, resolve)
			}
			subject, _ := hanAskedSubject(core, speakerTopic, speakerTopic, resolve)
			return subject
		}
	}
	return speakerTopic
}

// hanTalkedOf returns whom the last words of the speaker of the utterance at i are about, for a question that names nobody;
// "" if that is not certain.
func hanTalkedOf(all []utterance, i int, resolve func(string) string) string {
	for j := i - 1; j >= max(0, i-3); j-- {
		u := all[j]
		if u.Role != all[i].Role || !strings.EqualFold(u.Name, all[i].Name) || !isHan(u.Content) {
			continue
		}
		sentences := u.sentences
		for _, s := range slices.Backward(sentences) {
			if hanQuestion.MatchString(s) {
				continue
			}
			found := hanReferentsIn(s, "", "")
			switch {
			case len(found) == 1:
				return found[0].phrase
			case len(found) > 1:
				return ""
			}
			plain := hanWithoutLeadIns(s)
			for pronoun := range hanSheHe {
				if strings.HasPrefix(plain, pronoun) {
					return resolve(pronoun)
				}
			}
			if strings.Contains(s, "我") {
				return speakerTopic
			}
		}
		if before := questionBefore(all, j); isHan(before) && j < i-1 {
			subject, _ := hanAskedSubject(hanQuestionCore(before), speakerTopic, speakerTopic, resolve)
			return subject
		}
		return speakerTopic
	}
	return speakerTopic
}

// hanWithSubject returns a Chinese sentence with its subject, and the topic for the sentences behind it. A
// sentence that names its subject is returned as it is. counts says that a number answers the question before.
func hanWithSubject(s, topic string, counts bool) (said, next string) {
	plain := hanWithoutLeadIns(hanMoodEnd.ReplaceAllString(strings.TrimSpace(s), ""))
	if m := hanNamesSubject.FindStringSubmatch(plain); m != nil {
		next = speakerTopic
		if m[1] != "" {
			next += "的" + m[1]
		}
		return plain, next
	}
	first, _, _ := strings.Cut(plain, "，")
	if topic == speakerTopic && hanOwnNoun.MatchString(plain) && hanNumber.MatchString(first) && !strings.ContainsAny(plain, "我你您") {
		return speakerTopic + "的" + plain, topic
	}
	if topic == "" || plain == "" || strings.ContainsAny(first, "我咱") || strings.ContainsAny(plain, "你您") || hanQuestion.MatchString(s) || hanRequests.MatchString(plain) ||
		hanNotSaid.MatchString(plain) || hanSupposed.MatchString(plain) || hanOwnKin.MatchString(plain) || hanOthers.MatchString(plain) {
		if strings.ContainsAny(plain, "我") {
			topic = speakerTopic
		}
		return plain, topic
	}
	if hanEndedFirst.MatchString(plain) {
		return topic + "的" + plain, topic
	}
	if !startsPredicate(grammar.Chinese(plain), counts) {
		return plain, topic
	}
	return topic + plain, topic
}

// hanEndedFirst matches a sentence that begins with what ended: "降压药停了".
var hanEndedFirst = regexp.MustCompile(`^[\p{Han}A-Za-z]{2,7}?(?:已经|早就)?(?:停了|停掉了|换成|换了|不吃了|不用了|戒了|卖了|退了|送人了|关了)`)

// hanKnownName returns the length of the name at the beginning of a question of somebody who was spoken of; 0 if there is
// none.
func hanKnownName(q string, resolve func(string) string) int {
	for n := 3; n >= 2; n-- {
		if name := firstHan(q, n); utf8.RuneCountInString(name) == n && len(name) < len(q) && resolve(name) == name {
			return len(name)
		}
	}
	return 0
}

// hanUpToDangling returns a sentence up to a last clause that refers to what it does not name.
func hanUpToDangling(s string) string {
	at := strings.LastIndex(s, "，")
	if at < 0 || hanStandsAlone(s) || !hanStandsAlone(s[:at]) || hanOpenSubordinate.MatchString(s[:at]) {
		return s
	}
	return s[:at] + "。"
}

// hanThen follow a noun for a time, hanThenWord matches such times.
var (
	hanThen     = wordSet("时 时候 期间 里 以前 之前 以后 之后 那会儿 那时候 的时候 毕业后")
	hanThenWord = regexp.MustCompile(`^(?:小时候|毕业后|上学时|大学时|年轻时|白天|晚上|早上|下午|上午|中午|周末|平时)$`)
)

// aspects follow a verb.
var aspects = wordSet("了 过 着")

// startsPredicate reports whether a Chinese sentence begins with its verb, perhaps behind adverbs, times and places,
// or with the number that a question asks for.
func startsPredicate(words []grammar.Word, counts bool) bool {
	if len(words) > 0 && counts && words[0].Tag == "m" {
		return true
	}
	if len(words) > 2 && words[0].Tag[0] == 'n' && hanThen[words[1].Text] {
		words = words[2:] // "大学时练过…"
	} else if len(words) > 1 && hanThenWord.MatchString(words[0].Text) {
		words = words[1:]
	}
	for i := range min(len(words), 8) {
		// The dictionary does not know every short verb: a single character behind an adverb, or before an aspect, is one.
		if utf8.RuneCountInString(words[i].Text) == 1 && i+1 < len(words) && words[i].Tag != "d" && words[i].Tag != "w" && words[i].Tag != "p" && words[i].Tag != "r" &&
			(i > 0 && words[i-1].Tag == "d" || aspects[words[i+1].Text]) {
			return true
		}
		if words[i].Text == "过敏" {
			return true
		}
		switch tag := words[i].Tag; {
		case tag == "v" || tag == "vn" || tag == "vi" || tag == "vd":
			// "住宿贵" and "吃着" name nothing that lasts.
			return len(words) > i+1
		case tag == "d" || tag == "t" || tag == "f" || tag == "m" || tag == "q" || words[i].Text == "月" || words[i].Text == "号" || words[i].Text == "日":
		case tag == "p":
			// A place: "在区政府上班".
			return slices.ContainsFunc(words[i:], func(w grammar.Word) bool { return w.Tag == "v" || w.Text == "过敏" })
		default:
			return false
		}
	}
	return false
}

// hanAmountSaid returns what an answer with a number says: "两个人八千块以内" after "预算多少？" is of the budget.
func hanAmountSaid(question, answer string) string {
	m := hanAmountAsked.FindStringSubmatch(strings.TrimRight(question, "?？ "))
	answer = strings.TrimRight(strings.TrimSpace(answer), "。！!吧 ")
	if m == nil || !hanAmount.MatchString(answer) || utf8.RuneCountInString(answer) > 16 || strings.ContainsAny(answer, "，,?？我你") {
		return ""
	}
	return "我的" + m[1] + "是" + answer
}
