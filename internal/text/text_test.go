package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "The quick, brown fox_2!", []string{"the", "quick", "brown", "fox", "2"}},
		{"apostrophe", "don't l'amour don’t", []string{"don", "t", "l", "amour", "don", "t"}},
		{"full width and ligature", "ＡＢＣ ﬁne", []string{"abc", "fine"}},
		{"dotted capital i and final sigma", "İstanbul ΟΔΟΣ", []string{"istanbul", "οδοσ"}},
		{"han pairs", "我爱北京", []string{"我爱", "爱北", "北京"}},
		{"one han", "茶", []string{"茶"}},
		{"mixed scripts", "iPhone用户 v2", []string{"iphone", "用户", "v2"}},
		{"kana with length mark", "コーヒー", []string{"コー", "ーヒ", "ヒー"}},
		{"hangul", "서울역", []string{"서울", "울역"}},
		{"cyrillic", "Книги МОСКВА", []string{"книги", "москва"}},
		{"nul and invalid utf-8", "a\x00b\xffc", []string{"a", "b", "c"}},
		{"digits of other scripts", "٨٥٠٠ ८५ 3", []string{"8500", "85", "3"}},
		{"emoji", "❤️ ok 👍🏽", []string{"ok"}},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Words(c.in); !slices.Equal(got, c.want) {
				t.Errorf("Words(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// unicodeScan is scan by the rules of UAX #29, letter for letter.
func unicodeScan(s string) []string {
	var out []string
	var run token
	flush := func() {
		if run.end > run.start {
			out = append(out, s[run.start:run.end])
		}
		run = token{}
	}
	rest, at, state := s, 0, -1
	for rest != "" {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if run.class == classWord {
			flush()
		}
		for i, r := range word {
			c, mark := classOf(r)
			if mark && run.end == at+i && run.end > run.start {
				c = run.class
			} else if mark {
				c = classNone
			}
			if c == classNone {
				flush()
				continue
			}
			if c != run.class || run.end != at+i {
				flush()
				run = token{start: at + i, class: c}
			}
			run.end = at + i + utf8.RuneLen(r)
		}
		at += len(word)
	}
	flush()
	return out
}

func TestScanFindsTheWordsOfUnicode(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"It's 3.5% of a_b, e-mail: x@y.z!", "U.S.A. 1,000 foo.bar's", "a\tb\r\nc", "naïve café—l’été", "Ὀδυσσεύς ποῦ;", "שלום, עולם צה״ל",
		"مرحبا بالعالم ١٢٣", "नमस्ते दुनिया", "தமிழ் மொழி", "Привет, мир", "კარტული ენა", "Հայերեն", "x²+½y ①② Ⅷ", "e\u0301te\u0301 \u0301x", "iPhone用户v2",
		"コーヒーを3杯", "서울역 2호선", "สวัสดีครับ", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာ", "👩‍👩‍👧 ok❤️", "a\u200db\u00adc", "ꀀꀁ ᠮᠣᠩᠭᠣᠯ", "ㄅㄆㄇ", "𐐀𐐨 𝒜𝓫",
	} {
		var got []string
		scan(s, func(k token) { got = append(got, s[k.start:k.end]) })
		if want := unicodeScan(s); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestFunctionWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]int{
		"": {}, "Nora": {}, "I live in Porto": {2, 2}, "Ana vive en Bergen y no en Oslo": {1, 4}, "我住在 Bergen": {},
	} {
		if english, other := FunctionWords(in); [2]int{english, other} != want {
			t.Errorf("%q: %d %d, want %v", in, english, other, want)
		}
	}
}

func TestGuess(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Language{
		"I will die for this, no doubt":                      English,
		"Ich habe gestern mit meiner Schwester gesprochen":   German,
		"Je ne suis pas allé à la plage avec mes amis":       French,
		"No me gusta el café pero sí el té con leche":        Spanish,
		"Non sono andata al mare con i miei amici":           Italian,
		"Eu não gosto de café mas gosto muito do chá":        Portuguese,
		"Ik heb het boek van mijn zus nog niet gelezen":      Dutch,
		"Jag har inte läst boken som min syster skrev":       Swedish,
		"Jeg har ikke lest boken som søsteren min skrev":     Norwegian,
		"Luin eilen kirjan, jonka sisareni oli kirjoittanut": Finnish,
		"Tegnap elmentem a nővéremmel a színházba":           Hungarian,
		"Ieri am fost cu sora mea la teatru":                 Romanian,
		"Dün kız kardeşimle tiyatroya gittim ve çok güzeldi": Turkish,
		"Ile kosztuje ta książka o kotach":                   English, // not a language that the analyzer knows
		"I met José Muñoz and Jürgen Größe":                  English,
		"Я вчера была в театре":                              Russian,
		"我昨天和妹妹去了北京":                                         Chinese,
		"私は昨日北京に行きました":                                       Japanese,
		"어제 서울에 갔어요":                                         Korean,
		"Berlin":                                             English,
		"":                                                   English,
	} {
		if got, _ := Guess(in); got != want {
			t.Errorf("Guess(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"She was running and the runners ran", "run runner run"},
		{"The agencies' relational databases, agencies", "agenc relat databas agenc"},
		{"Ich habe die Katzen und den Häusern", "katz haus"},
		{"La niña y los niños están en las montañas", "nin nin montan"},
		{"я читаю книги о книгах", "чита книг книг"},
		{"the of and", ""},
		{"B2B 2024 café", "b2b 2024 cafe"},
	} {
		if got := strings.Join(Terms(c.in), " "); got != c.want {
			t.Errorf("Terms(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// Both texts of each pair have the same term: forms that a stemmer cannot reduce to one stem, and
// those that it should.
func TestFormsOfAWordShareATerm(t *testing.T) {
	t.Parallel()
	for lang, pairs := range map[Language]string{
		English: `went go, gone going, children child, feet foot, taught teaching, bought buys, wives wife, tried try, flew flies,
			dying dies, WENT go, thieves thief`,
		German:    "Katzen Katze, Häuser Haus, liefen laufen?, Bücher Buch",
		French:    "chevaux cheval, amies amie, parlait parler",
		Spanish:   "montañas montana, niños niño",
		Dutch:     "katten kat, boeken boek",
		Finnish:   "kissat kissa, taloissa talo",
		Hungarian: "házak ház, könyvet könyv",
		Romanian:  "cărțile carte, pisici pisica",
		Turkish:   "kitaplar kitap, evlerde ev",
		Russian:   "книги книга, кошками кошка",
	} {
		for pair := range strings.SplitSeq(pairs, ",") {
			a, b, _ := strings.Cut(strings.TrimSpace(pair), " ")
			b, apart := strings.CutSuffix(b, "?") // stemmers are known not to do this
			same := Stem(Fold(a), lang) == Stem(Fold(b), lang)
			if same == apart {
				t.Errorf("%s: %s is %q, %s is %q", lang, a, Stem(Fold(a), lang), b, Stem(Fold(b), lang))
			}
		}
	}
	for _, lang := range []Language{German, Dutch, Swedish} {
		if got := Stem("men", lang); got == Stem("man", English) && lang != German {
			t.Errorf("the irregular forms of English are applied in %s: %q", lang, got)
		}
	}
}

func TestIrregularFormsEndAtABase(t *testing.T) {
	t.Parallel()
	if len(irregular) < 150 {
		t.Errorf("%d forms", len(irregular))
	}
	for form, base := range irregular {
		if _, again := irregular[base]; again || form == base || stopWords[English][form] || stopWords[English][base] {
			t.Errorf("%q becomes %q, which is not a base form or is a stop word", form, base)
		}
	}
}

func TestStopWordsFitTheirBuffer(t *testing.T) {
	t.Parallel()
	for _, l := range latin {
		for w := range stopWords[l] {
			if isASCII(w) && len(w) > longestStop {
				t.Errorf("%s: %q is longer than %d bytes, so no text is found to have it", l, w, longestStop)
			}
			if Fold(w) != w {
				t.Errorf("%s: %q is not folded", l, w)
			}
		}
	}
}

// reaches reports whether some term of a strong word of the query occurs in the note.
func reaches(note, query string, langs []Language) bool {
	terms := Terms(note)
	for _, f := range Forms(query, langs) {
		if !f.Weak && slices.ContainsFunc(f.Terms, func(t string) bool { return slices.Contains(terms, t) }) {
			return true
		}
	}
	return false
}

func TestNotesOfSeveralLanguages(t *testing.T) {
	t.Parallel()
	notes := map[string]string{
		"English": "Caroline went camping near the lakes with her children",
		"German":  "Ich habe die Bücher über Katzen in der Bibliothek gefunden",
		"Chinese": "我昨天在北京大学见到了老朋友",
		"Russian": "Вчера мы купили новые книги о кошках",
		"both":    "我在学习 programming languages，老师叫 Müller",
	}
	var langs []Language
	for _, n := range notes {
		l, _ := Guess(n)
		if !slices.Contains(langs, l) {
			langs = append(langs, l)
		}
	}
	for query, want := range map[string][]string{
		"Where did the child go?":      {"English"},
		"camp at a lake":               {"English"},
		"Buch":                         {"German"},
		"Welche Bibliothek?":           {"German"},
		"北京":                           {"Chinese"},
		"книга о кошке":                {"Russian"},
		"program in which language":    {"both"},
		"muller":                       {"both"},
		"学习":                           {"both"},
		"Wo liegt 北京大学, and the lake?": {"English", "Chinese"},
		"Zug":                          nil,
	} {
		for name, note := range notes {
			if got := reaches(note, query, langs); got != slices.Contains(want, name) {
				t.Errorf("%q reaches the %s note: %v", query, name, got)
			}
		}
	}
}

func TestWeakWordsOfAQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang       Language
		weak, firm string
	}{
		{English, "tell Listed mentioning conversations discussed summary previously", "camping speaker lake order66"},
		{German, "erzähl erwähnt Gespräch", "Haus tell"},
		{Chinese, "告诉 提到 讨论", "北京"},
		{Russian, "разговоре упомянула", "книга"},
		{Japanese, "", "tell 告诉"},
	} {
		for w := range strings.FieldsSeq(c.weak) {
			if !Weak(w, c.lang) {
				t.Errorf("%s %q is not weak", c.lang, w)
			}
		}
		for w := range strings.FieldsSeq(c.firm) {
			if Weak(w, c.lang) {
				t.Errorf("%s %q is weak", c.lang, w)
			}
		}
	}
	var weak, firm []string
	for _, f := range Forms("In our previous conversation you listed the lakes; which lakes?", []Language{English}) {
		if f.Weak {
			weak = append(weak, f.Word)
		} else {
			firm = append(firm, f.Terms...)
		}
	}
	if !slices.Equal(weak, []string{"previous", "conversation", "listed"}) || !slices.Equal(firm, []string{"lake", "lake"}) {
		t.Errorf("weak %q, firm %q", weak, firm)
	}
}

func TestFormsStandForEveryLanguage(t *testing.T) {
	t.Parallel()
	note := TermsIn("Die Katzen schlafen auf dem Sofa", German)
	found := false
	for _, forms := range Forms("Katze", []Language{English, German}) {
		for _, f := range forms.Terms {
			found = found || slices.Contains(note, f)
		}
	}
	if !found {
		t.Errorf("the query Katze does not find the German note %q", note)
	}
	if got := Forms("what is the plan", []Language{English}); len(got) != 1 {
		t.Errorf("stop words of the query stay: %v", got)
	}
	if got := Forms("plan plan", nil); len(got) != 2 {
		t.Errorf("repeated words are lost: %v", got)
	}
}

func TestIsStopWord(t *testing.T) {
	t.Parallel()
	if !IsStopWord("The", English) || IsStopWord("die", English) || !IsStopWord("DIE", German) || !IsStopWord("的", Chinese) || IsStopWord("the", "xx") {
		t.Error("stop words are looked up wrongly")
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	got := Sentences("Dr. Smith came at 3.5 p.m. today. He left!  Why?\nNew line\n\n我来了。你呢？")
	want := []string{"Dr. Smith came at 3.5 p.m. today.", "He left!", "Why?", "New line", "我来了。", "你呢？"}
	if !slices.Equal(got, want) {
		t.Errorf("Sentences = %q, want %q", got, want)
	}
	for _, whole := range []string{
		"Oma hat am 3. Oktober Geburtstag und wird 80.", "Ich habe am 3. Mai Geburtstag.", "Wir fahren am 30. Mai zu meiner Tante.", "Der Vertrag läuft ab 1. Januar 2027 bis zum 31.12. Ende.", "Fa. Hansen hat, z. B. für Bad und Küche, geliefert.",
		"I was born on Sept. 3 in Ft. Worth.", "My boss is Prof. Dr. Ing. Kuhn.", "I served in the U.S. Army from Jan. 2001 to Feb. 2004.",
		"Wir treffen uns am 5.6. bei Dr. Lund.", "Trabajo con la Dra. Gil en el hospital.", "J. R. R. Tolkien wrote it.", "Sie kam am 12. März 2020 mit dem 3. Kind.",
	} {
		if got := Sentences(whole); len(got) != 1 {
			t.Errorf("%q is cut: %q", whole, got)
		}
	}
	for _, two := range []string{
		"I live in Rome. Anna lives in Oslo.", "I met Bob. He is nice.", "Ich bin 30. Er ist 40.", "I am 30. Bob is 40.", "She moved to the U.S. It is far.",
		"It was Tom and I. Then we left.", "Er kam um drei. Oma schlief.", "Gut. Kommst du mit?", "Yes. Nora has it.", "네. 원두는 부산.", "The flat is on floor 12. Nora has it.",
	} {
		if got := Sentences(two); len(got) != 2 {
			t.Errorf("%q has two sentences: %q", two, got)
		}
	}
}

func TestKeyphrases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		exclude  []string
		must     []string
		mustNot  []string
	}{
		{"names go (C006)", "Caroline: I went to an LGBTQ support group yesterday and it was so powerful.", []string{"Caroline"},
			[]string{"LGBTQ", "support group", "powerful"}, []string{"Caroline"}},
		{"repeats win", "Pottery is calming. I signed up for a pottery class with the kids; the pottery kiln is hot.", nil,
			[]string{"pottery"}, []string{"the"}},
		{"words that open a clause alone go", "Well, good! Get the espresso machine repaired. Yes, today.", nil,
			[]string{"espresso machine"}, []string{"Well", "Yes"}},
		{"but not when there is nothing else", "Bananas!", nil, []string{"Bananas"}, nil},
		{"names stay whole", "We walked over the Golden Gate Bridge.", nil, []string{"Golden Gate Bridge"}, nil},
		{"german", "Na, meine Schwester hat in Hamburg eine Keramikwerkstatt eröffnet.", nil,
			[]string{"Hamburg", "Keramikwerkstatt", "Schwester"}, []string{"Na", "meine"}},
		{"arabic", "نعم، افتتحت أختي ورشة الخزف في حلب.", nil, []string{"الخزف"}, []string{"نعم"}},
		{"russian", "Да, мы переехали в Казань.", nil, []string{"Казань"}, []string{"Да"}},
		{"chinese", "我和妹妹去了北京大学", nil, []string{"北京大学"}, []string{"我"}},
		{"chinese numbers and what they count", "我喝一杯美式咖啡，四月十五号搬。", nil, []string{"美式咖啡"}, []string{"喝一杯美式咖", "四月十五号搬", "一杯"}},
		{"a chinese clause is not cut", "他昨晚突然宣布公司年底整体搬迁计划取消", nil, nil, []string{"他昨晚突然宣", "昨晚突然宣布公司年底整体搬迁计划取消"}},
		{"japanese", "はい、妹が京都で陶芸教室を開きました。コーヒーは三杯。", nil, []string{"京都", "陶芸教室", "コーヒー"}, []string{"はい", "三杯"}},
		{"korean", "네, 동생이 부산에서 도자기 공방을 열었어요.", nil, []string{"도자기"}, []string{"네"}},
		{"thai", "ร้านกาแฟ ใหม่ เปิดแล้ว", nil, []string{"ร้านกาแฟ"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Keyphrases(c.in, 6, c.exclude...)
			joined := strings.Join(got, "|")
			for _, m := range c.must {
				if !strings.Contains(strings.ToLower(joined), strings.ToLower(m)) {
					t.Errorf("%q misses %q", got, m)
				}
			}
			for _, m := range c.mustNot {
				if slices.ContainsFunc(got, func(k string) bool { return slices.Contains(strings.Fields(k), m) }) {
					t.Errorf("%q has %q", got, m)
				}
			}
			for _, k := range got {
				if !strings.Contains(c.in, k) {
					t.Errorf("%q does not occur in the text", k)
				}
			}
			if again := Keyphrases(c.in, 6, c.exclude...); !slices.Equal(got, again) {
				t.Errorf("%q, then %q", got, again)
			}
		})
	}
	// A word with an apostrophe is whole or has lost its function word, with each sign that is written for one.
	for in, want := range map[string][]string{
		"I won't.": nil, "No, I can't, she doesn't.": nil, "WON'T": nil, "It's ours, isn't it?": nil,
		"L'homme que j'ai vu dans l'île d'Oléron n'est pas d'ici.": {"Oléron", "homme", "île"}, "C'è un'aquila nell'aria dell'estate.": {"aquila", "aria", "estate"},
		"Ann's kiln": {"Ann", "kiln"}, "O'zbek": {"O'zbek"}, "Oʻzbek": {"Oʻzbek"}, "Men o‘zbekman": {"Men", "o‘zbekman"}, "the Qur'an": {"Qur'an"}, "У мене п'ять котів": {"мене", "п'ять котів"},
	} {
		for _, sign := range []string{"'", "’", "ʼ", "＇"} {
			text := strings.ReplaceAll(in, "'", sign)
			got := Keyphrases(text, 3)
			slices.Sort(got)
			for i, k := range got {
				got[i] = strings.ReplaceAll(k, sign, "'")
			}
			if want := strings.Join(want, ", "); strings.Join(got, ", ") != want {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
	if got := Keyphrases("O'Brien: The kiln is hot.", 3, "O'Brien"); slices.Contains(got, "O'Brien") {
		t.Errorf("the speaker is in %q", got)
	}
	// C005: small talk still has some.
	if got, want := Keyphrases("Yeah, good idea! I'll give it a try.", 5), []string{"good idea", "give", "try"}; !slices.Equal(got, want) {
		t.Errorf("small talk has %q, want %q", got, want)
	}
	if got := Keyphrases("the of and", 5); len(got) != 0 {
		t.Errorf("stop words gave %q", got)
	}
}

func TestExtractiveSentence(t *testing.T) {
	t.Parallel()
	in := "Hey there! Melanie is planning a camping trip to the mountains with her family. Sounds great. The camping gear is ready."
	if got := ExtractiveSentence(in); !strings.HasPrefix(got, "Melanie is planning a camping trip") {
		t.Errorf("extract %q", got)
	}
	if got := ExtractiveSentence(strings.Repeat("word ", 400)); utf8.RuneCountInString(got) > maxExtract {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
	if got := ExtractiveSentence(" \x00 "); got != "" {
		t.Errorf("a text without words gave %q", got)
	}
}

// FuzzAnalyze checks that nothing panics for any bytes, and that results have the documented
// properties.
func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"", "a\x00b", "\xff\xfe", "Hello, world!", "我爱北京天安门", "コーヒー", "½ ㎏ ﬁ", "e\u0301\u0301\u0301", "ĳssel skjære été", "สวัสดี", "yyyy y'y", strings.Repeat("z", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range Words(s) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("word %q", w)
			}
		}
		for _, w := range Terms(s) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("term %q", w)
			}
		}
		for l := range stopWords {
			TermsIn(s, l)
			Forms(s, []Language{English, l})
		}
		// A text is found by its own words: indexing and querying produce the same terms.
		lang, _ := Guess(s)
		var asked []string
		for _, form := range Forms(s, []Language{lang}) {
			asked = append(asked, form.Terms...)
		}
		if terms := TermsIn(s, lang); !slices.Equal(asked, terms) {
			t.Fatalf("%q: asked for as %q, indexed as %q", s, asked, terms)
		}
		for _, k := range Keyphrases(s, 8) {
			if k == "" || !strings.Contains(s, k) {
				t.Fatalf("phrase %q does not occur", k)
			}
		}
		for _, x := range Sentences(s) {
			if x == "" || !strings.Contains(s, x) {
				t.Fatalf("sentence %q does not occur", x)
			}
		}
		if utf8.ValidString(s) && !utf8.ValidString(ExtractiveSentence(s)) {
			t.Fatal("extract is not UTF-8")
		}
	})
}

// TestNormalize: texts that say the same in other signs are one text. A vowel that is a mark, an emoji and a sign of a number
// make another text.
func TestNormalize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Hello, world!", "hello   World", true},
		{"Café", "Cafe\u0301", true},
		{"I ❤️ winter", "I ❤ winter.", true},
		{"I❤winter", "I ❤️ winter", true},
		{"मेरी बेटी बीमार थी।", "मेरी बेटी बीमार थी", true},
		{"मेरी बेटी बीमार थी।", "मेरा बेटा बीमार था।", false},
		{"I ❤️ winter", "I 💔 winter", false},
		{"+5 points", "5 points", false},
		{"-5 degrees", "5 degrees", false},
		{"-5 degrees", "\u22125 degrees", true},
		{"It was (\u20135).", "It was (5).", false},
		{"\uff0d\uff15", "\uff15", false},
		{"-٥", "٥", false},
		{"\u061c-٥", "-٥", true},
		{"-\u200e५", "५", false},
		{"±5", "5", false},
		{"-.5", ".5", false},
		{".5 l", "5 l", false},
		{"5-6 weeks", "5\u20136 weeks", true},
		{"covid-19", "covid 19", true},
		{"Well - 5 of them", "Well, 5 of them", true},
		{"He left...5 came.", "He left, 5 came.", true},
		{"50% off", "50 off", false},
		{"I write C.", "I write C#.", false},
		{"It costs $5", "It costs €5", false},
	} {
		if got := Normalize(c.a) == Normalize(c.b); got != c.same {
			t.Errorf("%q and %q: one text: %t", c.a, c.b, got)
		}
	}
	if Normalize(" …!") != "" || Normalize("`Berlin`") != "berlin" || HasWord("🎂!") || !HasWord("कि") || !Same("José", "JOSE\u0301") {
		t.Error("signs and words are taken for each other")
	}
}
