package rules

import (
	"slices"
	"testing"
)

// Keywords are whole phrases; who is spoken to, idioms and words of praise are none where something
// is named (C006, C316).
func TestKeywordsAreWhole(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"Thanks, Ilse! The amateur theatre group rehearses in the old fire station.":   {"amateur theatre group", "fire station", "rehearses"},
		"Way to go, Marek! How did the apple harvest turn out on your uncle's farm?":   {"apple harvest", "uncle", "farm"},
		"Long time no see, Piet! I adopted a rescue greyhound, a former racing dog.":   {"rescue greyhound", "racing dog", "adopted"},
		"Wow, what a day! We saw the Museum of the Baltic Sea and ate smoked eel.":     {"Museum of the Baltic Sea", "smoked eel", "ate"},
		"I guess I need a new vacuum cleaner before the inspection of the flat.":       {"vacuum cleaner", "inspection", "flat"},
		"Marble, our tortoise, hibernates in the fridge, but I can't wait for Easter!": {"Marble", "tortoise", "fridge", "Easter"},
		"I met Ilse, Marek and Piet at the chess tournament.":                          {"chess tournament", "Ilse", "Marek", "Piet"},
		"I use Heron's formula from my_tool.py on Render.com.":                         {"Heron's formula", "my_tool.py", "Render.com"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// Chinese nouns that make one thing are one keyword; what is done at a place, words of time and relation, and feelings
// that somebody has are none of it (C006, C316).
func TestHanKeywordsAreWhole(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"我在宠物店买了一本故事书。":      {"宠物店", "故事书"},
		"他参加了学校的游泳比赛，感到很开心。": {"学校", "游泳", "比赛"},
		"我们在公园爬山的时候下雨了。":     {"公园", "爬山", "下雨"},
		"玩过山车时她很害怕。":         {"过山车", "害怕"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// Words that compare or say where to are no keywords where something is named; what belongs together stays together; a verb
// behind a noun is none of it. A title is one, but not a stop word alone.
func TestKeywordsSayWhatIsMeant(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"The children played hide and seek behind the barn.":       {"hide and seek", "barn", "children"},
		"Both shops need new windows and a signboard.":             {"shops", "windows", "signboard"},
		"Agreed, Ilse! A lighthouse keeper needs a sturdy ladder.": {"lighthouse keeper", "sturdy ladder", "keeper"},
		"The kite festival touched our hearts.":                    {"kite festival", "festival"},
		"Propose smaller portions of the lentil stew.":             {"lentil stew", "portions", "stew"},
		"I study harbor slang.Share the glossary of the sailors.":  {"harbor slang", "glossary", "sailors"},
		"Otto was happy at the kite festival.":                     {"kite festival", "Otto", "happy"},
		"Polish the brass bell of the chapel.":                     {"brass bell", "chapel", "bell"},
		"Otto entered a kite flying competition.":                  {"kite flying competition", "entered", "competition"},
		"I took the first aid course.":                             {"first aid course", "course"},
		"I collected a few lead soldiers of the guard.":            {"lead soldiers", "guard", "collected"},
		"Otto and his mom play dominoes.":                          {"play dominoes", "Otto", "mom"},
		"Baking enables me to use the old oven.":                   {"Baking", "enables", "oven"},
		"The village essay contest ended.":                         {"village essay contest", "contest", "ended"},
		"I like the idea of cultivating moss.":                     {"moss", "cultivating", "idea"},
		"My name is Ilse and I'm glad to meet you at the lagoon.":  {"lagoon", "Ilse"},
		"Nature really helps the bees.":                            {"Nature", "bees"},
		"Show me a knitting pattern sometime.":                     {"knitting pattern", "pattern"},
		"The ferry to New Zealand has a cinema.":                   {"New Zealand", "ferry", "cinema"},
		"We gave up on the glider.":                                {"glider", "gave up"},
		`Otto owns a copy of "The Name of the Tide" and "That".`:   {"The Name of the Tide", "copy", "Tide"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string][]string{
		"堂哥在生日派对上弹钢琴。":   {"堂哥", "生日派对", "钢琴"},
		"李大爷在期末考试那天送伞。":  {"李大爷", "期末考试", "伞"},
		"她买了洗碗机和地图。":     {"洗碗机", "地图"},
		"孩子们在滑梯上玩，水杯丢了。": {"孩子", "滑梯", "水杯"},
		"花园里有一个绿色圆形的水池。": {"花园", "水池", "绿色"},
		"他喜欢的动物猫头鹰在阳台。":  {"动物", "猫头鹰", "阳台"},
		"五颜六色的气球让过程很有趣。": {"气球", "五颜六色", "过程"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// Two notes about the same person, or with a word in common that many notes have, need a further word to be linked.
func TestLinksNeedATellingWord(t *testing.T) {
	t.Parallel()
	checkLinks(t, []linkCase{
		{"Otto broke the cup in the kitchen.", "Otto went to the zoo with the class.", false},
		{"Otto broke the cup in the kitchen.", "Otto glued the cup that was broken.", true},
		{"The number of visitors is low.", "Please give me the number of the plumber.", false},
		{"We talked about the structure of the letter.", "The structure of the bridge has rust.", false},
		{"小明和爸爸去看电影。", "小明的爸爸在修自行车。", false},
		{"小明在学校摔倒了。", "小明的学校有一只猫。", false},
		{"小明养了一只乌龟。", "乌龟在浴缸里睡觉。", true},
	})
}

// Titles stay whole; the verb of a request, what is in an idiom, and a particle's verb are no keywords.
func TestKeywordsOfTitlesAndRequests(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		`We sang "Carry the Lantern" at the village fair.`:          {"Carry the Lantern", "village fair", "sang"},
		"I read “The Salt Road” in the garden hut.":                 {"The Salt Road", "garden hut", "read"},
		"Compare the tile stove, the heat pump and the gas boiler.": {"tile stove", "heat pump", "gas boiler"},
		"Can you review the budget, the seating plan, the menu?":    {"seating plan", "budget", "menu"},
		"We walk the 'Amber Coast' trail with a llama.":             {"Amber Coast", "trail", "llama"},
		"I've sorted early apples, pears and quinces.":              {"apples", "pears", "quinces"},
		"The roller coaster by the harbor was closed.":              {"roller coaster", "harbor", "closed"},
		"I use vanilla JS for the seed catalog of a nursery.":       {"vanilla JS", "seed catalog", "nursery"},
		"The ferry was late due to a storm passing through town.":   {"ferry", "storm", "town"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string][]string{
		"奶奶送了我《海边的灯塔》和一条围巾。": {"海边的灯塔", "奶奶", "围巾"},
		"他的卡通画挂在客厅。":         {"卡通画", "客厅"},
		"自习课上他静下心来背单词。":      {"自习课", "单词"},
	} {
		if got := keywords(s, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// The same kind of event of two people links none; of the same person it does. Somebody in common links none either.
func TestLinksOfPeople(t *testing.T) {
	t.Parallel()
	checkLinks(t, []linkCase{
		{"Otto visited the aquarium with the class.", "Mira visited the aquarium on a rainy day.", false},
		{"Otto visited the aquarium with the class.", "Otto wanted to see the seals in the aquarium again.", true},
		{"Otto painted a fence with his friend Timo.", "Otto lent his friend Timo a tent.", false},
		{"Otto在水族馆看到了海豹。", "Mira在水族馆迷了路。", false},
		{"Otto在水族馆看到了海豹。", "Otto又想去水族馆看海豹。", true},
		{"Otto和好友Timo去爬山。", "Otto借给好友Timo一顶帐篷。", false},
	})
}

// A piece of a context is as long in Chinese as in English (C034).
func TestPiecesOfContextsByScript(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"The beekeeper wraps every colony in straw before the first frost.": "The beekeeper wraps every colony in straw before",
		"养蜂人在第一场霜冻之前，用稻草把所有的蜂箱都包了起来。":                                       "养蜂人在第一场霜冻之前，用稻草把所",
		"短": "短",
	} {
		if got := clipWords(s, 50); got != want {
			t.Errorf("%q", got)
		}
	}
}
