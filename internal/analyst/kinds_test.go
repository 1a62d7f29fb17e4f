package analyst

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// vectors is an embedder over the encoder for many languages.
type vectors struct{ *encoder.Encoder }

func (vectors) Name() string { return said.Embedder }

func (vectors) Dim() int { return encoder.Dim }

func (vectors) Fast() bool { return true }

func (v vectors) Embed(ctx context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	made, err := v.Encode(ctx, texts)
	out := make([]memory.Embedding, len(made))
	for i := range made {
		out[i] = memory.Embedding{Vector: made[i].Vector}
	}
	return out, err
}

// readerOf returns a reader with vectors.
func readerOf(t *testing.T) *reader {
	t.Helper()
	e := must.Get(encoder.Open(encoder.E5ForTalk, weightstest.Dir(t)))(t)
	t.Cleanup(func() { _ = e.Close() })
	return &reader{ctx: t.Context(), encoder: vectors{e}}
}

// others is an embedder whose vectors the heads have not learned from.
type others struct{ vectors }

func (others) Name() string { return "others" }

// TestVectorsOfOtherEmbedders: only vectors of the embedder that the heads learned from are read.
func TestVectorsOfOtherEmbedders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		embedder memory.Embedder
		read     bool
	}{"none": {nil, false}, "others": {others{}, false}, "that of the heads": {vectors{}, true}} {
		if a := NewWith(c.embedder); (a.encoder != nil) != c.read || strings.Contains(a.name, said.KindsVersion()) != c.read {
			t.Errorf("%s: %q", name, a.name)
		}
	}
}

// words returns what the facts of a turn quote.
func (r *reader) words(turn string) string {
	day := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	return strings.Join(extract(r, mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Time: day, Content: turn}}, Max: 20, Chars: 400}).Facts, "\n")
}

// TestUntoldIsNoFact: what is supposed, handed over for work, or said by somebody else is not quoted, in any language; what the
// same turn states is.
func TestUntoldIsNoFact(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	for _, c := range []struct{ turn, not, want string }{
		{"Suppose I had a dog called Bolt.", "Bolt", ""},
		{"If I moved to Lyon, I would sell the car. My brother lives in Nantes.", "Lyon", "Nantes"},
		{"Stell dir vor, ich hätte vier Kinder. Ich wohne in Kassel.", "vier Kinder", "Kassel"},
		{"假如我搬到大连，我就养条船。我妹妹在西安上班。", "大连", "西安"},
		{"もし東京に引っ越したら、車を売る。弟は札幌で働いています。", "東京", "札幌"},
		{"Translate into French: I am allergic to nuts.", "nuts", ""},
		{"Please proofread the paragraph below.\n\nI was born in Kenya in 1980. I have two sisters.", "Kenya", ""},
		{"Traduce al inglés:\nVivo en Quito y tengo un perro.", "Quito", ""},
		{"Corrige ce texte :\n\n« Je suis née à Lyon.\n\nJ'ai deux chats. »\n\nMoi, j'habite à Nantes.", "Lyon", "Nantes"},
		{"Riassumi questo testo:\n\n```\nSono nato a Bari.\n\nHo due figli.\n```\n\nIo vivo a Torino.", "Bari", "Torino"},
		{"Traduza para o inglês:\n\n> Moro em Braga.\n>\n> Tenho dois filhos.\n\nEu trabalho em Faro.", "Braga", "Faro"},
		{"Please proofread these lines:\n\n1. I was born in Oslo.\n\n2. I have three dogs.\n\nI live in Turin.", "Oslo", "Turin"},
		{"ترجم إلى الإنجليزية:\n\nأعيش في عمان.\n\nلدي أخوان.\n\n---\n\nبالمناسبة أنا أعمل طبيبا في دبي.", "عمان", "دبي"},
		{"I was born in Kenya. I have two sisters.\nPlease translate the text above.", "Kenya", ""},
		{"请翻译成英文：我住在青岛。", "青岛", ""},
		{"My sister wrote me: \"I am pregnant and I am moving home.\" I live in Graz.", "pregnant", "Graz"},
		{"Der Sänger singt „Ich bin in Bremen geboren“.", "Bremen", ""},
		{"Er sagte: „Ich ziehe weg.“ Ich wohne in Kassel.", "ziehe", "Kassel"},
		{"„Ich ziehe weg“, sagte er. Ich wohne in Kassel.", "ziehe", "Kassel"},
		{"Er sagte: »Ich ziehe weg.« Ich wohne in Kassel.", "ziehe", "Kassel"},
		{"Elle a dit : « Je pars. Tu restes. » J'habite à Lyon.", "pars", "Lyon"},
		{"Она сказала: «Я уезжаю.» Я живу в Казани.", "уезжаю", "Казани"},
		{"She said “I am leaving. I will not come back.” I live in Graz.", "leaving", "Graz"},
		{"Hon sa: ”Jag flyttar. Hej.” Jag bor i Lund.", "flyttar", "Lund"},
		{"她说：「我要走了。再见。」我住在青岛。", "走了", "青岛"},
		{"If I eat nuts, my lips swell.", "", "lips"},
		{"When I moved to Leeds I sold the car.", "", "Leeds"},
		{"Ash was found in the garage!", "", "Ash"},
		{"By the way: I live in Graz.", "", "Graz"},
		{"Draft an email saying that I am ill and cannot come on Monday. I live in Graz.", "ill", "Graz"},
		{"Skriv ett mejl till min chef om att jag är sjuk.", "sjuk", ""},
		{"KeyError: 'x'\n\nI live in Graz and work as a nurse.", "Key", "Graz"},
		{"I get this error:\nKeyError: 'x'\n\nI moved to Graz in May.", "Key", "Graz"},
		{"Can you fix this?\nTraceback (most recent call last):\n  File \"shop.py\", line 3, in <module>\n    total(0)\nZeroDivisionError: division by zero\n\nI run a shop in Ghent.", "File", "Ghent"},
		{"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/home/u/main.go:9 +0x1d\nexit status 2\n\n我住在青岛。", "exit", "青岛"},
	} {
		got := r.words(c.turn)
		if c.not != "" && strings.Contains(got, c.not) || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %q", c.turn, got)
		}
	}
}

// TestColonsEnd: what a colon introduces ends with its list or paragraph, or where it is left out as pasted. What a person says behind
// it is not a part of it.
func TestColonsEnd(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	for _, c := range []struct{ turn, lead, told string }{
		{"Things to avoid:\n- nuts\n\n- milk\n\nI love almonds though.", "Things to avoid: - nuts", "I love almonds though."},
		{"Einkaufsliste:\r\n- Milch\r\n- Eier\r\n\r\nIch wohne in Jena.", "Einkaufsliste: - Milch", "Ich wohne in Jena."},
		{"食べられないもの：\n・卵\n\n私はアーモンドが大好きです。", "食べられないもの： ・卵", "私はアーモンドが大好きです。"},
		{"Alışveriş listesi:\nsüt\nyumurta\n\nFındığa alerjim var.", "", "Fındığa alerjim var."},
		{"services:\n  web:\n    image: nginx\n    ports:\n      - 8080:80\n\nमैं पुणे में नर्स हूँ।", "", "मैं पुणे में नर्स हूँ।"},
		{"Fehler:\n```\nx = 1\n```\nIch wohne in Graz.", "", "Ich wohne in Graz."},
		{"Cosas que odio:\n\nEl frío de Burgos.", "Cosas que odio: El frío de Burgos.", ""},
	} {
		got := r.words(c.turn)
		if !strings.Contains(got, c.lead) || c.told != "" && !strings.Contains(got, "“"+c.told+"”") {
			t.Errorf("%q: %q", c.turn, got)
		}
	}
	for _, turn := range []string{"My boss wrote:\nI live in Zurich.\n\nI have two sons.", "Mi jefe escribió:\n\nVivo en Lima.\n\nTengo dos hijos."} {
		if got := r.words(turn); got != "" {
			t.Errorf("the words of somebody else: %q", got)
		}
	}
}

// TestAnswersToo: what somebody answers a second time, and behind the question that is asked back, is kept with the question.
func TestAnswersToo(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	day := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		turns []string
		want  []string
	}{
		{[]string{"Where do you live?", "Where do I live? In Porto. Well, in Gaia."}, []string{"Where do you live", "In Porto.", "Gaia"}},
		{[]string{"Где ты живёшь?", "Где живу? В Казани. Точнее, в Волжске."}, []string{"Где ты живёшь", "В Казани.", "Волжске"}},
		{[]string{"Nerede oturuyorsun?", "Nerede mi? Bursa'da. Yani Mudanya'da."}, []string{"Nerede oturuyorsun", "Bursa", "Mudanya"}},
		{[]string{"どこに住んでいますか？", "札幌です。", "札幌？", "いえ、小樽です。"}, []string{"どこに住んでいますか", "小樽"}},
	} {
		var said []memory.Utterance
		for i, s := range c.turns {
			said = append(said, memory.Utterance{Role: memory.RoleUser, Name: []string{"Ana", "Bo"}[i%2], Time: day, Content: s})
		}
		got := strings.Join(extract(r, mem0.ExtractInput{Recent: said[:len(said)-1], New: said[len(said)-1:], Max: 20, Chars: 400}).Facts, "\n")
		if i := slices.IndexFunc(c.want, func(s string) bool { return !strings.Contains(got, s) }); i >= 0 {
			t.Errorf("%q: %q lacks %q", c.turns, got, c.want[i])
		}
	}
}

// TestReportedTurns: what people reported of memories that lose or invent what is said. What is plainly said is quoted as it is, each sign
// of it; nothing else is.
func TestReportedTurns(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	log := strings.Repeat("2026-06-01 12:00:01 ERROR [main] 0x4f3a: code=500 path=/a/b/c retry=3 (12/50)\n", 40)
	prose := strings.Repeat("The committee reviewed the figures of the branches and noted that shipments rose by four percent. ", 35)
	for _, turn := range []string{
		"I hate Chinese food.", "I love Chinese food now.", "I can't stand jazz.", "我特别怕狗。", "我现在一点都不怕狗了。", "أحب القهوة كثيرا.", "今はもう朝型ではありません。",
		"Sorry, I meant Bern, not Berlin.", "Actually his name is Rex, I mistyped.", "Correction: my birthday is on 5 May.", "No, Anna lives in Linz.", "不对，是姓黄，我打错了。",
		"I 💔 winter", "I 🤮 coriander", "Ich 💔 Winter", "我❤️咖啡", "我💔冬天", "나는 ❤️ 커피", "أنا ❤️ القهوة", "Я ❤️ зиму", "I ❤️ NYC", "I love my 👨‍👩‍👧‍👦 family and 🍕!", "Mi familia: 👩‍👩‍👦‍👦 ❤️ la playa", "My son is 7 🎂", "我是👩‍⚕️，在广州上班",
		"I got a raise, my salary is 92k now.", "My salary is 95k now.", "我搬到慕尼黑了。", "Me mudé a Sevilla la semana pasada.", "지난주에 부산으로 이사했어요.", "انتقلت إلى دبي الأسبوع الماضي.", "मैं दिल्ली में रहता हूँ।",
		"My site is https://nora.example.org/a?b=c&d=e.", "I work at Bosch, see https://bosch.example.com/jobs?id=3.", "My blog: https://lin.example.net/?p=77",
		"我养了一只狗，叫旺财。", "我有个儿子,名字叫小明。", "我们公司叫未来科技。", "My company's name is Acme.", "We had a baby, the name is Mira.", "我喜欢的作家住在巴黎。", "我的房子二十岁了。", "我养了一只猫,叫咪咪。",
		"Plum died last night.", "Rex is diabetic.", "Alice plays chess.", "My friend Alice lives in San Francisco.", "小李订婚了。", "豆包找到了!", "The exam is on Monday.", "The wedding is on 5 June 2027.", "婚礼在十月。",
		"Şimdi Bursa'da yaşıyorum.", "Nu bor jag i Umeå.", "지금은 대구에 살아요.", "Now I live in Aarhus.", "Remember that I am a vegetarian.", "Kom ihåg att jag är vegetarian.", "Pamatuj si, že jsem vegetarián.",
		"血型是AB型", "血型是AB型。", "我对花生过敏，严重的那种", "My number changed, it's 0171 555 2391 now", "my phone number changed: +44 7700 900123",
	} {
		if got := r.words(turn); !strings.Contains(got, "“"+turn+"”") {
			t.Errorf("%q is lost: %q", turn, got)
		}
	}
	if told := `Tom told me "I am allergic to nuts".`; r.words(told) != "" && !strings.Contains(r.words(told), told) {
		t.Errorf("not as it was said: %q", r.words(told))
	}
	for _, turn := range []string{
		`My boss said: "I live in Zurich."`, "Write a story: I was born in 1820 and I am a pirate.", "Summarize: I was born in Lagos, and I moved to Paris.",
		"帮我润色一下这段话：我毕业于南京大学，现在在做护士。", "次の文を英語に直してください：私は大工で、娘が三人います。", "Imagine I am a pilot in Denver.", "Evaluate whether Obsidian could be useful with this app.",
		"좋은 생각이에요!", "That's a really clever idea!", "Bra idé!", "Thanks 🙏 so much", "haha 😂 ok", "谢谢🙏你", "Danke 🙏 dir", "Good 🌞 morning", "Let's say I own a vineyard in Tuscany.", "Let's say I own a vineyard in Tuscany", "如果我有一百万,我就去环游世界", "もし私が医者だったら、アフリカで働くでしょう", "要是我会开飞机就好了。", "もし私が医者だったら、アフリカで働くでしょう。", "如果我有一百万,我就去环游世界。", "Please forget my salary.", log,
	} {
		if got := r.words(turn); got != "" {
			t.Errorf("%q: %q", turn, got)
		}
	}
	for _, turn := range []string{"I live in Cork. " + log, log + "I live in Cork.", "I live in Cork.\n" + prose, prose + "\nI live in Cork.", "I live in Cork.\n" + strings.Repeat("4,2026-05-05,148,52.5,ok\n", 40)} {
		if got := r.words(turn); !strings.Contains(got, "I live in Cork.") || strings.Contains(got, "ok") || strings.Contains(got, "ERROR") {
			t.Errorf("%.60q: %q", turn, got)
		}
	}
}

// TestRefusals: a refusal of a model is told from what it says of somebody who refuses, cannot do something or apologizes, in languages
// that the heads learned refusals of, and in others.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	for text, want := range map[string]bool{
		"I'm sorry, but I'm unable to help with summarizing that.": true, "I can't provide an analysis of this message.": true,
		"Tut mir leid, ich kann diesen Inhalt nicht zusammenfassen.": true, "很抱歉，我不能分析这条消息。": true, "申し訳ございませんが、このメモを分析することはできません。": true,
		"К сожалению, я не могу описать эту заметку.": true, "آسف، لا أستطيع وصف هذه الملاحظة.": true, "Maalesef bu notu açıklayamam.": true,
		"Beklager, jeg kan ikke hjælpe med denne anmodning.": true, "מצטער, אני לא יכול לעזור בבקשה הזאת.": true,
		"Nora is sorry that she forgot Tom's birthday and cannot come to dinner.": false, "The assistant refused to write the letter, and Nora was annoyed.": false,
		"Entschuldigung für einen verpassten Termin beim Zahnarzt.": false, "用户为错过牙医预约而道歉。": false, "アナは卵が食べられないのでレシピを探している。": false,
		"Anna må ikke spise æg og leder efter en opskrift.": false, "אנה לא יכולה לאכול ביצים ומחפשת מתכון.": false,
	} {
		if got := refused(r, memory.RefusedInput{Texts: []string{text}}); got.All != want {
			t.Errorf("%q: %t", text, got.All)
		}
	}
	if got := refused(r, memory.RefusedInput{Texts: []string{"I'm sorry, I can't help with that.", "Nora moved to Graz."}}); got.All {
		t.Error("one text says something")
	}
	if got := refused(&reader{ctx: t.Context()}, memory.RefusedInput{Texts: []string{"I'm sorry, I can't help with that."}}); got.All {
		t.Error("told without vectors")
	}
}

// TestHappenings: what happened to somebody is heard, in any language and in a few words. An acknowledgment, small talk, a request, a
// plan is none.
func TestHappenings(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	for turn, want := range map[string]bool{
		"Oma ist gestern gestorben.": true, "We sold the farm.": true, "我昨天结婚了": true, "I passed the exam": true, "Mi hermano tuvo un hijo.": true,
		"Наш пёс умер.": true, "Thanks so much! My father died last night.": true, "ننتقل غدا؟": false,
		"Danke dir, super!": false, "Sure, go ahead.": false, "好的，谢谢": false, "Merci, c'est parfait.": false, "Write me a poem.": false,
		"We will go to Spain in July.": false, "I wanted to ask you something.": false, "If we sold the farm, we'd be rich.": false, "😂": false, "": false,
	} {
		if got := weigh(r, policy.WeighInput{Texts: []string{turn}}); got.Happened != want {
			t.Errorf("%q: %+v", turn, got)
		}
	}
}

// TestPortraitWithoutSmallTalk: a portrait holds what persons state, and no small talk.
func TestPortraitWithoutSmallTalk(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	in := memoryos.ProfileInput{Pages: []memoryos.CallPage{
		page(0, "Good morning! I run three times a week.", "Great."), page(0, "Haha, that was quick, thanks a lot!", "Sure."),
		page(0, "What a lovely day it is today.", "Yes."), page(0, "Meine Frau heißt Birgit. Danke dir, super!", "Gut."),
	}}
	got := profile(r, in).Text
	if !strings.Contains(got, "three times") || !strings.Contains(got, "Birgit") || slices.ContainsFunc([]string{"morning", "Haha", "lovely", "Danke"}, func(s string) bool { return strings.Contains(got, s) }) {
		t.Errorf("%q", got)
	}
}
