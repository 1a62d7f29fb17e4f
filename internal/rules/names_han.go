package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds names of people at the beginning of Chinese text. A dictionary has few names, and no space or
// capital marks one, so a name has to begin with a surname or a form of address, and be no other word.

// hanSurnames are the most common surnames; hanTwoSurnames those of two characters.
const (
	hanSurnames    = `王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳邢路岳齐梅莫庄辛管祝左涂谷祁时舒耿牟卜詹关苗凌费纪靳盛童欧甄项曲成游阳裴席卫查屈鲍位覃霍翁隋植甘景薄单包司柏宁柯阮桂闵解强柴华车冉房边辜吉饶刁瞿戚丘古米池滕晋苑邬臧畅宫来嵺苟全褚廉简娄盖符奚木穆党燕郎邸冀谈姬屠连郜晏栾郁商蒙计喻揭窦迟宇敖糜鄢冷卓花仇艾蓝都巩稽井练仲乐虞卞封竺冼原官衣楚佟栗匡宗应台巫鞠僧桑荆谌银扬明沙伏岑习胥保和蔺`
	hanTwoSurnames = `欧阳|司马|上官|诸葛|司徒|东方|独孤|南宫|慕容|尉迟|令狐|夏侯|皇甫|公孙|轩辕|宇文|长孙|端木`
	hanTitles      = `老师|医生|大夫|护士|总|经理|阿姨|叔叔|叔|姨|哥|姐|教练|主任|师傅|先生|女士|太太|同学|奶奶|爷爷|律师|教授|警官|老板|校长|院长|队长|班长|导|处长|局长`
	// hanNeverNames are characters of no given name.
	hanNeverNames = `不也还在是的了就都没有想要会能很太真最把被给让和跟与对从到去来说看吃喝做个这那他她它我你您们吗呢吧啊哦嘛上下里外前后今昨年号周再又才只刚已早过着得地爱养住搬买卖打教学读快`
)

var (
	hanTitled   = regexp.MustCompile(`^(?:[` + hanSurnames + `]|` + hanTwoSurnames + `)(?:` + hanTitles + `)`)
	hanFamiliar = regexp.MustCompile(`^[小老阿][\p{Han}]`)
	hanTwoNamed = regexp.MustCompile(`^(?:` + hanTwoSurnames + `)\p{Han}{1,2}?`)
	latinName   = regexp.MustCompile(`^(?:\p{Lu}[\p{Latin}'-]*)(?: \p{Lu}[\p{Latin}'-]*)?`)
	// hanBehindName matches what follows the name of whom a clause is about.
	hanBehindName = regexp.MustCompile(`^(?:$|[，,。！!；;、 ]|\d|[的在是有也都还就不没住搬去来到从对把跟和与养开买卖做当学喜热酷爱想要打会能负每今明后上下前现已刚最被给让说叫姓戒辞离结参加读吃喝弹拉唱跳练带陪得报收拿换用教写画又常几多调总曾将入任毕出考约定取退订计准决希讨受迷放担生昨周一老特非很真才只早平正先终自以家名七八九十两三四五六快])`)
	// hanGrandchild matches what begins like somebody of the surname 孙.
	hanGrandchild = regexp.MustCompile(`^孙(?:女|子|媳|辈)`)
)

// hanNameAt returns the length in bytes of the name at the beginning of a text; 0 if there is none. user is a name
// that is known; it may be "".
func hanNameAt(s, user string) int {
	for _, self := range []string{"用户", "我", user} {
		if self != "" && strings.HasPrefix(s, self) && !strings.HasPrefix(s[len(self):], "们") {
			return len(self)
		}
	}
	if m := latinName.FindString(s); m != "" {
		return len(m)
	}
	if m := hanTitled.FindString(s); m != "" && hanBehindName.MatchString(s[len(m):]) {
		return len(m)
	}
	words := grammar.Chinese(firstHan(s, 8))
	if len(words) == 0 || hanGrandchild.MatchString(s) {
		return 0
	}
	first := words[0]
	if utf8.RuneCountInString(first.Text) > 1 && first.Tag != "nr" {
		return 0 // a word: 高兴, 周末, 老师
	}
	fits := func(n int) bool {
		name := firstHan(s, n)
		if utf8.RuneCountInString(name) < n || !hanBehindName.MatchString(s[len(name):]) {
			return false
		}
		for i, r := range name {
			if i > 0 && strings.ContainsRune(hanNeverNames, r) {
				return false
			}
		}
		// The name ends where a word ends.
		for _, w := range words {
			if w.Start < len(name) && w.End > len(name) {
				return false
			}
		}
		return true
	}
	length := func(n int) int { return len(firstHan(s, n)) }
	r, size := utf8.DecodeRuneInString(s)
	switch next, _ := utf8.DecodeRuneInString(s[size:]); {
	case first.Tag == "nr" && utf8.RuneCountInString(first.Text) > 1:
		if n := utf8.RuneCountInString(first.Text); strings.ContainsRune(hanSurnames, r) || hanFamiliar.MatchString(s) {
			if n == 2 && fits(3) && len(words) > 1 && utf8.RuneCountInString(words[1].Text) == 1 && words[1].Tag != "v" && words[1].Tag != "p" && words[1].Tag != "d" {
				return length(3)
			}
			if fits(n) {
				return length(n)
			}
		}
	case hanFamiliar.MatchString(s) && fits(2):
		return length(2)
	case hanTwoNamed.MatchString(s):
		for _, n := range []int{4, 3} {
			if fits(n) {
				return length(n)
			}
		}
	case strings.ContainsRune(hanSurnames, r):
		for _, n := range []int{3, 2} {
			if fits(n) && (n != 3 || !hanVerbBehind(words, n)) {
				return length(n)
			}
		}
	case r == next && !strings.ContainsRune(hanNeverNames, r) && fits(2) && r != '天' && r != '人' && r != '常' && r != '偏':
		return length(2) // 乐乐, 朵朵
	}
	return 0
}

// hanVerbBehind reports whether the last of n characters is a verb, an adverb or a preposition by itself.
func hanVerbBehind(words []grammar.Word, n int) bool {
	at := 0
	for _, w := range words {
		at += utf8.RuneCountInString(w.Text)
		if at == n {
			return w.Tag == "p" || w.Tag == "d" || w.Tag == "v" && utf8.RuneCountInString(w.Text) == 1 || utf8.RuneCountInString(w.Text) > 1 && w.Tag != "nr" && at > utf8.RuneCountInString(w.Text) && w.Tag[0] != 'n'
		}
	}
	return false
}

// isHanNameEnd reports whether all of a text can be a name that somebody or something is given.
func isHanNameEnd(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) && strings.ContainsRune(hanNeverNames, r) })
}

// firstHan returns the first n characters of s, fewer where others come.
func firstHan(s string, n int) string {
	end := 0
	for i, r := range s {
		if n == 0 || !unicode.Is(unicode.Han, r) {
			return s[:i]
		}
		n--
		end = i + utf8.RuneLen(r)
	}
	return s[:end]
}
