package rules

import "strings"

// traitCues are traits of a person, the words that hint at each, and how to answer somebody who
// has it.
var traitCues = []struct {
	name, chinese        string
	cues                 []string
	strategy, strategyZh string
}{
	{"kind", "友善", parseCues("thank you", "thanks", "help", "helped", "volunteer", "volunteered", "donate", "donated", "care", "support", "sorry", "谢谢", "帮助", "帮忙", "志愿", "关心"), "answer warmly and thank for what is shared", "以温暖的语气回应，并感谢分享"},
	{"curious", "好奇", parseCues("wonder", "wondering", "curious", "learn", "learning", "interested", "how does", "why", "explore", "discover", "好奇", "想知道", "为什么", "学习", "感兴趣"), "explain reasons and offer something new to explore", "解释原因，并提供新的探索方向"},
	{"creative", "有创意", parseCues("paint", "painting", "write", "writing", "music", "draw", "drawing", "design", "art", "poem", "guitar", "dance", "画画", "写作", "音乐", "设计", "创作", "绘画"), "ask about what is being created", "询问正在创作的内容"},
	{"ambitious", "有上进心", parseCues("goal", "goals", "plan", "planning", "career", "promotion", "achieve", "business", "improve", "determined", "目标", "计划", "努力", "事业", "提升"), "help with next steps towards the goals named", "帮助制定实现目标的下一步"},
	{"sociable", "善于交际", parseCues("friends", "friend", "party", "together", "family", "met", "team", "community", "朋友", "聚会", "一起", "家人", "社区"), "ask about the people mentioned", "问候提到的人"},
	{"active", "爱运动", parseCues("run", "running", "gym", "hike", "hiking", "yoga", "swim", "swimming", "workout", "bike", "cycling", "跑步", "健身", "运动", "爬山", "瑜伽", "游泳"), "encourage activity and suggest outings", "鼓励运动并建议外出活动"},
	{"anxious", "焦虑", parseCues("worried", "worry", "nervous", "anxious", "anxiety", "stress", "stressed", "overwhelmed", "afraid", "scared", "pressure", "担心", "焦虑", "紧张", "压力", "害怕"), "reassure, and break what is hard into small steps", "安抚情绪，把困难拆成小步骤"},
	{"sensitive", "感性", parseCues("feel", "feeling", "lonely", "hurt", "cry", "cried", "emotional", "miss", "heart", "难过", "孤独", "伤心", "感动", "想念"), "listen first and acknowledge feelings", "先倾听并认可感受"},
	{"optimistic", "乐观", parseCues("excited", "hope", "hopeful", "looking forward", "great", "wonderful", "confident", "期待", "希望", "开心", "相信"), "share the joy and build on it", "分享喜悦并加以延续"},
	{"thoughtful", "善于思考", parseCues("think", "thinking", "realize", "realized", "reflect", "believe", "meaning", "思考", "觉得", "认为", "反思", "意义"), "offer considered answers and other points of view", "给出深思熟虑的回答和不同视角"},
	{"polite", "有礼貌", parseCues("please", "would you", "could you", "appreciate", "excuse me", "请", "麻烦", "劳驾", "多谢"), "stay courteous and to the point", "保持礼貌，简明扼要"},
	{"adventurous", "爱冒险", parseCues("travel", "travelling", "traveling", "trip", "adventure", "camping", "climb", "climbing", "surf", "旅行", "旅游", "冒险", "露营"), "ask about journeys and suggest places", "询问旅程并推荐去处"},
}

// The words that hint at a mood.
var (
	gladCues = parseCues(`happy glad great love loved wonderful excited amazing awesome fun enjoy enjoyed proud relaxed grateful joy good best
		beautiful nice delicious celebrate celebrated won success thrilled hopeful calm peaceful fantastic`)
	sadCues = parseCues(`sad unhappy angry upset worried worry anxious stress stressed tired lonely hate hated awful terrible bad afraid scared
		lost died death sick ill pain hurt depressed frustrated disappointed failed fail overwhelmed nervous cry cried exhausted annoyed broke`)
	gladHan = strings.Fields("开心 高兴 快乐 喜欢 幸福 满意 兴奋 期待 感谢 放松 顺利 骄傲 太好了 好吃 成功 享受")
	sadHan  = strings.Fields("难过 伤心 生气 焦虑 担心 压力 孤独 累 讨厌 糟糕 害怕 失望 沮丧 生病 疼 失败 烦 郁闷 哭 紧张 失眠")
)

// feelingWords say how somebody feels; the other mood cues may only be judgments of things. A
// feeling has twice the weight.
var feelingWords = wordSet(`happy thrilled excited proud joy grateful hopeful sad unhappy angry upset worried anxious stressed lonely afraid
	scared depressed frustrated disappointed overwhelmed exhausted died death cried`)

// cueWeight returns the weight of a mood cue.
func cueWeight(cue string) int {
	if feelingWords[strings.TrimSpace(cue)] {
		return 2
	}
	return 1
}

// moodScore returns a mood between -1 and 1; 0 if no word hints at one.
func moodScore(words, plain string) float64 {
	glad, sad := 0, 0
	for _, c := range gladCues {
		glad += cueWeight(c) * strings.Count(words, c)
	}
	for _, c := range sadCues {
		sad += cueWeight(c) * strings.Count(words, c)
	}
	for _, c := range gladHan {
		glad += strings.Count(plain, c)
	}
	for _, c := range sadHan {
		sad += strings.Count(plain, c)
	}
	for _, c := range []string{"不开心", "不高兴", "不喜欢", "不满意"} {
		n := strings.Count(plain, c)
		glad, sad = glad-n, sad+n
	}
	if glad+sad <= 0 {
		return 0
	}
	return float64(glad-sad) / float64(glad+sad)
}

// notedMood returns the mood that a note about a day names, or else the mood of its words.
func notedMood(words, plain string) float64 {
	for _, n := range []struct {
		mood      float64
		word, han string
	}{{1, " positive ", "积极"}, {-1, " negative ", "低落"}, {0, " neutral ", "平静"}} {
		if strings.Contains(words, n.word) || strings.Contains(plain, n.han) {
			return n.mood
		}
	}
	return moodScore(words, plain)
}

func moodName(mood float64, zh bool) string {
	en, cn := "neutral", "平静"
	switch {
	case mood > 0.25:
		en, cn = "positive", "积极"
	case mood < -0.25:
		en, cn = "negative", "低落"
	}
	if zh {
		return cn
	}
	return en
}

func traitName(name string, zh bool) string {
	if zh {
		for _, t := range traitCues {
			if t.name == name {
				return t.chinese
			}
		}
	}
	return name
}

// replyStrategy returns how to answer somebody of a mood with these traits.
func replyStrategy(mood float64, traits []string, zh bool) string {
	en, cn := []string{"Be friendly and attentive"}, []string{"保持友好与专注"}
	switch {
	case mood > 0.25:
		en, cn = []string{"Share the good mood"}, []string{"分享好心情"}
	case mood < -0.25:
		en, cn = []string{"Be gentle and offer comfort"}, []string{"语气温和并给予安慰"}
	}
	for _, name := range traits[:min(2, len(traits))] {
		for _, t := range traitCues {
			if t.name == name {
				en, cn = append(en, t.strategy), append(cn, t.strategyZh)
			}
		}
	}
	if zh {
		return strings.Join(cn, "；") + "。"
	}
	return strings.Join(en, "; ") + "."
}
