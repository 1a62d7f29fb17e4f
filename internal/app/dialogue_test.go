package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/test/must"
)

// told is a dialogue and the memory that helps to answer its end: what the user, the assistant and the user say, and
// what it names.
type told struct {
	memory int // of [eval.SampleLanguages]
	said   [3]string
	names  string
}

// The dialogues come in three kinds: the end says nothing of what it is about; it says all, after talk about nothing;
// or it leaves what was talked about before.
var toldEnglish = []told{
	{0, [3]string{"Mei is cooking satay for all of us on Friday.", "That sounds delicious. Are you going?", "Yes. Is there anything that I should tell her?"}, "Mei, satay, Friday"},
	{13, [3]string{"The ski resort has cheap weeks in April, and it is only two hours away.", "Skiing would do you good after this winter.", "I would love to, but can I?"}, "ski resort, April"},
	{18, [3]string{"The new Vietnamese place on Hill Street delivers until ten.", "Their noodle soup is said to be excellent.", "Order it for me, please, the way I like it."}, "Vietnamese, Hill Street, noodle soup"},
	{26, [3]string{"The conference is in Madrid this time, and the company pays for everything.", "How nice. How will you get there?", "You know me. What do you think?"}, "conference, Madrid, company"},
	{32, [3]string{"Our flat has two rooms and a tiny kitchen.", "It has served you well for years.", "But for how long will it be enough for us?"}, "flat, rooms, kitchen"},
	{56, [3]string{"Payday at last! The salary is on my account.", "Congratulations. Will you treat yourself?", "First I want to settle what is open."}, "payday, salary, account"},
	{24, [3]string{"Good morning!", "Good morning! How can I help?", "Compare the prices of hotels in Reykjavik for me, please."}, "hotels, Reykjavik"},
	{44, [3]string{"Hello again.", "Hello! What is new?", "Somebody in my family will be a doctor one day. Guess who."}, "family, doctor"},
	{1, [3]string{"How are you today?", "Fine, thank you. And you?", "I am sorting old sheet music for strings and feel sentimental."}, "sheet music, strings"},
	{40, [3]string{"Thanks for yesterday.", "You are welcome.", "It will freeze tonight. Is there anything outside that I have to save?"}, "frost, outside"},
	{21, [3]string{"Hi there.", "Hi! What are we doing today?", "I am packing for Japan and cannot find my papers for the border."}, "Japan, papers, border"},
	{53, [3]string{"It has been a long day.", "Then take your time.", "My aunt is alone this week, so I bring her dinner. She worries about him so much."}, "aunt, dinner"},
	{35, [3]string{"The rain has not stopped since Monday.", "The forecast says that it will be dry on Thursday.", "Something else: do you remember what I gave for the keys in our living room?"}, "living room, keys"},
	{9, [3]string{"The soup was too salty today.", "A potato in the pot helps.", "By the way, my brother is in Anchorage again with twenty tons of salmon."}, "brother, Anchorage, salmon"},
	{30, [3]string{"The dog barked all night.", "Perhaps there was a fox in the garden.", "Leave that. We want to sleep outdoors in August, and I need my things back for that."}, "August, outdoors"},
	{16, [3]string{"The printer is out of ink once more.", "I put a cartridge on your list.", "Look at Saturn tonight! Ten more years of work, and then I have time for it."}, "Saturn, work"},
	{25, [3]string{"Our team lost again on Saturday.", "That was the fifth time in a row.", "Enough of football. I have to plan what we spend on living here next year."}, "football, next year"},
	{58, [3]string{"The coffee machine makes strange noises.", "It has to be cleaned.", "Later. Where could the little ones hide with their friends on the birthday?"}, "birthday, friends"},
}

var toldChinese = []told{
	{0, [3]string{"美玲星期五给大家做沙爹烤肉。", "听起来真香，你去吗？", "去。有什么要提前跟她说的吗？"}, "美玲，沙爹，星期五"},
	{13, [3]string{"滑雪场四月份有优惠，开车才两个小时。", "过了这个冬天，滑滑雪对你有好处。", "我很想去，可是我能去吗？"}, "滑雪场，四月"},
	{18, [3]string{"山街新开的越南餐馆送餐到十点。", "听说他们的汤粉特别好吃。", "照我的口味帮我点一份吧。"}, "越南餐馆，山街，汤粉"},
	{26, [3]string{"这次会议在马德里开，费用都由公司出。", "真好，你打算怎么去？", "你了解我的，你说呢？"}, "会议，马德里，公司"},
	{32, [3]string{"我们家只有两间房，厨房也很小。", "这么多年住得也挺好。", "可是我们还能住多久呢？"}, "两间房，厨房"},
	{56, [3]string{"终于发工资了！钱已经到账。", "恭喜，要犒劳一下自己吗？", "先把没结清的都结清。"}, "工资，到账"},
	{24, [3]string{"早上好！", "早上好！有什么可以帮您？", "请帮我比较一下雷克雅未克酒店的价格。"}, "雷克雅未克，酒店"},
	{44, [3]string{"又见面了。", "你好！有什么新鲜事？", "我们家以后要出一位医生了，你猜是谁。"}, "医生，家"},
	{1, [3]string{"你今天怎么样？", "很好，谢谢。你呢？", "我在整理以前的弦乐谱子，有点感慨。"}, "弦乐，谱子"},
	{40, [3]string{"昨天谢谢你。", "不客气。", "今晚要霜冻，外面有什么东西要抢救吗？"}, "霜冻"},
	{21, [3]string{"嗨。", "嗨！今天做什么？", "我在收拾去日本的行李，过边境的证件找不到了。"}, "日本，行李，证件"},
	{53, [3]string{"今天真累。", "那就慢慢说。", "婶婶这星期一个人在家，我给她送晚饭，她很担心他。"}, "婶婶，晚饭"},
	{35, [3]string{"从星期一起雨就没停过。", "预报说星期四会放晴。", "说点别的：你还记得客厅里那台琴我花了多少钱吗？"}, "客厅，琴"},
	{9, [3]string{"今天的汤太咸了。", "锅里放个土豆就好了。", "对了，我哥又带着二十吨三文鱼到安克雷奇了。"}, "哥哥，安克雷奇，三文鱼"},
	{30, [3]string{"狗叫了一整夜。", "也许花园里来了狐狸。", "不说这个了。八月我们想去野外过夜，我得把我的东西要回来。"}, "八月，野外"},
	{16, [3]string{"打印机又没有墨了。", "我把墨盒记在清单上了。", "今晚看看土星吧！再工作十年，我就有时间了。"}, "土星，工作"},
	{25, [3]string{"星期六我们队又输了。", "已经连输五场了。", "不谈足球了，我得算算明年住在这里要花多少钱。"}, "足球，明年"},
	{58, [3]string{"咖啡机有怪声。", "该清洗了。", "待会儿再说。生日那天小家伙们能和朋友躲到哪里玩？"}, "生日，朋友"},
}

// A dialogue as messages finds no less than the plainest queries of it do: its last utterance, all of it as one text, and
// what it names. In English and Chinese, among sixty memories of everything.
func TestDialogueFindsWhatItsPartsFind(t *testing.T) {
	t.Parallel()
	d := must.Get(eval.SampleLanguages())(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = llm.EmbedLocal })
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	found := map[string]int{} // dialogues whose memory is among ten hits
	for _, language := range []struct {
		name string
		told []told
	}{{"english", toldEnglish}, {"chinese", toldChinese}} {
		memories := &d.Conversations[slices.IndexFunc(d.Conversations, func(c eval.Conversation) bool { return c.ID == language.name })]
		loaded := must.Get(eval.Load(t.Context(), client, "told-"+language.name, "none", memories, func(int, int) {}))(t)
		for _, dialogue := range language.told {
			said := dialogue.said
			for by, q := range map[string]eval.Query{
				"messages": {Messages: []eval.Message{{Role: "user", Content: said[0]}, {Role: "assistant", Content: said[1]}, {Role: "user", Content: said[2]}}},
				"its end":  {Text: said[2]},
				"its text": {Text: strings.Join(said[:], "\n")},
				"names":    {Text: dialogue.names},
			} {
				q.Mode, q.K, q.Fields = eval.Hybrid, 10, []string{"id"}
				result := must.Get(client.Search(t.Context(), loaded.Collection, q))(t)
				turns := must.Get(loaded.Turns(result.Hits))(t)
				if slices.Contains(turns, memories.Turns[dialogue.memory].ID) {
					found[by]++
				}
			}
		}
	}
	for by, n := range found {
		if found["messages"] < n {
			t.Errorf("of %d dialogues, %d find their memory as messages, %d by %s", len(toldEnglish)+len(toldChinese), found["messages"], n, by)
		}
	}
}
