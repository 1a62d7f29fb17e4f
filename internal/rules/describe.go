package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// maxTagged is the number of bytes of a text whose words are tagged. The keywords of what follows
// are found without tags.
const maxTagged = 8_000

// taggedWords returns the tagged words of the beginning of an English text.
func taggedWords(s string) []grammar.Word {
	if len(s) > maxTagged {
		cut := strings.LastIndexByte(s[:maxTagged], ' ')
		s = s[:max(cut, 0)]
	}
	return grammar.English(strings.ReplaceAll(s, "\n", " "))
}

func isNoun(w *grammar.Word) bool {
	low := strings.ToLower(w.Text)
	return (strings.HasPrefix(w.Tag, "NN") || w.Tag == "FW") && !interjections[low] && !text.IsTimeWord(low)
}

// hanKeywords returns the nouns of a Chinese text, joined where they make one thing, then its verbs and adjectives until
// there are three.
func hanKeywords(s, speaker string) []string {
	var nouns, others []string
	s = clip.Head(s, maxTagged)
	for _, m := range hanTitle.FindAllStringSubmatch(s, -1) {
		nouns = append(nouns, m[1])
	}
	words := joinCompounds(joinEnds(joinNames(joinKin(withoutPlaceEnd(grammar.Chinese(hanTitle.ReplaceAllString(s, "，")))))))
	for i, w := range words {
		single := utf8.RuneCountInString(w.Text) < 2
		if single && i > 0 && countsBefore(words[i-1].Text) {
			continue // a measure: "三杯", "哪部"
		}
		if single && (w.Tag != "n" || hanNameEnds[w.Text] || hanBody[w.Text]) || text.IsTimeWord(w.Text) || text.IsStopWord(w.Text, text.Chinese) || strings.Contains(speaker, w.Text) || hanNoTopics[w.Text] {
			continue
		}
		switch tag := w.Tag; {
		case tag == "eng":
			if len(w.Text) > 1 && !text.IsStopWord(text.Fold(w.Text), text.English) {
				nouns = append(nouns, w.Text)
			}
		case tag == "i" || hanGeneral[w.Text] || hanLook.MatchString(w.Text): // an idiom says how
			others = append(others, w.Text)
		case isHanTopic(w):
			nouns = append(nouns, w.Text)
		case tag == "v" || tag == "a" || tag == "z" || tag == "x" && !single:
			others = append(others, w.Text)
		}
	}
	nouns, others = dedupeFold(nouns), dedupeFold(others)
	// A word that a compound has says nothing more.
	nouns = slices.DeleteFunc(nouns, func(n string) bool {
		return slices.ContainsFunc(nouns, func(o string) bool { return o != n && strings.Contains(o, n) })
	})
	nouns = nouns[:min(len(nouns), maxKeywords)]
	if missing := minKeywords - len(nouns); missing > 0 {
		others = slices.DeleteFunc(others, func(w string) bool { return hanPlainVerbs[w] })
		nouns = append(nouns, others[:min(missing, len(others))]...)
	}
	return dedupeFold(nouns)
}

// hanTitle matches the title of a book or a film, which stays whole.
var hanTitle = regexp.MustCompile(`《([^《》]{1,24})》`)

// hanNameEnds are characters that end names of things, which the dictionary may not have. Alone they name nothing.
var hanNameEnds = wordSet("课 画 赛 展 班 营 糖")

// hanToolEnds end the names of machines and rooms, whose beginning may be a verb: "跑步机".
var hanToolEnds = wordSet("机 器 室 课 班 赛 梯 杯 表 奖 坊 图")

// countsBefore reports whether a word ends in a number, or asks for one: the next character is a measure.
func countsBefore(w string) bool { return hanMeasured.MatchString(w) }

var hanMeasured = regexp.MustCompile(`[一二三四五六七八九十两几每哪半数百千万]$`)

// joinKin joins what says on which side or at what rank somebody is of the family, and a surname and a title: "堂" and "哥"
// are one word, and so are "李" and "大爷".
func joinKin(words []grammar.Word) []grammar.Word {
	var out []grammar.Word
	for _, w := range words {
		if last := len(out) - 1; last >= 0 && out[last].End == w.Start && (hanKinSide[out[last].Text] && hanKinEnd[w.Text] || isHanSurname(out[last]) && hanRespect[w.Text]) {
			out[last] = grammar.Word{Text: out[last].Text + w.Text, Tag: "n", Start: out[last].Start, End: w.End}
			continue
		}
		out = append(out, w)
	}
	return out
}

var (
	hanKinSide = wordSet("堂 表 大 二 三 小 干 继")
	hanRespect = wordSet("大爷 大妈 大叔 大婶 阿姨 叔叔 老师 医生 教授 先生 女士 小姐 经理 师傅 主任 校长 教练 爷爷 奶奶")
	hanKinEnd  = wordSet("哥 姐 弟 妹 哥哥 姐姐 弟弟 妹妹 叔 伯 姨 舅 爸 妈")
)

func isHanSurname(w grammar.Word) bool {
	return w.Tag == "nr" && utf8.RuneCountInString(w.Text) == 1
}

// hanBody are nouns that are mostly parts of an idiom: 静下心来.
var hanBody = wordSet("心 身 手 脸 眼 口 气 力 劲 底")

// joinEnds joins such a character to the noun or the single characters before it: "卡通" and "画" are one word, and so are
// "自", "习" and "课".
func joinEnds(words []grammar.Word) []grammar.Word {
	var out []grammar.Word
	for i, w := range words {
		from := len(out)
		isVerb := i+1 < len(words) && hanAspects[words[i+1].Text] // 画了
		if (hanNameEnds[w.Text] || hanToolEnds[w.Text]) && !isVerb {
			for end := w.Start; from > 0 && out[from-1].End == end && len(out)-from < 2 && joinsEnd(out[from-1], hanToolEnds[w.Text]); from-- {
				end = out[from-1].Start
				if utf8.RuneCountInString(out[from-1].Text) > 1 {
					from--
					break
				}
			}
		}
		for _, part := range slices.Backward(out[from:]) {
			w = grammar.Word{Text: part.Text + w.Text, Tag: "n", Start: part.Start, End: w.End}
		}
		out = append(out[:from], w)
	}
	return out
}

// joinsEnd reports whether a word can be the beginning of the name of a thing, or of a tool.
func joinsEnd(w grammar.Word, tool bool) bool {
	if utf8.RuneCountInString(w.Text) > 1 {
		return (w.Tag == "n" || w.Tag == "nz" || w.Tag == "vn" || w.Tag == "v" && tool) && !hanPlainVerbs[w.Text] && !hanKinWord.MatchString(w.Text)
	}
	return w.Tag != "w" && w.Tag != "eng" && !countsBefore(w.Text) && !hanShortVerbs[w.Text] && !text.IsStopWord(w.Text, text.Chinese) && !hanNoTopics[w.Text]
}

// hanAspects follow verbs.
var hanAspects = wordSet("了 着 过 得 完 好")

// isHanTopic reports whether the tag of a Chinese word is that of a noun, or of what is used as one.
func isHanTopic(w grammar.Word) bool {
	switch w.Tag {
	case "vn", "an", "l", "i", "s", "j":
		return true
	}
	return w.Tag[0] == 'n'
}

// hanNoTopics are nouns that name no topic.
var hanNoTopics = wordSet("时 后 前 中 里 上 下 内 外 间 机 人 事 家 方 点 面 头 边 种 类 感觉 家里 家中 时候 时间 东西 事情 样子 地方 方面 情况 有时 能带 有关 关于 小心 关键 用心 回家 一下 大家 自己 人们 们")

// hanGeneral are nouns, and verbs used as such, that say little about a topic.
var hanGeneral = wordSet(`内容 过程 环节 尝试 取得 心爱 心仪 样式 部分 目的 结果 意思 想法 问题 机会 办法 方法 方式 感受 印象 状态 程度 关系 效果 作用 原因 意义 例子 全部 整个 时刻 场面 气氛 氛围 期间 经历 经验 影响
	形状 名次 角落 项目 计划 方案 情绪 心情 表现 能力 努力 建议 帮助 支持 鼓励 选择 决定 准备 开始 参加 参与 希望 兴趣 信心 世界 生活 好看 多彩 五颜六色`)

// hanOccasions name an occasion in front of what belongs to it: "生日派对", "期末考试".
var hanOccasions = wordSet("生日 期末 期中 圣诞 圣诞节 春节 中秋 中秋节 新年 元旦 端午 端午节 国庆 万圣节 情人节 母亲节 父亲节 儿童节 毕业 入学 开学 婚礼 复习 志愿者 年终 才艺")

// hanKinds are kinds, behind which a longer noun says which one: "动物金丝猴" are two words.
var hanKinds = wordSet("动物 植物 水果 蔬菜 书籍 游戏 电影 歌曲 国家 城市 同学 朋友 老师 邻居 医生 品牌 菜")

// hanLook matches a color or a shape, which says how a thing looks.
var hanLook = regexp.MustCompile(`^.{1,3}[色形]$`)

// withoutPlaceEnd returns words of places without the character that says where: "花园里", and "公" and "园里", which is "公园".
func withoutPlaceEnd(words []grammar.Word) []grammar.Word {
	var out []grammar.Word
	for _, w := range words {
		if base, ok := strings.CutSuffix(w.Text, "里"); ok && utf8.RuneCountInString(base) > 0 && (w.Tag[0] == 'n' || w.Tag == "s") && !hanNoTopics[w.Text] {
			w.Text, w.End = base, w.End-len("里")
			if last := len(out) - 1; last >= 0 && utf8.RuneCountInString(base) == 1 && out[last].End == w.Start && utf8.RuneCountInString(out[last].Text) == 1 {
				w.Text, w.Start = out[last].Text+base, out[last].Start
				out = out[:last]
			}
		}
		out = append(out, w)
	}
	return out
}

// joinCompounds joins two nouns that follow one another without anything between them: "宠物" and "店" are one thing. What
// is done at a place is another.
func joinCompounds(words []grammar.Word) []grammar.Word {
	isPart := func(w grammar.Word) bool {
		return (w.Tag == "n" || w.Tag == "nz" || w.Tag == "vn") && !text.IsTimeWord(w.Text) && !hanLook.MatchString(w.Text) && !hanNoTopics[w.Text] && !hanKinWord.MatchString(w.Text) && !text.IsStopWord(w.Text, text.Chinese)
	}
	var out []grammar.Word
	for i := 0; i < len(words); i++ {
		w := words[i]
		begins := hanOccasions[w.Text] || isPart(w) && w.Tag != "vn" && !hanGeneral[w.Text]
		if next := i + 1; next < len(words) && begins && utf8.RuneCountInString(w.Text) > 1 && words[next].Start == w.End && (isPart(words[next]) || hanOccasions[w.Text] && hanEvents[words[next].Text]) && (!hanKinds[w.Text] || utf8.RuneCountInString(words[next].Text) < 3) {
			behind := words[next]
			if single := utf8.RuneCountInString(behind.Text) == 1; (single || !hanPlaceEnd.MatchString(w.Text)) && (behind.Tag != "vn" || hanEvents[behind.Text]) && utf8.RuneCountInString(w.Text+behind.Text) <= 5 {
				w = grammar.Word{Text: w.Text + behind.Text, Tag: "n", Start: w.Start, End: behind.End}
				i++
			}
		}
		out = append(out, w)
	}
	return out
}

var (
	hanPlaceEnd = regexp.MustCompile(`[园馆场山店院校厅室楼街市站城湖海岛村]$`)
	hanEvents   = wordSet("派对 聚会 晚会 典礼 展示 比赛 活动 训练 考试 培训 管理 设计 服务 研究 治疗 手术 检查 表演 展览 计划 测试 开发 教育 演出 会议")
)

// joinNames joins single characters that follow one another and can be parts of a name that the
// dictionary does not have: "徐", "汇" and "区" are one word.
func joinNames(words []grammar.Word) []grammar.Word {
	inName := func(w grammar.Word) bool {
		return utf8.RuneCountInString(w.Text) == 1 && (w.Tag[0] == 'n' || w.Tag == "x" || w.Tag == "j") && !hanNoTopics[w.Text] && !hanShortVerbs[w.Text] && !hanJoints[w.Text]
	}
	var out []grammar.Word
	for _, w := range words {
		if last := len(out) - 1; last >= 0 && inName(w) && out[last].End == w.Start && (inName(out[last]) || out[last].Tag == "nz" && utf8.RuneCountInString(out[last].Text) < 4) {
			out[last] = grammar.Word{Text: out[last].Text + w.Text, Tag: "nz", Start: out[last].Start, End: w.End}
			continue
		}
		out = append(out, w)
	}
	return out
}

// hanJoints are characters between words.
var hanJoints = wordSet("并 与 和 及 或 跟 同 但 而 且 因 为 以 于 之 把 被 让 使 令")

// hanPlainVerbs name no activity.
var hanPlainVerbs = wordSet("进入 重要 取得 尝试 参加 获得 得到 完成 选择 发现 举行 调整 结识 拿到 遇到 来到 度过 想到 带来 帮助 继续 决定 参与 学到 记得 忘记 做到 想起 成功 认真 一起 有没有 导致 引起 产生 存在 属于 包括 使得 给予 期待 找到 收集 喜爱 好看 好吃 很美 最后 终于 觉得 认为 知道 可以 应该 需要 希望 打算 准备 开始 没有 喜欢 不会 想要 能够 看到 告诉 变成 成为 进行 不是 感到 收到 觉着 出来 起来 还是 就是 要是 有点 很好 非常 真的 特别")

// verbCues are verbs that name a domain as its nouns do. Any other word of a domain counts only as
// a noun: "nurses run the hospital" is not about sports.
var verbCues = func() map[string]bool {
	m := map[string]bool{}
	for w := range wordSet(`cook bake eat drink taste grill travel visit hike camp swim bike cycle ski surf climb golf skate box sing draw paint sketch dance knit sew
		craft read write learn study graduate marry adopt volunteer celebrate donate drive commute rain snow code program invest clean repair renovate
		garden photograph buy purchase exercise sleep diet jog stretch inspire worry struggle motivate calm comfort design publish protest work teach tutor`) {
		m[text.Stem(w, text.English)] = true
	}
	return m
}()

// otherSenses are words with the stem of a domain's word and another sense.
var otherSenses = map[string]string{"engineering": "transport", "engineer": "transport", "engineers": "transport", "photo": "art", "photos": "art", "pic": "art", "pics": "art"}

// verbsOf returns the folded words that an English text has only as verbs. "run a marathon" keeps
// its verb: its object is of the same domain.
func verbsOf(s string) map[string]bool {
	verbs := map[string]bool{}
	words := taggedWords(s)
	for _, w := range words {
		if low := text.Fold(w.Text); w.Tag[0] == 'V' && !verbCues[text.Stem(low, text.English)] {
			verbs[low] = true
		}
	}
	for _, w := range words {
		if strings.HasPrefix(w.Tag, "NN") {
			delete(verbs, text.Fold(w.Text))
		}
	}
	return verbs
}

// subjectStems returns the stems of the words of a text that name what it is about: nouns, names,
// and verbs of an activity.
func subjectStems(s string, lang text.Language) map[string]bool {
	stems := map[string]bool{}
	if lang == text.Chinese {
		for _, w := range grammar.Chinese(clip.Head(s, maxTagged)) {
			if w.Tag[0] == 'n' || w.Tag == "vn" || w.Tag == "eng" || w.Tag == "l" || w.Tag == "v" && utf8.RuneCountInString(w.Text) > 1 && !hanPlainVerbs[w.Text] {
				stems[text.Stem(text.Fold(w.Text), lang)] = true
			}
		}
		return stems
	}
	for _, w := range taggedWords(s) {
		low := text.Fold(w.Text)
		st := text.Stem(low, lang)
		if strings.HasPrefix(w.Tag, "NN") && !numberWords[low] || w.Tag == "FW" || verbCues[st] && !abstractNouns[low] && w.Tag[0] == 'V' && !everydayVerbs[st] || w.Tag == "JJ" && lastingAdjectives[low] {
			for _, t := range text.Words(w.Text) {
				stems[text.Stem(t, lang)] = true
			}
		}
	}
	return stems
}

// lastingAdjectives are what two notes may be about. everydayVerbs are the stems of verbs of a
// domain that say too little to relate two notes.
var (
	lastingAdjectives = wordSet("allergic vegetarian vegan pregnant diabetic lactose pescatarian")
	everydayVerbs     = func() map[string]bool {
		m := map[string]bool{}
		for w := range wordSet("learn study visit inspire worry struggle motivate calm comfort work clean eat drink read write buy purchase create design share capture") {
			m[text.Stem(w, text.English)] = true
		}
		return m
	}()
)

// numberWords are numbers in words, which relate nothing.
var numberWords = wordSet("one two three four five six seven eight nine ten eleven twelve hundred thousand million first second third dozen couple half")

// abstractNouns are words of nearly every talk among friends. Two notes that share one need not
// have a subject in common.
var abstractNouns = wordSet(`change changes goal goals dream dreams passion passions community communities friend friends family families photo photos picture
	pictures pic pics life lives world idea ideas project projects work job jobs team teams event events people kid kids group groups style fun friendship
	encouragement positivity growth success challenge challenges situation choice choices decision decisions tip tips view views peace happiness beauty creativity
	spirit heart word words place places conversation conversations talk chat message messages question questions answer story stories reminder
	appreciation gratitude hope luck guy guys man woman person child children house home area spot spots room stuff type types list lists example examples
	option options detail details problem problems solution solutions process approach information topic purpose level levels skill skills
	career future past road path season seasons shot shots scene eye eyes face smile laugh voice name names weekend vacation tour
	enjoy sounds sound look looks amaze awesome inspiring inspire motivate worry worries struggle calm comfort perfect interesting exciting important difficult different
	wonderful special favorite favourite positive negative proud grateful thankful excited supportive meaningful incredible fantastic beautiful creative
	relationship relationships environment attention effort efforts dedication determination resilience kindness mindset perspective value values`)
