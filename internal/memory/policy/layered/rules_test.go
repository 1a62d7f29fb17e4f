package layered

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/said"
)

func triplesOf(role memory.Role, s string) []string {
	out := []string{}
	for _, t := range RuleTriples(TriplesInput{Message: memory.Utterance{Role: role, Content: s}}) {
		out = append(out, t.Relation+": "+t.Object)
	}
	return out
}

// C270, C336: each relation has its phrases in English and Chinese, adverbs may be between subject and
// verb, jobs come before names, the earliest punctuation ends the object, and its letter case is kept.
func TestRuleTriples(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"My name is Jonas Okafor.":                                 "name: Jonas Okafor",
		"Hi, I'm Ana!":                                             "name: Ana",
		"My job is nurse, and I live in São Paulo.":                "job: nurse; place: São Paulo",
		"You can call me AJ, by the way.":                          "address: AJ",
		"I currently work as a tax consultant, mostly from home.":  "job: tax consultant",
		"I really love hiking in the Alps, and I can speak Dutch.": "likes: hiking in the Alps; skills: speak Dutch",
		"I don't really like mushrooms.":                           "dislikes: mushrooms",
		"I'm in Berlin now.":                                       "place: Berlin",
		"I'm currently based in Lagos":                             "place: Lagos",
		"I'm good at chess!":                                       "skills: chess",
		"My goal is to run a Marathon by May.":                     "goals: run a Marathon by May",
		"I want to become a pilot.":                                "goals: become a pilot",
		"My favorite food is Pad Thai.":                            "likes: Pad Thai",
		"I can't stand loud music, but I love Bach.":               "dislikes: loud music; likes: Bach",
		"我叫李雷。":                                                    "name: 李雷",
		"我的名字是韩梅梅，请多关照":                                            "name: 韩梅梅",
		"你好，我是李雷":                                                  "name: 李雷",
		"我叫张三，是一名 Python 后端开发者":                                    "name: 张三; job: Python 后端开发者",
		"你可以叫我小雷":                                                  "address: 小雷",
		"我是一名医生，在医院上班":                                             "job: 医生",
		"我是一名程序员":                                                  "job: 程序员",
		"我的职业是产品经理。":                                               "job: 产品经理",
		"我现在住在杭州西湖区。":                                              "place: 杭州西湖区",
		"我在上海工作":                                                   "place: 上海",
		"我真的很喜欢吃火锅！":                                               "likes: 吃火锅",
		"我其实不太喜欢香菜，但是我喜欢辣椒":                                        "dislikes: 香菜; likes: 辣椒",
		"我讨厌下雨天。":                                                  "dislikes: 下雨天",
		"我擅长做PPT。":                                                 "skills: 做PPT",
		"我会弹钢琴，也会游泳":                                               "skills: 弹钢琴; skills: 游泳",
		"我的目标是考上Oxford。":                                           "goals: 考上Oxford",
		"我希望达到年收入50万":                                              "goals: 年收入50万",
		"叫我阿成":                                                     "address: 阿成",
		"叫我小雷就行":                                                   "address: 小雷",
		"我最喜欢的颜色是蓝色":                                               "likes: 蓝色",
		"我想成为一名作家":                                                 "goals: 成为一名作家",
	} {
		if got := strings.Join(triplesOf(memory.RoleUser, said), "; "); got != want {
			t.Errorf("%s\n  %s", said, got)
		}
	}
}

// C270: each member of an enumeration is an object; a comma that joins clauses makes none.
func TestRuleTriplesOfLists(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"我喜欢吃苹果、香蕉和橙子":                                                "likes: 吃苹果; likes: 香蕉; likes: 橙子",
		"我喜欢寿司、火锅以及和牛。":                                               "likes: 寿司; likes: 火锅; likes: 和牛",
		"我喜欢苹果和香蕉":                                                    "likes: 苹果和香蕉",
		"我擅长游泳、滑雪、画画等等。":                                              "skills: 游泳; skills: 滑雪; skills: 画画",
		"我讨厌香菜、芹菜，也喜欢辣椒。":                                             "dislikes: 香菜; dislikes: 芹菜; likes: 辣椒",
		"我住在北京、上海":                                                    "place: 北京",
		"I like apples, bananas and pears.":                           "likes: apples; likes: bananas; likes: pears",
		"I love tea, dark chocolate, and old films, and I hate rain.": "likes: tea; dislikes: rain",
		"I don't like mushrooms, olives or capers":                    "dislikes: mushrooms; dislikes: olives; dislikes: capers",
		"I'm good at chess, cooking and drawing!":                     "skills: chess; skills: cooking; skills: drawing",
		"I can swim, dive and sail.":                                  "skills: swim; skills: dive; skills: sail",
		"I like salt and vinegar.":                                    "likes: salt and vinegar",
		"I like tea, mostly for its taste and smell.":                 "likes: tea",
		"I like tea, my brother drinks coffee.":                       "likes: tea",
		"I love Paris, the rain was heavy and we stayed in.":          "likes: Paris",
		"I live in Rome, Italy and work as a cook.":                   "place: Rome",
	} {
		if got := strings.Join(triplesOf(memory.RoleUser, said), "; "); got != want {
			t.Errorf("%s\n  %s", said, got)
		}
	}
}

// C334, C335, C336: questions, suppositions, promises and what an assistant says give nothing, and "I am in"
// and "I can" need a place and a skill.
func TestNoRuleTriples(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"Do you remember my name?", "What is my name?", "你还记得我的名字吗？", "我叫什么名字", "你知道我喜欢什么吗",
		"I'm in love.", "I'm in a meeting.", "I am in trouble!", "I can see that.", "I can help you tomorrow.", "我在开会", "我在想这个问题。", "我会尽快给你打电话", "我会的",
		"I like it.", "I love how you said that!", "I'd like a coffee.", "If I live in Rome, I need a car.", "I'm tired.", "I'm Sorry", "I'm a big fan.", "I am not a doctor.",
		"I'm happy with it", "My company's name is Acme.", "We had a baby, the name is Mira.", "I'm German.", "I'm a big sister.", "我们公司叫未来科技。", "我有个儿子,名字叫小明。", "I like tea, do you?", "如果我住在北京就好了", "我是说你不对", "我叫他过来", "我爱你", "> My name is Bo.", "```\nMy name is Bo.\n```",
		"I like " + strings.Repeat("very ", 30) + "old boats.",
	} {
		if got := triplesOf(memory.RoleUser, said); len(got) > 0 {
			t.Errorf("%s\n  %s", said, got)
		}
	}
	for _, role := range []memory.Role{memory.RoleAssistant, memory.RoleSystem, memory.RoleTool} {
		if got := triplesOf(role, "My name is Bo. I like tea."); len(got) > 0 {
			t.Errorf("%s: %s", role, got)
		}
	}
	open := triplesOf(memory.RoleUser, "I like "+strings.Repeat("wide ", 15)+"rivers")
	if len(open) != 1 || len(open[0]) > len("likes: ")+openObjectChars || strings.HasSuffix(open[0], "wid") {
		t.Errorf("%q", open)
	}
}

// C259: each rule of items, in English and Chinese.
func TestItemImportance(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]float64{
		"The weather is nice.": .1, "今天天气不错": .1, "": .1,
		"The key is under the mat, this is important.": .4, "You must not eat nuts.": .4, "Remember the milk.": .4, "钥匙在垫子下，请记住": .4, "这个很重要": .4,
		"Ana prefers tea.": .3, "We like jazz.": .3, "It looks like rain.": .1, "安娜喜欢喝茶": .3, "他讨厌下雨": .3,
		"The goal is a thousand users.": .35, "The task is done.": .35, "任务已经完成": .35, "需要你写报告": .35,
		strings.Repeat("a b ", 26):   .25,
		strings.Repeat("天气不错", 26):   .25,
		"Do you remember the beach?": .1,
		"Remember: the task is critical, and Ana hates delays. " + strings.Repeat("More text follows. ", 5): 1,
		"务必记住任务，我喜欢准时。" + strings.Repeat("还有很多内容。", 15):                                                     1,
	} {
		if got := itemImportance(content); got.Value != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}

// C262: what a secret was redacted from is not important, however it was said.
func TestSecretsAreNotImportant(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"Important, remember: my API key is [redacted: API key]. It is a must!", "My name is Ana and my password is [redacted: password].",
		"请务必记住，我的密码是[redacted: password]，很重要", "Please help me with my task: log in with [redacted: password]. " + strings.Repeat("I like it. ", 12),
	} {
		if item, chat := itemImportance(content), chatImportance(content, tellsAlone(content)); item.Value != baseImportance || chat.Value != baseImportance || len(item.Rules)+len(chat.Rules) > 0 {
			t.Errorf("%s: %v, %v", content, item, chat)
		}
	}
}

// C261, C293: chat input has a base of .1, and what is personal needs a statement in the first person, not
// a pronoun.
func TestChatImportance(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]float64{
		"Nice weather today, isn't it?": .1, "I had lunch.": .1, "I think so too.": .1, "今天天气真好": .1, "我刚吃完饭": .1, "哈哈哈": .1, "How are you?": .1,
		"I love Italian food.": .3, "我喜欢火锅": .3, "I live in Oslo.": .3, "我住在北京": .3,
		"My name is Ana.": .7, "我叫李雷": .7, "Please remember my door code.": .7, "Do you remember my name?": .1, "你还记得我的名字吗？": .1, "我叫什么？": .1,
		"Can you help me?": .3, "帮我写首诗": .3,
		"Please remember that I like tea.": .9, "请记住，我喜欢茶": .9,
	} {
		if got := chatImportance(content, tellsAlone(content)); got.Value != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}

// C293: a reply is worth something when what it answers was stored and it says something new, in any language. An
// acknowledgment never does.
func TestReplyImportance(t *testing.T) {
	t.Parallel()
	const said = "I love Bach, and my cello teacher is Greta."
	for reply, want := range map[string]float64{
		"Understood.": .1, "Yes.": .1, "Great taste.": .1, "A good goal.": .1, "I'll keep it in mind.": .1, "Nice to meet you.": .1, "知道了。": .1, "加油!": .1,
		"좋은 생각이에요!": .1, "ကောင်းတဲ့ အကြံပါ။": .1, "គំនិតល្អណាស់!": .1,
		"You love Bach, and your cello teacher is Greta.": .1, "Would you like to hear the third suite by a famous ensemble from Leipzig?": .1,
		"The library on Harbor Street lends scores of the suites.": .3, "海港街的图书馆可以借到大提琴组曲的乐谱。": .3, "Kirjasto lainaa nuotteja maanantaisin kello kymmenen.": .3,
		"항구 거리 도서관에서 모음곡 악보를 빌려줍니다.": .3,
	} {
		if got := replyTo(true, said, reply); got.Value != want {
			t.Errorf("%s: %v", reply, got)
		}
		if got := replyTo(false, said, reply); got.Value != baseImportance {
			t.Errorf("of nothing stored: %v", got)
		}
	}
}

// tellsAlone reads a text without vectors.
func tellsAlone(content string) func() bool {
	return func() bool {
		worth, _ := said.Most(said.Sentences([]said.Turn{{Text: content}}, 0))
		return worth >= leastWorth
	}
}

// What happened to somebody is an episode, in any language; small talk and questions are none.
func TestEventImportance(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]float64{
		"Plum died last night.": .3, "We met Greta at the harbor.": .3, "I accepted the offer from Ramboll.": .3, "Big news: we're getting married on 5 June!": .3,
		"My sister had a baby boy in Aarhus on Friday.": .3, "豆包找到了！在邻居家的车库里。": .3, "我们昨天搬到了新家，离海边很近。": .3,
		"Gestern sind wir in die neue Wohnung am Hafen gezogen.": .3, "Ayer nos mudamos al piso nuevo cerca del puerto.": .3,
		"Hello!": .1, "Nice weather today.": .1, "Haha, that is so funny, really good one": .1, "Good morning Bob!": .1, "OK, thanks.": .1, "She told me that it rains.": .1,
		"今天天气真不错": .1, "好的，谢谢": .1, "Did Greta call from the harbor yesterday?": .1, "I see.": .1,
	} {
		if got := chatImportance(content, tellsAlone(content)); got.Value != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}

// C284, C337: a question for a name goes to the semantic layer, one about the past to the episodic layer. "My"
// means the user, and relations have synonyms.
func TestRouteQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		intent    Intent
		relations string
	}{
		"What is my name?": {IntentSemantic, "name"}, "Who am I?": {IntentSemantic, "name"}, "我叫什么名字？": {IntentSemantic, "name"}, "Do you remember my name": {IntentSemantic, "name"},
		"What's my job?": {IntentSemantic, "job"}, "What do I do for a living?": {IntentSemantic, "job"}, "我的职业是什么": {IntentSemantic, "job"},
		"Where do I live?": {IntentSemantic, "place"}, "我住在哪里？": {IntentSemantic, "place"},
		"What do I like to eat?": {IntentSemantic, "likes"}, "What food don't I like?": {IntentSemantic, "dislikes"}, "我喜欢吃什么": {IntentSemantic, "likes"}, "我讨厌什么？": {IntentSemantic, "dislikes"},
		"What are my goals?": {IntentSemantic, "goals"}, "我擅长什么": {IntentSemantic, "skills"}, "How should you call me?": {IntentSemantic, "address"}, "你该怎么称呼我": {IntentSemantic, "address"},
		"Can you recommend a book?": {IntentSemantic, "likes"}, "给我推荐一本书": {IntentSemantic, "likes"},
		"When did Ana go to Rome?": {IntentEpisodic, ""}, "What did we talk about last week?": {IntentEpisodic, ""}, "我们上次聊了什么": {IntentEpisodic, ""}, "他什么时候去的上海": {IntentEpisodic, ""},
		"When did I tell you my name?": {IntentEpisodic, "name"},
		"What did I just say?":         {IntentWorking, ""}, "我刚才说了什么": {IntentWorking, ""},
		"How tall is the tower?": {IntentCombined, ""}, "塔有多高": {IntentCombined, ""},
	} {
		got := routeQuery(query)
		if got.Intent != want.intent || strings.Join(got.Relations, " ") != want.relations {
			t.Errorf("%s: %+v", query, got)
		}
		if slices.Contains(got.Relations, relationName) && got.Subject != SubjectUser {
			t.Errorf("%s is about %q", query, got.Subject)
		}
	}
	for said, want := range map[string]string{"lives_in": relationPlace, "住在": relationPlace, "Is Called": relationName, "doesn’t like": relationDislikes, "met at": "met at"} {
		if got := canonicalRelation(said); got != want {
			t.Errorf("%s is %s", said, got)
		}
	}
}
