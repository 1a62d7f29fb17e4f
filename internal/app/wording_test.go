package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/test/must"
)

// exchange is what a person says and what an assistant answers, a sentence each.
type exchange struct{ user, assistant string }

var english = []exchange{
	{"My neighbor wants to cut down the old walnut tree behind our garage this spring.", "You could ask the town whether the walnut tree is protected before anyone starts cutting."},
	{"I have been learning the cello for two years and my left hand still gets tired.", "Try to practice the cello in blocks of fifteen minutes with a short rest between them."},
	{"The landlord raised the rent of the bakery by a third without any warning.", "A lawyer for small shops can check whether a raise without a warning is allowed there."},
	{"Our daughter Lena refuses to eat anything green except cucumbers and unripe bananas.", "Let Lena choose one vegetable at the market each week and cook it together with her."},
	{"I missed the last ferry to the island and slept on a bench at the harbor.", "The harbor office keeps a list of rooms for people who missed the last ferry."},
	{"My grandfather kept bees in wooden boxes that he painted bright blue and yellow.", "Bees find their own box more easily when neighboring boxes have different colors."},
	{"The old printer at work eats every second page and nobody wants to repair it.", "Cleaning the rollers with a damp cloth often stops a printer from eating pages."},
	{"I am thinking of selling the motorcycle because I have not touched it since October.", "Charge the battery before you show the motorcycle to anyone who might buy it."},
	{"We painted the kitchen in a dark red and now it looks half as large.", "One white wall opposite the window can make a small dark kitchen feel wider."},
	{"My sister is writing a book about the women who built the northern railway.", "The railway museum has letters of workers that nobody has published so far."},
	{"Every morning a fox sits on the roof of our shed and watches the hens.", "A fence that goes thirty centimeters into the ground keeps most foxes out."},
	{"I promised my team a decision about the new database until the end of June.", "Write down three reasons for each database and let the team vote in the open."},
	{"The dentist says that I grind my teeth at night and need a plastic guard.", "Warm compresses on the jaw before sleep relax the muscles that grind your teeth."},
	{"Our choir sings in the cathedral on Sunday and half of the tenors are ill.", "Ask the neighboring choir for two tenors, since most of them know the same pieces."},
	{"I bought a telescope at a flea market and the mirror has a deep scratch.", "A single scratch on the mirror of a telescope hardly changes what you see."},
	{"My passport runs out in May and the flight to Lima is at the end of April.", "Peru wants a passport that is valid for six months after the day of arrival."},
	{"The students asked for shorter lectures and longer breaks during the summer term.", "Two lectures of forty minutes with a break of twenty keep most students awake."},
	{"I dropped my wedding ring in the lake while I was cleaning the canoe.", "Divers of the local club look for lost rings in the lake on Saturdays."},
	{"Our basement floods whenever it rains for longer than three hours without stopping.", "A pump with a float switch starts by itself when the basement fills with water."},
	{"My brother sends me a postcard of an ugly hotel from every town he visits.", "You could pin the postcards of ugly hotels on a map to see where he was."},
	{"I stopped drinking coffee after noon and still wake up at four every night.", "Waking at four often has to do with light, so try thicker curtains first."},
	{"The carpenter made the shelves two centimeters too wide for the space under the stairs.", "Plane one centimeter from both sides so that the shelves stay even under the stairs."},
	{"We want to cycle from Vienna to Budapest along the river with two small children.", "Plan no more than thirty kilometers a day and sleep in towns with a station."},
	{"My accountant forgot to tell me about the new rules for work at home.", "Keep the bills for your desk and chair, because work at home lowers your tax."},
	{"I would like to give a speech in Italian at the wedding of my best friend.", "Learn the first and last sentence by heart and read the rest from small cards."},
}

var chinese = []exchange{
	{"邻居打算今年春天砍掉车库后面那棵老核桃树。", "开始砍树之前可以先问问镇上这棵核桃树是否受保护。"},
	{"我学大提琴已经两年了左手还是很容易酸痛。", "练大提琴的时候每十五分钟休息一下会好很多。"},
	{"面包店的房东突然把租金涨了三分之一。", "找一位懂小店铺的律师看看这样涨租是否合法。"},
	{"女儿除了黄瓜什么绿色的蔬菜都不肯吃。", "每个星期让女儿在菜市场自己挑一种蔬菜回家一起做。"},
	{"我错过了去岛上的末班渡轮在码头的长椅上睡了一夜。", "码头办公室有一份给误船旅客的住宿名单。"},
	{"爷爷养蜜蜂的木箱都漆成了鲜艳的蓝色和黄色。", "相邻蜂箱颜色不同蜜蜂更容易认出自己的家。"},
	{"公司的旧打印机每隔一页就卡纸没有人愿意修。", "用湿布擦一擦滚轴通常就不会再卡纸了。"},
	{"摩托车从十月起就没有骑过我想把它卖掉。", "给买家看摩托车之前记得先把电池充满。"},
	{"厨房刷成深红色以后看起来小了一半。", "窗户对面的墙刷成白色可以让厨房显得宽敞。"},
	{"姐姐正在写一本关于修建北方铁路的女工的书。", "铁路博物馆里有许多从未发表过的工人书信。"},
	{"每天早上都有一只狐狸坐在棚顶盯着母鸡看。", "围栏埋进地下三十厘米就能挡住大多数狐狸。"},
	{"我答应团队六月底之前决定用哪个新数据库。", "为每个数据库写下三个理由然后让大家公开投票。"},
	{"牙医说我晚上磨牙需要戴一个塑料牙套。", "睡前热敷下巴可以放松磨牙的肌肉。"},
	{"星期天合唱团在大教堂演出男高音病倒了一半。", "可以向隔壁合唱团借两位熟悉曲目的男高音。"},
	{"我在跳蚤市场买的望远镜镜面上有一道很深的划痕。", "镜面上的一道划痕几乎不会影响望远镜的成像。"},
	{"我的护照五月到期可是去利马的航班在四月底。", "秘鲁要求护照在入境之后还有六个月的有效期。"},
	{"学生们希望夏季学期的讲座短一些课间长一些。", "四十分钟的讲座配二十分钟的课间学生最不容易犯困。"},
	{"清洗独木舟的时候我把结婚戒指掉进了湖里。", "当地潜水俱乐部星期六会帮人打捞掉进湖里的戒指。"},
	{"只要连续下雨超过三个小时我们家地下室就会进水。", "带浮球开关的水泵会在地下室积水时自动启动。"},
	{"弟弟每到一座城市都会寄给我一张难看旅馆的明信片。", "把那些明信片钉在地图上就能看出弟弟去过哪里。"},
	{"我下午已经不喝咖啡了可是每天凌晨四点还是会醒。", "凌晨四点醒来多半和光线有关先换厚一点的窗帘吧。"},
	{"木匠做的书架比楼梯下面的空间宽了两厘米。", "书架两边各刨掉一厘米就能放进楼梯下面了。"},
	{"我们想带着两个孩子沿河从维也纳骑车到布达佩斯。", "每天骑车不要超过三十公里晚上住在有火车站的小镇。"},
	{"会计忘了告诉我在家办公的新规定。", "书桌和椅子的发票要留好因为在家办公可以少交税。"},
	{"我想在好朋友的婚礼上用意大利语致辞。", "致辞的第一句和最后一句背下来其余的写在小卡片上。"},
}

// A sentence that is asked for word for word is the first hit, on either side, in both languages and with
// every profile. Each session opens with a greeting, which is no answer to anything else.
func TestWordForWord(t *testing.T) {
	t.Parallel()
	for _, language := range []struct {
		name     string
		embedder string
		greeting string
		said     []exchange
		joined   string // between two sentences
	}{
		{"english", llm.EmbedLocal, "Hello! It is nice to hear from you again, how are you today?", english, " "},
		{"chinese", llm.EmbedLocal, "你好！很高兴又见到你，今天过得怎么样？", chinese, ""},
	} {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = language.embedder })
			client := &eval.Client{BaseURL: g.url, Key: g.key}
			col := must.Get(client.CreateCollection(t.Context(), "words-"+language.name, "none"))(t)
			at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
			var messages []eval.Message
			add := func(session int, role, content string) {
				when := at
				at = at.Add(time.Minute)
				messages = append(messages, eval.Message{Role: role, Content: content, OccurredAt: &when, Session: fmt.Sprint(session)})
			}
			// The assistant's answers are long, as they are in life: three sentences each.
			n := len(language.said)
			for i, e := range language.said {
				if i%5 == 0 {
					add(i/5, "user", language.greeting)
				}
				add(i/5, "user", e.user)
				add(i/5, "assistant", strings.Join([]string{e.assistant, language.said[(i+n/2)%n].assistant}, language.joined))
			}
			ids := make([]string, 0, len(messages))
			for from := 0; from < len(messages); {
				until := from
				for until < len(messages) && messages[until].Session == messages[from].Session {
					until++
				}
				made := must.Get(client.AddMessages(t.Context(), col.ID, messages[from:until]))(t)
				ids, from = append(ids, made...), until
			}
			content := map[string]string{}
			for i, id := range ids {
				content[id] = messages[i].Content
			}
			for _, profile := range []string{"auto", eval.ProfileDefault} {
				first := map[string]int{}
				ask := func(who, sentence string) {
					found := must.Get(client.Search(t.Context(), col.ID, eval.Query{Text: sentence, Mode: eval.Hybrid, K: 10, Profile: profile, Fields: []string{"id"}}))(t)
					if len(found.Hits) > 0 && strings.Contains(content[found.Hits[0].Note.ID], sentence) {
						first[who]++
						return
					}
					t.Logf("%s, %s: not first: %s", profile, who, sentence)
				}
				for _, e := range language.said {
					ask("user", e.user)
					ask("assistant", e.assistant)
				}
				for _, who := range []string{"user", "assistant"} {
					if first[who] < n-1 {
						t.Errorf("%s: of %d sentences of the %s, %d are first", profile, n, who, first[who])
					}
				}
			}
		})
	}
}

// A word that one note alone has, such as the number of an order, finds that note first among others that say nearly the
// same later, and that an embedder holds to be about the same thing.
func TestOwnWordIsFirst(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider = llm.EmbedLocal })
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	col := must.Get(client.CreateCollection(t.Context(), "orders", "none"))(t)
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	number := func(i int) string { return fmt.Sprintf("qx%dz", 7013+i*37) }
	what := []string{"the copper kettle", "an old barometer", "the orchard wall", "three green lanterns"}
	notes := make([]eval.Note, 80)
	for i := range notes {
		notes[i] = eval.Note{
			Content: fmt.Sprintf("The harbor office: our baker paid for %s, %s.", what[i%len(what)], number(i)), OccurredAt: new(at.AddDate(0, 0, i)), Infer: new(false),
		}
	}
	lines := must.Get(client.AddNotes(t.Context(), col.ID, notes))(t)
	for i, line := range lines {
		found := must.Get(client.Search(t.Context(), col.ID, eval.Query{Text: number(i), Mode: eval.Hybrid, K: 10, Fields: []string{"id"}}))(t)
		if len(found.Hits) == 0 || found.Hits[0].Note.ID != line.ID {
			t.Errorf("%s is not first", number(i))
		}
	}
}
